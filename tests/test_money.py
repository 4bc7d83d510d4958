"""Amounts as contracts write them, one row a case, each value worked out by hand; then scores, and time."""

from decimal import Decimal
from fractions import Fraction

import pytest
from growth import assert_near_linear, repeated
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import amounts
from llm_dojo_scoring.amounts import AmountSearch, find_amounts
from llm_dojo_scoring.fields.money import (
    decide_money,
    parse_money,
    read_amounts,
    same_money,
    score_money_field,
)

# fmt: off
AMOUNTS = [  # text, amount, currency
    ("$1", "1", "USD"), ("$0", "0", "USD"), ("$0.05", "0.05", "USD"), ("$.05", "0.05", "USD"),
    ("$1,000", "1000", "USD"), ("$ 1,000", "1000", "USD"), ("$1000.00", "1000", "USD"),
    ("$1,234,567.89", "1234567.89", "USD"), ("USD 2,000,000.00", "2000000", "USD"),
    ("USD2,000,000", "2000000", "USD"), ("US$5,000", "5000", "USD"), ("US $5,000", "5000", "USD"),
    ("U.S. $5,000", "5000", "USD"), ("U.S.$5,000", "5000", "USD"), ("USD $5,000", "5000", "USD"),
    ("$5,000 USD", "5000", "USD"), ("5,000 USD", "5000", "USD"), ("5000USD", "5000", "USD"),
    ("5,000 U.S. dollars", "5000", "USD"), ("5,000 United States Dollars", "5000", "USD"),
    ("5,000 dollars (US$5,000)", "5000", "USD"), ("US Dollars 5,000", "5000", "USD"),
    ("usd 5000", "5000", "USD"), ("100 EUR", "100", "EUR"), ("EUR 100", "100", "EUR"),
    ("€100", "100", "EUR"), ("100 €", "100", "EUR"), ("100 euros", "100", "EUR"),
    ("Euro 100", "100", "EUR"), ("£448,903 per annum", "448903", "GBP"),
    ("5,000 pounds sterling", "5000", "GBP"), ("GBP 5 million", "5000000", "GBP"),
    ("£2m", "2000000", "GBP"), ("C$1,000", "1000", "CAD"), ("CAD 1,000", "1000", "CAD"),
    ("Cdn$1,000", "1000", "CAD"), ("A$1,000", "1000", "AUD"), ("1,000 Australian dollars", "1000", "AUD"),
    ("HK$1,000", "1000", "HKD"), ("NT$1,000", "1000", "TWD"), ("S$1,000", "1000", "SGD"),
    ("RMB 5 million", "5000000", "CNY"), ("RMB5,000,000 Yuan", "5000000", "CNY"),
    ("¥10,000", "10000", "JPY"), ("10,000 yen", "10000", "JPY"), ("10,000 Japanese Yen", "10000", "JPY"),
    ("Rs. 500", "500", "INR"), ("Rs 500/-", "500", "INR"), ("₹500", "500", "INR"),
    ("5 crore rupees", "50000000", "INR"), ("5 lakh rupees", "500000", "INR"),
    ("CHF 1'234.50", "1234.5", "CHF"), ("Fr. 5'000.--", "5000", "CHF"),
    ("20 million Swiss francs", "20000000", "CHF"), ("kr 500", "500", "SEK"), ("500,00 kr", "500", "SEK"),
    ("500 Danish kroner", "500", "DKK"), ("R$ 1.234,56", "1234.56", "BRL"),
    ("₩1,000,000", "1000000", "KRW"), ("DM 500", "500", "DEM"),
    # scale
    ("$2M", "2000000", "USD"), ("$2m", "2000000", "USD"), ("$2MM", "2000000", "USD"),
    ("$2 MM", "2000000", "USD"), ("$2mn", "2000000", "USD"), ("$250K", "250000", "USD"),
    ("$250k", "250000", "USD"), ("$1.5B", "1500000000", "USD"), ("$3.5bn", "3500000000", "USD"),
    ("$3.5 bn.", "3500000000", "USD"), ("USD 1.5 B", "1500000000", "USD"), ("$1.5M USD", "1500000", "USD"),
    ("2M USD", "2000000", "USD"), ("2MUSD", "2000000", "USD"), ("USD2M", "2000000", "USD"),
    ("2M dollars", "2000000", "USD"), ("$5 million", "5000000", "USD"), ("$5-million", "5000000", "USD"),
    ("$1.5 billion", "1500000000", "USD"), ("$250 thousand", "250000", "USD"),
    ("$2 hundred thousand", "200000", "USD"), ("$1 trillion", "1000000000000", "USD"),
    ("$2½ million", "2500000", "USD"), ("2 1/2 million dollars", "2500000", "USD"),
    ("a million and a half dollars", "1500000", "USD"), ("$1.2T", "1200000000000", "USD"),
    ("three-quarters of one million dollars", "750000", "USD"), ("1,5 Mrd EUR", "1500000000", "EUR"),
    ("a quarter of a million dollars", "250000", "USD"), ("$1,OOO.50", "1000.5", "USD"),
    ("$l,000", "1000", "USD"), ("₹12,34,567.50", "1234567.5", "INR"), ("1,00,000 rupees", "100000", "INR"),
    ("5,000元", "5000", "CNY"), ("5000円", "5000", "JPY"),
    ("$0.30000000000000004", "0.30000000000000004", "USD"),
    ("half a million dollars", "500000", "USD"), ("½ million dollars", "500000", "USD"),
    ("EUR 12,5 Mio", "12500000", "EUR"), ("12,5 Mio. EUR", "12500000", "EUR"),
    ("2 million 500 thousand dollars", "2500000", "USD"),
    # words
    ("two hundred fifty dollars", "250", "USD"), ("Two Hundred and Fifty Dollars", "250", "USD"),
    ("five dollars", "5", "USD"), ("a million dollars", "1000000", "USD"),
    ("one hundred thousand euros", "100000", "EUR"), ("Five Million Pounds Sterling", "5000000", "GBP"),
    ("five-dollar", "5", "USD"), ("One Thousand Two Hundred and 50/100 Dollars", "1200.5", "USD"),
    ("Ten Thousand and No/100 Dollars", "10000", "USD"), ("two dollars and fifty cents", "2.5", "USD"),
    ("50 cents", "0.5", "USD"), ("fifty cents", "0.5", "USD"), ("50¢", "0.5", "USD"),
    ("one-half cent", "0.005", "USD"), ("20 pence", "0.2", "GBP"), ("one dollar", "1", "USD"),
    # words and figures
    ("One Hundred Twenty Million U.S. Dollars ($120,000,000.00)", "120000000", "USD"),
    ("Two Million Five Hundred Thousand Dollars ($2,500,000)", "2500000", "USD"),
    ("Two Million Dollars ($2,500,000)", "2500000", "USD"),
    ("$5,000 (five thousand dollars)", "5000", "USD"), ("$5,000 (five thousand)", "5000", "USD"),
    ("five thousand (5,000) dollars", "5000", "USD"), ("two (2) million dollars", "2000000", "USD"),
    ("Five Hundred Thousand (500,000) U.S. dollars", "500000", "USD"),
    ("Ten Thousand and 00/100 Dollars ($10,000.00)", "10000", "USD"),
    ("USD 5 (five) million", "5000000", "USD"), ("$0.01 (one cent) per access", "0.01", "USD"),
    ("One Dollar ($1.00)", "1", "USD"), ("Five Million Dollars U.S. (US$5,000,000)", "5000000", "USD"),
    ("one hundred euros (€100)", "100", "EUR"),
    # signs
    ("-$500", "-500", "USD"), ("$-500", "-500", "USD"), ("−€500", "-500", "EUR"),
    ("minus $500", "-500", "USD"), ("negative $500", "-500", "USD"), ("(1,000)", "-1000", None),
    ("($500)", "-500", "USD"), ("$(500)", "-500", "USD"), ("$(1,234.56)", "-1234.56", "USD"),
    ("USD (1,000)", "-1000", "USD"), ("(1,000) USD", "-1000", "USD"), ("(US$1,000)", "-1000", "USD"),
    ("Net loss: ($500)", "-500", "USD"), ("-1,000", "-1000", None), ("(1,000.50)", "-1000.5", None),
    ("a fee of five hundred dollars ($500)", "500", "USD"), ("the fee ($500) is due", "500", "USD"),
    ("Fee - $500", "500", "USD"),
    # European, spaced, full width
    ("€1.234,56", "1234.56", "EUR"), ("1.234,56", "1234.56", None), ("1 234,56 €", "1234.56", "EUR"),
    ("EUR 1\u00a0234\u00a0567,89", "1234567.89", "EUR"), ("€1.234", "1234", "EUR"),
    ("EUR 250.000", "250000", "EUR"), ("EUR 1.234.567", "1234567", "EUR"), ("€12,50", "12.5", "EUR"),
    ("€0.125", "0.125", "EUR"), ("€1.500 million", "1500000", "EUR"), ("＄１，０００", "1000", "USD"),
    ("￥１０００", "1000", "JPY"), ("$1.125", "1.125", "USD"),
    # alone, or with a label
    ("1000", "1000", None), ("1,000.00", "1000", None), ("2M", "2000000", None), ("250k", "250000", None),
    ("2 million", "2000000", None), ("two million", "2000000", None), ("Total: 1,234.56", "1234.56", None),
    ("Purchase price: $100,000", "100000", "USD"), ("100,000 per year", "100000", None),
    ("approximately 5 million", "5000000", None), ("up to $5M", "5000000", "USD"),
    ("$100 per month", "100", "USD"), ("$20/hour", "20", "USD"), ("$5.00.", "5", "USD"),
    ("  $5  ", "5", "USD"), ("$5,", "5", "USD"), ("$31,200 in the aggregate", "31200", "USD"),
    ("at least $1,000,000 per occurrence", "1000000", "USD"), ("$5 (5%)", "5", "USD"),
    ("$1,000 of 5,000,000 shares", "1000", "USD"), ("$5 on March 3, 2024", "5", "USD"),
    ("Section 5: $100", "100", "USD"), ("(i) $100", "100", "USD"),
    ("$100; that is, USD 100.00", "100", "USD"),
]
NOTHING = [
    "", " ", "$", "M", "USD", "n/a", "nan", "NaN", "inf", "-inf", "Infinity", "None", "null", "$ ( )",
    "[***]", "$[***]", "***", "5%", "5 percent", "EUR 5%", "five percent (5%)", "1e6", "$1e6",
    "1E6 USD", "1e-06 USD", "1,00,000", "12/31/2024",
    "2024-12-31", "March 3, 2024", "Section 5", "3,000,000 shares", "5 years", "30 days", "2 millionaires",
    "1,0000", "$1,0000", "$1,00,000", "1.2.3", "10-K", "B2B", "million dollars", "dollars",
    "in dollars 30 days after", "hundreds of dollars", "9" * 5000, "$" + "9" * 5000, "the Purchase Price",
    "$x", "5th",
]
TWO = [
    "$1M to $2M", "$1-2 million", "$1–2 million", "$100-$200", "$100 - $200", "$100-200",
    "between $5 and $10", "1 to 2 million dollars", "between 5 and 10 million dollars",
    "$3,250 per month; $8,500 thereafter", "$5 or €5", "$1,000 plus $50", "5 EUR 6 USD", "USD 5, EUR 5",
    "USD 5 USD 6", "$2.50 or 50 cents",
]
PAIRS = [  # predicted, expected, score
    ("$250,001", "$250,000", 0.0), ("$250,001", "$250001", 1.0), ("2M", "$2,000,000", 1.0),
    ("1.2M", 1200000, 1.0), ("$5 million", "$5", 0.0), ("$5", "$5 million", 0.0),
    ("Purchase price: $100,000", "$100", 0.0), ("two hundred fifty dollars", "two hundred dollars", 0.0),
    ("two hundred fifty dollars", "$250", 1.0), ("$1.5 million", "$1.5 billion", 0.0),
    ("One Hundred Twenty Million U.S. Dollars ($120,000,000.00)", "$120", 0.0), ("(1,000)", "1000", 0.0),
    ("(1,000)", "-1000", 1.0), ("1.00", "1.01", 1.0), ("0.10", "0.11", 1.0),
    ("250000.00", "250000.01", 1.0), ("0.10", "0.12", 0.0), ("1.00", "1.02", 0.0),
    ("250000.00", "250000.02", 0.0), (True, "$1", 0.0), ("€100", "$100", 0.0), ("EUR 100", "€100", 1.0),
    ("100", "€100", 1.0), ("USD 100", "£100", 0.0), ("not stated", "not stated", 1.0), (None, 0, 0.0),
    (0, "$0", 1.0), (0, None, 0.0), ("", "", 1.0), (None, None, 1.0), ("N/A", "$5", 0.0),
    ("null", "not specified", 1.0), ("$1M to $2M", "$1M", 0.0), ("$1M to $2M", "$1M - $2M", 1.0),
    ("$5; $6", "$6; $5", 1.0), ("$5; $6", "$5; $7", 0.0), ("5% of sales", "5% of sales", 1.0),
    ("5% of sales", "50% of sales", 0.0), ("3,000,000 shares", "3,000 shares", 0.0),
    ("3,000,000 shares", "3,000,000 shares", 1.0), ("a reasonable fee", "$5", 0.0),
    ("$5", "a reasonable fee", 0.0), ("$6", ["$5", "$6"], 1.0), ("$7", ["$5", "$6"], 0.0),
    (["$5"], "$5", 1.0), ({"amount": 5}, "$5", 1.0), (5.004, "$5.00", 1.0), (float("nan"), "$5", 0.0),
    (float("inf"), "$5", 0.0), (Decimal("5.01"), 5, 1.0), ("$5", "5 pesos", 0.0), ("¥5", "5 yuan", 1.0),
]
# fmt: on


@pytest.mark.parametrize("text, amount, currency", AMOUNTS, ids=[t for t, *_ in AMOUNTS])
def test_the_amount_of_a_text(text, amount, currency):
    assert parse_money(text) == float(amount)
    values = find_amounts(text)
    assert {v.amount for v in values} == {Decimal(amount)}
    assert currency in {v.currency for v in values}
    for v in values:
        assert v.text == text[v.start : v.end]


@pytest.mark.parametrize("text", NOTHING, ids=[t[:30] for t in NOTHING])
def test_no_amount(text):
    assert parse_money(text) is None
    assert not find_amounts(text)


@pytest.mark.parametrize("text", TWO)
def test_two_amounts_are_none(text):
    assert parse_money(text) is None
    assert len(find_amounts(text)) >= 2


@pytest.mark.parametrize("predicted, expected, score", PAIRS, ids=str)
def test_scores(predicted, expected, score):
    assert score_money_field(predicted, expected) == score
    assert decide_money(predicted, expected).score == score


def test_prose_is_compared_without_a_matcher():
    class Refuses:
        def similarity(self, *_):
            raise AssertionError("amounts are never compared by meaning")

    assert 0 <= score_money_field("the fee in Exhibit A", "the price in Exhibit B", Refuses()) < 1


HOSTILE = [
    "$",
    "USD ",
    "dollars ",
    "$5 ",
    "$5-",
    "(5) dollars",
    "($5)",
    "one dollar and ",
    "$1,",
    "five dollars (",
    "$5 to ",
]
HOSTILE += [
    "- $5",
    " -",
    "1 USD 1 ",
    "€1.234",
    "Rs. 5/- ",
    "minus $5",
    "5 ",
    "$ ",
    "9",
    "$9,999",
    "one hundred ",
    "((",
    "- ",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear_in_the_length(unit):
    assert_near_linear(find_amounts, repeated(unit))


@given(st.text(alphabet="$€£()-,.0123456789 USDEURMKBmillondars%/￥９", max_size=50))
def test_anything_is_read_without_an_error(text):
    last = 0
    for v in find_amounts(text):
        assert v.text == text[v.start : v.end] and v.start >= last
        last = v.end
    value = parse_money(text)
    assert value is None or abs(value) < 1e46
    assert score_money_field(text, text) == 1.0


ODD = [
    None,
    True,
    0,
    -1,
    10**400,
    1.5,
    float("nan"),
    Decimal("NaN"),
    Decimal("1e99"),
    Fraction(1, 3),
    "",
    "$5",
    [],
    ["$5"],
    {},
    {"a": 1},
]
ODD += [b"$5", object, 1j, "x" * 10_000, "\x00", "💶5"]


def test_no_value_raises_and_every_score_is_in_range():
    for a in ODD:
        for b in ODD:
            assert 0 <= score_money_field(a, b) <= 1


@given(st.decimals("-99999999", "99999999", places=2), st.decimals("-99999999", "99999999", places=2))
def test_scores_are_symmetric_and_exact(a, b):
    assert (
        score_money_field(str(a), str(b))
        == score_money_field(str(b), str(a))
        == float(abs(a - b) <= Decimal("0.01"))
    )
    assert score_money_field(float(a), f"${a:,}") == 1.0


def test_a_long_text_is_read_as_a_short_one():
    filler = "The parties agree to the terms set forth herein. " * 20
    texts = [t for t, _, currency in AMOUNTS if currency and not set("(:-") & set(t)]
    whole = filler + filler.join(f"{t.strip()} is due. " for t in texts)
    found, at = {v.amount for v in find_amounts(whole)}, 0
    assert found >= {Decimal(a) for t, a, c in AMOUNTS if t in texts}
    for v in find_amounts(whole):
        assert v.start >= at and v.text == whole[v.start : v.end]
        at = v.end


def test_marks_are_compared_as_sets():
    one, other = read_amounts("C$5")[0], read_amounts("A$5")[0]
    bare = read_amounts("$5")[0]
    assert same_money(one, bare) and same_money(other, bare) and not same_money(one, other)


@pytest.mark.parametrize("second", ["USD7M", "USD7,000", "USD7", "USD 7", "USD 7M"])
def test_a_currency_between_two_amounts_belongs_to_the_one_it_stands_at(second):
    assert [found.text for found in find_amounts(f"$5 {second}")] == ["$5", second]


def test_brackets_are_accounting_where_nothing_stands_within_nineteen_characters_behind_them():
    assert [f.amount for f in find_amounts("(USD 500)" + "." * 19 + "x")] == [-500]
    assert [f.amount for f in find_amounts("(USD 500)" + "." * 18 + "x")] == [500]


PIECES = [
    "$5,000",
    "$5",
    "five thousand dollars ($5,000)",
    "EUR 1.234",
    "from $1-2 million",
    "$159,999.99",
    "Rs. 1,60,000",
]
PIECES += [
    "160K USD",
    "one hundred sixty thousand dollars",
    "16,000,000 cents",
    "$1O0,000",
    "half a million euros",
    "$160 000",
]
PIECES += [
    "$159 and 99 cents",
    "twelve dozen dollars",
    "place of 160",
    "¥１６０",
    "a hundred and sixty dollars",
    "$0.16 million",
]
PIECES += [
    "seven million, six hundred thousand euros",
    "$2.9 million 200 thousand",
    "two-thirds of a million dollars",
    "$3 1/2 million",
    "$4-5 million",
    "EUR 0.75 bn",
]
FILLERS = [" ", "; ", " the Parties agree to the terms of this Agreement" * 3, "\n" * 300, "-", " - ", " to "]
LONG_TEXTS = st.lists(st.sampled_from(PIECES + FILLERS * 2), min_size=5, max_size=40).map(
    lambda p: "".join(p) + "." * 600
)


@given(LONG_TEXTS)
def test_a_long_text_read_stretch_by_stretch_states_what_it_states_as_a_whole(text):
    search, whole = AmountSearch(text), AmountSearch(text)
    marks = [mark for stretch in whole._parts for mark in stretch.marks]
    windows = [window for stretch in whole._parts for window in stretch.windows]
    assert search.all == (whole._of(amounts._Stretch(marks, windows)) if marks else ())


@given(
    LONG_TEXTS,
    st.sampled_from(
        "102 160 144 1234 5000 160000 159999.99 -5000 1000000 500000 2000000 7 3100000 4000000".split()
    ),
)
def test_a_sum_is_found_without_reading_all(text, amount):
    near = [v for v in find_amounts(text) if abs(abs(v.amount) - abs(Decimal(amount))) <= Decimal("0.02")]
    assert [v for v in AmountSearch(text).about(Decimal(amount)) if v in near] == near


@given(LONG_TEXTS)
def test_every_sum_of_a_text_is_found_without_reading_all(text):
    for value in find_amounts(text):
        assert value in AmountSearch(text).about(value.amount)


@pytest.mark.parametrize(
    "piece",
    [p for p in PIECES if p != "place of 160"]
    + ["ninety-nine dollars", "two hundred dollars", "5M USD", "$5 (five) K", "2½K USD"],
)
def test_a_sum_is_found_however_it_is_written(piece):
    text = f"{'The Parties agree. ' * 40}{piece} {'The Parties agree. ' * 40}"
    found = find_amounts(text)
    assert len(found) >= 1
    for value in found:
        assert value in AmountSearch(text).about(value.amount)
        assert value in AmountSearch(text).about(value.amount + Decimal("0.01"))


def test_stretches_lie_apart():
    far, near = f"$5{'.' * 400}$6", f"$5{'.' * 300}$6"
    assert [len(AmountSearch(text + "." * 600)._parts) for text in (far, near)] == [2, 1]
