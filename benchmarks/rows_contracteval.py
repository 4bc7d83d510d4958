"""Row e: the clause benchmark's 4,182 pairs, scored and resampled by contract. The pairs are invented."""

from __future__ import annotations

from functools import partial

import numpy as np
from baseline import contracteval_metrics as naive
from frame import Row, Side

from llm_dojo_scoring import contracteval_rubric
from llm_dojo_scoring.contracteval_readings import read_clause_run
from llm_dojo_scoring.cuad import CUAD_CATEGORIES

CONTRACTS, POSITIVE = 102, 1244
WORDS = (
    "the party shall not assign this agreement term notice license fee audit insurance breach royalty".split()
)


def pairs(n=4182):
    "Labels, answers, categories and contracts of n pairs, in the proportions of the test split."
    rng = np.random.default_rng(0)
    words = np.array([f"{w}{i}" for w in WORDS for i in range(60)])
    spans, answers = [], []
    for present, kind in zip(rng.random(n) < POSITIVE / 4182, rng.random(n), strict=True):
        label = " ".join(rng.choice(words, rng.integers(20, 120)))
        other = " ".join(rng.choice(words, rng.integers(20, 120)))
        spans.append([label] if present else [])
        answers.append(f"{other}, {label}." if kind < 0.4 else other if kind < 0.6 else "No related clause.")
    each = len(CUAD_CATEGORIES)
    return spans, answers, [CUAD_CATEGORIES[i % each] for i in range(n)], [i // each for i in range(n)]


def unprepared():
    contracteval_rubric._label_tokens.cache_clear()


def naive_intervals(outcomes, contracts, n_boot):
    "Draw contracts, add up their counts, take F1, one resample at a time."
    import random

    by_contract: dict = {}
    for outcome, contract in zip(outcomes, contracts, strict=True):
        by_contract.setdefault(contract, []).append(outcome)
    groups, rng, values = list(by_contract.values()), random.Random(42), []
    for _ in range(n_boot):
        drawn = [o for _ in groups for o in groups[rng.randrange(len(groups))]]
        tp, fp, fn = (drawn.count(k) for k in ("tp", "fp", "fn"))
        values.append(2 * tp / (2 * tp + fp + fn))
    values.sort()
    return values[round(0.025 * n_boot) - 1], values[round(0.975 * n_boot) - 1]


def scored():
    spans, answers, categories, contracts = pairs()
    ours = partial(contracteval_rubric.contracteval_metrics, spans, answers, categories=categories)
    slow = partial(naive, spans, answers, categories)
    both = {
        "baseline": Side(slow, reps=5),
        "floor": Side(lambda: [all(s in a for s in x) for x, a in zip(spans, answers, strict=True)]),
        "floor_what": "containment alone",
        "check": lambda: ours()["f1"] == slow()["f1"] and ours()["jaccard_mean"] == slow()["jaccard_mean"],
    }
    what = "contracteval_metrics with categories, 4,182 invented pairs"
    yield Row("e1 rubric", what, Side(ours, reps=5, before=unprepared), least_ratio=1.5, **both)
    yield Row("e2 prepared", what + ", labels seen before", Side(ours, reps=5), least_ratio=2.5, **both)
    run = read_clause_run(spans, answers, categories=categories, contracts=contracts)
    outcomes = [p.outcome for p in contracteval_rubric.contracteval_pairs(spans, answers, empty="fp")]
    yield Row(
        key="e3 contracts",
        what="8 rates, 2,000 resamples of 102 contracts",
        ours=Side(lambda: run.intervals(method="bootstrap"), reps=5),
        baseline=Side(partial(naive_intervals, outcomes, contracts, 50), scale=8 * 2000 / 50, reps=3),
        least_ratio=100,
    )


def rows(context):
    yield "e", scored
