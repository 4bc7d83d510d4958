"""Reading numbers: linear time on hostile text, and agreement with a number writer from elsewhere."""

import unicodedata
from fractions import Fraction

import pytest
from growth import assert_near_linear, repeated
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring.numbers_in_text import find_numbers, possible_figures, read_number

HOSTILE = {
    "one": "one ",
    "dashes": "one-",
    "commas": "1,",
    "groups": "1,000,",
    "blanks": "1 000 ",
    "nines": "9",
    "brackets": "two (",
    "and": "one and ",
    "tens": "twenty and ",
    "scales": "hundred ",
    "articles": "a ",
    "halves": "half ",
    "gap": " ",
    "points": "one point ",
    "fractions": "1 1/2 ",
    "figures": "two (2) ",
    "slashes": "1/",
    "full width": "１，",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_time_is_linear_in_the_length(unit):
    assert_near_linear(find_numbers, lambda n: "two" + repeated(unit)(n))


@given(st.text(alphabet="0123456789., '/-()½onehudrtwafmili９", max_size=60))
def test_anything_is_read_without_an_error_and_spans_hold(text):
    last = 0
    for v in find_numbers(text):
        assert v.text == text[v.start : v.end]
        assert v.start >= last and v.number >= 0
        last = v.end
    read_number(text)


@given(st.integers(0, 10**15), st.integers(0, 99))
def test_the_three_ways_to_mark_thousands_agree(whole, cents):
    english = f"{whole:,}.{cents:02}"
    value = Fraction(whole * 100 + cents, 100)
    assert read_number(english) == value
    assert read_number(english.replace(",", " ").replace(".", ",")) == value
    assert read_number(english.translate(str.maketrans(",.", ".,"))) == value
    assert read_number(english.replace(",", "'")) == value


@pytest.mark.parametrize(
    "text, number",
    [
        ("two thousand and five", 2005),
        ("nineteen hundred", 1900),
        ("a hundred and one", 101),
        ("a dozen", 12),
        ("TWO (2)", 2),
        ("two  (2)", 2),
        ("five hundred (500) million", 500_000_000),
        ("five million (5,000,000)", 5_000_000),
        ("one hundred and no/100", 100),
        ("one hundred and 5/100", Fraction(10005, 100)),
        ("two-thirds", Fraction(2, 3)),
        ("two and one-third", Fraction(7, 3)),
        ("half", Fraction(1, 2)),
        ("1-1/2", Fraction(3, 2)),
        ("0.5", Fraction(1, 2)),
        (".75", Fraction(3, 4)),
        ("0,125", Fraction(1, 8)),
        ("12.345.678,9", Fraction(123456789, 10)),
        ("20-million", 20_000_000),
        ("3 millions", 3_000_000),
        ("2 lakh", 200_000),
        ("1.5 crore", 15_000_000),
        ("forty\ntwo", 42),
        ("one million two hundred and fifty thousand", 1_250_000),
        ("twenty-five (25)", 25),
        ("9/4", None),
        ("1st", None),
        ("10th", None),
        ("two three", None),
        ("-5", None),
        ("5 years", None),
        ("five-year", None),
        ("one third party", None),
        ("thousands", None),
        ("1e6", None),
        ("nan", None),
        ("inf", None),
    ],
)
def test_one_number(text, number):
    assert read_number(text) == number


@pytest.mark.parametrize("sign", "½¼¾⅓⅔⅛⅜⅝⅞")
def test_signs_for_fractions_have_the_value_that_unicode_gives_them(sign):
    assert float(read_number(sign)) == pytest.approx(unicodedata.numeric(sign))
    assert read_number(f"2{sign}") == 2 + read_number(sign)


def test_each_number_says_how_it_was_read():
    why = {
        v.text: (v.why, v.words, v.scale)
        for v in find_numbers("5, six, one-half, 2½, 3 lac, two (2), ten (12), 1 dozen")
    }
    assert why == {
        "5": (("digits",), False, 1),
        "six": (("words",), True, 1),
        "one-half": (("fraction in words",), True, 1),
        "2½": (("fraction",), False, 1),
        "3 lac": (("digits", "lac"), False, 100_000),
        "two (2)": (("words and figures",), False, 1),
        "ten (12)": (("figures over words",), False, 1),
        "1 dozen": (("digits", "dozen"), False, 12),
    }


@pytest.mark.parametrize(
    "scale, zeros", [("hundred", 2), ("thousand", 3), ("million", 6), ("billion", 9), ("trillion", 12)]
)
def test_a_scale_is_worth_the_same_behind_words_and_figures(scale, zeros):
    for text in (f"two {scale}", f"2 {scale}", f"two (2) {scale}"):
        assert [v.number for v in find_numbers(text)] == [2 * 10**zeros], text


WORDS = st.sampled_from(
    "one two three four five six seven eight nine ten eleven twelve thirteen fifteen eighteen nineteen twenty"
    " thirty forty fourty fifty sixty eighty ninety hundred thousand million billion a an and half dozen lakh"
    " crore point zero third thirds quarters 1.9 2 7 350 4,000 12,5 3.05 1/2 ½ Six TWENTY-TWO sixtyfive"
    " threehundred of".split()
)
GAPS = st.sampled_from([" ", " ", " ", "-", ", ", " and ", "\n", " (", ") ", ""])


@settings(max_examples=600)
@given(st.lists(st.tuples(WORDS, GAPS), min_size=1, max_size=8).map(lambda p: "".join(map("".join, p))))
def test_no_number_holds_a_figure_that_its_text_cannot(text):
    for value in find_numbers(text, lakhs=True):
        figures = set(str(int(value.number * 10**12))) - set("01")
        assert figures <= possible_figures(text), (value.number, text)
