"""Errors of dates, terms and amounts: nothing added is nothing, and the nearest of several labels counts."""

import re

import pytest

from llm_dojo_scoring.value_errors import ErrorSums, nearest_pair, sum_errors, total_errors


def test_nothing_added_is_nothing():
    empty = ErrorSums()
    assert empty == ErrorSums.of([]) == ErrorSums.of([(float("nan"), 1), (1, float("inf"))])
    assert (empty.signed, empty.expected, empty.expected_squares, empty.error_squares) == (0, 0, 0, 0)
    assert [empty.n, empty.mae, empty.median_ae, empty.bias, empty.r2] == [0, None, None, None, None]
    some = ErrorSums.of([(1, 3), (2, 2.5)])
    assert some + empty == some == empty + some


def test_what_is_shown_are_the_figures_and_not_the_sums_they_come_from():
    page = ErrorSums.of([(1, 3), (2, 2.5)])._repr_html_()
    assert re.findall(r'<tr><td style="text-align:left">([^<]+)</td>', page) == [
        "n",
        "mae",
        "median ae",
        "bias",
        "r2",
    ]


@pytest.mark.parametrize(
    ("labels", "error"),
    [
        ("2020-03-01", 9),
        (["2020-03-01"], 9),
        (("2020-03-01",), 9),
        (["2020-03-01", "no date", "2020-03-12"], -2),
        (["2020-03-12", "2020-03-01"], -2),
        (["no date", "2020-03-01"], 9),
        (["no date"], None),
        ([], None),
        ("no date", None),
    ],
)
@pytest.mark.parametrize("said", ["2020-03-10", "dated 2020-03-10" + " " * 5_000])
def test_of_several_labels_the_nearest_counts(labels, error, said):
    pair = nearest_pair("date", said, labels)
    assert (None if pair is None else pair.error) == error


def test_fields_of_one_kind_and_unit_are_joined():
    pairs = [
        nearest_pair("money", "$5", "$3", "fee"),
        nearest_pair("money", "$7", "$7", "cap"),
        nearest_pair("money", "€9", "€5", "fee"),
        nearest_pair("date", "2020-03-10", "2020-03-01", "start"),
    ]
    sums = sum_errors(pairs)
    assert total_errors(sums, "money", "USD") == ErrorSums.of([(5, 3), (7, 7)])
    assert total_errors(sums, "money", "EUR") == ErrorSums.of([(9, 5)])
    assert (total_errors(sums, "date").mae, total_errors(sums, "date", "months").n) == (9, 0)
