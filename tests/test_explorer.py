"""The explorer in a browser: filter, move, open, decide; hostile text stays text."""

import json
import subprocess
import sys

import pytest
from browser import open_browser

from llm_dojo_scoring.cell_verdicts import append_verdict, cell_verdict, read_verdicts
from llm_dojo_scoring.explorer import explorer_frame, explorer_page, write_explorer
from llm_dojo_scoring.explorer_table import CELL_MODES, cell_mode, explorer_table, passages
from llm_dojo_scoring.run_files import BadInput
from llm_dojo_scoring.score_run import score_run

EVIL = '</script><img src=x onerror="window.hurt=1"><b>&amp;\'`|\u2028\u0000'


@pytest.fixture(scope="module")
def run():
    from conftest import ROOT

    data = ROOT / "data"
    options = {"documents": data / "contracts", "run": "hasty"}
    return score_run(data / "runs/extractions.jsonl", data / "labels/expected.jsonl", **options)


@pytest.fixture(scope="module")
def page():
    with open_browser() as opened:
        opened.size(1280, 900)
        yield opened


def cell(d, f):
    return f'document.querySelector(\'[data-d="{d}"][data-f="{f}"]\')'


def show(page, tmp_path, run, documents=None, **options):
    page.trouble.clear()
    path = write_explorer(run, tmp_path / "explorer.html", documents, **options)
    page.go(path.as_uri())
    page.wait("document.querySelector('[role=gridcell]')")


#: The cells of the first field that stand where a reader looks: none may be missing while the grid scrolls
IN_SIGHT = (
    "(w => { const at = w.getBoundingClientRect(), top = w.querySelector('.top').offsetHeight, n = 8;"
    " return Array.from({length: n}, (_, i) => document.elementFromPoint(at.left + 230,"
    " at.top + top + 8 + i * (at.height - top - 40) / n)?.closest('[role=gridcell]') || null); })"
    "(document.querySelector('.wrap'))"
)
#: How often the rows are drawn for a hundred scroll events within one frame
REDRAWN = (
    "(async () => { const w = document.querySelector('.wrap'); let drawn = 0;"
    " const frames = async () => { for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame); };"
    " w.scrollTop = 0; await frames();"
    " const seen = new MutationObserver((found) => { drawn += found.length; });"
    " seen.observe(document.querySelector('.body'), {childList: true});"
    " for (let i = 1; i <= 100; i++) { w.scrollTop = 280 * i; w.dispatchEvent(new Event('scroll')); }"
    " await frames(); return drawn; })()"
)
COUNT = "document.querySelector('.count').textContent"
HEAD = "document.querySelector('.pane h4')?.textContent"


def choose(page, selector, value):
    page.run(
        f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
        " e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); })()"
    )


def test_filters_narrow_the_documents(page, tmp_path, run, data):
    show(page, tmp_path, run, data / "contracts")
    assert page.run(COUNT) == "12 of 12 documents"
    choose(page, "input[type=search]", "bramble")
    assert page.run(COUNT) == "1 of 12 documents"
    choose(page, "input[type=search]", "")
    choose(page, ".head select", str(CELL_MODES.index("failed call")))
    assert page.run(COUNT) == "1 of 12 documents"
    choose(page, ".head select", "")
    page.run("document.querySelector('.head input[type=checkbox]').click()")
    errors = len({r["doc_id"] for r in run.fields if cell_mode(r) not in ("exact", "no label")})
    assert page.run(COUNT) == f"{errors} of 12 documents"
    assert page.trouble == []


def test_keys_alone_open_and_decide(page, tmp_path, run, data):
    show(page, tmp_path, run, data / "contracts")
    page.run("document.querySelector('[role=gridcell][tabindex=\"0\"]').focus()")
    page.keys("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "Enter")
    page.wait(f"({HEAD} || '').startsWith('effective_date: 0.6700, partial')")
    assert page.run("document.activeElement.dataset.f") == "2"
    assert page.run("[...document.querySelectorAll('.sides u')].map(u => u.textContent)") == ["3,"]
    assert page.run("document.querySelector('.passage mark').textContent") == "March 3, 2021"
    page.keys("End")
    assert page.run("document.activeElement.dataset.f") == "8"
    page.run("document.querySelector('.decide button:nth-child(3)').focus()")
    page.keys("Enter")
    page.wait("document.querySelector('.told').textContent.startsWith('saved: reject, critical')")
    assert page.run("document.querySelector('.head a').download") == "cell_verdicts.jsonl"
    assert page.run(f"{cell(0, 2)}.classList.contains('decided')")
    assert page.run("document.querySelectorAll('[role=grid] [tabindex=\"0\"]').length") == 1
    assert page.trouble == []


def test_decisions_made_before_are_shown(page, tmp_path, run, data):
    file = tmp_path / "cell_verdicts.jsonl"
    name = run.rows[0]["doc_id"]
    append_verdict(file, cell_verdict(name, "parties", "accept", run="hasty"))
    append_verdict(file, cell_verdict(name, "parties", "reject", run="another run"))
    show(page, tmp_path, run, verdicts=file)
    assert "accept" in page.run(f"{cell(0, 1)}.getAttribute('aria-label')")
    page.run(f"{cell(0, 1)}.click()")
    page.wait("document.querySelector('.told')")
    assert page.run("document.querySelector('.told').textContent") == "decided: accept"


def test_hostile_text_stays_text(page, tmp_path):
    rows = [{"run": EVIL, "filename": EVIL, "predicted": {"document_name": EVIL, "parties": [EVIL, EVIL]}}]
    labels = [{"filename": EVIL, "document_name": f"LEASE {EVIL}", "parties": [EVIL]}]
    show(
        page,
        tmp_path,
        score_run(rows, labels, documents={EVIL: f"before {EVIL} after"}),
        {EVIL: f"before {EVIL} after"},
        title=EVIL,
    )
    for f in range(2):
        page.run(f"{cell(0, f)}?.click()")
        page.wait("document.querySelector('.sides')")
    assert page.run(
        "window.hurt === undefined && !document.querySelector('#dojo-x img, #dojo-x script, #dojo-x b b')"
    )
    assert "<img src=x" in page.run("document.querySelector('.name').textContent")
    assert page.trouble == []


def test_the_policy_refuses_every_other_script(page, tmp_path, run):
    show(page, tmp_path, run)
    page.run(
        "void (() => { const s = document.createElement('script');"
        " s.textContent = 'window.hurt = 1'; document.body.append(s); })()"
    )
    assert page.run("window.hurt === undefined")
    page.trouble.clear()


def test_five_thousand_documents_stay_smooth(page, tmp_path, run):
    rows = [{**r, "doc_id": f"{i:04} {r['doc_id']}"} for i in range(417) for r in run.rows]
    tidy = [{**r, "doc_id": f"{i:04} {r['doc_id']}"} for i in range(417) for r in run.fields]
    show(page, tmp_path, type(run)(rows, tidy, "large", field_types=run.field_types), details="errors")
    assert page.run(COUNT) == "5004 of 5004 documents"
    assert page.run("document.querySelectorAll('[role=gridcell]').length") < 600
    fields, height = len(run.field_types), page.run("document.querySelector('.wrap').clientHeight")
    most = (height // 28 + 18) * fields  # what fits in sight, and eight rows above and below it
    for part in (0.0, 0.37, 0.71, 1.0):
        page.run(f"(w => {{ w.scrollTop = {part} * w.scrollHeight; }})(document.querySelector('.wrap'))")
        page.wait(f"({IN_SIGHT}).length > 0 && ({IN_SIGHT}).every(e => e !== null)")
        assert 0 < page.run("document.querySelectorAll('[role=gridcell]').length") <= most
    assert 1 <= page.run(REDRAWN) <= 3
    choose(page, "input[type=search]", "0416 bramble")
    assert page.run(COUNT) == "1 of 5004 documents"
    assert page.run("document.querySelectorAll('[role=gridcell]').length") == fields
    assert page.trouble == []


def test_words_of_a_heading_stay_whole(page, tmp_path, run):
    lines = (
        "[...document.querySelectorAll('.top div')].flatMap(e =>"
        " [...e.textContent.matchAll(/\\S+/g)].filter(m => { const r = document.createRange();"
        " r.setStart(e.firstChild, m.index);"
        " r.setEnd(e.firstChild, m.index + m[0].length);"
        " return r.getClientRects().length > 1; }).map(m => m[0]))"
    )
    for width, height in ((1280, 900), (390, 844)):
        page.size(width, height)
        show(page, tmp_path, run)
        assert page.run(lines) == []
        assert page.run("document.documentElement.scrollWidth") <= width
    page.size(1280, 900)


def test_flags_are_shown_and_sifted(page, tmp_path, run):
    flag = {"kind": "negation", "predicted": EVIL, "expected": "shall not"}
    one = next(i for i, r in enumerate(run.fields) if r["field"] == "termination_clauses" and r["score"])
    tidy = [{**r, "flags": [flag] if i == one else []} for i, r in enumerate(run.fields)]
    show(page, tmp_path, type(run)(run.rows, tidy, "flagged", field_types=run.field_types))
    marked = "[...document.querySelectorAll('.flagged')]"
    assert page.run(f"{marked}.map(e => e.getAttribute('aria-label').includes('turned around'))") == [True]
    page.run(f"{marked}[0].click()")
    page.wait("document.querySelector('.pane .flag')")
    assert page.run("document.querySelector('.pane .flag').textContent").endswith("against shall not")
    assert page.run("window.hurt === undefined && !document.querySelector('#dojo-x img')")
    page.run("[...document.querySelectorAll('.head input[type=checkbox]')][1].click()")
    assert page.run(COUNT) == "1 of 12 documents"
    show(page, tmp_path, run)
    assert page.run("document.querySelectorAll('.head input[type=checkbox]').length") == 1
    assert page.trouble == []


# without a browser


def test_a_page_is_whole_and_loads_nothing(run):
    page = explorer_page(run)
    assert "script-src 'sha256-" in page and "default-src 'none'" in page
    assert "http://" not in page and "https://" not in page
    assert explorer_frame(page).count(
        "<iframe"
    ) == 1 and 'sandbox="allow-scripts allow-downloads"' in explorer_frame(page)


def test_a_damaged_or_foreign_folder_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"rows\.jsonl"):
        explorer_table(tmp_path)
    for name in ("rows", "fields"):
        (tmp_path / f"{name}.jsonl").write_text('{"doc_id": "a"\n')
    with pytest.raises(BadInput, match=r"rows\.jsonl:\d"):
        explorer_table(tmp_path)
    with pytest.raises(ValueError, match="scored run"):
        explorer_table(7)


def test_places_outside_the_text_mark_nothing():
    assert passages("abc", [(0, 9), (-3, 1), (2, 2), (3, 1)]) == []
    assert passages("", [], None) == []
    assert (
        "".join(p for passage in passages("abcdef", [(1, 2), (4, 5)], None) for p, _ in passage) == "abcdef"
    )


def test_verdicts_of_two_writers_are_all_there(tmp_path):
    file = tmp_path / "v.jsonl"
    code = (
        "import sys; from llm_dojo_scoring.cell_verdicts import *\n"
        "for i in range(40):\n"
        "    made = cell_verdict(f'{sys.argv[2]}{i}', 'f', 'accept', note='x' * 9000)\n"
        "    append_verdict(sys.argv[1], made)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(file), w]) for w in "ab"]
    assert [w.wait() for w in writers] == [0, 0]
    assert len(read_verdicts(file)) == 80 and len(file.read_bytes().splitlines()) == 80
    file.write_text('{"document": "a", "field": "f", "verdict": "perhaps"}\n')
    with pytest.raises(BadInput, match="accept, reject, unsure"):
        read_verdicts(file)


def test_decisions_feed_the_adjudicated_answer_scorer(tmp_path, run):
    from llm_dojo_scoring.adjudication import from_cell_verdicts, score_adjudicated
    from llm_dojo_scoring.explorer import answer

    table, file = explorer_table(run), tmp_path / "cell_verdicts.jsonl"

    class Widget:
        pass

    widget = Widget()
    widget.table, widget.path, widget.who = table, file, ""
    for f, verdict, critical in ((0, "accept", False), (1, "reject", True), (2, "unsure", False)):
        asked = {
            "kind": "verdict",
            "id": f,
            "d": 0,
            "f": f,
            "verdict": verdict,
            "critical": critical,
            "note": "",
        }
        assert answer(widget, asked) == {"id": f, "value": "cell_verdicts.jsonl"}
    expected = {table.documents[0]["id"]: {name: "x" for name, _ in table.fields[:4]}}
    policy = {"version": "1", "min_precision": 0.5, "min_recall": 0.5}
    told = score_adjudicated(from_cell_verdicts(read_verdicts(file), expected, policy))
    (attempt,) = told.attempts
    assert (attempt.counts.n_supported, attempt.counts.n_assessed) == (1, 2)
