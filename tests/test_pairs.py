"""Numeric pairs: never an error on a model's value, exact on equal terms, and the door's rounded R²."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import diagnostics
from llm_dojo_scoring.pairs import date_pair, duration_pair, money_pair, pair_values, term_pair
from llm_dojo_scoring.regression import mean_absolute_error, median_absolute_error, r2

ODD = [None, True, 0, 1.5, float("nan"), "", "null", [], ["2 years"], {"a": 1}, Decimal("1e99"), 10**400]


@pytest.mark.parametrize("make", [date_pair, duration_pair, money_pair, term_pair])
def test_no_value_raises(make):
    for a in [*ODD, "2 years", "March 3, 2024", "$5"]:
        for b in [*ODD, "2 years", "March 3, 2024", "$5"]:
            pair = make(a, b, "term_length")
            assert pair is None or (pair.predicted == pair.predicted and pair.expected == pair.expected)


@given(st.integers(1, 99))
def test_twelve_months_are_a_year(n):
    assert duration_pair(f"{12 * n} months", f"{n} years").error == 0
    assert duration_pair(f"{n} weeks", f"{7 * n} days").error == 0
    assert duration_pair(f"{n + 1} years", f"{n} years").error == 365


@given(st.dates(), st.dates())
def test_date_errors_are_days_with_their_sign(a, b):
    pair = date_pair(a.isoformat(), b.isoformat())
    assert pair is None or pair.error == (a - b).days


def test_support_counts_rows_in_which_both_sides_speak():
    rows = [("2 years", "1 year"), ("n/a", "1 year"), ("2 years", None), ("forever", "1 year")]
    terms = pair_values("duration", rows, "term_length")
    assert (terms.n, terms.n_values, terms.support) == (1, 2, 0.5)
    assert terms.of("date") == [] and terms.pairs[0].field == "term_length"


@pytest.mark.parametrize(
    "field, days",
    [("effective_date", "2024-01-01"), ("expiration_date", "2026-12-31"), ("term_length", "2026-12-31")],
)
def test_the_field_says_which_date_is_meant(field, days):
    text = "effective as of January 1, 2024, this Agreement shall terminate on December 31, 2026"
    assert date_pair(text, days, field).error == 0


def test_the_statistics_ignore_what_is_not_finite():
    pairs = [(1, 2), (float("nan"), 1), (1, float("-inf"))]
    assert mean_absolute_error(pairs) == median_absolute_error(pairs) == 1
    assert r2(pairs) is None


def test_the_door_rounds_to_four_places_and_keeps_negatives():
    assert diagnostics._r2([(10, 1), (10, 2), (10, 4)]) == -37.7857  # 1 - 181 / (14 / 3) = -529 / 14


def test_a_term_keeps_prediction_and_label_apart():
    assert term_pair("2 years", "1 year").error == 365
    assert term_pair("until March 10, 2024", "March 3, 2024").error == 7


def test_pairs_show_how_many_rows_gave_one():
    shown = pair_values("duration", [("2 years", "1 year"), ("soon", "1 year")], "term_length")._repr_html_()
    assert "duration" in shown and "term_length" in shown and "0.5" in shown
