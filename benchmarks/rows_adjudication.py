"""Rows m: an adjudicated run, streamed from its folder."""

from __future__ import annotations

import json
import random
import tempfile
from functools import partial
from pathlib import Path

from frame import Row, Side

from llm_dojo_scoring.adjudication import score_adjudicated
from llm_dojo_scoring.run_files import read_records

ATTEMPTS, ANNOTATIONS = 10_000, 10  # of the row; each attempt has as many annotations
GOLD = ("a", "b", "c")


def attempt(rng, number):
    "One of ten repetitions of a task: most claims are supported, some recover a gold item."
    notes = [
        {
            "proposition_id": f"p{i}",
            "equivalence_class": f"c{rng.randrange(8)}x{i}",
            "assessment": "supported" if rng.random() < 0.8 else "unsupported",
            "critical_error": False,
            "recovers": [],
            "inverts_rule": None,
        }
        for i in range(ANNOTATIONS)
    ]
    for item, note in zip(GOLD, notes, strict=False):
        if note["assessment"] == "supported":
            note["recovers"] = [item]
    return {
        "task_id": f"t{number // 10}",
        "repetition": number % 10 + 1,
        "status": "completed",
        "reported_pass": True,
        "output_empty": False,
        "annotations": notes,
        "charges": [{"amount": "0.01", "currency": "USD", "state": "settled"}],
    }


def write_run(folder, n_attempts):
    "A folder of an adjudicated run."
    rng = random.Random(4)
    gold = [{"item_id": item, "required": item != "c"} for item in GOLD]
    policy = {"version": "1", "min_precision": 0.6, "min_recall": 0.5}
    (folder / "policy.json").write_text(json.dumps(policy))
    with (folder / "tasks.jsonl").open("w") as file:
        for t in range(n_attempts // 10):
            task = {
                "task_id": f"t{t}",
                "answerable": True,
                "repetitions": 10,
                "gold": gold,
                "critical_rules": [],
            }
            file.write(json.dumps(task) + "\n")
    with (folder / "attempts.jsonl").open("w") as file:
        for number in range(n_attempts):
            file.write(json.dumps(attempt(rng, number)) + "\n")


def adjudicated():
    "Scoring from disk; the floor reads the same lines and no more."
    with tempfile.TemporaryDirectory(prefix="dojo-adjudicated-") as root:

        def folder(n):
            path = Path(root) / str(n)
            if not path.is_dir():
                path.mkdir()
                write_run(path, n)
            return path

        run = folder(ATTEMPTS)
        yield Row(
            key="m",
            what=f"score_adjudicated, {ATTEMPTS:,} attempts with {ATTEMPTS * ANNOTATIONS:,} annotations",
            ours=Side(partial(score_adjudicated, run)),
            floor=Side(lambda: sum(1 for _ in read_records(run / "attempts.jsonl"))),
            floor_what="reading the lines",
            growth=lambda n: partial(score_adjudicated, folder(n)),
            sizes=(2500, 5000, 10_000),
            most_growth=1.1,
            memory=partial(score_adjudicated, run),
            most_mb=100,
            reps=3,
        )


def rows(context):
    yield "m", adjudicated
