"""Rows d: committees by counting against drawing, and all pairs of prompts of a study together (c9)."""

from __future__ import annotations

import random
from functools import partial

import baseline
import numpy as np
from frame import Row, Side
from rows_statistics import PAIR_SIZES

from llm_dojo_scoring import resampling
from llm_dojo_scoring.mc import committee, resamples

FEW = (1, 2, 3, 5, 7, 10, 15, 25)


def study(n_docs=509, n_votes=32):
    "Documents as in a real study: most are certain, some are torn between two to six labels."
    rng, docs = random.Random(0), {}
    for i in range(n_docs):
        labels = "abcdef"[: 1 if rng.random() < 0.55 else rng.randint(2, 6)]
        weights = [rng.random() ** 3 + 0.01 for _ in labels]
        weights[0] += 1.5
        counts = {}
        for label in rng.choices(labels, weights, k=n_votes):
            counts[label] = counts.get(label, 0) + 1
        docs[f"d{i}"] = {"expected": "a", "observations": counts}
    return docs


def agree(docs, ks, n_sim):
    "Does drawing come out where counting says?"
    exact = committee.exact_chances(docs, ks).mean(axis=0)
    drawn = np.array(baseline.committees(docs, ks, n_sim))
    return bool((np.abs(exact - drawn) < 4 * 0.5 / (len(docs) * n_sim) ** 0.5).all())


def committees():
    docs = study()
    for key, ks, target, slice_of in (
        ("d 8 sizes", FEW, 250, 20),
        ("d 25 sizes", tuple(range(1, 26)), 800, 40),
    ):
        yield Row(
            key=key,
            what=f"accuracy of committees, 509 documents, {len(ks)} values of K; drawn 400 times each",
            ours=Side(partial(committee.exact_chances, docs, ks)),
            baseline=Side(partial(baseline.committees, docs, ks, 400 // slice_of), scale=slice_of, reps=1),
            least_ratio=target,
            memory=partial(committee.exact_chances, docs, ks),
            most_mb=16,
            growth=lambda n: partial(committee.exact_chances, study(n), FEW),
            sizes=(500, 2000, 8000),
            most_growth=1.1,
            check=partial(agree, docs, FEW, 20),
        )


def same_pair(deltas):
    ours = resamples.paired_delta_bootstrap(deltas, 2000)
    return abs(ours["p_win_strict"] - baseline.paired_delta(deltas, 2000)["p_win_strict"]) < 1e-12


def pairs():
    rng = np.random.default_rng(5)
    many = [rng.integers(-1, 2, n) * (rng.random(n) < 0.2) for n in PAIR_SIZES]
    some = [many[i].tolist() for i in range(0, 156, 52)]
    share = sum(map(len, some)) / sum(PAIR_SIZES)
    for n_boot, target, slice_of in ((2000, 150, 4), (10_000, 250, 20)):
        slow = [partial(baseline.paired_delta, d, n_boot // slice_of) for d in some]
        yield Row(
            key=f"d pairs {n_boot:,}",
            what=f"paired bootstrap of 156 pairs of prompts together, B = {n_boot:,}",
            ours=Side(
                partial(resamples.paired_delta_bootstraps, many, n_boot, samples=False),
                before=resampling._counts_cache.clear,
            ),
            baseline=Side(lambda slow=slow: [call() for call in slow], scale=slice_of / share, reps=1),
            least_ratio=target,
            reps=3,
            check=partial(same_pair, some[0]),
        )


def rows(context):
    yield "d", committees
    yield "d pairs", pairs
