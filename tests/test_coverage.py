"""Do the intervals hold what they promise? Counted by simulation, judged by a binomial test.

An interval passes when its count of hits is not one that 95 % would produce less than once in a thousand
tries. Wilson's interval of few flags swings around its level, since a count of right answers is whole; where
it is short a table says so, and the test holds it to a floor instead. Clopper-Pearson has no such table."""

import math

import numpy as np
import pytest
from scipy import stats

from llm_dojo_scoring.calibration import accept_threshold, calibration, error_upper_bound
from llm_dojo_scoring.document_counts import count_documents
from llm_dojo_scoring.gate import gate
from llm_dojo_scoring.intervals import interval_for
from llm_dojo_scoring.leaderboard import leaderboard
from llm_dojo_scoring.paired_tests import paired_interval, tango_bounds
from llm_dojo_scoring.pooled import pooled_difference, pooled_interval
from llm_dojo_scoring.surfaces import NotComparable

SHARES, SIZES = (0.5, 0.9, 0.95, 0.99), (10, 50, 500)
# share, documents: where Wilson does not have 95 %, and the least coverage that is accepted there
FLAGS_SHORT = {
    (0.5, 50): 0.93,
    (0.95, 10): 0.9,
    (0.99, 10): 0.9,
    (0.99, 50): 0.9,
    (0.95, 50): 0.93,
    (0.9, 10): 0.92,
}


def judge(hits, tries, short=None):
    "Raise unless the hits are those of a 95 % interval, or reach the floor where one is stated."
    if short is not None:
        assert hits / tries >= short, f"{hits / tries:.3f} < {short}"
    else:
        p = stats.binomtest(int(hits), tries, 0.95, alternative="less").pvalue
        assert p > 1e-3, f"coverage {hits / tries:.3f} in {tries} tries, p {p:.1e}"


def holds(interval, truth):
    return interval.lo is not None and interval.lo - 1e-12 <= truth <= interval.hi + 1e-12


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_shares_of_independent_documents(share, n):
    counts = np.random.default_rng(1).binomial(n, share, 4000)
    by_count = {k: holds(interval_for([1] * k + [0] * (n - k)), share) for k in set(counts.tolist())}
    judge(sum(by_count[k] for k in counts.tolist()), 4000, FLAGS_SHORT.get((share, n)))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_the_exact_interval_of_shares_never_falls_short(share, n):
    k = np.arange(n + 1)
    bounds = (interval_for([1] * i + [0] * (n - i), method="clopper-pearson") for i in k.tolist())
    held = [holds(interval, share) for interval in bounds]
    assert stats.binom.pmf(k, n, share)[held].sum() >= 0.95


def clumped(rng, share, n, icc=0.3, items=8):
    "Right answers of n documents whose items share a document's luck."
    spread = (1 - icc) / icc
    return rng.binomial(items, rng.beta(share * spread, (1 - share) * spread, n))


@pytest.mark.parametrize("n, tries", [(10, 300), (50, 200), (500, 60)])
@pytest.mark.parametrize("share", SHARES)
def test_shares_of_clustered_rows(share, n, tries):
    rng, items, hits = np.random.default_rng(2), 8, 0
    clusters = np.repeat(np.arange(n), items)
    for _ in range(tries):
        right = clumped(rng, share, n)
        rows = (np.arange(items) < right[:, None]).ravel().astype(float)
        hits += holds(interval_for(rows, clusters=clusters), share)
    judge(hits, tries)


@pytest.mark.parametrize("n, tries", [(10, 300), (50, 200), (500, 60)])
@pytest.mark.parametrize("share", SHARES)
def test_pooled_recall(share, n, tries):
    rng, hits = np.random.default_rng(3), 0
    for _ in range(tries):
        found = clumped(rng, share, n)
        hits += holds(
            pooled_interval(count_documents(range(n), tp=found, fp=[0] * n, fn=8 - found), "recall"), share
        )
    judge(hits, tries)


@pytest.mark.parametrize("n, tries", [(30, 200), (100, 150)])
def test_pooled_f1_and_its_difference(n, tries):
    rng, one, two = np.random.default_rng(4), 0, 0
    truth = 2 * 0.8 / (1 + 0.8 * 10 / 9)  # eight of ten labels found, one item in ten is extra
    for _ in range(tries):
        found = [clumped(rng, 0.8, n, icc=0.1) for _ in range(2)]
        a, b = (count_documents(range(n), tp=f, fp=rng.binomial(f, 1 / 9), fn=8 - f) for f in found)
        one += holds(pooled_interval(a, "f1"), truth)
        two += holds(pooled_difference(a, b, "f1").interval, 0)
    judge(one, tries)
    judge(two, tries)


def part_of(rng, share, n, icc, items):
    return clumped(rng, share, n, icc, items) if icc else rng.binomial(items, share, n)


def counts_for(metric, rng, share, n, icc):
    "Counts of n documents of uneven size whose pooled metric is the share, in truth."
    items = 1 + rng.poisson(5, n)
    right = part_of(rng, share, n, icc, items)
    if metric == "precision":
        return count_documents(range(n), tp=right, fp=items - right, fn=[1] * n)
    if metric == "f1":
        return count_documents(range(n), tp=right, fp=rng.binomial(items, 1 - share), fn=items - right)
    if metric == "verified_precision":
        return count_documents(range(n), true=right, returned=items)
    half = part_of(rng, share, n, icc, 2 * items) / 2  # some fields earn half their credit
    return count_documents(range(n), credit=half, fields=items)


@pytest.mark.parametrize("n, tries", [(10, 200), (50, 150), (500, 40)])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("icc", [0, 0.3])
@pytest.mark.parametrize("metric", ["precision", "f1", "verified_precision", "coverage"])
def test_every_pooled_share(metric, icc, share, n, tries):
    rng, hits = np.random.default_rng(21), 0
    for _ in range(tries):
        hits += holds(pooled_interval(counts_for(metric, rng, share, n, icc), metric), share)
    judge(hits, tries)


@pytest.mark.parametrize("n, tries", [(10, 200), (50, 150), (500, 40)])
@pytest.mark.parametrize("icc", [0, 0.3])
@pytest.mark.parametrize("metric", ["precision", "f1", "verified_precision", "coverage"])
def test_differences_of_every_pooled_share(metric, icc, n, tries):
    rng, hits = np.random.default_rng(22), 0
    for _ in range(tries):
        items, two = 1 + rng.poisson(5, n), []
        for right in (part_of(rng, 0.9, n, icc, items) for _ in range(2)):
            columns = {"tp": right, "fp": items - right, "fn": items - right}
            columns |= {"true": right, "returned": items, "credit": right, "fields": items}
            two.append(count_documents(range(n), **columns))
        hits += holds(pooled_difference(*two, metric).interval, 0)
    judge(hits, tries)


@pytest.mark.parametrize("n, tries", [(10, 300), (50, 200), (500, 60)])
@pytest.mark.parametrize("share", SHARES)
def test_the_cost_of_an_accepted_document(share, n, tries):
    "An interval without an end, as where one document of ten was accepted, holds what lies above its start."
    rng, truth, hits, told = np.random.default_rng(23), math.exp(-6 + 0.32) / share, 0, 0
    for _ in range(tries):
        paid, taken = rng.lognormal(-6, 0.8, n), (rng.random(n) < share).astype(float)
        made = pooled_interval(count_documents(range(n), cost=paid, accepted=taken), "cost_per_accepted")
        told += made.lo is not None
        hits += made.lo is not None and made.lo <= truth and (made.hi is None or truth <= made.hi)
    assert told >= 0.97 * tries
    judge(hits, told)


# share, documents: where a mean of graded scores near 1 does not have 95 %, and what is accepted there
GRADES_SHORT = {(0.9, 10): 0.84, (0.95, 10): 0.75, (0.99, 10): 0.45, (0.99, 50): 0.7, (0.95, 50): 0.88}


@pytest.mark.parametrize("n, tries", [(10, 300), (50, 200), (500, 60)])
@pytest.mark.parametrize("share", SHARES)
def test_means_of_graded_scores(share, n, tries):
    rng, hits = np.random.default_rng(24), 0
    for _ in range(tries):
        hits += holds(interval_for(rng.beta(6 * share, 6 * (1 - share), n)), share)
    judge(hits, tries, GRADES_SHORT.get((share, n)))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("lost, gained", [(0.0, 0.0), (0.02, 0.02), (0.05, 0.1), (0.25, 0.25), (0.0, 0.05)])
def test_differences_of_flags(lost, gained, n):
    rng = np.random.default_rng(5)
    a, b = rng.multinomial(n, [lost, gained, 1 - lost - gained], 4000)[:, :2].T
    lo, hi = tango_bounds(a, b, n)
    judge(
        ((lo <= gained - lost) & (gained - lost <= hi)).sum(),
        4000,
        0.93 if (lost, gained) == (0.0, 0.05) else None,
    )


@pytest.mark.parametrize("n, tries", [(10, 400), (50, 200), (500, 60)])
def test_differences_of_grades(n, tries):
    rng, hits = np.random.default_rng(6), 0
    for _ in range(tries):
        ease = rng.normal(0, 0.15, n)
        a, b = (ease + rng.normal(mean, 0.1, n) for mean in (0.5, 0.55))
        hits += holds(paired_interval(a, b), 0.05)
    judge(hits, tries)


@pytest.mark.parametrize("n, tries", [(50, 200), (500, 100)])
def test_confidence_numbers(n, tries):
    "Brier and AUROC against their true values; ECE against the true gap of an overconfident model."
    rng, hits = np.random.default_rng(7), {"brier": 0, "auroc": 0, "ece": 0}
    values, chances = np.array([0.6, 0.8, 0.95]), np.array([0.4, 0.6, 0.8])
    weights = np.array([0.2, 0.4, 0.4])
    right, wrong = weights * chances, weights * (1 - chances)
    above = sum(right[i] * (wrong[:i].sum() + wrong[i] / 2) for i in range(3)) / right.sum() / wrong.sum()
    truth = {"auroc": above, "ece": float((weights * (values - chances)).sum())}
    truth["brier"] = float((right * (1 - values) ** 2 + wrong * values**2).sum())
    for _ in range(tries):
        k = rng.choice(3, n, p=weights)
        made = calibration(values[k], rng.random(n) < chances[k], n_boot=500)
        for name in hits:
            hits[name] += holds(getattr(made, name), truth[name])
    for count in hits.values():
        judge(count, tries, 0.9 if n == 50 else None)


@pytest.mark.parametrize("n, tries", [(50, 200), (500, 100)])
def test_a_perfect_model_has_no_calibration_error(n, tries):
    rng, hits = np.random.default_rng(12), 0
    for _ in range(tries):
        said = rng.beta(8, 2, n)
        hits += holds(calibration(said, rng.random(n) < said, n_boot=500).ece, 0.0)
    judge(hits, tries)


def test_the_exact_bound_never_falls_short():
    for n in (10, 50, 300):
        for error in (0.005, 0.02, 0.1, 0.5):
            k = np.arange(n + 1)
            covered = stats.binom.pmf(k, n, error)[error_upper_bound(k, np.full(n + 1, n)) >= error].sum()
            assert covered >= 0.95 - 1e-12


def test_a_threshold_keeps_its_promise():
    rng, broken = np.random.default_rng(8), 0
    for _ in range(400):
        said = rng.integers(0, 8, 800) / 8
        broken += accept_threshold(said, rng.random(800) >= 0.0501, max_error=0.05).threshold is not None
    assert stats.binomtest(broken, 400, 0.05, alternative="greater").pvalue > 1e-3


def reruns(rng, runs, n, fields=("law", "date"), flags=False):
    "Runs of one prompt: documents are hard or easy for all of them."
    hard = rng.beta(6, 2, (n, len(fields)))
    made = []
    for k in range(runs):
        scores = (
            rng.random(hard.shape) < hard if flags else np.clip(hard + rng.normal(0, 0.05, hard.shape), 0, 1)
        )
        rows = [
            {
                "filename": f"d{i}",
                "overall_score": float(s.mean()),
                "field_scores": dict(zip(fields, map(float, s), strict=True)),
            }
            for i, s in enumerate(scores)
        ]
        made.append({"experiment_name": f"v{k}", "results": rows})
    return made


@pytest.mark.parametrize("flags", [False, True])
def test_a_board_of_equal_prompts_names_no_winner(flags):
    rng, wrong, tries = np.random.default_rng(9), 0, 80
    for _ in range(tries):
        board = leaderboard(reruns(rng, 5, 40, flags=flags), "law", n_boot=10)
        wrong += len(board.groups) > 1
    assert stats.binomtest(wrong, tries, 0.05, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize("flags", [False, True])
def test_a_gate_lets_reruns_through_or_doubts(flags):
    rng, stopped, tries = np.random.default_rng(10), 0, 100
    for _ in range(tries):
        stopped += gate(*reruns(rng, 2, 40, flags=flags), n_boot=10).verdict == "regressed"
    assert stats.binomtest(stopped, tries, 0.025, alternative="greater").pvalue > 1e-3


def test_a_gate_refuses_a_candidate_that_leaves_scores_out():
    old, new = reruns(np.random.default_rng(13), 2, 30)
    del new["results"][4]["field_scores"]["date"]
    with pytest.raises(NotComparable, match="no date where the baseline has one: d4"):
        gate(old, new)
    assert gate(old, new, shared=True).checks[2].interval.n == 29


def test_a_gate_stops_a_real_loss():
    rng = np.random.default_rng(11)
    old, new = reruns(rng, 2, 200)
    for row in new["results"][:60]:
        row["field_scores"]["date"] = 0.0
    found = {c.score: c.verdict for c in gate(old, new).checks}
    assert found["date"] == "regressed" and found["law"] != "regressed"
    assert math.isfinite(gate(old, new).checks[0].interval.half)
