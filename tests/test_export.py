"""Workbooks: text stays text, the same input gives the same bytes, what was filed comes out again."""

import gzip
import json
import os
import stat
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring import export, io, workbook
from llm_dojo_scoring.recount import recount
from llm_dojo_scoring.run_columns import extraction_columns, sorter_columns

openpyxl = pytest.importorskip("openpyxl")
HOSTILE = [
    '=HYPERLINK("http://x","click")',
    "=1+1",
    "+1-1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "=cmd|'/c calc'!A0",
    "{=1+1}",
    "http://example.org",
    "007",
    "1e5",
    "TRUE",
    "#REF!",
    "<b>bold</b>",
    "a|b",
    "é 漢字 🎉",
    "'quoted",
]


def cells(path, sheet="Eval Results"):
    return openpyxl.load_workbook(path)[sheet]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_text(tmp_path, name):
    record = {"experiment_name": name, "task": export.SORTER_TASK, "model": name, "prompt_version": name}
    path = export.write_workbook(tmp_path / "w.xlsx", "Eval Results", sorter_columns(), [record], True)
    for column in (2, 4, 5):
        cell = cells(path).cell(2, column)
        assert cell.data_type == "s" and cell.value.strip() == name.strip()
    assert io.read_workbook(path).frame["Experiment Name"][0].strip() == name.strip()


COLUMNS = [{"header": "A", "get": lambda r: r["a"], "fmt": "string"}]


@settings(max_examples=40)
@given(st.text(max_size=30))
def test_any_text_is_the_text_it_was(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.xlsx"
    workbook.write_workbook(path, "Eval Results", COLUMNS, [{"a": text}])
    cell = cells(path)["A2"]
    want = workbook.clean_text(text)
    assert (cell.value or "").replace("\r", "\n") == want.replace("\r", "\n") or not want.strip()
    assert cell.data_type == "s" or not want


NUMBERS = st.none() | st.booleans() | st.integers() | st.floats()
SCALARS = NUMBERS | st.text(max_size=8) | st.binary(max_size=4)


@settings(max_examples=60)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=True)
        | st.text(max_size=8)
        | st.binary(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    )
)
def test_any_value_is_a_cell(value):
    found = workbook.cell_value(value)
    assert found is None or isinstance(found, (str, int, float, bool))
    assert not isinstance(found, str) or not any(ord(c) < 9 for c in found)


def test_any_value_can_be_written(tmp_path):
    import datetime
    import decimal

    values = [
        {"x": 1},
        [1],
        (1,),
        {1},
        object(),
        decimal.Decimal("1.5"),
        b"x",
        datetime.time(1),
        10**400,
        -(10**16),
    ]
    path = workbook.write_workbook(tmp_path / "w.xlsx", "Eval Results", COLUMNS, [{"a": v} for v in values])
    assert cells(path).max_row == len(values) + 1
    assert cells(path)["A2"].value == '{"x": 1}'


def test_equal_input_gives_equal_bytes(tmp_path):
    code = (
        "from llm_dojo_scoring import export; import sys;"
        "export.write_workbook(sys.argv[1], 'Eval Results', export.extraction_columns(),"
        " [{'experiment_name': 'a', 'n_rows': 5, 'timestamp': '2026-08-15T05:00:00Z'}], True)"
    )
    import subprocess

    for i, zone in enumerate(("Asia/Tokyo", "America/New_York")):
        env = {**os.environ, "TZ": zone, "PYTHONHASHSEED": str(i)}
        subprocess.run([sys.executable, "-c", code, tmp_path / f"{i}.xlsx"], check=True, env=env)
    assert (tmp_path / "0.xlsx").read_bytes() == (tmp_path / "1.xlsx").read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = workbook.write_workbook(tmp_path / "w.xlsx", "Eval Results", COLUMNS, [{"a": 1}])
    before = path.read_bytes()
    with pytest.raises(KeyError):
        workbook.write_workbook(path, "Eval Results", COLUMNS, [{"b": 1}])
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["w.xlsx"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600


def test_without_the_extra_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(ImportError, match="extra `excel`"):
        workbook.write_workbook(tmp_path / "w.xlsx", "Eval Results", COLUMNS, [])
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match="extra `excel`"):
        io.read_workbook(tmp_path / "w.xlsx")


LOOKS = [
    ("percent", "0.00%", 0.5),
    ("integer", "#,##0", 5),
    ("number", "0.000000", 0.27),
    ("string", "General", 3),
    ("date", "General", "x"),
]


@pytest.mark.parametrize("fmt, shown, value", LOOKS)
def test_formats(tmp_path, fmt, shown, value):
    column = {"header": "A", "get": lambda r: r["a"], "fmt": fmt}
    path = workbook.write_workbook(tmp_path / "w.xlsx", "Eval Results", [column], [{"a": value}])
    cell = cells(path)["A2"]
    assert cell.number_format == shown and cell.border.left.style == "thin"
    assert cell.border.left.color.rgb == "FFD9D9D9"


WIDTHS = {"DATE": 12, "Experiment Name": 46, "SAMPLE (n)": 10, "MODEL": 20, "Prompt Version": 13,
          "Temperature": 11, "Dataset": 42, "Accuracy: ip": 15, "Accuracy: joint_venture": 22,
          "n Total: ip": 15, "Seed": 12}  # fmt: skip


def test_widths(tmp_path):
    from openpyxl.utils import get_column_letter

    path = export.write_workbook(tmp_path / "w.xlsx", "Eval Results", sorter_columns(), [])
    sheet = cells(path)
    found, width = {}, None
    for i, column in enumerate(sorter_columns(), 1):  # only the first of several equal columns is stored
        letter = get_column_letter(i)
        width = sheet.column_dimensions[letter].width if letter in sheet.column_dimensions else width
        found[column["header"]] = width
    assert {h: found[h] for h in WIDTHS} == WIDTHS
    assert sheet.freeze_panes == "F2" and sheet.auto_filter.ref == "A1:DJ1"


@pytest.mark.parametrize("columns, n", [(sorter_columns, 114), (extraction_columns, 141)])
def test_codebooks_come_back(tmp_path, columns, n):
    found = io.read_codebook(export.write_codebook(tmp_path / "c.csv", columns()))
    assert found["Variable"].tolist() == [c["header"] for c in columns()] and len(found) == n
    assert found["Description"].str.len().min() > 3 and (found["Source"] != "").all()


def run(version, score, n=509, **more):
    scores = {"sorter": {"subtype_accuracy": score}}
    return {"task": export.SORTER_TASK, "prompt_version": version, "n_rows": n, "scores": scores, **more}


def data(fingerprint, seed=42):
    return {"data_source": {"dataset_fingerprint": fingerprint, "seed": seed}}


CHAMPIONS = [  # runs, version
    ([run("v1", 1.0, 1), run("v13", 0.95)], "v13"),
    ([run("v12", 0.9234), run("v13", 0.943), run("v14", 0.9371)], "v13"),
    ([run("v1", 0.9, **data("a")), run("v2", 0.8, **data("a")), run("v3", 0.99, **data("b"))], "v1"),
    ([run("v1", 0.9, **data("a", 0)), run("v2", 0.8, **data("a", 0)), run("v3", 0.99, **data("a", 1))], "v1"),
    ([run("v1", 0.9), run("v2", 0.9, experiment_name="a")], "v1"),
    ([run("v1", "0.9")], None),
    ([run(None, 0.9)], None),
    ([], None),
]


@pytest.mark.parametrize("runs, version", CHAMPIONS)
def test_champions(runs, version):
    assert export.champion_prompt_version(runs) == version
    assert export.champion_prompt_version(runs[::-1]) in (version, "v2" if version == "v1" else version)


def stored_records(pack):
    with gzip.open(pack / "runs.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def test_stored_runs_are_written_and_read_back(pack, tmp_path):
    records = stored_records(pack)
    assert len(export.sorter_records(records)) == 53 and len(export.extraction_records(records)) == 58
    for name, columns, runs in (
        ("sorter.xlsx", sorter_columns(), export.sorter_records(records)),
        ("extraction.xlsx", extraction_columns(), export.extraction_records(records)),
    ):
        path = export.write_workbook(tmp_path / name, "Eval Results", columns, runs)
        found = io.read_workbook(path)
        assert found.n_runs == len(runs) and len(found.frame.columns) == len(columns)
        assert found.frame["Experiment Name"].tolist() == [r["experiment_name"] for r in runs]
        assert found.kind == name.split(".")[0]
        means = found.frame["Subtype Accuracy" if found.kind == "sorter" else "Overall Extraction"]
        path = (
            "scores.sorter.subtype_accuracy" if found.kind == "sorter" else "scores.overall_extraction_score"
        )
        stored = [export.dotted_get(r, path) for r in runs]
        assert [m for m in means if m == m] == [v for v in stored if v is not None]


def test_the_filed_sweep_is_written_again(pack, tmp_path):
    records = stored_records(pack)
    assert export.champion_prompt_version(records) == "v13"
    notes = io.read_workbook(pack / "artifacts" / "Sorter_Model_Sweep_Results.xlsx").frame
    path, n = export.build_sweep_workbook(
        records, tmp_path, notes={"qwen3.7-flash_sorter_v13_subtype_langfuse": "x"}
    )
    mine = io.read_workbook(path)
    assert n == mine.n_runs == len(notes) == 22
    assert list(mine.frame.columns) == list(notes.columns) and len(mine.codebook) == 115
    key = ["Experiment Name", "SAMPLE (n)", "Subtype Accuracy", "Rows with Usage", "Max Concurrency"]
    ours, theirs = (f.sort_values(key).reset_index(drop=True) for f in (mine.frame, notes))
    for column in mine.frame.columns[:-1]:
        a, b = ours[column], theirs[column]
        assert ((a == b) | (a.astype(str) == b.astype(str)) | (a.isna() & b.isna())).all(), column


def test_records_that_carry_rows_are_counted_again():
    row = {
        "status": "completed",
        "sorter": {"doc_type": "contract", "contract_subtype": "ip", "expected_subtype": "ip"},
    }
    record = run("v1", 1.0, 2, results=[row, {"status": "error", "sorter": {"expected_subtype": "ip"}}])
    again = recount(record)
    assert again["scores"]["sorter"]["subtype_accuracy"] == 0.5 and again["n_error"] == 1
