"""Rows c: intervals and comparisons."""

from __future__ import annotations

from functools import partial

import baseline
import numpy as np
from frame import Row, Side

from llm_dojo_scoring import bootstrap, resampling

GRADED = np.random.default_rng(0).beta(6, 2, 17_691).round(4).tolist()
FLAGS = (np.random.default_rng(1).random(17_691) < 0.92).astype(float).tolist()
# documents shared by the pairs of prompts in a study of thirteen prompts
PAIR_SIZES = [(128, 214, 243, 467, 509, 94, 508, 195, 50, 242, 300, 128, 509)[i % 13] for i in range(156)]


def words(n, n_boot):
    "The random words that the replayed stream cannot do without."
    waste = (1 << n.bit_length()) / n
    bits, left = np.random.MT19937(42), int(n * n_boot * waste)

    def draw():
        for _ in range(0, left, 1 << 16):
            bits.random_raw(1 << 16)

    return draw


def means(n, n_boot, slice_of, reps, key, targets):
    "bootstrap_ci of n graded scores by both streams, against the loop."
    values, part = GRADED[:n], n_boot // slice_of
    loop = Side(partial(baseline.bootstrap_ci, values, part), scale=n_boot / part, reps=reps)
    for method, target in targets.items():
        yield Row(
            key=f"{key} {method}",
            what=f"bootstrap_ci, n = {n:,}, B = {n_boot:,}",
            ours=Side(partial(bootstrap.bootstrap_ci, values, n_boot=n_boot, method=method)),
            baseline=loop,
            floor=Side(words(n, part), scale=n_boot / part) if method == "replay" else None,
            floor_what="random words" if method == "replay" else "",
            least_ratio=target,
            growth=lambda size, m=method: partial(
                bootstrap.bootstrap_ci, GRADED[:size], n_boot=500, method=m
            ),
            sizes=(1000, 4000, 16_000) if n > 1000 else (),
            most_growth=1.1 if n > 1000 else None,
            memory=partial(bootstrap.bootstrap_ci, values, n_boot=min(n_boot, 200), method=method),
            most_mb=16,
            reps=15 if n < 1000 else 3,
            check=partial(same_mean, values, part) if method == "replay" else None,
        )


def peers():
    "The same percentile interval by scipy, with its own defaults."
    from scipy import stats

    values = np.array(GRADED[:509])
    for n_boot, target in ((2000, 1.8), (10_000, 8)):
        yield Row(
            key=f"cs {n_boot:,}",
            what=f"bootstrap_ci against scipy.stats.bootstrap, n = 509, B = {n_boot:,}",
            ours=Side(partial(bootstrap.bootstrap_ci, values.tolist(), n_boot=n_boot, method="fast")),
            baseline=Side(
                partial(stats.bootstrap, (values,), np.mean, n_resamples=n_boot, method="percentile", rng=0)
            ),
            least_ratio=target,
        )


def same_mean(values, n_boot):
    ours = bootstrap.bootstrap_ci(values, n_boot=n_boot)
    theirs = baseline.bootstrap_ci(values, n_boot=n_boot)
    return all(abs(ours[k] - theirs[k]) < 1e-9 for k in theirs)


def proportions():
    for n, scale in ((509, 1), (17_691, 100)):
        yield Row(
            key=f"c5 exact {n:,}",
            what=f"bootstrap_ci of 0/1 scores without draws, n = {n:,}",
            ours=Side(partial(bootstrap.bootstrap_ci, np.array(FLAGS[:n]), method="exact")),
            baseline=Side(partial(baseline.bootstrap_ci, FLAGS[:n], 2000 // scale), scale=scale, reps=3),
            least_ratio=1000,
        )


def many_metrics():
    columns = {f"metric {i}": np.random.default_rng(i).random(509).round(4) for i in range(64)}
    resampling.resampled_sums(np.ones((509, 1)), 2000)  # the counts are made once per size
    yield Row(
        key="c6",
        what="64 metrics on the same 509 documents, B = 2,000",
        ours=Side(partial(bootstrap.bootstrap_cis, columns)),
        baseline=Side(partial(baseline.bootstrap_ci, columns["metric 0"].tolist()), scale=64, reps=3),
        least_ratio=1000,
        floor=Side(partial(np.matmul, np.ones((2000, 509)), np.stack(list(columns.values()), axis=1))),
        floor_what="matrix product",
        memory=partial(bootstrap.bootstrap_cis, columns),
        most_mb=16,
    )


def same_delta(a, b):
    ours, theirs = bootstrap.delta_significance(a, b), baseline.delta_significance(a, b)
    return all(abs(ours[k] - theirs[k]) < 1e-9 for k in theirs)


def differences():
    a, b = GRADED[:509], GRADED[600:1109]
    cases = (
        ("c7 replay", a, b, "replay", 35),
        ("c8 replay", a, b[:300], "replay", 9),
        ("c8 fast", a, b[:300], "fast", 50),
    )
    for key, a, b, method, target in cases:
        yield Row(
            key=key,
            what=f"delta_significance, {len(a)} against {len(b)}, B = 2,000",
            ours=Side(partial(bootstrap.delta_significance, a, b, method=method)),
            baseline=Side(partial(baseline.delta_significance, a, b), reps=3),
            floor=Side(words(509, 4000 if len(b) == 509 else 3200)) if method == "replay" else None,
            floor_what="random words" if method == "replay" else "",
            least_ratio=target,
            memory=partial(bootstrap.delta_significance, a, b, method=method),
            most_mb=16,
            check=partial(same_delta, a, b) if method == "replay" else None,
        )


def pairs():
    rng = np.random.default_rng(5)
    sides = [(rng.integers(0, 2, n), rng.integers(0, 2, n)) for n in sorted(PAIR_SIZES)]
    some = sides[::26]
    slow = [(b - a).tolist() for a, b in some]
    share = sum(map(len, slow)) / sum(PAIR_SIZES)

    def ours(method):
        return [bootstrap.paired_difference(a, b, method=method).p_win for a, b in sides]

    for method, target in (("replay", 150), ("exact", 150)):
        yield Row(
            key=f"c9 {method}",
            what="paired_difference of 156 pairs of prompts, B = 2,000",
            ours=Side(partial(ours, method), before=resampling._counts_cache.clear),
            baseline=Side(lambda: [baseline.paired_delta(d) for d in slow], scale=1 / share, reps=1),
            least_ratio=target,
            reps=5,
        )


def rows(context):
    yield "c1", lambda: means(509, 2000, 1, 15, "c1", {"replay": 40, "fast": 100})
    yield "c2", lambda: means(509, 10_000, 5, 15, "c2", {"replay": 40, "fast": 100})
    yield "c3", lambda: means(17_691, 2000, 50, 3, "c3", {"replay": 30, "fast": 100})
    yield "c4", lambda: means(17_691, 10_000, 250, 3, "c4", {"replay": 30, "fast": 100})
    yield "cs", peers
    yield "c5", proportions
    yield "c6", many_metrics
    yield "c7", differences
    yield "c9", pairs
