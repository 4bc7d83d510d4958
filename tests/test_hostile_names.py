"""Hostile experiment names stay text in workbooks, in Markdown, on the report's page and in the explorer."""

import html.parser
import re
import zipfile

import pandas as pd
import pytest

from llm_dojo_scoring.explorer import explorer_page
from llm_dojo_scoring.export import sorter_columns, write_workbook
from llm_dojo_scoring.io import normalize_results_frame
from llm_dojo_scoring.report import build_report, report_page
from llm_dojo_scoring.scored_run import ScoredRun

NAMES = [
    *(
        "=1+1",
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "\t=1+1",
        "\r=1+1",
        " =1+1",
        '=HYPERLINK("http://x")',
    ),
    *(
        "{=1+1}",
        "http://evil.example/",
        "mailto:a@b.c",
        "internal:'Sheet'!A1",
        "external:c:\\x.xlsx",
        "file:///etc/passwd",
    ),
    *('=DDE("cmd";"x")', "1e308", "0x10", "TRUE", "00123", "#REF!", "'quoted", "&A", "%0A=1"),
    *(
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "</title><script>1</script>",
        '"><svg onload=alert(1)>',
    ),
    *(
        "&lt;script&gt;",
        "javascript:alert(1)",
        "[a](javascript:alert(1))",
        "![x](http://x/y.png)",
        "| a | b |",
        "`code` **bold**",
    ),
    *(
        "a\nb\n# heading",
        "</script><!--",
        "<!--",
        "]]>",
        "\u202eevil\u202c",
        "\u2028x\u0000y",
        "{{7*7}}${7*7}",
        "$\\frac{|",
    ),
]


@pytest.fixture(scope="module")
def frame():
    rows = [
        {"Experiment Name": name, "Subtype Accuracy": 0.9 - i / 1000, "SAMPLE (n)": 509, "MODEL": name}
        for i, name in enumerate(NAMES)
    ]
    return normalize_results_frame(pd.DataFrame(rows), "sorter")


class Tags(html.parser.HTMLParser):
    "The elements of a page, and the attributes that could act."

    def __init__(self, page):
        super().__init__()
        self.tags, self.acts = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.acts += [(tag, k) for k, v in attrs if k.startswith("on") or "script:" in (v or "").lower()]


def test_a_workbook_holds_text_and_no_formula_or_link(tmp_path):
    records = [{"experiment_name": name, "model": name, "n_rows": 3} for name in NAMES]
    path = tmp_path / "runs.xlsx"
    write_workbook(path, "Eval Results", sorter_columns(), records)
    with zipfile.ZipFile(path) as book:
        names = book.namelist()
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert len(NAMES) > 40
    assert "<f>" not in sheet and "hyperlink" not in sheet and not [n for n in names if "externalLink" in n]
    cells = re.findall(r'<c r="B\d+"([^>]*)>', sheet)
    assert len(cells) == len(NAMES) + 1 and all(' t="s"' in cell for cell in cells)


def test_a_report_holds_text_and_no_markup(frame):
    text = build_report(frame)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert "<" not in text.replace("&lt;", "")
    assert not re.search(r"(?i)(?<!\\)\]\(|javascript:|https?:", text)
    assert all(len(re.findall(r"(?<!\\)\|", line)) in (3, 5, 7, 8, 9, 10, 11, 12) for line in lines)
    assert "\n# heading" not in text


def test_the_page_of_a_report_holds_text_and_no_markup(frame):
    page = Tags(report_page(frame))
    assert (
        not page.tags & {"script", "img", "a", "iframe", "object", "embed", "form", "base"}
        and page.acts == []
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_explorer_holds_text_and_no_markup(name):
    tidy = [{"doc_id": name, "field": name, "type": "name", "rule": name, "score": 0.0}]
    tidy[0] |= {"predicted": name, "expected": name, "note": name, "n_expected": None}
    page = explorer_page(
        ScoredRun([{"doc_id": name, "overall_score": 0.0}], tidy, name, field_types={}), title=name
    )
    assert page.count("<script") == 2 and page.count("</script>") == 2
    found = Tags(page)
    assert (
        found.tags <= {"html", "head", "meta", "title", "style", "body", "div", "script"} and found.acts == []
    )
