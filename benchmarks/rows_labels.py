"""Row l: a million labels, read, counted and scored with intervals."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
from frame import Row, Side

from llm_dojo_scoring import tasks
from llm_dojo_scoring.task_answers import normalize_task_answer
from llm_dojo_scoring.vocab import CONTRACT_SUBTYPE_KEYS, CONTRACT_SUBTYPE_LABELS

ROWS, SLICE = 1_000_000, 10_000


def columns(n):
    "True families, and answers right in nine of ten rows, in keys and in words, some calls failed."
    rng = np.random.default_rng(0)
    keys = np.array(CONTRACT_SUBTYPE_KEYS, dtype=object)
    words = np.array([CONTRACT_SUBTYPE_LABELS[k] for k in keys], dtype=object)
    true, other = rng.integers(0, len(keys), n), rng.integers(0, len(keys), n)
    said = np.where(rng.random(n) < 0.9, true, other)
    answers = np.where(rng.random(n) < 0.5, keys[said], words[said])
    answers[rng.random(n) < 0.01] = "ERROR: timeout"
    return keys[true].tolist(), answers.tolist()


def naive(expected, predicted):
    "A reading per row, a dictionary per table."
    cells, hits = Counter(), 0
    for e, p in zip(expected, predicted, strict=True):
        if p.startswith("ERROR:"):
            continue
        one, two = normalize_task_answer("subtype", e), normalize_task_answer("subtype", p)
        cells[one, two] += 1
        hits += one == two
    return hits / len(expected)


def floor(expected, predicted):
    "Every text looked up once, and one count over all pairs."
    place = {text: i for i, text in enumerate({*expected, *predicted})}
    look = place.__getitem__
    one, two = (np.fromiter(map(look, c), np.int64, len(c)) for c in (expected, predicted))
    return np.bincount(one * len(place) + two, minlength=len(place) ** 2)


def a_million():
    expected, predicted = columns(ROWS)
    part = expected[:SLICE], predicted[:SLICE]
    yield Row(
        key="l1 labels",
        what=f"score_task subtype with intervals, {ROWS:,} rows",
        ours=Side(partial(tasks.score_task, "subtype", expected, predicted), reps=3),
        baseline=Side(partial(naive, *part), scale=ROWS / SLICE, reps=3),
        floor=Side(partial(floor, expected, predicted), reps=3),
        floor_what="look-up and bincount",
        least_ratio=20,
        growth=lambda n: partial(tasks.score_task, "subtype", expected[:n], predicted[:n]),
        sizes=(100_000, 300_000, 1_000_000),
        most_growth=1.1,
        check=lambda: tasks.score_task("subtype", *part)["exact_match"] == round(naive(*part), 4),
    )


def rows(context):
    yield "l1", a_million
