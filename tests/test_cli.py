"""The three tabled commands: statuses, what goes where, and the stored runs from end to end."""

import importlib
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from llm_dojo_scoring import cli
from llm_dojo_scoring.analyze_command import app

HEAVY = "('pandas', 'matplotlib', 'xlsxwriter', 'numpy', 'scipy')"


def run(version, score, **more):
    return {
        "task": "subtype_classification",
        "experiment_name": f"qwen3.7-flash_sorter_v{version}_subtype",
        "n_rows": 509,
        "scores": {"sorter": {"subtype_accuracy": score}},
        **more,
    }


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in (run(12, 0.92), run(13, 0.943))))
    return path


def test_words_become_a_status(log, tmp_path, capsys):
    assert cli._cli_analyze([str(log), "--no-plots"]) == 0
    assert (tmp_path / "log.report.md").is_file() and capsys.readouterr().out.startswith("[i] Best run:")
    assert cli._cli_export(["--log", str(log), "--outdir", str(tmp_path / "out"), "--sweep"]) == 0
    assert len(list((tmp_path / "out").glob("*.xlsx"))) == 3
    log.write_text(log.read_text() + "{broken\n")
    capsys.readouterr()
    assert cli._cli_analyze([str(log), "--no-plots"]) == 0
    assert "dojo-analyze: " in capsys.readouterr().err
    assert cli._cli_analyze([str(tmp_path / "none.xlsx")]) == 2
    assert cli._cli_export(["--log", str(tmp_path / "none.jsonl")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_an_exported_workbook_can_be_analyzed(log, tmp_path):
    assert cli._cli_export(["--log", str(log), "--outdir", str(tmp_path), "--task", "sorter"]) == 0
    book = tmp_path / "Sorter_Experiment_Results.xlsx"
    assert cli._cli_analyze([str(book), "--plots", str(tmp_path / "p"), "--target", "0.9"]) == 0
    report = (tmp_path / "Sorter_Experiment_Results.report.md").read_text()
    assert report.replace("\\", "").startswith("# Sorter Evaluation Report — Sorter_Experiment_Results")
    assert "![metric_ci](" in report and "p/dojo_metric_ci.png" in report and "Target met" in report
    assert (tmp_path / "p" / "dojo_metric_ci.png").is_file()


@pytest.mark.parametrize("name", ["=1+1", "<script>x</script>", "a|b", "a\n# b", "`x`", "\x1b[31mred"])
def test_a_hostile_name_stays_text_everywhere(tmp_path, name):
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(run(1, 0.9, experiment_name=name)))
    found = CliRunner().invoke(app, [str(log), "--no-plots"])
    report = (tmp_path / "log.report.md").read_text()
    assert found.exit_code == 0 and "\x1b" not in found.stdout + found.stderr + report
    marked_up = [line for line in report.splitlines() if not line.startswith("    ")]  # the others are code
    assert not [line for line in marked_up if "<script" in line or line.startswith("# b")]


def test_the_stored_runs_from_end_to_end(pack, tmp_path):
    rows = [w for n in ("labels", "extraction", "chained") for w in ("--rows", pack / f"rows_{n}.jsonl.gz")]
    words = [
        pack / "runs.jsonl.gz",
        "-o",
        tmp_path / "r.md",
        "--no-plots",
        "--json",
        "--target",
        "0.95",
        *rows,
    ]
    found = CliRunner().invoke(app, [str(w) for w in words])
    assert found.exit_code == 0, found.stderr
    summary = json.loads(found.stdout)["summary"]
    assert summary["winner"] == "deepseek-v4-pro_sorter_v13_subtype_langfuse" and summary["n_runs"] == 203
    report = (tmp_path / "r.md").read_text()
    assert "509 of 509 documents scored" in report and "0.8389" in report and "more rows" in report


@pytest.mark.parametrize("module", ["cli", "analyze_command", "export_command"])
def test_help_is_instant(module):
    code = f"import sys, llm_dojo_scoring.{module}; print([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("words, status", [(["export", "--version"], 0), (["--help"], 0), (["none.xlsx"], 2)])
def test_the_module_is_a_command(words, status):
    done = subprocess.run(
        [sys.executable, "-m", "llm_dojo_scoring.cli", *words], capture_output=True, text=True
    )
    assert done.returncode == status and "Traceback" not in done.stderr


def test_langfuse_is_asked_for_the_trace(monkeypatch, tmp_path):
    langfuse_sync = importlib.import_module("llm_dojo_scoring.langfuse_sync")
    asked = []

    class Client:
        def list_traces(self, **words):
            asked.append(words)
            return []

    monkeypatch.setattr(langfuse_sync, "LangfuseClient", Client)
    assert cli._cli_analyze(["langfuse:", "--max-items", "5", "-o", str(tmp_path / "r.md")]) == 1
    assert asked == [{"name": "subtype_classification", "session": None, "max_items": 5}]
    assert cli._cli_analyze(["langfuse:no/such"]) == 2
