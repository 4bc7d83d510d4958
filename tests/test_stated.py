"""A value is found by itself exactly when reading all values of the document finds it."""

import csv
import datetime as dt
import gzip
import io
import random

import pytest
from growth import assert_near_linear, repeated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm_dojo_scoring import stated as page
from llm_dojo_scoring.amounts import find_amounts
from llm_dojo_scoring.document import Document
from llm_dojo_scoring.fields.date_grammar import lower_form
from llm_dojo_scoring.fields.dates import find_dates
from llm_dojo_scoring.fields.dates_abroad import MONTHS_ABROAD
from llm_dojo_scoring.stated import look_up


@pytest.fixture(autouse=True)
def no_text_is_short(monkeypatch):
    "Short documents are read whole and in one block; here each is read as a long one is."
    monkeypatch.setattr(page, "_SHORT", 0)
    monkeypatch.setattr(page, "BLOCK", 50)


FORMS = """March 3, 2014|3 March 2014|3rd of March, 2014|the third day of March 2014|03/03/2014|3/3/14|3-3-14
2014-03-03|03.03.2014|3-Mar-2014|3-Mar-14|Mar. 3, '14|MARCH 3,2014|March 3rd , 2014
the 3r d day of March, 2014|this 3rd day of the month of March in the year 2014
3 marzo de 2014|3. März 2014|2014年3月3日|March 3, 20 14
the third day of March, two thousand fourteen|THIRD DAY OF MARCH, TWO THOUSAND FOURTEEN|March 3, 2o14"""


@pytest.mark.parametrize("form", FORMS.replace("\n", "|").split("|"))
@pytest.mark.parametrize("before", ["", "Section 14. " * 30, "Lot 14/2014-3 of 2014. " * 12])
def test_a_date_in_any_form_is_found_where_its_year_stands(form, before):
    text = f"{before}This Agreement is made on {form} between the parties; Article 14 applies."
    read = {v.date for v in find_dates(text) if v.date}
    for date in (dt.date(2014, 3, 3), dt.date(2014, 3, 4), dt.date(2013, 3, 3)):
        found = look_up(date.isoformat(), Document(text), "date")
        assert found.true == (date in read), form
        if found.true:
            assert find_dates(text[found.start : found.end])[0].date == date
            assert found.start == next(v.start for v in find_dates(text) if v.date == date)


@pytest.mark.parametrize(
    "text, true", [("12.12.05", True), ("x" + " " * 2000 + "12.12.05" + " " * 2000 + "y", False)]
)
def test_a_form_that_is_a_date_only_as_a_whole_text(text, true, monkeypatch):
    monkeypatch.setattr(page, "_SHORT", 1_000)
    assert bool(find_dates(text)) == true
    assert look_up("12 December 2005", Document(text), "date").true == true


@pytest.mark.parametrize("year", ["1999", "1900", "2000", "2011", "2010", "2001", "1911"])
def test_every_year_is_found_whatever_its_digits(year):
    for form in (f"May 5, {year}", f"5/5/{year}", f"{year}-05-05", f"May, {year}", year):
        text = f"Order {year}{year} no. 1{year}: signed {form}, see {year}5."
        assert look_up(form, Document(text), "date").true
        assert not look_up(f"June 5, {year}", Document(text), "date").true


@pytest.mark.parametrize(
    "text, true", [("平成26年3月3日" + " and so on" * 20, True), ("中" * 200, False), ("", False)]
)
def test_years_of_east_asia_anywhere_let_the_text_be_read_whole(text, true):
    assert look_up("2014-03-03", Document(text), "date").true == true


def test_only_places_where_a_year_may_end_are_read():
    ends = [
        "x2014",
        "3/3/14",
        "May 3, 14",
        "in 20l4",
        "20 14",
        "3/3/ \n14",
        "May 3, 2014l",
        "Ju1y 3, 14",
        "0ct. 14",
    ]
    ends.append("MAR [3], in the year of our Lord 14")
    none = [
        "Section 14 applies to 14 days",
        "5.140",
        "114",
        "1914",
        "Dec " + "x" * 60 + " 14",
        "dismay 14",
        "3/3/   x14",
    ]
    for text, n in [(t, 1) for t in ends] + [(t, 0) for t in none]:
        assert len(set(page._years_in_figures(2014, Document(text)))) == n, text


def test_an_amount_is_found_at_its_digits_or_by_reading_all():
    text = "fees of 5, 5.1 and 5 " * 60 + "a sum of $5 and 5,000 shares for $2.5 million or EUR 1.250,75"
    document = Document(text)
    stated = ["$5", "$2,500,000", "5000", "€1250.75", "5", "5.1", "2500000"]
    for item, true in [(i, True) for i in stated] + [(i, False) for i in ("$6", "$5000", "€1250.73", "51")]:
        assert look_up(item, document, "money").true == true, item
    assert text[look_up("$5", document, "money").start :].startswith("$5 and")


def test_answers_are_remembered_with_the_document():
    document = Document("made on March 3, 2024")
    assert look_up("2024-03-03", document, "date") is look_up("2024-03-03", document, "date")
    assert look_up("no date", document, "date") is None and look_up("no date", document, "date") is None
    assert look_up("2024-03-03", document, "money") != look_up("2024-03-03", document, "date")


def test_ids_stand_unbroken_but_for_separators():
    stated = ["No. AB - 12/3", "AB–123", "A B 1 2 3", "ab_123", "AB.\n123"]
    for text, true in [(t, True) for t in stated] + [(t, False) for t in ("AB    123", "XAB123", "AB1234")]:
        assert look_up("AB-123", Document(text), "id").true == true, text


@pytest.mark.parametrize(
    "run", ["14", "14 ", "2014", "20 14 ", "Mar 14 ", "5", "5 ", "$5 ", "nineteen ", "thousand ", "A-", "l4 "]
)
def test_time_is_linear_in_the_document(run):
    def look(text):
        document = Document(text)
        for item, kind in (
            ("2014-03-03", "date"),
            ("2011-03-03", "date"),
            ("$5", "money"),
            ("A-A-A-B", "id"),
        ):
            look_up(item, document, kind)

    assert_near_linear(look, repeated(run), 40_000)


def test_in_real_texts_each_value_is_found_where_reading_all_finds_it(pack):
    rows = list(
        csv.reader(io.StringIO(gzip.open(pack / "master_clauses.csv.gz", "rt", encoding="utf-8").read()))
    )
    rng, others, n = random.Random(42), [], 0
    for row in rows[1::12]:
        text = "\n\n".join(row)
        document, dates = Document(text), find_dates(text)
        full = {v.date: v.start for v in reversed(dates) if v.date}
        for date, start in full.items():
            assert look_up(date.isoformat(), document, "date").start == start
            n += 1
        for date in rng.sample(others, min(10, len(others))):
            assert look_up(date.isoformat(), document, "date").true == (date in full)
        for value in find_amounts(text):
            assert (
                look_up(value.text, document, "money") is None or look_up(value.text, document, "money").true
            )
        others = sorted({*others, *full})
    assert n > 60


DAY_PARTS = st.sampled_from(
    "January Feb. March Apr Apri1 April ap-ril ju1 July Dec the day of First second twenty thirty twelfth"
    " 1 2 5 05 9 10 12 15 20 21 25 30 31 0 l5 3O o4 215t 1st 2nd 5th 21st 3 0th 1 2 th Ist l, 2004 2004"
    " '04 04 '99 1999 v. IV mai enero de . / - , ( ) <omitted> § “May” Oct. 0ctober Nov nov-ember xii ottobre"
    " 8 12 _".split(" ")
)
DAY_GAPS = st.sampled_from([" ", " ", "", "-", "/", ".", ", ", "\n"])


@settings(max_examples=1_500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(DAY_PARTS, DAY_GAPS), min_size=2, max_size=9))
def test_a_piece_that_is_passed_over_states_no_such_date(parts):
    piece = "".join(map("".join, parts))
    for value in find_dates(";" + piece):
        assert page._may_state(value, piece), (value, piece)


@pytest.mark.parametrize(
    "piece, day",
    [
        ("May l5, 2004", 15),
        ("3O May 2004", 30),
        ("May o4, 2004", 4),
        ("May l, 2004", 1),
        ("May 215t, 2004", 21),
    ]
    + [
        ("2 0th day of May, 2004", 20),
        ("May 1 5, 2004", 15),
        ("210ctober 2004", 21),
        ("May 3 1 , 2004", 31),
        ("1 2th day of May, 2004", 12),
        ("May 05, 2004", 5),
        ("5/5/2004", 5),
    ]
    + [("Apri15, 2004", 5), ("apri 15, 2004", 5), ("Ju15, 2004", 5), ("twenty-\nfirst of May, 2004", 21)],
)
def test_a_day_is_looked_for_however_it_is_written(piece, day):
    assert [value.day for value in find_dates(f";{piece}")] == [day]
    assert page._may_state(find_dates(f";{piece}")[0], piece)
    assert not page._may_hold_day(16, "in may 2004, section 161.5 and 516")


MONTH_FORMS = (
    "{name} 7, 2004|{upper} 7, 2004|7 {begun}. 2004|{begun}-7-2004|2004-{begun}-07|{begun} 7, '04"
    "|{scanned} 7, 2004|{nn}/07/2004|{n}/7/04|2004-{nn}-07|2004/{n}/7|{n}-7-2004|07.{nn}.2004|7. {nn}. 2004"
    "|28/ {n}/2004|{n}/{n}, 2004|{n}/2004|2004-{nn}|{n}/__/2004|7.{roman}.2004|7/{roman}/2004|7 {abroad} 2004"
    "|7 de {abroad} de 2004|{first}-{rest} 7, 2004|{first}-\n {rest} 7, 2004|7th of “{name}” 2004"
    "|{begun}\u00ad{ended} 7, 2004"
)
ENGLISH = "January February March April May June July August September October November December".split()


@pytest.mark.parametrize("month", range(1, 13))
def test_a_month_is_looked_for_however_it_is_written(month):
    name, read = ENGLISH[month - 1], 0
    parts = {
        "n": month,
        "nn": f"{month:02}",
        "roman": page._ROMAN[month - 1],
        "name": name,
        "upper": name.upper(),
    }
    parts |= {"begun": name[:3], "ended": name[3:], "first": name[0], "rest": name[1:]}
    parts["scanned"] = name.lower().replace("l", "1").replace("o", "0")
    for form in MONTH_FORMS.split("|"):
        for abroad in MONTHS_ABROAD[month - 1].split() if "{abroad}" in form else [""]:
            piece = form.format(**parts, abroad=abroad)
            for value in find_dates(f";{piece}"):
                read += value.month == month
                assert page._may_state(value, piece), (value, piece)
    assert read > 28


@pytest.mark.parametrize("piece", ["In May 2004, Section 61.5, 16 and v", "7 June 2004 (10)", "§ 12 of 2004"])
def test_a_month_that_cannot_be_read_is_not_looked_for(piece):
    for month in (2, 7, 10, 11):
        assert not page._may_hold_month(month, lower_form(piece)), month
