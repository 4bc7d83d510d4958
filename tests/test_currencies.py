"""Currency marks: linear time on hostile text, spans that hold, and every code that babel knows."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.currencies import _ENGLISH_WORDS, _codes, currency_codes, find_currency_marks

HOSTILE = [
    "$",
    " $",
    "US$",
    "USD ",
    "dollars ",
    "united states ",
    "u.s. ",
    "cent",
    "kr ",
    "rs 1 ",
    "pence pen ",
    "A",
    "€",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear_in_the_length(unit):
    for n in (25_000, 50_000, 100_000):
        text = unit * (n // len(unit))
        start = time.process_time()
        find_currency_marks(text)
        assert time.process_time() - start < 1, f"{n} characters of {unit!r}"


@given(st.text(alphabet="$€£¢UuSsDd.dolarscentup 1M\nİ", max_size=60))
def test_spans_hold_in_order(text):
    last = 0
    for mark in find_currency_marks(text):
        assert last <= mark.start < mark.end <= len(text) and mark.codes
        last = mark.end


def test_every_code_names_itself():
    for code in _codes() - _ENGLISH_WORDS:
        assert currency_codes(code) == (code,)


@pytest.mark.parametrize(
    "mark, code",
    # fmt: off
    [
        ("U.S.$", "USD"),
        ("US $", "USD"),
        ("Cdn$", "CAD"),
        ("CA$", "CAD"),
        ("A$", "AUD"),
        ("AU$", "AUD"),
        ("NZ$", "NZD"),
        ("S$", "SGD"),
        ("NT$", "TWD"),
        ("R$", "BRL"),
        ("MX$", "MXN"),
        ("CN¥", "CNY"),
        ("JP¥", "JPY"),
        ("AUD$", "AUD"),
        ("United States Dollars", "USD"),
        ("dollars U.S.", "USD"),
        ("Dollars US", "USD"),
        ("US dollar", "USD"),
        ("pound sterling", "GBP"),
        ("sterling", "GBP"),
        ("UK pounds", "GBP"),
        ("New Taiwan dollars", "TWD"),
        ("Egyptian pounds", "EGP"),
        ("renminbi", "CNY"),
        ("reais", "BRL"),
        ("pennies", "GBP"),
        ("SFr.", "CHF"),
        ("NIS", "ILS"),
    ],
    # fmt: on
)
def test_marks_lead_to_one_currency_first(mark, code):
    assert currency_codes(mark)[0] == code


@pytest.mark.parametrize(
    "word",
    ["dollarization", "century", "pencil", "Europe", "really", "wonder", "SECTION", "CEO", "usda", "Parties"],
)
def test_words_that_only_begin_like_a_currency_are_none(word):
    assert currency_codes(word) == ()
