"""The laboratory: what is counted against what is drawn, and the rules that a what-if must keep."""

import math
import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llm_dojo_scoring.monte_carlo as mc

TABLED = """
normalize_dist shannon_entropy majority_margin draw_committee bootstrap paired_delta_bootstrap
confidence_score uncertainty_phrases task_label_vocabulary decoy_mentioned decoy_variants
reasoning_mentions_label load_corpus save_figure style_axis safe_div load_observations accuracy_at_k
simulate_committees build_confidence escalation_curve run_outcomes pairs_with_shared_docs
per_class_deltas fit_pipeline_probs simulate_rows extrapolate confusion_pairs near_miss_traces
random_search pairwise_matrix champion_contender committee_accuracy sample_shared_docs restrict_outcomes
effectiveness
""".split()
counts = st.dictionaries(st.sampled_from("abcde"), st.integers(0, 9), min_size=1, max_size=5)


@pytest.mark.parametrize("name", TABLED)
def test_tabled_names_are_at_the_door(name):
    assert name in mc.__all__ and callable(getattr(mc, name))


@given(counts)
def test_shares_entropy_and_margin_keep_their_ranges(dist):
    shares = mc.normalize_dist(dist)
    assert not shares or math.isclose(sum(shares.values()), 1.0)
    assert 0.0 <= mc.shannon_entropy(dist) <= 1.0 and 0.0 <= mc.majority_margin(dist) <= 1.0
    assert 0.0 <= mc.confidence_score(dist) <= 1.0
    assert math.isclose(mc.shannon_entropy(dist), mc.shannon_entropy({**dist, "unseen": 0}))
    assert math.isclose(
        mc.shannon_entropy(dist), mc.shannon_entropy({k: 7 * v for k, v in dist.items()}), abs_tol=1e-12
    )


def enumerated(dist, truth, k):
    shares, right = mc.normalize_dist(dist), 0.0
    for draws in product(shares, repeat=k):
        votes = Counter(draws)
        winners = [label for label, n in votes.items() if n == max(votes.values())]
        right += math.prod(shares[d] for d in draws) * (truth in winners) / len(winners)
    return right


@given(counts, st.integers(1, 5))
def test_counted_committees_equal_every_sequence_of_draws(dist, k):
    docs = {"d": {"expected": "a", "observations": dist}}
    assert math.isclose(mc.exact_chances(docs, [k])[0, 0], enumerated(dist, "a", k), abs_tol=1e-12)


@given(counts, st.integers(1, 40))
def test_the_chances_of_all_labels_add_up_to_one(dist, k):
    docs = {c: {"expected": c, "observations": dist} for c in "abcde"}
    total = mc.exact_chances(docs, [k]).sum()
    assert math.isclose(total, 1.0 if sum(dist.values()) else 0.0, abs_tol=1e-9)


def test_many_votes_for_two_labels_are_a_binomial():
    from scipy.stats import binom

    docs = {"d": {"expected": "a", "observations": {"a": 6, "b": 4}}}
    for k in (1, 7, 25, 101, 149):
        exact = binom.sf(k // 2, k, 0.6)  # odd: no ties
        assert math.isclose(mc.exact_chances(docs, [k])[0, 0], exact, rel_tol=1e-9)


def test_drawn_committees_agree_with_counted_ones_up_to_25_votes():
    rng = random.Random(9)
    docs = {
        f"d{i}": {
            "expected": "a",
            "observations": {c: rng.randint(0, 6) for c in "abcd"} | {"a": 1 + rng.randint(0, 6)},
        }
        for i in range(60)
    }
    exact, _ = mc.exact_committees(docs, (1, 2, 3, 10, 25))
    drawn, _ = mc.simulate_committees(docs, (1, 2, 3, 10, 25), 200, 3)
    for k in exact:
        assert abs(exact[k]["estimate"] - drawn[k]["estimate"]) < 4 * 0.5 / math.sqrt(60 * 200)
    assert exact[1]["estimate"] == pytest.approx(exact[2]["estimate"], abs=1e-12)


@given(st.permutations("abcd"), st.integers(1, 9))
def test_a_committee_does_not_depend_on_the_order_of_labels(order, k):
    weights = {"a": 4, "b": 3, "c": 2, "d": 2}
    shuffled = {label: weights[label] for label in order}
    assert mc.draw_committee(weights, k, random.Random(5)) == mc.draw_committee(shuffled, k, random.Random(5))


@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=2, max_size=30))
def test_swapping_the_sides_turns_the_chance_of_a_win(deltas):
    one, other = (mc.paired_delta_bootstrap([s * d for d in deltas], 300) for s in (1, -1))
    assert math.isclose(one["p_win"] + other["p_win"], 1.0)
    assert one["p_win_strict"] + other["p_win_strict"] + one["p_tie"] == pytest.approx(1.0)
    assert one["mean"] == -other["mean"]


def test_fractions_that_cancel_are_ties():
    tied = mc.paired_delta_bootstrap([0.1, 0.2, -0.3], 2000)
    assert tied["p_tie"] > 0.2  # each document once, in any order: 6 of 27, and three times the same never


def test_many_pairs_together_are_as_one_by_one():
    rng = np.random.default_rng(1)
    many = [rng.integers(-1, 2, n).tolist() for n in (30, 45, 30, 1, 0, 45)]
    assert mc.paired_delta_bootstraps(many, 500) == [mc.paired_delta_bootstrap(d, 500) for d in many]


def test_a_confidence_never_sees_the_truth():
    rows = [
        {"task": "t", "filename": "f", "predicted": p, "reasoning": r, "confidence": c}
        for p, r, c in (("a", "an a, not a b", 0.9), ("b", "a b", 0.4), ("a", "could be c", None))
    ]
    seen = set()
    for truth in ("a", "b", "c"):
        docs = mc.load_observations([{**row, "expected": truth} for row in rows], "t", ("a", "b", "c"))
        seen.add(tuple(mc.build_confidence(docs).values()))
    assert len(seen) == 1
    asks = {
        truth: mc.load_observations([{**r, "expected": truth} for r in rows], "t", "abc", signals="published")
        for truth in "ac"
    }
    assert asks["a"]["f"]["near_miss"]  # the published signal fires on the truth itself


@given(st.lists(st.floats(0, 1), min_size=3, max_size=12), st.integers(0, 12))
def test_escalating_the_wrong_ones_first_is_best(own, n):
    docs = {f"d{i}": {"expected": "a", "observations": {"a": p, "b": 1 - p}} for i, p in enumerate(own)}
    truth = {name: own[i] for i, name in enumerate(docs)}
    alpha = min(n, len(own)) / len(own)
    best, worst, random_gate = (
        mc.escalation_curve(docs, c, [alpha], 0.9, gating=g)[0]["accuracy"]
        for c, g in ((truth, "ranked"), ({k: -v for k, v in truth.items()}, "ranked"), (truth, "mixed"))
    )
    assert worst - 1e-9 <= random_gate <= best + 1e-9


def test_votes_outside_the_labels_stay_wrong_votes():
    rows = [
        {"task": "t", "filename": "f", "expected": "license", "predicted": p}
        for p in ["license"] * 6 + ["other"] * 4
    ]
    docs = mc.load_observations(rows, "t", {"license", "supply"})
    assert mc.accuracy_at_k(docs, 1, 10, random.Random(0)) == {"f": 0.6}
    only = mc.load_observations([r for r in rows if r["predicted"] == "other"], "t", {"license"})
    assert mc.exact_chances(only, [1, 5]).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("tries", [1, 2, 4])
@pytest.mark.parametrize("fallback", [True, False])
def test_the_chain_of_tries_has_its_closed_form(tries, fallback):
    probs = {"p_first_attempt_fail": 0.4, "p_retry_fail": 0.3, "p_length_limit": 0.5}
    exact = mc.pipeline_chances(probs, tries, fallback, 0.5)
    drawn = mc.simulate_rows(40_000, probs, tries, fallback, 0.5, random.Random(tries))
    p = exact["failure_rate"]
    assert abs(drawn["failure_rate"] - p) < 4 * math.sqrt(p * (1 - p) / 40_000)
    assert abs(drawn["avg_attempts"] - exact["avg_attempts"]) < 0.03
    failed_tries = 0.4 * sum(0.3**i for i in range(tries))
    assert abs(drawn["length_limit_hits"] / 40_000 - failed_tries / 2) < 0.01


@given(st.floats(0, 1), st.integers(0, 400_000))
def test_tails_at_scale_are_chances(rate, scale):
    found = mc.extrapolate(rate, scale)
    assert 0.0 <= found["p_over_1pct"] <= 1.0 and 0.0 <= found["p_any"] <= 1.0


def test_the_best_choice_is_never_below_a_random_one():
    rng = random.Random(2)
    for _ in range(30):
        pairs = [
            {
                "expected": str(i),
                "decoy": "x",
                "count": rng.randint(0, 50),
                "near_misses": rng.randint(0, 9),
                "tokens": rng.randint(0, 300),
            }
            for i in range(12)
        ]
        budget, most = rng.randint(0, 900), rng.randint(0, 5)
        best = mc.best_exemplars(pairs, budget, most)
        drawn = mc.random_search(pairs, random.Random(1), 200, budget, most)
        assert best["gain"] >= drawn["gain"] and best["tokens"] <= budget and len(best["pairs"]) <= most
        assert best["gain"] == mc.expected_flips(best["pairs"])


def test_a_plateau_is_said_and_reruns_are_kept():
    files = [f"d{i}" for i in range(30)]
    rows = [
        {"task": "t", "model": "m", "prompt_version": v, "filename": f, "expected": "a", "predicted": p}
        for v, p in (("v1", "a"), ("v1", "b"), ("v2", "a"), ("v2", "b"))
        for f in files
    ]
    outcomes = mc.run_outcomes(rows, "t", {"a", "b"})
    assert set(outcomes["m", "v1"].values()) == {0.5}
    chosen = mc.champion_contender(mc.pairwise_matrix(outcomes, "m"), outcomes, "m")
    assert chosen["plateau"] and chosen["contender"] is None
    assert set(mc.run_outcomes(rows, "t", {"a", "b"}, reruns="last")["m", "v1"].values()) == {0.0}


def test_the_gain_of_a_false_alarm_is_rare_under_no_difference():
    """Of 200 pairs of equal prompts, about one in twenty is called decided, judged by a binomial test."""
    from scipy.stats import binomtest

    rng = np.random.default_rng(7)
    many = [(rng.random(120) < 0.8).astype(int) - (rng.random(120) < 0.8).astype(int) for _ in range(200)]
    made = mc.paired_delta_bootstraps(many, 1000, samples=False)
    decided = sum(m["ci_lo"] > 0 or m["ci_hi"] < 0 for m in made)
    assert binomtest(decided, 200, 0.05).pvalue > 0.01


@given(st.permutations(range(8)), st.sampled_from([0.1, 0.25, 0.5]))
def test_the_order_of_a_file_decides_nothing(order, alpha):
    own = {f"d{i}": {"expected": "a", "observations": {"a": i % 3, "b": 1}} for i in range(8)}
    docs = {f"d{i}": own[f"d{i}"] for i in order}
    confidence = {name: float(name in ("d0", "d1")) for name in docs}
    first = mc.escalation_curve(own, {n: confidence[n] for n in own}, [alpha])[0]
    again = mc.escalation_curve(docs, confidence, [alpha])[0]
    assert again["accuracy"] == pytest.approx(first["accuracy"], abs=1e-12)
    assert mc.escalation_order(confidence) == mc.escalation_order({n: confidence[n] for n in own})


def test_another_spelling_of_a_label_is_that_label():
    rows = [
        {"task": "subtype_classification", "filename": "f", "expected": "joint_venture", "predicted": p}
        for p in ("joint_venture", "Joint Venture", "joint-venture", "venture")
    ]
    labels = mc.task_label_vocabulary("subtype_classification")
    docs = mc.load_observations(rows, "subtype_classification", labels)
    assert docs["f"]["observations"] == {"joint_venture": 3, "venture": 1}
    assert mc.confusion_pairs(rows, "subtype_classification") == {("joint_venture", "venture"): 1}


def test_differences_are_a_minus_b_and_the_later_version_is_a():
    outcomes = {("m", "v2"): {"x": 0.0, "y": 0.0}, ("m", "v10"): {"x": 1.0, "y": 0.0}}
    (pair,) = mc.pairs_with_shared_docs(outcomes, 2)
    assert (pair["prompt_a"], pair["prompt_b"], pair["deltas"]) == ("v10", "v2", [1.0, 0.0])


@pytest.mark.parametrize(
    "failed", [{"status": "error"}, {"predicted": "ERROR: timeout"}, {"reasoning": "error: 500"}]
)
def test_a_failed_call_is_no_vote(failed):
    row = {"task": "t", "filename": "f", "expected": "a", "predicted": "a", "status": "completed"}
    docs = mc.load_observations([row, {**row, "predicted": "b", **failed}], "t", {"a", "b"})
    assert docs["f"]["observations"] == {"a": 1}


def test_tabled_parameters_can_be_named():
    import inspect

    from llm_dojo_scoring import monte_carlo

    for name, tabled in {
        "save_figure": ["fig", "path", "dpi"],
        "style_axis": ["ax", "title", "xlabel", "ylabel"],
        "draw_committee": ["dist", "k", "rng"],
        "paired_delta_bootstrap": ["deltas", "n_boot", "seed"],
        "simulate_rows": ["n", "probs", "max_tries", "fallback", "fallback_rescue", "rng"],
        "pairwise_matrix": ["outcomes", "model", "min_shared", "n_boot", "seed"],
    }.items():
        names = list(inspect.signature(getattr(monte_carlo, name)).parameters)
        assert names[: len(tabled)] == tabled, name
