"""Dates: round trips, independence of the clock, linear time, real labels, stored scores."""

import ast
import csv
import datetime as dt
import gzip
import io
import json
import locale
import os
import re
import time
from collections import Counter

import pytest
import time_machine
from growth import assert_near_linear, repeated
from hypothesis import given, settings
from hypothesis import strategies as st
from seed_rules import seed_date_score

from llm_dojo_scoring.fields.date_grammar import read_dates
from llm_dojo_scoring.fields.date_rules import decide_date, is_null_expectation, score_date_field
from llm_dojo_scoring.fields.dates import find_dates, full_dates, parse_date, partial_dates, select_date

NAMES = "January February March April May June July August September October November December".split()
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first"
    " twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth"
    " twenty-ninth thirtieth thirty-first"
).split()
SMALL = [""] + (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
).split()
TENS = ["", "", *"twenty thirty forty fifty sixty seventy eighty ninety".split()]


def nth(n):
    return f"{n}{'th' if 10 < n < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def below_hundred(n):
    return SMALL[n] if n < 20 else TENS[n // 10] + ("-" + SMALL[n % 10] if n % 10 else "")


def year_words(y):
    head = "two thousand" if y >= 2000 else "nineteen hundred"
    return head + (" and " + below_hundred(y % 100) if y % 100 else "")


def wide(text):
    return "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in text)


STYLES = {
    "iso": lambda d: d.isoformat(),
    "datetime": lambda d: f"{d.isoformat()}T23:59:59+14:00",
    "year first": lambda d: f"{d.year}/{d.month}/{d.day}",
    "slashed": lambda d: f"{d.month}/{d.day}/{d.year}",
    "two digits": lambda d: f"{d.month}/{d.day}/{d.year % 100:02d}",
    "dashed": lambda d: f"{d.month:02d}-{d.day:02d}-{d.year}",
    "dotted": lambda d: f"{d.day}.{d.month}.{d.year}",
    "month first": lambda d: f"{NAMES[d.month - 1]} {d.day}, {d.year}",
    "tight": lambda d: f"{NAMES[d.month - 1]} {d.day},{d.year}",
    "capitals": lambda d: f"{NAMES[d.month - 1].upper()} {nth(d.day).upper()}, {d.year}",
    "short": lambda d: f"{NAMES[d.month - 1][:3]}. {d.day:02d}, {d.year}",
    "apostrophe": lambda d: f"{NAMES[d.month - 1]} {d.day}, ’{d.year % 100:02d}",
    "day first": lambda d: f"{d.day} {NAMES[d.month - 1]} {d.year}",
    "ordinal": lambda d: f"the {nth(d.day)} of {NAMES[d.month - 1]}, {d.year}",
    "day of": lambda d: f"this {nth(d.day)} day of {NAMES[d.month - 1]} {d.year}",
    "split": lambda d: f"{d.day} {nth(d.day)[-2]} {nth(d.day)[-1]} day of {NAMES[d.month - 1]}, {d.year}",
    "stray": lambda d: f"{d.day} day of {NAMES[d.month - 1]}. {d.year}",
    "words": lambda d: f"{ORDINALS[d.day - 1]} day of {NAMES[d.month - 1]}, {d.year}",
    "all words": lambda d: f"{ORDINALS[d.day - 1]} day of {NAMES[d.month - 1]}, {year_words(d.year)}",
    "twice": lambda d: (
        f"{ORDINALS[d.day - 1]} ({nth(d.day)}) day of {NAMES[d.month - 1]} in the year {d.year}"
    ),
    "joined": lambda d: f"{d.day} {NAMES[d.month - 1]},<omitted>{d.year}",
    "military": lambda d: f"{d.day:02d}{NAMES[d.month - 1][:3].upper()}{d.year}",
    "chinese": lambda d: f"{d.year}年{d.month}月{d.day}日",
    "full width": lambda d: wide(f"{d.year}／{d.month}／{d.day}"),
    "no break": lambda d: f"{d.day}\u00a0{NAMES[d.month - 1]}\u00a0{d.year}",
}
DAYS = st.dates(dt.date(1969, 1, 1), dt.date(2068, 12, 31))


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=60, deadline=None)
@given(d=DAYS)
def test_a_date_written_is_read_back(style, d):
    text = STYLES[style](d)
    assert parse_date(text) == d, text
    assert score_date_field(text, d.isoformat()) == score_date_field(d.isoformat(), text) == 1.0


@settings(max_examples=150, deadline=None)
@given(
    d=DAYS,
    style=st.sampled_from(sorted(STYLES)),
    before=st.sampled_from(["", "Section 2.1(a): ", "dated ", "(", "“", "5 parties; "]),
)
def test_a_date_inside_a_sentence_is_found_with_its_place(d, style, before):
    text = f"{before}{STYLES[style](d)}"
    for whole in (text, f"{text} (the “Effective Date”), by and between 2 parties of $1,000 each"):
        found = [v for v in find_dates(whole) if v.date]
        assert [v.date for v in found] == [d], whole
        assert whole[found[0].start : found[0].end] == found[0].text and found[0].why


@settings(max_examples=150, deadline=None)
@given(a=DAYS, b=DAYS)
def test_the_score_of_two_days_is_symmetric_and_stepped(a, b):
    score = score_date_field(a.isoformat(), f"{b:%m/%d/%Y}")
    assert score == score_date_field(f"{b:%m/%d/%Y}", a.isoformat())
    assert score in (0.0, 0.33, 0.67, 1.0) and (score == 1.0) == (a == b)


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="0123456789/-. ,_[]'jJanuryMmay\u200b２年月日<omitted>", max_size=60))
def test_what_is_read_is_in_the_text(text):
    last = 0
    for v in find_dates(text):
        assert text[v.start : v.end] == v.text and last <= v.start < v.end
        last = v.end
        assert (v.day is None or v.month is not None) and v.shown.startswith(f"{v.year:04d}")
    assert 0.0 <= score_date_field(text, "March 3, 2024") <= 1.0
    assert 0.0 <= score_date_field("2024-03-03", text) <= 1.0


ODD = [
    None,
    0,
    1,
    -1.5,
    True,
    float("nan"),
    float("inf"),
    "",
    " ",
    "null",
    [],
    {},
    [None],
    {"a": [1, {"b": None}]},
    b"x",
    10**30,
    object,
]


def test_no_value_raises():
    for p in ODD:
        assert parse_date(p) is None and full_dates(p) == partial_dates(p) == []
        for e in ODD:
            assert 0.0 <= decide_date(p, e).score <= 1.0


# ------------------------------------------------------------------ the clock
PAIRS = [
    ("2024", "March 15, 2024"),
    ("March 2024", "March 15, 2024"),
    ("March 15", "March 15, 2024"),
    ("10", "2024-10-10"),
    ("1/1/75", "1975-01-01"),
    ("16 day of August. 2012", "2012-08-16"),
    ("Friday", "May 5, 2004"),
    ("3:00 p.m.", "2004-05-05"),
    (None, "____ day of ____, 19__"),
    ("Jan 5, 69", "1/5/1969"),
    ("today", "2024-03-15"),
    ("12/25", "12/25/2024"),
]


def scores():
    find_dates.__globals__["_remembered"].cache_clear()
    return [tuple(map(str, decide_date(p, e)))[:4] for p, e in PAIRS] + [
        str(parse_date(t)) for pair in PAIRS for t in pair
    ]


def test_the_day_of_the_run_changes_nothing():
    usual = scores()
    for day in ("1969-07-01", "2024-02-29", "2024-03-15", "2024-12-31", "2075-01-01"):
        with time_machine.travel(dt.datetime.fromisoformat(day).replace(tzinfo=dt.timezone.utc), tick=False):
            assert scores() == usual, day


def test_time_zone_and_locale_change_nothing():
    usual, zone = scores(), os.environ.get("TZ")
    try:
        for tz in ("Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kolkata"):
            os.environ["TZ"] = tz
            time.tzset()
            assert scores() == usual, tz
    finally:
        os.environ.pop("TZ") if zone is None else os.environ.update(TZ=zone)
        time.tzset()
    saved = locale.setlocale(locale.LC_ALL)
    for name in ("C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        try:
            assert scores() == usual, name
        finally:
            locale.setlocale(locale.LC_ALL, saved)


# ------------------------------------------------------------------ time
HOSTILE = [
    "1",
    "1/",
    "1-",
    "1.",
    "1 / ",
    "12/12",
    "2004",
    "2004-",
    "2004-03-",
    " ",
    "\n",
    "_",
    "[",
    "[ ",
    "[]",
    "(",
    "day of ",
    "of ",
    "may ",
    "may 1 ",
    "1 may ",
    "1 may 2004 ",
    "may 1, 20",
    "may 1 1 ",
    "janu",
    "janu ary ",
    "the ",
    "may the ",
    "twenty ",
    "twenty-",
    "may twenty ",
    "may 1, two thousand ",
    "may two thousand and ",
    "nineteen ",
    "1st ",
    "1 s t ",
    "lst ",
    "l0",
    "1 (1) ",
    "２",
    "年",
    "2004年",
    "\u200b",
    "1\u200b",
    "may\u200b1",
    "<omitted>",
    "'",
    "'9",
    "a.d. ",
    "in the year ",
    "friday, ",
    "may, friday, ",
    "effective until ",
    "İ",
    "1 may" + " " * 80,
]


@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_time_grows_with_the_length_of_the_text(unit):
    for head, tail in (("", ""), ("may ", ""), ("1st day of ", " may 2004")):
        assert_near_linear(find_dates, lambda n, head=head, tail=tail: head + repeated(unit)(n) + tail)
        select_date(find_dates((head + repeated(unit)(2000) + tail)[:2000]), "effective")
    assert_near_linear(is_null_expectation, repeated(unit))


def test_a_long_document_costs_no_more_per_character_than_a_short_one():
    page = "This Agreement may be amended. Section 2.1 pays $2,000 by March 3, 2024, and 5/6/2004. " * 20
    assert_near_linear(read_dates, repeated(page))


# ------------------------------------------------------------------ real labels
FIELDS = {"Agreement Date": "agreement", "Effective Date": "effective"}


def curated(text):
    "The full date of a curated answer (month/day/two-digit year), by hand."
    if not re.fullmatch(r"\s*\d{1,2}/\d{1,2}/\d{2,4}\s*", text):
        return None
    month, day, year = map(int, text.split("/"))
    return dt.date(year + (0 if year > 99 else 1900 if year >= 69 else 2000), month, day)


@pytest.fixture(scope="module")
def labels(pack):
    "(column, first span, curated date or None) of every labelled Agreement Date and Effective Date."
    csv.field_size_limit(10**9)
    with gzip.open(pack / "master_clauses.csv.gz") as f:
        table = list(csv.DictReader(io.TextIOWrapper(f, encoding="utf8")))
    return [
        (column, spans[0], curated(row[column + "-Answer"]))
        for row in table
        for column in FIELDS
        if (spans := ast.literal_eval(row[column]))
    ]


def test_curated_dates_are_read(labels):
    known = [(c, span, day) for c, span, day in labels if day]
    assert len(known) == 735
    parsed = sum(parse_date(span) == day for _, span, day in known)
    picked = sum(
        getattr(select_date(find_dates(span), FIELDS[c]), "date", None) == day for c, span, day in known
    )
    among = sum(day in full_dates(span) for _, span, day in known)
    assert (parsed, picked, among) == (699, 711, 712)
    assert parsed >= 0.95 * 735


def test_labels_without_a_curated_date_get_no_invented_one(labels):
    unknown = [span for _, span, day in labels if not day]
    assert len(unknown) == 125
    found = [(v, span) for span in unknown for v in find_dates(span) if v.day]
    not_stated = [
        v
        for v, span in found
        if str(v.year) not in v.text
        or not re.search(rf"(?<!\d)0?{v.day}(?!\d)", v.text)
        or NAMES[v.month - 1].upper() not in v.text.upper()
    ]
    assert not_stated == [] and len(found) <= 8
    assert sorted({v.shown for v, _ in found}) == [
        "2000-04-15",
        "2006-06-01",
        "2006-09-01",
        "2007-08-31",
        "2014-12-12",
        "2020-02-05",
    ]


# ------------------------------------------------------------------ stored scores
@pytest.fixture(scope="module")
def stored(pack):
    "(day of the run, prediction, label, stored score) of each effective date of runs 052-086 and h01-h06."

    def read(name):
        with gzip.open(pack / name, "rt", encoding="utf8") as f:
            return [json.loads(line) for line in f]

    day = {
        r["run"]: dt.date.fromisoformat((r.get("timestamp") or "2026-08-20")[:10])
        for r in read("runs.jsonl.gz")
    }
    label = {
        r["filename"]: (r["expected_fields"] or {}).get("effective_date") for r in read("expected.jsonl.gz")
    }
    return [
        (
            day[r["run"]],
            (r.get("predicted") or {}).get("effective_date"),
            label[r["filename"]],
            r["field_scores"]["effective_date"],
        )
        for r in read("rows_extraction.jsonl.gz")
        if ("052" <= r["run"] <= "086" or r["run"][0] == "h")
        and "effective_date" in (r.get("field_scores") or {})
    ]


def test_the_literal_rules_give_the_stored_scores(stored):
    assert len(stored) == 2239
    assert sum(round(seed_date_score(p, e, today), 4) == score for today, p, e, score in stored) == 2239


def test_which_stored_scores_move_under_our_rules(stored):
    moved = Counter(
        (score, v.rule)
        for _, p, e, score in stored
        for v in [decide_date(p, e)]
        if abs(v.score - score) > 5e-5
    )
    assert sum(moved.values()) == 151
    assert moved.most_common(3) == [
        ((0.0, "nothing expected, nothing said"), 48),
        ((0.0, "agrees with a partial label"), 32),
        ((0.33, "no date in the label"), 14),
    ]
