"""The command that writes workbooks: files, counts, one line for each mistake, and the stored runs."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from llm_dojo_scoring import io
from llm_dojo_scoring.export_command import app


def ask(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def test_stored_runs_are_exported(pack, tmp_path):
    rows = [w for n in ("labels", "extraction") for w in ("--rows", pack / f"rows_{n}.jsonl.gz")]
    found = ask("--log", pack / "runs.jsonl.gz", "--outdir", tmp_path, "--sweep", "--json", *rows)
    assert found.exit_code == 0, found.stderr
    done = {line["file"].rpartition("/")[2]: line for line in json.loads(found.stdout)}
    assert done["Sorter_Experiment_Results.xlsx"]["runs"] == 53
    assert done["Entity_Extraction_Results.xlsx"]["runs"] == 58
    assert done["Sorter_Model_Sweep_Results.xlsx"]["runs"] == 22
    assert "467 of 509 documents scored" in found.stderr
    table = io.read_workbook(tmp_path / "Sorter_Experiment_Results.xlsx").frame
    assert 0.8389 in table["Subtype Accuracy"].tolist() and 0.9143 not in table["Subtype Accuracy"].tolist()


def test_the_command_opens_at_once_and_loads_nothing_heavy(tmp_path):
    heavy = "('pandas', 'xlsxwriter', 'numpy')"
    code = f"import sys, llm_dojo_scoring.export_command; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["=1+1", "a\nb", "\x1b[31mred"])
def test_a_hostile_name_is_one_plain_line(tmp_path, name):
    row = {"status": "error", "sorter": {"expected_subtype": "ip"}}
    record = {"task": "subtype_classification", "experiment_name": name, "n_rows": 1, "results": [row]}
    (tmp_path / "log.jsonl").write_text(json.dumps(record))
    found = ask("--log", tmp_path / "log.jsonl", "--outdir", tmp_path, "--task", "sorter")
    assert found.exit_code == 0 and len(found.stderr.splitlines()) == 1 and "\x1b" not in found.stderr


def test_an_interrupted_start_leaves_no_half_file(tmp_path, monkeypatch):
    (tmp_path / "log.jsonl").write_text(json.dumps({"task": "subtype_classification", "n_rows": 1}))
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    found = ask("--log", tmp_path / "log.jsonl", "--outdir", tmp_path / "out")
    assert found.exit_code == 2 and "extra `excel`" in found.stderr and not list((tmp_path / "out").glob("*"))
