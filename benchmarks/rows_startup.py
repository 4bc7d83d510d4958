"""Rows i: what a process pays before it does anything."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys

from context import ROOT
from frame import Result, Skip

_REPORT = """
import json as j, os as o, resource as r, sys as s
u = r.getrusage(r.RUSAGE_SELF)
peak = u.ru_maxrss / 1024
if o.path.exists("/proc/self/status"):  # ru_maxrss may still hold the parent's peak
    peak = [int(l.split()[1]) / 1024 for l in open("/proc/self/status") if l.startswith("VmHWM")][0]
heavy = [m for m in ("numpy", "scipy", "pandas", "matplotlib") if m in s.modules]
print(j.dumps([u.ru_utime + u.ru_stime, peak, heavy]))
"""
EAGER = "import numpy, pandas, scipy.optimize, matplotlib.pyplot, yaml, dateutil.parser"


def child(code: str):
    "CPU seconds, peak MiB and heavy modules of a fresh Python that runs the code."
    code = code + _REPORT
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _median(codes: dict[str, str], reps: int = 7):
    "Medians of several codes, in turn."
    runs = {name: [] for name in codes}
    for _ in range(reps):
        for name, code in codes.items():
            runs[name].append(child(code))
    return {
        name: (statistics.median(r[0] for r in got), max(r[1] for r in got), got[0][2])
        for name, got in runs.items()
    }


def imported(key: str, what: str, code: str, least: float | None, most_mb: float, may_load=()) -> Result:
    "One start-up against a package that imports everything at the top, and against a bare Python."
    got = _median({"ours": code, "baseline": EAGER, "floor": "pass"})
    seconds = {name: cpu for name, (cpu, _, _) in got.items()}
    loaded = [m for m in got["ours"][2] if m not in may_load]
    return Result(
        key,
        what + (f" (loads {', '.join(loaded)})" if loaded else ""),
        seconds=seconds,
        ratio=seconds["baseline"] / seconds["ours"],
        least_ratio=least,
        floor_ratio=seconds["ours"] / seconds["floor"],
        floor_what="bare Python",
        peak_mb=got["ours"][1],
        most_mb=most_mb,
        same=not loaded,
    )


def package():
    yield imported("i import", "import llm_dojo_scoring", "import llm_dojo_scoring", 12, 30)


def command():
    "The help of the scoring command, run as the command runs it."
    if shutil.which("dojo-score") is None and not (ROOT / "llm_dojo_scoring" / "score_command.py").is_file():
        raise Skip("no dojo-score command in this copy")
    code = (
        "import sys; sys.argv = ['dojo-score', '--help']\n"
        "from llm_dojo_scoring.score_command import app\n"
        "import io, contextlib\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    try: app()\n"
        "    except SystemExit: pass"
    )
    yield imported("i help", "dojo-score --help", code, 12, 40)


def rows(context):
    return [("i import", package), ("i help", command)]
