"""The date grammar, form by form: what is read, by which rules, up to the last boundary."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring.fields.date_grammar import apart, candidates, lower_form, read_dates


def read(text):
    return ["-".join(f"{p:02d}" for p in r[3:] if p) for r in read_dates(text)]


NAMES = [
    ("Sept 5, 2003", "2003-09-05"),
    ("Septmber 5, 2003", "2003-09-05"),
    ("Febuary 5, 2003", "2003-02-05"),
    ("Feburary 5, 2003", "2003-02-05"),
    ("Janurary 5, 2003", "2003-01-05"),
    ("Ju1y 5, 2003", "2003-07-05"),
    ("N0vember 5, 2003", "2003-11-05"),
    ("Decem-ber 5, 2003", "2003-12-05"),
    ("Janu ary 5, 2003", "2003-01-05"),
    ("Feb-\nruary 5, 2003", "2003-02-05"),
    ("Octo ber 5, 2003", "2003-10-05"),
    ("Novem ber 5, 2003", "2003-11-05"),
    ("the thirtieth of May, 2003", "2003-05-30"),
    ("twenty ninth day of May, 2003", "2003-05-29"),
    ("(May 5, 2003)", "2003-05-05"),
    ("[May] 5, 2003", "2003-05-05"),
    ("[May] [5], [2003]", "2003-05-05"),
    ("day 3 of May 2004", "2004-05-03"),
    ("3 days of May 2004", "2004-05-03"),
    ("3rd calendar day of May 2004", "2004-05-03"),
    ("3rd day of May of the calendar year 2004", "2004-05-03"),
    ("3rd day of May in the year of 2004", "2004-05-03"),
    ("3rd day of Tuesday, May 2004", "2004-05-03"),
    ("3rd of May, A. D., 2004", "2004-05-03"),
    ("2nd. day of March, 2004", "2004-03-02"),
    ("first, second and third day of May 2004", "2004-05-03"),
    ("3/May/2004", "2004-05-03"),
    ("the 3rd" + " " * 70 + "day of" + " " * 30 + "May" + " " * 60 + "2004", "2004-05-03"),
    ("2004 May 3", "2004-05-03"),
    ("2004  May 3rd", "2004-05-03"),
    ("2004/May/3", "2004-05-03"),
    ("12004-Mar-03", ""),
    ("2004-Mar-0345", "2004"),
    ("1 2th day of June 2004", "2004-06-12"),
    ("3 0th day of June 2004", "2004-06-30"),
    ("1.5t January 2013", "2013-01-01"),
    ("2lst day of May 2004", "2004-05-21"),
    ("Ist day of May 2004", "2004-05-01"),
    ("May 3, 2O04", "2004-05-03"),
    ("May 3, two thousand", "2000-05-03"),
    ("May 3, two thousand twelve", "2012-05-03"),
    ("May 3, two thousand thirty one", "2031-05-03"),
    ("May 3, two thousand ten one", ""),
    ("May 3, two thousand twenty ten", ""),
    ("May 3, nineteen hundred", "1900-05-03"),
    ("May 3, nineteen hundred (1900)", "1900-05-03"),
    ("May 3, nineteen twenty-nine", "1929-05-03"),
    ("May 3, nineteen eleven", "1911-05-03"),
    ("May 3, one thousand nine hundred ninety-eight", "1998-05-03"),
    ("May 3, one thousand nine hundred", "1900-05-03"),
    ("May 3, nineteen parties", ""),
    ("May 3, nineteen; 2004", "2004"),
    ("May 3, twenty parties", ""),
    ("May 3, twenty twenty-one", "2021-05-03"),
    ("May 3, 1600", "1600-05-03"),
    ("May 3, 2199", "2199-05-03"),
    ("May 3, 2200", ""),
    ("May 3, 1599", ""),
    ("May 3, 20045", ""),
    ("May 3, 2,004", ""),
    ("May 1 and 2, 2004", "2004-05"),
    ("May 1 through 31, 2004", "2004-05"),
    ("Exhibit 10 March 2004", "2004-03"),
    ("June 5. May 2004", "2004-05"),
    ("on page 5 June 2004", "2004-06"),
    ("11.5 June 2004", "2004-06"),
    ("$5 June 2004", "2004-06"),
    ("36 June 2004", "2004-06"),
    ("May 5, 99", "1999-05-05"),
    ("May 5, 99 between A and B", "1999-05-05"),
    ("5 May 99, between", "1999-05-05"),
    ("May 5, 99 parties", ""),
    ("May 5, 99%", ""),
    ("May 5, 10 or 11", ""),
    ("5 May 19__", ""),
    ("May 99", ""),
    ("first (1st) day of May, 99", "1999-05-01"),
]
FIGURES = [
    ("1600-01-01", "1600-01-01"),
    ("1599-01-01", ""),
    ("2199-12-31", "2199-12-31"),
    ("2200-01-01", ""),
    ("1/1/1600", "1600-01-01"),
    ("1/1/1599", ""),
    ("12/31/2199", "2199-12-31"),
    ("1/1/2200", ""),
    ("1600年1月1日", "1600-01-01"),
    ("1599年1月1日", ""),
    ("2199年1月1日", "2199-01-01"),
    ("2200年1月1日", ""),
    ("2004年13月1日", "2004"),
    ("2004-05-2005", "2004"),
    ("2004-[]-05", "2004"),
    ("2004-5-7", "2004-05-07"),
    ("123/4/2004", ""),
    ("1/2/3", ""),
    ("1/2/345", ""),
    ("1.2.34", ""),
    ("12/5/2004", "2004-12-05"),
    ("2004年5月6日2007年8月9日", "2004-05-06 2007-08-09"),
    ("1/2/2004May 5, 2004", "2004-01-02 2004-05-05"),
    ("12/12/12", "2012-12-12"),
    ("12/13/12", "2012-12-13"),
    ("13/12/12", "2012-12-13"),
    ("13/13/12", ""),
    ("13/1/2004", "2004-01-13"),
    ("31/1/04", "2004-01-31"),
    ("1/31/04", "2004-01-31"),
    ("1/32/04", ""),
    ("1/0/04", ""),
    ("0/1/04", ""),
    ("45/12/10", ""),
    ("2/30/04", "2004-02"),
    ("13.12.2004", "2004-12-13"),
    ("12.13.2004", "2004-12-13"),
    ("3.3.2004.", "2004-03-03"),
    ("3/3/2004/", "2004-03-03"),
    ("3/3/2004/5", ""),
    ("3.3.2004.5", ""),
    ("7/3/3/2004", ""),
    ("7.3/3/2004", ""),
    ("a3/3/2004", ""),
    ("dated/3/3/2004", "2004-03-03"),
    ("dated.3/3/2004", "2004-03-03"),
    ("to-3-3-2004", "2004-03-03"),
    ("09/__/2019", "2019-09"),
    ("13/__/2019", "2019"),
    ("09/[ ]/19", "2019-09"),
    ("[]/[]/2019", "2019"),
    ("7/27, 1997", "1997-07-27"),
    ("27/7, 1997", "1997"),
    ("7/27, 1997.5", ""),
    ("1/7/27, 1997", "2027-01-07 1997"),
    ("a7/27, 1997", "1997"),
    ("09/2019", "2019-09"),
    ("09/2100", ""),
    ("1/09/2019/7", ""),
    ("/09/2019", ""),
    ("-09/2019", ""),
    ("2019-12", "2019-12"),
    ("2019-13", "2019"),
    ("2019-12-", "2019-12"),
    ("1-2019-12", ""),
    ("1800", "1800"),
    ("1799", ""),
    ("2099", "2099"),
    ("2100", ""),
    ("12019", ""),
    ("20191", ""),
    ("2019a", ""),
    ("a2019", ""),
    ("_2019", ""),
    ("__2019", "2019"),
    ("2019_", ""),
    ("2019%", ""),
    ("2019 %", ""),
    ("2019.5", ""),
    ("2019, 5", "2019"),
    ("2019,5", ""),
    ("2019.", "2019"),
    ("2019/5", ""),
    ("5/2019.", "2019-05"),
    ("5.2019", ""),
    (", 2019", "2019"),
    ("in,2019", "2019"),
    ("-2019", "2019"),
    ("2019-", "2019"),
    ("2019-20", "2019"),
    ("2019-063", ""),
    ("2019-12345", ""),
    ("555-2019", ""),
    ("12018-2019", ""),
    ("1700-2019", ""),
    ("USD 2019", ""),
    ("no. 2019", ""),
    ("anno. 2019", ""),
    ("£ 2019", ""),
    ("2019 units", ""),
    ("2019 unitary", "2019"),
    ("2019 days", ""),
    (" 20240303 ", "2024-03-03"),
    ("20240303T120000Z", "2024-03-03"),
    ("20240230", ""),
    ("01.04.11.", ""),
    ("31.04.11", ""),
    (" 30.04.68", "2068-04-30"),
    ("2004-05-06 2007年8月9日", "2004-05-06 2007-08-09"),
    ("1/2/2004 3/4/2004", "2004-01-02 2004-03-04"),
    ("1/2/2004,3/4/2005", "2004-01-02 2005-03-04"),
]


@pytest.mark.parametrize("text, dates", NAMES + FIGURES)
def test_what_is_read(text, dates):
    assert " ".join(read(text)) == dates


WHY = [
    ("May 5, 2004", "month day year"),
    ("May fifth, '04", "month day year; day in words; two-digit year"),
    ("l0th of May, two thousand", "day month year; scanner's error mended; year in words"),
    ("2 0th of May, 2OO4", "day month year; scanner's error mended; scanner's error mended"),
    ("fifth of May, 04", "day month year; day in words; two-digit year"),
    ("May 2004", "month and year"),
    ("May __, 2004", "month and year; day left blank"),
    ("May 1-2, 2004", "month and year; range of days"),
    ("May nineteen, nineteen 2004", "year alone"),
    ("2004-May-fifth", "year month day; day in words"),
    ("Feb 30, 2004", "month day year; no such day"),
    ("2004-05-06", "year month day"),
    ("5/6/2004", "month/day/year"),
    ("5/6/04", "month/day/year; two-digit year"),
    ("16/5/2004", "month/day/year turned round"),
    ("5.6.2004", "day.month.year"),
    ("5.16.2004", "day.month.year turned round"),
    ("13/14/2004", "month/day/year; no such month"),
    ("5/[]/2004", "month and year; day left blank"),
    ("5/[]/04", "month and year; day left blank; two-digit year"),
    ("5/6, 2004", "month/day/year"),
    ("5/2004", "month and year"),
    ("2004", "year alone"),
    ("2004年5月6日", "year month day, East Asian"),
    ("20040506", "eight digits"),
    ("06.05.04", "day.month.year; two-digit year"),
]


@pytest.mark.parametrize("text, why", WHY)
def test_each_reading_names_its_rules(text, why):
    [reading] = read_dates(text)
    assert "; ".join(reading.why) == why


SPANS = [
    ("x 20240303", None),
    ("  20240303 ", "20240303"),
    ("on the 3rd day of May, 2004, at", "3rd day of May, 2004"),
    ("made 2004-Mar-03.", "2004-Mar-03"),
    ("on (1st) day of May 2004", "1st) day of May 2004"),
    ("May 1-2, 2004.", "May 1-2, 2004"),
    ("about 5/[]/2004.", "5/[]/2004"),
    ("(2004)", "2004"),
    ("it is 2004年5月6日.", "2004年5月6日"),
    ("on 7/27 , 1997.", "7/27 , 1997"),
]


@pytest.mark.parametrize("text, span", SPANS)
def test_each_reading_has_its_place(text, span):
    assert [text[r.start : r.end] for r in read_dates(text)] == [span] * (span is not None)


@pytest.mark.parametrize("before", ["$", "€", "#", "§"])
def test_an_amount_at_the_very_start_is_no_year(before):
    assert not read_dates(before + "2004") and not candidates(before + "2004")
    assert len(candidates(" 2004")) == len(candidates("-2004")) == 1


numbers = st.integers(0, 40).map(str) | st.sampled_from(
    "00 01 012 099 1599 1600 1999 2024 2199 2200 20240".split()
)


@settings(max_examples=500, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=4), st.lists(st.sampled_from("/-."), min_size=1, max_size=3))
def test_figures_alone_are_read_as_the_whole_grammar_reads_them(parts, marks):
    text = "".join(part + marks[k % len(marks)] for k, part in enumerate(parts))[:-1]
    whole = [v._replace(start=v.start - 1, end=v.end - 1) for v in apart(candidates(lower_form(text)))]
    assert read_dates(text) == whole


ALONE = ["{} {}, {}", "{} 0{}, {}", "{}  {}, {}", "{} {} {}", "{}\u00a0{}, {}", "{} {}, {}\n"]
NAMES_ALONE = (
    "January february MARCH ApriL May June July AUGUST September October November December Sep".split()
)


@pytest.mark.parametrize("name", [*NAMES_ALONE, "auguſt", "Ju1y"])
def test_a_date_alone_is_read_as_the_whole_grammar_reads_it(name):
    for form in ALONE:
        for day in (*range(33), 39, 40, 100, "１"):
            for year in (1599, 1600, 1900, 2004, 2199, 2200, 20040, "２００４"):
                text = form.format(name, day, year)
                whole = [
                    v._replace(start=v.start - 1, end=v.end - 1) for v in apart(candidates(lower_form(text)))
                ]
                assert read_dates(text) == whole, text
