"""Calibration: bounds against brute force and by hand, and the forms in which it is told."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.calibration import accept_threshold, calibration, error_upper_bound

SAID = [0.5, 0.5, 0.75, 0.75, 0.875, 0.875, 0.875, 1.0]
RIGHT = [0, 1, 0, 1, 1, 1, 0, 1]

answers = st.lists(
    st.tuples(st.sampled_from([0.2, 0.5, 0.5, 0.8, 1.0]), st.booleans()), min_size=4, max_size=25
)


def delong(said, right, z=1.959963984540054):
    "AUROC and its interval over all pairs, without sorting."
    won = np.array([[(a > b) + (a == b) / 2 for b in said[~right]] for a in said[right]])
    auc, (n, m) = won.mean(), won.shape
    error = math.sqrt(won.mean(axis=1).var(ddof=1) / n + won.mean(axis=0).var(ddof=1) / m)
    centre, reach = math.log(auc / (1 - auc)), z * error / (auc * (1 - auc))
    return auc, *(1 / (1 + math.exp(-x)) for x in (centre - reach, centre + reach))


@given(answers)
def test_auroc_is_that_of_all_pairs_ties_half(found):
    said, right = np.array([c for c, _ in found]), np.array([r for _, r in found])
    got = calibration(said, right, n_boot=10).auroc
    n_right, n_wrong = right.sum(), (~right).sum()
    if not n_right or not n_wrong:
        assert (got.value, got.lo, got.hi, got.method) == (None, None, None, "undefined")
        assert got.note == ("all answers are right" if n_right else "no answer is right")
    elif min(n_right, n_wrong) < 2:
        assert (got.lo, got.hi) == (None, None)
    elif 0 < got.value < 1:
        assert [got.value, got.lo, got.hi] == pytest.approx(delong(said, right))


def test_one_answer_has_a_gap_and_no_bounds():
    got = calibration([0.7], [1])
    assert got.ece.value == pytest.approx(0.3) and got.brier.value == pytest.approx(0.09)
    assert [got.ece.lo, got.ece.hi, got.brier.lo, got.brier.hi] == [None] * 4


@pytest.mark.parametrize(("said", "n"), [(0.9, 100), (0.6, 400)])
def test_where_all_are_right_the_gap_is_off_by_the_luck_of_a_perfect_model(said, n):
    got = calibration([said] * n, [1] * n).ece
    reach = 1.96 * math.sqrt(said * (1 - said) / n)
    assert got.value == pytest.approx(1 - said)
    assert (got.hi - got.value, got.value - got.lo) == pytest.approx((reach, reach), rel=0.03)


def test_the_record_of_a_calibration():
    made = calibration(SAID, RIGHT, n_bins=2, n_boot=100)
    got = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    intervals = {k: got.pop(k) for k in ("ece", "brier", "auroc")}
    assert {k: (i["unit"], i["n"]) for k, i in intervals.items()} == dict.fromkeys(intervals, ("answer", 8))
    bins = got.pop("bins")
    numbers = {"n": 8, "n_distinct": 4, "confidence": 0.7656, "accuracy": 0.625, "overconfidence": 0.1406}
    assert got == numbers and [b["n"] for b in bins] == [4, 4]
    assert list(bins[0]) == ["lowest", "highest", "n", "confidence", "accuracy", "lo", "hi"]


def test_a_calibration_is_shown_with_its_three_measures():
    page = calibration(SAID, RIGHT, n_boot=100)._repr_html_()
    assert page.startswith("8 answers, 4 distinct confidences; says 0.766, right 0.625<ul>")
    assert re.findall(r"<li>(\w+): ", page) == ["ece", "brier", "auroc"]


def test_nothing_said_is_nothing_measured():
    got = calibration([None, 0.5], [1, None])
    assert (got.n, got.n_distinct, got.bins, got.overconfidence) == (0, 0, (), None)
    assert got._repr_html_() == "0 answers, 0 distinct confidences"


@pytest.mark.parametrize(
    ("wrong", "n", "level"), [(-1, 5, 0.95), (6, 5, 0.95), (1, 5, 0.0), (1, 5, 1.0), (1, 5, 95)]
)
def test_counts_that_do_not_fit_are_refused(wrong, n, level):
    with pytest.raises(ValueError, match="n_wrong"):
        error_upper_bound(wrong, n, level)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_bound_of_no_errors_has_a_closed_form(level):
    n = np.array([1, 10, 400])
    assert error_upper_bound(0 * n, n, level) == pytest.approx(1 - (1 - level) ** (1 / n))


def test_the_record_of_a_threshold():
    said, right = [0.9] * 300 + [0.6] * 50, [1] * 300 + [0, 1] * 25
    got = accept_threshold(said, right, max_error=0.02).to_dict()
    assert {k: v for k, v in got.items() if k != "upper"} == {
        **{"max_error": 0.02, "level": 0.95, "threshold": 0.9, "n_accepted": 300, "n_wrong": 0},
        **{"n": 350, "n_distinct": 2, "share_accepted": 0.8571},
    }
    assert got["upper"] == pytest.approx(1 - 0.05 ** (1 / 300), abs=5e-5)
