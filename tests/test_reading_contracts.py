"""Long texts are read by quicker means than short ones; the answers must be the same."""

import datetime as dt
import random
import sys

import pytest
from growth import assert_near_linear, repeated

from llm_dojo_scoring.document import Document
from llm_dojo_scoring.fields.date_grammar import read_dates
from llm_dojo_scoring.fields.dates import find_dates
from llm_dojo_scoring.stated import look_up
from llm_dojo_scoring.values import lowered, plain

PAD = " quiet words of a contract that state nothing" * 100


def test_long_texts_become_plain_and_small_as_short_ones_do():
    every = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]
    for at in range(0, len(every), 3000):
        some = every[at : at + 3000]
        assert plain("".join(some) + PAD) == "".join(map(plain, some)) + PAD
        text = ". ".join(some) + PAD
        assert lowered(text) == text.lower()
    assert lowered("ΟΔΟΣ Σ." + PAD) == ("ΟΔΟΣ Σ." + PAD).lower()
    assert plain("\ud800 –" + PAD) == "\ud800 -" + PAD


def test_one_date_is_looked_for_as_all_are_read():
    rng = random.Random(12)
    forms = "May 5, 2005|3/3/05|5 mars 1998|may '05|2oo5|Apri105|2005|nineteen ninety-nine|"
    forms += (
        "31.12.1998|June l, 2012|2012-Mar-03|June|5th|June __, 2005|3rd day of June, two thousand and six"
    )
    for gap in (1, 30, 200) * 4:
        gaps = [". See ", "; ", " word" * gap]
        parts = (rng.choice(forms.split("|")) + rng.choice(gaps) for _ in range(40))
        document = Document("".join(parts) + PAD)
        read = {value.date for value in find_dates(document.text) if value.date}
        for date in read | {dt.date(1998, 5, 5), dt.date(2012, 6, 2), dt.date(2005, 5, 6)}:
            assert look_up(date.isoformat(), document, "date").true == (date in read), date


def test_characters_without_width_are_counted_where_one_date_is_looked_for():
    text = PAD + "\u200bon May\u00ad 5, 20\u200b05\ufeff and" + PAD
    [date] = find_dates(text)
    assert date.date == dt.date(2005, 5, 5) and date.text == "May\u00ad 5, 20\u200b05"
    assert look_up("May 5, 2005", Document(text), "date").true
    assert not look_up("June 5, 2005", Document(text), "date").true


def test_a_piece_of_blanks_around_a_number_is_not_the_whole_text():
    text = "x" + " " * 3000 + "12.12.05" + " " * 3000 + "y" * 1200
    assert read_dates(text) == []
    assert not look_up("12 December 2005", Document(text), "date").true


def test_a_text_that_counts_years_otherwise_is_read_whole():
    assert look_up("2005-03-03", Document(PAD + "平成17年3月3日" + PAD), "date").true


@pytest.mark.parametrize("part", ["2014 ", "14 ", "2014", "may 14 ", "two thousand ", "nineteen ", "1/1/14"])
def test_one_date_is_looked_for_in_linear_time(part):
    assert_near_linear(lambda text: look_up("3 March 2014", Document(text), "date"), repeated(part))
    document = Document(repeated(part)(100_000))
    found = look_up("3 March 2014", document, "date")
    assert found.true == any(v.date == dt.date(2014, 3, 3) for v in find_dates(document.text))
