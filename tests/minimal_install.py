"""Run by CI with an interpreter that has the package without extras: it must import, score, explain itself.

Not a test module: it runs outside the development environment, with only the package and its requirements.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ABSENT = ("torch", "sentence_transformers", "pytest", "nbdev", "fastcore", "pyarrow")

for name in ABSENT:
    assert importlib.util.find_spec(name) is None, f"{name} is here: this is no minimal install"

import llm_dojo_scoring as dojo  # noqa: E402

result = dojo.score_extraction(
    "contract",
    {"effective_date": "date", "contract_value": "money"},
    {"effective_date": "2021-03-03", "contract_value": "$250K"},
    {"effective_date": "March 3, 2021", "contract_value": "$250,000"},
)
assert result.overall_score == 1.0, result

command = Path(sys.executable).with_name("dojo-score")
for arguments in (["--help"], ["--version"]):
    subprocess.run([command, *arguments], check=True, stdout=subprocess.DEVNULL)
subprocess.run([command.with_name("dojo-sync"), "--help"], check=True, stdout=subprocess.DEVNULL)
from llm_dojo_scoring.emitter import Emitter, LangfuseSink, LocalManifestSink, PhoenixSink  # noqa: E402

em = Emitter(
    [LocalManifestSink("minimal-scores.jsonl"), LangfuseSink(), PhoenixSink("http://127.0.0.1:9", deadline=1)]
)
em.emit_score("sorter", "a.txt", "accuracy", 1.0, run_id="minimal")
assert [d.sent for d in em.flush()] == [0, 0] and em.get_scorecard("sorter")["accuracy"] == 1.0
out = Path("minimal-out")
subprocess.run(
    [
        command,
        ROOT / "data/runs/extractions.jsonl",
        *("--labels", ROOT / "data/labels/expected.jsonl"),
        *("--docs", ROOT / "data/contracts"),
        *("--out", out),
    ],
    check=True,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
for run in ("careful", "hasty"):
    assert (out / run / "report.html").stat().st_size > 10_000
print("a minimal install imports, scores and reports")
