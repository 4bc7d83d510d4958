#!/usr/bin/env python3
"""A long night: synthetic rows through `dojo-score`, each size in one process, the smallest also in two.

    python benchmarks/stream.py [--thin] [--rows N]... [--wall N] [--json FILE]

Rows have the fields, lists and lengths of an extraction run over contracts, with clauses, a model's
reasoning and the presence of clauses; all of it invented from a seed. With --thin they have four short
fields. For each size a file of predictions and a file of labels are written, and the command is run on
them as a user would run it. Shown are CPU seconds, peak memory, the exponent with which time grows, and
what is left to the first process when others score. With --wall, N rows are also scored by one process
and by two in turn, five times each, and the best wall times are set side by side. FILE keeps the last
result of either kind of rows. The exit code is 1 for an exponent above 1.1 or a peak above 500 MiB.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from context import ROOT, altered, clauses, names, vocabulary  # noqa: E402

SIZES = (20_000, 80_000, 320_000)
MOST_GROWTH, MOST_MB = 1.1, 500
_STATES = "Delaware|New York|California|Texas|Ohio|Nevada|Florida|Illinois".split("|")
_MONTHS = "January|March|May|July|October|December".split("|")


class Contracts:
    "Invented contracts: what the labels say, and what a model that errs now and then returns."

    def __init__(self, seed=0):
        self.rng, self.names = random.Random(seed), names(2_000)

    def expected(self):
        "Parties, date, law and value; clauses would cost more a row, and grow no faster."
        rng = self.rng
        return {
            "parties": rng.sample(self.names, 2),
            "effective_date": f"{rng.choice(_MONTHS)} {rng.randint(1, 28)}, {rng.randint(1995, 2024)}",
            "governing_law": f"the laws of the State of {rng.choice(_STATES)}",
            "contract_value": f"${rng.randint(1, 900)},{rng.randint(0, 999):03d}",
        }

    def predicted(self, expected):
        "Most values as labelled, some altered, some left out, some invented."
        rng, found = self.rng, {}
        for field, value in expected.items():
            luck = rng.random()
            if luck < 0.08:
                continue
            if isinstance(value, list):
                value = [v if rng.random() < 0.8 else rng.choice(self.names) for v in value]
            elif luck < 0.2:
                value = value.rsplit(" ", 1)[0]
            found[field] = value
        return found

    def presence(self, expected):
        "Nothing is asked of the clauses of a thin contract."
        return None

    def write(self, folder: Path, n: int):
        "Predictions and labels of n contracts, one row a line; some calls failed."
        with (folder / "labels.jsonl").open("w") as labels, (folder / "rows.jsonl").open("w") as rows:
            for i in range(n):
                head, expected = {"filename": f"contract {i:07d}.txt"}, self.expected()
                told = {"expected_fields": expected, "presence": self.presence(expected)}
                labels.write(json.dumps({**head, **told}) + "\n")
                row = {**head, "run": "night", "status": "completed", "predicted": self.predicted(expected)}
                if self.rng.random() < 0.01:
                    row |= {"status": "failed", "predicted": None, "error": "timeout"}
                rows.write(json.dumps(row) + "\n")


_LAW = (
    "This Agreement shall be governed by and construed in accordance with the laws of the State of {}, "
    "without regard to its rules on conflicts of laws."
)
_TERM = "The initial term of this Agreement shall be {} years from the Effective Date, unless ended earlier."
_RENEWAL = (
    "Thereafter the term shall be extended for successive periods of one year each, unless either party "
    "gives notice {} days before its end."
)
_CLAUSES = (
    "Non-Compete|Exclusivity|Change Of Control|Anti-Assignment|License Grant|Insurance|Audit Rights|"
    "Cap On Liability|Covenant Not To Sue|Minimum Commitment|Governing Law|Renewal Term"
).split("|")


class WholeContracts(Contracts):
    """Invented contracts of the usual kind.

    How often a field is there, how long it is and how many items a list has are as in a real run: 2.7
    parties, 7.4 clauses on the side of the labels, 3.2 on the model's."""

    def __init__(self, seed=0):
        super().__init__(seed)
        self.clauses, self.words = clauses(4_000), vocabulary(2_000, 9)

    def _text(self, n):
        return " ".join(self.rng.choices(self.words, k=n)).capitalize() + "."

    def _date(self):
        return f"{self.rng.choice(_MONTHS)} {self.rng.randint(1, 28)}, {self.rng.randint(1995, 2024)}"

    def _list(self, most):
        return self.rng.sample(self.clauses, self.rng.randint(1, most))

    def expected(self):
        "Eight fields, each in as many contracts as in the labels of a real run."
        rng = self.rng
        found = {
            "document_name": f"{self._text(2)[:-1]} Agreement",
            "parties": rng.sample(self.names, 1),
        }
        for field, share, made in (
            ("effective_date", 0.97, self._date),
            ("term_length", 0.81, lambda: f"{self._text(18)} {_TERM.format(rng.randint(1, 10))}"),
            ("governing_law", 0.86, lambda: _LAW.format(rng.choice(_STATES))),
            ("key_obligations", 0.9, lambda: self._list(14)),
            (
                "renewal_terms",
                0.35,
                lambda: f"{self._text(25)} {_RENEWAL.format(rng.choice((30, 60, 90)))}",
            ),
            ("termination_clauses", 0.36, lambda: [rng.choice(self.clauses)]),
        ):
            if rng.random() < share:
                found[field] = made()
        return found

    def predicted(self, expected):
        "A name, more parties than labelled, clauses word for word, altered or invented, and reasoning."
        rng, found = self.rng, super().predicted(expected)
        found["document_name"] = expected["document_name"] if rng.random() < 0.9 else self._text(3)[:-1]
        found["parties"] = [*found.get("parties", ()), *rng.sample(self.names, rng.randint(1, 3))]
        wanted = expected.get("key_obligations", ())
        chosen = rng.sample(wanted, rng.randint(0, min(5, len(wanted))))
        found["key_obligations"] = altered(chosen, rng.random()) + rng.sample(self.clauses, rng.randint(0, 2))
        found["termination_clauses"] = [
            *altered(expected.get("termination_clauses", ()), rng.random()),
            *rng.sample(self.clauses, rng.randint(0, 1)),
        ]
        for field in ("effective_date", "term_length", "governing_law", "renewal_terms"):
            found.setdefault(field, None)
        value = f"${rng.randint(1, 900)},{rng.randint(0, 999):03d}"
        found["contract_value"] = value if rng.random() < 0.5 else None
        return {"reasoning": self._text(200), **found, "confidence": round(rng.random(), 2)}

    def presence(self, expected):
        "Eleven clauses that must be covered, each with its text."
        rng = self.rng
        chosen = rng.sample(_CLAUSES, 11)
        return {name: rng.choice(expected.get("key_obligations") or self.clauses) for name in chosen}


_CHILD = """
import json, resource, sys
from llm_dojo_scoring.score_command import app
sys.argv = ["dojo-score", *sys.argv[1:]]
try: app()
except SystemExit as end: code = end.code
u = resource.getrusage(resource.RUSAGE_SELF)
peak = [int(l.split()[1]) / 1024 for l in open("/proc/self/status") if l.startswith("VmHWM")]
print(json.dumps([u.ru_utime + u.ru_stime, (peak or [u.ru_maxrss / 1024])[0], code or 0]))
"""


def scored(folder: Path, jobs: int = 1) -> tuple[float, float, float]:
    "CPU seconds and peak MiB of the command, its workers left out, and its wall seconds, they included."
    line = [
        sys.executable,
        "-c",
        _CHILD,
        str(folder / "rows.jsonl"),
        "--labels",
        str(folder / "labels.jsonl"),
        "--jobs",
        str(jobs),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    start = time.perf_counter()
    done = subprocess.run([*line, "--out", str(folder / "out")], capture_output=True, text=True, env=env)
    if done.returncode:
        raise SystemExit(done.stderr)
    wall = time.perf_counter() - start
    seconds, peak, code = json.loads(done.stdout.splitlines()[-1])
    total = json.loads((folder / "out" / "summary.json").read_text())["counts"]["total"]
    if code or total != sum(1 for _ in (folder / "rows.jsonl").open("rb")):
        raise SystemExit(f"{total} rows came out, exit code {code}")
    return seconds, peak, wall


def slope(points: list[tuple[float, float]]) -> float:
    "The exponent through points of size and time."
    x, y = zip(*((math.log(a), math.log(b)) for a, b in points), strict=True)
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)


def measured(sizes, contracts):
    "One line of facts a size."
    for n in sorted(sizes):
        with tempfile.TemporaryDirectory(prefix="dojo-night-") as folder:
            contracts().write(Path(folder), n)
            seconds, peak, _ = scored(Path(folder))
        yield {"rows": n, "cpu_seconds": round(seconds, 1), "peak_mib": round(peak, 1)}


def divided(n, contracts):
    "CPU seconds of one process that does all, and of the first process when two others do the scoring."
    with tempfile.TemporaryDirectory(prefix="dojo-night-") as folder:
        contracts().write(Path(folder), n)
        alone, first = (scored(Path(folder), jobs)[0] for jobs in (1, 2))
    return {"rows": n, "alone": round(alone, 1), "first": round(first, 1)}


def walled(n, contracts, repeats=5):
    "Best wall seconds of one process and of two, in turn, so that whatever else runs meets both."
    with tempfile.TemporaryDirectory(prefix="dojo-night-") as folder:
        contracts().write(Path(folder), n)
        times = [[scored(Path(folder), jobs)[2] for jobs in (1, 2)] for _ in range(repeats)]
    one, two = (round(min(column), 1) for column in zip(*times, strict=True))
    return {"rows": n, "repeats": repeats, "one": one, "two": two}


def stored(path, kind, **facts):
    "The file's last results, with new facts about one kind of rows."
    last = json.loads(path.read_text()) if path.exists() else {}
    last[kind] = last.get(kind, {}) | facts
    return json.dumps(last, indent=1) + "\n"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", action="append", type=int, metavar="N", help="a size; may be given again")
    parser.add_argument("--thin", action="store_true", help="four short fields a row")
    parser.add_argument(
        "--wall", type=int, metavar="N", help="also wall times of N rows, one process and two"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there too")
    args = parser.parse_args(argv)
    found, contracts = [], Contracts if args.thin else WholeContracts
    for line in measured(args.rows or SIZES, contracts):
        found.append(line)
        print("{rows:>9,} rows {cpu_seconds:>9,} CPU s {peak_mib:>7} MiB peak".format(**line), flush=True)
    growth = slope([(f["rows"], f["cpu_seconds"]) for f in found]) if len(found) > 1 else None
    peak = max(f["peak_mib"] for f in found)
    print(f"time grows with rows to the power of {growth:.3f}" if growth else "one size: no exponent")
    two = divided(found[0]["rows"], contracts)
    print(
        "{rows:,} rows: {alone} CPU s in one process; {first} in the first when two others score".format(
            **two
        )
    )
    facts = {"python": platform.python_version(), "cores": os.cpu_count()}
    facts |= {"sizes": found, "growth": growth, "divided": two}
    if args.wall:
        facts["wall"] = wall = walled(args.wall, contracts)
        print(
            "{rows:,} rows, best of {repeats} in turn: {one} s by one process, {two} s by two".format(**wall)
        )
    if args.json:
        args.json.write_text(stored(args.json, "thin" if args.thin else "whole", **facts))
    return int(bool(growth and growth > MOST_GROWTH) or peak > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())
