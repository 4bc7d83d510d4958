"""Currency marks: linear time on hostile text, spans that hold, and every code that babel knows."""

import pytest
from growth import assert_near_linear, repeated
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
    assert_near_linear(find_currency_marks, repeated(unit))


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


# The tables once more, written from another side: per code, what leads to it first.
# fmt: off
TABLE = {
    "USD": "$|US$|U.S.$|u.s $|us dollars|USA dollars|"
    "U.S.A. dollars|american dollars|united states dollars|dollars|cents|¢",
    "CAD": "C$|CA$|Cdn$|Can$|canadian dollars", "AUD": "A$|AU$|australian dollars",
    "NZD": "NZ$|new zealand dollars", "HKD": "HK$|hong kong dollars", "SGD": "S$|SG$|singapore dollars",
    "TWD": "NT$|new taiwan dollars|taiwan dollars", "JMD": "jamaican dollars",
    "BRL": "R$|real|reais|brazilian reais", "MXN": "MX$|pesos|mexican pesos",
    "JPY": "¥|￥|JP¥|yen|japanese yen", "CNY": "CN¥|yuan|renminbi|RMB|rmb|chinese yuan",
    "EUR": "€|euros|euro",
    "GBP": "£|￡|pounds|pounds sterling|sterling|british pounds|"
    "UK pounds|U.K. pounds|english pounds|pence|pennies|penny",
    "EGP": "egyptian pounds", "INR": "₹|Rs.|rs|RS|rupees|indian rupees", "PKR": "pakistani rupees",
    "LKR": "sri lankan rupees", "KRW": "₩|won|korean won|south korean won",
    "RUB": "₽|roubles|rubles|russian rubles", "ILS": "₪|NIS|shekels|israeli new shekels",
    "TRY": "₺|lira|turkish lira", "ITL": "italian lira", "UAH": "₴", "THB": "฿|baht|thai baht",
    "VND": "₫", "PHP": "₱|philippine pesos", "NGN": "₦", "CRC": "₡", "PYG": "₲", "KZT": "₸",
    "ARS": "argentine pesos", "CLP": "chilean pesos", "COP": "colombian pesos", "DEM": "DM",
    "CHF": "Fr.|SFr.|francs|swiss francs", "FRF": "french francs", "BEF": "belgian francs",
    "SEK": "kr|Kr|krona|kronor|swedish krona", "ISK": "icelandic krona",
    "NOK": "kroner|norwegian krone", "DKK": "danish kroner", "ZAR": "rand|south african rand",
    "MYR": "ringgit|malaysian ringgit", "AED": "dirhams|uae dirhams|united arab emirates dirhams",
    "MAD": "moroccan dirhams", "SAR": "riyals|saudi riyals", "QAR": "qatari riyals",
    "PLN": "zloty|polish zloty", "HUF": "forints|hungarian forints", "KWD": "dinars|kuwaiti dinars",
    "BHD": "bahraini dinars", "JOD": "jordanian dinars",
}
# fmt: on


@pytest.mark.parametrize("code", TABLE)
def test_each_mark_of_the_tables_leads_to_its_code(code):
    for mark in TABLE[code].split("|"):
        assert currency_codes(mark)[:1] == (code,), mark


@pytest.mark.parametrize(
    "text, codes", [("5 zł", ["PLN"]), ("5 Kč", ["CZK"]), ("5 kr.", ["SEK"]), ("İ US$5", ["USD"])]
)
def test_marks_beside_digits(text, codes):
    assert [m.codes[0] for m in find_currency_marks(text)] == codes


def test_ambiguous_marks_keep_every_code():
    assert currency_codes("Rs.") == ("INR", "PKR", "LKR", "NPR", "MUR")
    assert currency_codes("kr") == ("SEK", "NOK", "DKK", "ISK")
    assert currency_codes("rupees") == currency_codes("Rs")
    assert currency_codes("¥") == currency_codes("￥") == ("JPY", "CNY")
    assert currency_codes("lira") == ("TRY", "ITL") and currency_codes("kroner") == ("NOK", "DKK")
    assert len(currency_codes("$")) == 17 and currency_codes("cents") == (*currency_codes("$"), "EUR")


def test_a_mark_that_is_no_code_hides_no_other():
    assert [m.codes[0] for m in find_currency_marks("SEC, ALL, xusd and USD 5")] == ["USD"]
