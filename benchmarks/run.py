#!/usr/bin/env python3
"""Measure the package against plain Python and against the floor, in one run, and print a table of ratios.

    python benchmarks/run.py [--only ROW]... [--json FILE]

Times are CPU seconds, medians, the two sides run in turn; only the ratios mean anything. Rows that need the
data pack are skipped with a reason where it is absent (DOJO_PACK names its folder). The exit code is 1 when a
target was missed.
"""

from __future__ import annotations

import os

for name in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM", "NUMEXPR"):
    os.environ.setdefault(f"{name}_NUM_THREADS", "1")  # before numpy is loaded: CPU time must be one core's

import argparse  # noqa: E402
import dataclasses  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import context  # noqa: E402
import frame  # noqa: E402

GROUPS = {
    "a": "rows_extraction",
    "b": "rows_extraction",
    "c": "rows_statistics",
    "d": "rows_monte_carlo",
    "e": "rows_contracteval",
    "f": "rows_lists",
    "g": "rows_audit",
    "h": "rows_diagnostics",
    "i": "rows_startup",
    "j": "rows_scores",
    "k": "rows_scores",
    "l": "rows_labels",
    "m": "rows_adjudication",
}
COLUMNS = "row workload ours baseline ratio target floor x_floor growth peak_mb verdict".split()


def time_text(seconds):
    if seconds is None:
        return ""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def line(result):
    "The cells of one result."
    if result.skipped:
        return [result.key, result.what, *[""] * 8, "skipped: " + result.skipped]
    s, missed = result.seconds, result.missed
    limit = lambda value, most: "" if value is None else f"{value:.3g}" + (f" (<= {most:g})" if most else "")  # noqa: E731
    return [
        result.key,
        result.what,
        time_text(s.get("ours")),
        time_text(s.get("baseline")),
        f"{result.ratio:.3g}x" if result.ratio else "",
        f">= {result.least_ratio:g}x" if result.least_ratio else "",
        f"{time_text(s.get('floor'))} {result.floor_what}".strip(),
        f"{result.floor_ratio:.2g}x" if result.floor_ratio else "",
        limit(result.growth, result.most_growth),
        limit(result.peak_mb, result.most_mb),
        "MISSED: " + "; ".join(missed) if missed else "met" if result.least_ratio or result.most_mb else "",
    ]


def table(results):
    "A Markdown table with columns of equal width."
    cells = [COLUMNS, *map(line, results)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def wanted(key, only):
    "Is the row asked for, by its key, the start of it, or its letter?"
    return not only or any(key == o or key.startswith(o + " ") or (len(o) == 1 and key[0] == o) for o in only)


def measure(only):
    "Results of the wanted rows, in order."
    where = context.Context()
    for module in dict.fromkeys(m for g, m in GROUPS.items() if not only or g in {o[0] for o in only}):
        for key, make in __import__(module).rows(where):
            try:
                for row in make():
                    if wanted(row.key, only):
                        print(f"{row.key} ...", file=sys.stderr, flush=True)
                        yield frame.measured(row)
            except frame.Skip as reason:
                if wanted(key, only):
                    yield frame.Result(key, "", skipped=str(reason))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", action="append", metavar="ROW", help='"c", "c1" or "c1 replay"; may be given again'
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    args = parser.parse_args(argv)
    results = list(measure(args.only))
    print(table(results))
    if args.json:
        rows = [{**dataclasses.asdict(r), "missed": r.missed if not r.skipped else []} for r in results]
        facts = {"python": platform.python_version(), "cores": os.cpu_count(), "rows": rows}
        args.json.write_text(json.dumps(facts, indent=1) + "\n")
    return int(any(r.missed for r in results if not r.skipped))


if __name__ == "__main__":
    sys.exit(main())
