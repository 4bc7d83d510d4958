"""Intervals and comparisons: against theory, other libraries, brute force, and their promise of coverage."""

import math
import random
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from llm_dojo_scoring.bootstrap import (
    bootstrap_ci,
    bootstrap_cis,
    delta_significance,
    paired_difference,
    record_ci,
    wilson_ci,
)
from llm_dojo_scoring.intervals import (
    Interval,
    bca_bounds,
    binomial_bounds,
    bootstrap_ratio,
    interval_for,
    t_bounds,
    wilson_bounds,
)
from llm_dojo_scoring.permutation import permutation_p, swap_p
from llm_dojo_scoring.resampling import (
    index_blocks,
    percentile_bounds,
    resampled_differences,
    resampled_means,
    resampled_sums,
)

SCORES = np.random.default_rng(0).random(700).round(4).tolist()


def loop_means(values, n_boot, seed):
    "What the stored records were made with: one index at a time, added from left to right."
    rng, means = random.Random(seed), []
    for _ in range(n_boot):
        total = 0.0
        for _ in values:
            total += values[rng.randrange(len(values))]
        means.append(total / len(values))
    return means


def loop_differences(first, second, n_boot, seed):
    rng, out = random.Random(seed), []
    for _ in range(n_boot):
        means = []
        for side in (first, second):
            total = 0.0
            for _ in side:
                total += side[rng.randrange(len(side))]
            means.append(total / len(side))
        out.append(means[0] - means[1])
    return out


# ---- the draws


@pytest.mark.parametrize("n", [*range(2, 70), 127, 128, 129, 255, 256, 257, 300, 509, 511, 512, 513, 600])
def test_replay_is_the_loop_bit_by_bit(n):
    n_boot = 40
    assert resampled_means(SCORES[:n], n_boot, seed=42).tolist() == loop_means(SCORES[:n], n_boot, 42)


@pytest.mark.parametrize("seed", [0, 1, 7, -5, 2**40, 10**30, "a name", 1.5])
def test_replay_takes_any_seed_that_python_takes(seed):
    assert resampled_means(SCORES[:33], 20, seed=seed).tolist() == loop_means(SCORES[:33], 20, seed)


def test_numpy_integers_are_seeds_too():
    assert (
        resampled_means(SCORES[:9], 20, seed=np.int64(5)) == resampled_means(SCORES[:9], 20, seed=5)
    ).all()


@pytest.mark.parametrize(
    "sizes", [(2, 2), (3, 2), (5, 64), (64, 5), (1, 300), (255, 256), (509, 509), (509, 300)]
)
def test_two_sample_replay_is_the_loop_bit_by_bit(sizes):
    first, second = SCORES[: sizes[0]], SCORES[-sizes[1] :]
    got = resampled_differences(first, second, 50, seed=3).tolist()
    assert got == loop_differences(first, second, 50, 3)


def test_two_sample_replay_across_many_blocks():
    first, second = SCORES[:40], SCORES[:700]
    assert resampled_differences(first, second, 400).tolist() == loop_differences(first, second, 400, 42)


@pytest.mark.parametrize("stream", ["replay", "fast"])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 128, 20_000, 70_000])
def test_draws_are_in_range_and_even(stream, n):
    draws = np.concatenate([b.ravel() for b in index_blocks(n, max(2, 200_000 // n), stream=stream)])
    assert draws.min() >= 0 and draws.max() < n
    if n <= 128:
        assert stats.chisquare(np.bincount(draws, minlength=n)).pvalue > 1e-4 or n == 1


def test_shape_of_the_blocks():
    blocks = list(index_blocks(1000, 77))
    assert sum(len(b) for b in blocks) == 77 and all(b.shape[1] == 1000 for b in blocks)


def test_shared_resamples_are_the_same_resamples_cached_or_not():
    columns = np.random.default_rng(1).integers(0, 9, (90, 5))
    for n_boot in (10, 300, 2000):
        for stream in ("replay", "fast"):
            sums = resampled_sums(columns, n_boot, stream=stream)
            again = resampled_sums(columns, n_boot, stream=stream)
            assert (sums == again).all()
            for m in range(5):
                # sums of whole numbers are exact in any order
                assert (sums[:, m] / 90 == resampled_means(columns[:, m], n_boot, stream=stream)).all()


def test_seeds_that_are_equal_as_numbers_do_not_share_a_cache_entry_by_accident():
    column = np.arange(20)[:, None]
    for seed in (1, "1", 2, 1.0):
        assert (
            resampled_sums(column, 30, seed=seed)[:, 0] / 20 == resampled_means(range(20), 30, seed=seed)
        ).all()


@pytest.mark.parametrize("stream", ["replay", "fast"])
def test_memory_is_bounded(stream):
    values = np.random.default_rng(2).random(17_691)
    tracemalloc.start()
    resampled_means(values, 60, stream=stream)
    resampled_differences(values, values[:-5], 30, stream=stream)
    resampled_sums(np.stack([values, values], axis=1), 600, stream=stream)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6, peak


# ---- theory


def test_percentile_interval_tends_to_the_normal_one():
    values = np.random.default_rng(3).random(600)
    lo, hi = percentile_bounds(resampled_means(values, 4000))
    reach = 1.96 * values.std() / 600**0.5
    assert lo == pytest.approx(values.mean() - reach, abs=0.06 * reach)
    assert hi == pytest.approx(values.mean() + reach, abs=0.06 * reach)


@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.4])
def test_t_is_the_textbook_interval(n, alpha):
    values = np.array(SCORES[:n])
    theirs = stats.t.interval(1 - alpha, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert t_bounds(values, np.ones(n), alpha) == pytest.approx(theirs, abs=1e-9)
    ours = interval_for(values, alpha=alpha, bounds=None)
    assert (ours.lo, ours.hi) == pytest.approx(theirs, abs=1e-9)


def test_cluster_t_is_the_sandwich_of_a_regression_on_a_constant():
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    values = rng.random(len(clusters))
    residuals = values - values.mean()
    meat = sum(residuals[clusters == c].sum() ** 2 for c in range(12))
    error = math.sqrt(12 / 11 * meat) / len(values)
    reach = stats.t.ppf(0.975, 11) * error
    got = interval_for(values, clusters=clusters)
    assert (got.lo, got.hi) == pytest.approx((values.mean() - reach, values.mean() + reach), abs=1e-12)
    assert (got.method, got.n, got.n_clusters) == ("cluster-t", len(values), 12)


@pytest.mark.parametrize("n", [1, 3, 10, 99, 1000, 25_827])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.95, 1.0])
def test_wilson_and_binomial_quantiles_against_scipy(n, share):
    k = round(share * n)
    theirs = stats.binomtest(k, n).proportion_ci(method="wilson")
    z = stats.norm.ppf(0.975)
    assert wilson_bounds(k / n, n, z) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    quantiles = stats.binom.ppf([0.025, 0.975], n, k / n) / n
    assert binomial_bounds(k / n, n) == pytest.approx(quantiles, abs=1e-12)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_against_scipy_bootstrap(method):
    values = np.random.default_rng(5).beta(7, 1, 120).round(3)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method=method, rng=np.random.default_rng(6)
    ).confidence_interval
    ours = bootstrap_ci(values, n_boot=20_000, method="bca" if method == "BCa" else "replay")
    assert (ours["lo"], ours["hi"]) == pytest.approx((theirs.low, theirs.high), abs=2e-3)


def test_bca_without_skew_or_shift_is_the_percentile_interval():
    means = np.arange(2001.0)
    symmetric = np.array([-1.0, 0.0, 1.0])
    assert bca_bounds(means, 1000.0, symmetric) == pytest.approx(percentile_bounds(means), abs=1)


def test_ratio_bootstrap_against_scipy():
    rng = np.random.default_rng(7)
    predicted = rng.integers(0, 12, 150)
    matched = rng.binomial(predicted, 0.7)
    theirs = stats.bootstrap(
        (matched, predicted),
        lambda m, p, axis: m.sum(axis) / p.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        method="percentile",
        rng=np.random.default_rng(8),
    ).confidence_interval
    ours = bootstrap_ratio(matched, predicted, n_boot=10_000)
    assert (ours.lo, ours.hi) == pytest.approx((theirs.low, theirs.high), abs=5e-3)
    assert ours.value == matched.sum() / predicted.sum()


def test_pooled_rows_equal_the_ratio_of_their_documents():
    rng = np.random.default_rng(9)
    clusters = rng.integers(0, 70, 400).tolist()
    values = rng.random(400)
    names = list(dict.fromkeys(clusters))
    tops = [sum(v for v, c in zip(values, clusters, strict=True) if c == name) for name in names]
    by_rows = interval_for(values, clusters=clusters)
    by_documents = bootstrap_ratio(tops, [clusters.count(name) for name in names])
    assert (by_rows.lo, by_rows.hi) == pytest.approx((by_documents.lo, by_documents.hi), abs=1e-12)


# ---- coverage, judged by a binomial test


def covers(truth, draw, make, runs=400):
    hits = 0
    for _ in range(runs):
        got = make(draw())
        hits += got.lo - 1e-12 <= truth <= got.hi + 1e-12
    return hits / runs, stats.binomtest(hits, runs, 0.95).pvalue


@pytest.mark.parametrize("p, n", [(0.9, 10), (0.95, 30), (0.5, 20), (0.8, 200)])
def test_coverage_of_proportions(p, n):
    rng = np.random.default_rng(10)
    rate, pvalue = covers(p, lambda: rng.binomial(1, p, n), lambda v: interval_for(v, method="auto"))
    assert pvalue > 1e-4 or rate > 0.95, rate


@pytest.mark.parametrize("n", [8, 25, 60])
def test_coverage_of_graded_means(n):
    rng = np.random.default_rng(11)
    rate, pvalue = covers(0.5, lambda: rng.beta(2, 2, n), interval_for)
    assert pvalue > 1e-4, rate


@pytest.mark.parametrize("documents", [8, 30, 60])
def test_coverage_over_clusters_and_none_over_rows(documents):
    rng = np.random.default_rng(12)
    clusters = np.repeat(np.arange(documents), 8)

    def draw():
        return np.clip(
            np.repeat(rng.normal(0.5, 0.1, documents), 8) + rng.normal(0, 0.05, 8 * documents), 0, 1
        )

    rate, pvalue = covers(0.5, draw, lambda v: interval_for(v, clusters=clusters))
    assert pvalue > 1e-4, rate
    naive, pvalue = covers(0.5, draw, lambda v: interval_for(v, method="t"))
    assert naive < 0.8, naive


def test_coverage_of_pooled_ratios():
    rng = np.random.default_rng(13)

    def draw():
        sizes = rng.integers(1, 15, 30)
        return rng.binomial(sizes, rng.beta(14, 6, 30)), sizes

    rate, pvalue = covers(0.7, draw, lambda counts: bootstrap_ratio(*counts))
    assert pvalue > 1e-4, rate


def test_the_percentile_interval_of_few_flags_does_not_cover_and_wilson_does():
    rng = np.random.default_rng(14)
    rate, _ = covers(
        0.95, lambda: rng.binomial(1, 0.95, 10), lambda v: interval_for(v, method="bootstrap", n_boot=200)
    )
    assert rate < 0.5
    rate, _ = covers(0.95, lambda: rng.binomial(1, 0.95, 10), interval_for)
    assert rate > 0.88


def test_a_difference_that_is_not_there_is_rarely_significant():
    rng = np.random.default_rng(15)
    for n in (3, 6, 12, 40):
        tries = [
            (
                delta_significance(a, b, n_boot=300)["significant"],
                paired_difference(a, b, n_boot=300).significant,
            )
            for a, b in ((rng.integers(0, 2, n), rng.integers(0, 2, n)) for _ in range(200))
        ]
        for test in range(2):
            hits = sum(t[test] for t in tries)
            assert stats.binomtest(hits, 200, 0.05, alternative="greater").pvalue > 1e-4, (n, test, hits)


# ---- methods agree


@pytest.mark.parametrize("k, n", [(1, 20), (90, 100), (480, 509)])
def test_exact_is_the_limit_of_resampling(k, n):
    flags = [1] * k + [0] * (n - k)
    means = resampled_means(flags, 20_000)
    exact = bootstrap_ci(flags, method="exact")
    assert percentile_bounds(means) == pytest.approx((exact["lo"], exact["hi"]), abs=1.01 / n)
    # beyond the bounds lie at most 2.5 % on each side
    assert (means < exact["lo"] - 1e-4).mean() < 0.03 and (means > exact["hi"] + 1e-4).mean() < 0.03


def test_many_metrics_at_once_give_the_records_of_each():
    rng = np.random.default_rng(16)
    columns = {f"m{i}": rng.random(int(rng.integers(0, 80))).round(int(i % 4) + 1) for i in range(40)}
    columns["missing"] = [None, 1, "x", 0.25, float("nan")]
    together = bootstrap_cis(columns, n_boot=400, seed=9, unit="row")
    assert list(together) == list(columns)
    for name, column in columns.items():
        assert together[name] == bootstrap_ci(column, n_boot=400, seed=9, unit="row"), name


def test_same_seed_same_answer_and_order_of_calls_does_not_matter():
    first = [
        bootstrap_ci(SCORES[:60]),
        delta_significance(SCORES[:60], SCORES[60:150]),
        str(interval_for(SCORES[:60])),
    ]
    bootstrap_cis({"other": SCORES[:100]}, seed=1)
    np.random.seed(3)
    random.seed(3)
    again = [
        bootstrap_ci(SCORES[:60]),
        delta_significance(SCORES[:60], SCORES[60:150]),
        str(interval_for(SCORES[:60])),
    ]
    assert first == again


# ---- permutation


@pytest.mark.parametrize(
    "a, b, p", [([0, 0], [1, 1], 1 / 3), ([0] * 3, [1] * 3, 0.1), ([0] * 5, [1] * 5, 2 / 252)]
)
def test_permutation_of_the_extreme_case(a, b, p):
    assert permutation_p(a, b) == (pytest.approx(p), "exact")


@pytest.mark.parametrize("places", [0, 1, 2, 4, 15])
def test_permutation_against_scipy_with_equal_sizes(places):
    rng = np.random.default_rng(17 + places)
    a, b = rng.random(5).round(places), rng.random(5).round(places)
    theirs = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x, axis) - np.mean(y, axis), vectorized=True, n_resamples=10**5
    ).pvalue
    p, how = permutation_p(a, b)
    assert how == "exact" and p == pytest.approx(min(1.0, theirs), abs=0.02 if places < 2 else 1e-9)


def test_counted_ways_agree_with_enumeration():
    # the same scores, once on the grid of four places and once moved off it
    rng = np.random.default_rng(18)
    for n_a, n_b in ((2, 7), (4, 6), (3, 12)):
        a, b = rng.random(n_a).round(4), rng.random(n_b).round(4)
        assert permutation_p(a, b)[0] == pytest.approx(permutation_p(a * math.pi, b * math.pi)[0], abs=1e-12)


def test_permutation_does_not_depend_on_which_side_is_which():
    rng = np.random.default_rng(19)
    a, b = rng.random(4).round(2), rng.random(9).round(2)
    assert permutation_p(a, b) == permutation_p(b, a)
    assert permutation_p(a, b)[0] == pytest.approx(permutation_p(1 - a, 1 - b)[0])


def test_swapping_sides_within_documents():
    assert swap_p([1, 1, 1]) == 0.25 and swap_p([1, -1]) == 1.0
    assert paired_difference([0] * 5, [1] * 5).significant is False  # 2 of 32
    assert paired_difference([0] * 6, [1] * 6).significant is True  # 2 of 64


def test_few_on_one_side_only_asks_the_permutation_test_too():
    result = delta_significance([0] * 40, [1] * 2)
    assert (
        result["ci_lo"] > 0
        and result["p_permutation"] == pytest.approx(1 / 861, abs=1e-6)
        and result["significant"]
    )
    result = delta_significance([0, 1] * 20, [1] * 3)
    assert result["ci_lo"] > 0 and result["p_permutation"] > 0.05 and not result["significant"]
    assert delta_significance([0] * 10, [1] * 10)["p_permutation"] is None
    assert delta_significance([0] * 9, [1] * 10)["p_permutation"] is not None


# ---- degenerate input


@pytest.mark.parametrize(
    "values", [[], [1], [None], [None, 0.5], ["a", "b", "c"], [float("nan")] * 9, [math.inf, 1]]
)
def test_too_little_is_none(values):
    assert bootstrap_ci(values) is None
    assert delta_significance(values, [1, 0]) is None and delta_significance([1, 0], values) is None
    for method in ("fast", "exact", "wilson", "bca"):
        assert bootstrap_ci(values, method=method) is None


@pytest.mark.parametrize("values", [[], [None], ["x"]])
def test_nothing_scored_is_undefined(values):
    got = interval_for(values)
    assert (got.value, got.lo, got.hi, got.half, got.n, got.method) == (
        None,
        None,
        None,
        None,
        0,
        "undefined",
    )


@pytest.mark.parametrize("value", [0.0, 0.3, 0.88465, 1.0])
@pytest.mark.parametrize("method", ["replay", "fast", "exact", "bca"])
def test_equal_scores_have_no_width(value, method):
    got = bootstrap_ci([value] * 40, method=method)
    assert got["lo"] == got["hi"] and got["half"] == 0.0 and got["lo"] == pytest.approx(value, abs=6e-5)


def test_equal_grades_say_so_and_equal_flags_get_wilson():
    assert "no spread" in interval_for([0.8] * 9).note and interval_for([0.8] * 9).half == 0
    for flags in ([1] * 9, [0] * 9, [1] * 500):
        got = interval_for(flags)
        assert got.method == "wilson" and got.half > 0


@pytest.mark.parametrize("bad", [0, -1, 2.5, None, "2000", True, float("nan")])
def test_n_boot_is_checked_everywhere(bad):
    for call in (
        lambda: bootstrap_ci([1, 0], n_boot=bad),
        lambda: bootstrap_cis({"m": [1, 0]}, n_boot=bad),
        lambda: delta_significance([1, 0], [1, 0], n_boot=bad),
        lambda: paired_difference([1, 0], [1, 0], n_boot=bad),
        lambda: interval_for([1, 0], n_boot=bad),
        lambda: bootstrap_ratio([1, 0], [1, 1], n_boot=bad),
    ):
        with pytest.raises(ValueError, match="`n_boot` must be"):
            call()


@pytest.mark.parametrize("bad", [0, 1, -0.1, 95, None, "0.05", float("nan"), True])
def test_alpha_is_checked_everywhere(bad):
    for call in (
        lambda: bootstrap_ci([1, 0], alpha=bad),
        lambda: delta_significance([1, 0], [1, 0], alpha=bad),
        lambda: paired_difference([1, 0], [1, 0], alpha=bad),
        lambda: interval_for([1, 0], alpha=bad),
        lambda: bootstrap_ratio([1, 0], [1, 1], alpha=bad),
    ):
        with pytest.raises(ValueError, match="`alpha` must be"):
            call()


@pytest.mark.parametrize("p", [92.3, 1.0001, -0.2, math.inf, "0.5", True])
def test_wilson_refuses_what_is_no_share(p):
    with pytest.raises(ValueError, match="`p` must be"):
        wilson_ci(p, 100)


def test_wilson_of_the_unknown_is_none():
    for p, n in ((None, 10), (math.nan, 10), (0.5, None), (0.5, 0), (0.5, -3), (0.5, math.nan)):
        assert wilson_ci(p, n) is None


@pytest.mark.parametrize("n_boot, alpha", [(1, 0.05), (2, 0.5), (3, 0.99), (10, 0.001)])
def test_indices_stay_inside_for_few_resamples(n_boot, alpha):
    got = bootstrap_ci(SCORES[:20], n_boot=n_boot, alpha=alpha)
    means = sorted(loop_means(SCORES[:20], n_boot, 42))
    lo = means[max(0, round(alpha / 2 * n_boot) - 1)]
    hi = means[max(0, min(n_boot - 1, round((1 - alpha / 2) * n_boot) - 1))]
    assert (got["lo"], got["hi"]) == (round(lo, 4), round(hi, 4))


def test_records_are_plain():
    import json

    for record in (
        bootstrap_ci(np.array([1.0, 0.0, 0.5]), n_boot=np.int32(50), seed=np.int64(1)),
        delta_significance(np.array([1, 0, 1]), np.array([0.0, 1.0])),
        wilson_ci(np.float64(0.5), np.int64(10)) and wilson_ci(0.5, 10),
        interval_for(np.array([1, 0, 1])).to_dict(),
        paired_difference([1, 0, 1], np.array([0.5, 0.25, 1])).to_dict(),
        record_ci({"task": "sorter_classification", "scores": {"exact_match": 0.5}, "n_rows": 10}),
    ):
        json.dumps(record, allow_nan=False)


@pytest.mark.parametrize(("value", "lo", "hi"), [(1.0, 0.7225, 1.0), (0.0, 0.0, 0.2775)])
def test_a_run_that_got_all_or_none_right_has_an_interval_without_its_rows(value, lo, hi):
    got = record_ci({"task": "sorter_classification", "scores": {"exact_match": value}, "n_rows": 10})
    assert (got["lo"], got["hi"], got["source"]) == (lo, hi, "wilson")


def test_an_interval_cannot_be_edited():
    with pytest.raises(AttributeError):
        interval_for([1, 0]).lo = 0
    assert isinstance(interval_for([1, 0]), Interval)


def test_nothing_heavy_is_imported():
    code = (
        "import sys, llm_dojo_scoring.bootstrap; "
        "print([m for m in ('scipy', 'pandas', 'matplotlib', 'sklearn', 'statsmodels') if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
