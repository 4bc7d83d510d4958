"""Pooled metrics: against brute force, against the plain ratio, and what must not change them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.bootstrap import bootstrap_ratio
from llm_dojo_scoring.document_counts import count_documents, counts_of_fields, counts_of_rows
from llm_dojo_scoring.pooled import design_effect, pooled_difference, pooled_interval

SHARES = ("precision", "recall", "f1")
tallies = st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=1, max_size=12)


def counts(rows, names=None):
    tp, fp, fn = zip(*rows, strict=True)
    return count_documents(names or range(len(rows)), tp=tp, fp=fp, fn=fn)


@given(tallies)
def test_values_follow_from_the_added_counts(rows):
    tp, fp, fn = (sum(c) for c in zip(*rows, strict=True))
    made = counts(rows)
    want = {
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / (tp + fn) if tp + fn else None,
        "f1": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None,
    }
    for metric in SHARES:
        got = pooled_interval(made, metric, n_boot=10)
        assert got.value == (None if want[metric] is None else pytest.approx(want[metric]))
        if got.lo is not None:
            assert 0 <= got.lo <= got.value + 1e-12 and got.value - 1e-12 <= got.hi <= 1


@given(tallies, st.randoms())
def test_the_order_of_documents_and_lines_does_not_matter(rows, random):
    lines = [(i % 4, *row) for i, row in enumerate(rows)]
    shuffled = random.sample(lines, len(lines))
    one, two = (counts([r[1:] for r in ls], [r[0] for r in ls]) for ls in (lines, shuffled))
    for metric in SHARES:
        a, b = pooled_interval(one, metric), pooled_interval(two, metric)
        assert (a.value, a.n, a.method) == (b.value, b.n, b.method)
        if a.lo is not None:
            assert a.lo == pytest.approx(b.lo) and a.hi == pytest.approx(b.hi)


@given(tallies.filter(lambda r: len(r) > 1), st.data())
def test_swapping_the_runs_turns_the_sign(rows, data):
    found = [data.draw(st.integers(0, tp + fn)) for tp, _, fn in rows]
    other = [(f, fp, tp + fn - f) for f, (tp, fp, fn) in zip(found, rows, strict=True)]
    one, two = counts(rows), counts(other)
    for metric in SHARES:
        ab, ba = pooled_difference(one, two, metric), pooled_difference(two, one, metric)
        assert (ab.value_a, ab.value_b) == (ba.value_b, ba.value_a)
        if ab.interval.lo is not None:
            assert ab.interval.lo == pytest.approx(-ba.interval.hi)
            assert ab.interval.value == pytest.approx(ab.value_b - ab.value_a)


def test_the_bootstrap_is_that_of_a_ratio():
    rng = np.random.default_rng(1)
    expected = rng.integers(1, 9, 80)
    matched = rng.binomial(expected, 0.8)
    made = count_documents(range(80), tp=matched, fp=[0] * 80, fn=expected - matched)
    ours, plain = pooled_interval(made, "recall"), bootstrap_ratio(matched, expected)
    assert (ours.lo, ours.hi) == (plain.lo, plain.hi)


def test_every_resample_of_three_documents():
    rows = [(3, 1, 0), (1, 0, 2), (0, 2, 1)]
    picks = [np.sum([rows[i] for i in pick], axis=0) for pick in itertools.product(range(3), repeat=3)]
    exact = sorted(2 * tp / (2 * tp + fp + fn) for tp, fp, fn in picks)
    got = pooled_interval(counts(rows), "f1", method="bootstrap", n_boot=20_000, alpha=0.2)
    at = [exact[math.ceil(q * 27) - 1] for q in (0.1, 0.9)]
    assert [got.lo, got.hi] == pytest.approx(at)


def test_pairing_narrows_the_difference():
    rng = np.random.default_rng(2)
    chances = rng.beta(4, 1, 120)
    old, new = (rng.binomial(10, np.clip(chances + gain, 0, 1)) for gain in (0, 0.03))
    a, b = (count_documents(range(120), tp=f, fp=[0] * 120, fn=10 - f) for f in (old, new))
    paired = pooled_difference(a, b, "recall").interval
    alone = [pooled_interval(c, "recall").half for c in (a, b)]
    assert paired.half < 0.75 * math.hypot(*alone)


def test_documents_that_one_run_lacks_are_listed():
    a, b = counts([(1, 0, 1)] * 3, "ABC"), counts([(1, 0, 1)] * 3, "BCD")
    got = pooled_difference(a, b, "recall")
    assert (got.only_a, got.only_b, got.interval.n) == (("A",), ("D",), 2)


def test_other_labels_are_refused():
    with pytest.raises(ValueError, match="expected"):
        pooled_difference(counts([(1, 0, 1)]), counts([(1, 0, 2)]), "recall")


def test_failed_documents_keep_their_labels():
    row = {"doc_id": "x", "field": "parties", "status": "failed", "score": 0.0, "duplicate": False}
    row |= {"n_expected": 2, "n_matched": 0, "n_predicted": 0, "n_extra": 0, "n_true": None}
    made = counts_of_fields([row, {**row, "doc_id": "y", "n_matched": 2, "n_predicted": 2, "score": 1.0}])
    assert pooled_interval(made, "recall").value == 0.5
    assert pooled_interval(made, "precision").value == 1.0


def test_stored_rows_by_name_and_by_place():
    place = {"filename": "a", "entity_list_scores": {"p": [0.5, 1, 0.6, 1, 2, 1, False]}}
    keys = ("precision", "recall", "f1", "matched", "n_predicted", "n_expected", "partial_gt")
    named = {
        "filename": "a",
        "entity_list_scores": {"p": dict(zip(keys, [0.5, 1, 0.6, 1, 2, 1, False], strict=True))},
    }
    one, two = (counts_of_rows([r]) for r in (place, named))
    assert one.totals() == two.totals() == {"expected": 1, "matched": 1, "predicted": 2, "extra": 1}


def test_independent_items_have_no_design_effect():
    rng = np.random.default_rng(3)
    found = rng.binomial(10, 0.7, 3000)
    made = count_documents(range(3000), tp=found, fp=[0] * 3000, fn=10 - found)
    assert design_effect(made) == pytest.approx(1, abs=0.1)
    with pytest.raises(ValueError, match="metric"):
        design_effect(made, "f1")


def test_one_label_and_no_answer_is_an_f1_of_0():
    assert pooled_interval(counts([(0, 0, 1)]), "f1").value == 0
    assert pooled_interval(counts([(0, 0, 0)]), "f1").value is None


@pytest.mark.parametrize(("missed", "hi"), [((0, 0, 0, 1), 1.0), ((6, 8, 7, 7), 0.4299)])
def test_bounds_by_t_end_at_1_and_not_before(missed, hi):
    got = pooled_interval(counts([(10 - m, 0, m) for m in missed]), "recall", method="t")
    assert got.method == "document-t" and round(got.hi, 4) == hi and got.lo < got.value


def test_a_cost_has_bounds_by_t_and_by_resampling_but_none_of_counts():
    made = count_documents("abcd", cost=[1, 2, 1, 4], accepted=[1, 1, 0, 1])
    for method in ("t", "bootstrap"):
        got = pooled_interval(made, "cost_per_accepted", method=method, n_boot=50)
        assert (got.method, got.value) == (f"document-{method}", pytest.approx(8 / 3))
    with pytest.raises(ValueError, match="Korn-Graubard"):
        pooled_interval(made, "cost_per_accepted", method="korn-graubard")


@pytest.mark.parametrize(("n", "method"), [(49, "paired-document-t"), (50, "paired-document-bootstrap")])
def test_fifty_documents_are_resampled(n, method):
    one, two = counts([(i % 3, 0, 2) for i in range(n)]), counts([(i % 3, 1, 2) for i in range(n)])
    assert pooled_difference(one, two, "precision", n_boot=10).interval.method == method


def test_the_record_counts_the_documents_left_out_on_each_side():
    a, b = counts([(1, 0, 1)] * 4, "ABCD"), counts([(1, 0, 1)] * 3, "CDE")
    got = pooled_difference(a, b, "recall").to_dict()
    assert (got["n"], got["n_only_a"], got["n_only_b"]) == (2, 2, 1)


@pytest.mark.parametrize("metric", ["precision", "recall", "verified_precision", "hallucination_rate"])
def test_shares_of_items_have_a_design_effect(metric):
    made = count_documents(
        "abc", expected=[4, 4, 4], matched=[4, 2, 0], predicted=[4, 4, 4], extra=[0, 2, 4],
        true=[4, 2, 0], returned=[4, 4, 4],
    )  # fmt: skip
    assert design_effect(made, metric) == pytest.approx(4)  # by hand: 1/12 over 1/48
