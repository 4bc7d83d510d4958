"""Reports of a table of runs: their sections, hostile names as text, equal bytes, pages that load nothing."""

import html.parser
import re

import pandas as pd
import pytest

from llm_dojo_scoring.explorer import explorer_page
from llm_dojo_scoring.report import build_report, report_page
from llm_dojo_scoring.score_run import score_run

EVIL = (
    "</title><script>alert(1)</script><img src=x onerror=alert(1)>",
    "a|b\n| c | d |",
    "[click](javascript:alert(1)) ![x](http://evil.example/x.png)",
    "`code` *bold* ~~gone~~ <http://evil.example> # head",
    "&lt;script&gt; &amp; $x$ \\| \u202e\u2028\x00\x1b[31m",
    '" onload="alert(1)',
)


def table(name):
    return pd.DataFrame(
        {
            "Experiment Name": [name, "other"],
            "Subtype Accuracy": [0.95, 0.9],
            "SAMPLE (n)": [100, 100],
            "n": [100, 100],
            "MODEL": [name, "m"],
            "model": [name, "m"],
            "prompt_version": [name, "v1"],
            "date": pd.to_datetime(["2026-01-01", "2026-01-02"]),
            f"Accuracy: {name}": [0.5, 0.6],
            "Failures: family_confusion": [3, 4],
        }
    )


class Tags(html.parser.HTMLParser):
    "Every element of a page, with its attributes."

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", EVIL)
def test_hostile_names_stay_text_in_markdown(name):
    text = build_report(table(name), title=name)
    plain = build_report(table("plain"), title="plain")
    assert text.count("\n#") == plain.count("\n#")
    assert not re.search(r"<[a-zA-Z/!]", text)
    assert not re.search(r"(?<!\\)\]\(", text) and not re.search(r"https?://", text)
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    assert not re.search(r"[\x00\x1b\u202e\u2028]", text)


@pytest.mark.parametrize("name", EVIL)
def test_hostile_names_stay_text_in_the_page(name):
    tags = Tags(report_page(table(name), title=name)).found
    plain = Tags(report_page(table("plain"), title="plain")).found
    assert {t for t, _ in tags} <= {t for t, _ in plain}
    for tag, attributes in tags:
        assert not any(k.startswith("on") for k in attributes) and tag not in ("script", "img", "iframe", "a")


def test_sections_come_in_order_and_say_what_is_asked():
    text = build_report(table("a run"), target=0.94, plot_paths=["p/dojo_cost.png", "p/dojo_metric_ci.png"])
    wanted = "Verdicts|Champion|Runs|Prompt versions|Models|Per-subtype accuracy|Failure modes"
    wanted += "|Reliability|Regressions|Plots"
    heads = re.findall(r"^## (.*)$", text, re.M)
    assert heads == wanted.split("|")
    assert "Best run: a run" in text and "Target met" in text
    assert text.index("![metric_ci]") < text.index("![cost]")


def test_a_missing_metric_is_said_and_nothing_raises():
    for frame in (None, table("a").iloc[:0], table("a").drop(columns="Subtype Accuracy")):
        assert "No winner" in build_report(frame) and "No winner" in report_page(frame)


def test_equal_tables_give_equal_reports(monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert build_report(table("a")) == build_report(table("a"))
    assert report_page(table("a")) == report_page(table("a"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert "1970-01-01T00:00:00+00:00" in build_report(table("a"))


def test_missing_counts_and_repeated_index_labels(tmp_path):
    frame = table("a").assign(n=pd.array([1, pd.NA], dtype="Int64"))
    frame.index = [7, 7]
    path = tmp_path / "new" / "report.md"
    assert build_report(frame, path=path) == path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["report.md"]


def test_the_explorer_in_a_report_is_the_only_script(data):
    run = score_run(data / "runs/extractions.jsonl", data / "labels/expected.jsonl", run="hasty")
    page = report_page(table("a"), explorer=explorer_page(run))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.count("sha256-") == 1 and "unsafe-inline" not in policy.split("script-src")[1]
    assert "<script" not in page and page.count("<iframe") == 1


def test_it_looks_right_in_a_browser(data, tmp_path):
    from browser import open_browser

    run = score_run(data / "runs/extractions.jsonl", data / "labels/expected.jsonl", run="hasty")
    report_page(table(EVIL[0]), path=tmp_path / "r.html", explorer=explorer_page(run), title=EVIL[0])
    with open_browser() as page:
        page.size(390, 800)
        page.go((tmp_path / "r.html").as_uri())
        assert page.run("document.querySelectorAll('main svg').length") >= 4
        assert page.run("document.documentElement.scrollWidth") <= 390
        assert page.run("document.querySelector('h1').textContent").startswith("</title><script>")
        assert page.trouble == []
