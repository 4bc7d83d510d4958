"""Long texts are read by quicker means than short ones; the answers must be the same."""

import random
import sys
import time

import pytest

from llm_dojo_scoring.fields.date_grammar import apart, candidates, lower_form, read_dates
from llm_dojo_scoring.fields.date_places import first_reading
from llm_dojo_scoring.fields.dates import find_date, find_dates
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
    forms = (
        "May 5, 2005|3/3/05|5 mars 1998|may '05|2oo5|Apri105|2005|12-2005|nineteen ninety-nine|May 3-5, 98|"
    )
    forms += (
        "31.12.1998|June l, 2012|2012-Mar-03|June|5th|June __, 2005|3rd day of June, two thousand and six"
    )
    others = [(1998, 5, 5), (2005, None, None), (2012, 6, None), (7, 1, 1)]
    for gap in (0, 1, 30, 200) * 6:
        gaps = [" ", ", ", " to ", " word" * gap]
        parts = (rng.choice(forms.split("|")) + rng.choice(gaps) for _ in range(70))
        low = lower_form("".join(parts) + PAD)
        readings = apart(candidates(low))
        for key in {r[3:] for r in readings}.union(others):
            expected = [r for r in readings if all(a in (None, b) for a, b in zip(key, r[3:], strict=True))]
            assert first_reading(low, *key) == (expected or [None])[0], key


def test_characters_without_width_are_counted_where_one_date_is_looked_for():
    text = PAD + "\u200bon May\u00ad 5, 20\u200b05\ufeff and" + PAD
    [date] = find_dates(text)
    assert find_date(text, 2005, 5, 5) == date and date.text == "May\u00ad 5, 20\u200b05"
    assert find_date(text, 2005, 6) is None


def test_a_piece_of_blanks_around_a_number_is_not_the_whole_text():
    text = "x" + " " * 3000 + "12.12.05" + " " * 3000 + "y" * 1200
    assert read_dates(text) == []
    assert find_date(text, 2005) is None


def test_a_text_that_counts_years_otherwise_is_read_whole():
    assert find_date(PAD + "平成17年3月3日" + PAD, 2005, 3, 3).year == 2005


@pytest.mark.parametrize("part", ["2014 ", "14 ", "2014", "may 14 ", "two thousand ", "nineteen ", "1/1/14"])
def test_one_date_is_looked_for_in_linear_time(part):
    text = part * (100_000 // len(part))
    started = time.process_time()
    found = find_date(text, 2014, 3, 3)
    assert time.process_time() - started < 2
    assert found is None or found in find_dates(text)
