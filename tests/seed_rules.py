"""The specification's rules to the letter, for comparison: what a stored score was computed with.

Nothing here imports the package. Each function takes `(predicted, expected)` and returns the unrounded score.
"""

import datetime as dt
import difflib
import re
from collections import Counter

from dateutil import parser

_MARKS = re.compile(r"""[,.;:'"()\[\]{}!?@#$%^&*+=|\\/<>~`_\-]""")
_SUFFIXES = set(
    "INC INCORPORATED LLC LTD LIMITED CORP CORPORATION CO COMPANY PLC LLP LP PLLC PC PA ESQ ESQUIRE GMBH AG "
    "NV SA SARL BV PTY GROUP HOLDINGS TRUST".split()
)
_STOP = set(
    "the a an of and or for to in on by as is be are with its their his her such hereof hereunder shall any "
    "all this that these those from between into upon under over".split()
)


def _plain(text):
    return _MARKS.sub(" ", str(text or "").lower()).split()


def _normal(text):
    words = _MARKS.sub(" ", str(text).upper()).split()
    return " ".join(w for w in words if w not in _SUFFIXES)


def _ratio(a, b):
    return difflib.SequenceMatcher(None, a, b).ratio() if a and b else float(a == b)


def _jaro_winkler(a, b):
    from rapidfuzz.distance import Jaro, JaroWinkler  # the boost above 0.7 only, as jellyfish 1.x does

    jaro = Jaro.similarity(a, b)
    return JaroWinkler.similarity(a, b) if jaro > 0.7 else jaro


def seed_token_set_ratio(predicted, expected):
    "Contract 4.2: 1.0 when equal, else the better of shared against predicted and rest against rest."
    a, b = set(_plain(predicted)), set(_plain(expected))
    if not a or not b or a == b:
        return float(a == b)
    shared = " ".join(sorted(a & b))
    rest = _ratio(" ".join(sorted(a - b)), " ".join(sorted(b - a)))
    return max(_ratio(shared, " ".join(sorted(a))), rest)


def seed_name_score(predicted, expected):
    "Name: containment of the label, else token-set ratio, and Jaro-Winkler where a token is shared."
    p, e = _normal(predicted), _normal(expected)
    if not p or not e:
        return float(p == e)
    if set(e.split()) <= set(p.split()):
        return 1.0
    base = seed_token_set_ratio(p, e)
    return max(base, _jaro_winkler(p, e)) if set(p.split()) & set(e.split()) else base


def seed_containment_score(predicted, expected):
    "Containment: share of the label's distinct tokens, stop words aside, rounded to four places."
    p, e = set(_plain(predicted)) - _STOP, set(_plain(expected)) - _STOP
    if not e or not p:
        return float(not e and not p)
    return round(len(e & p) / len(e), 4)


def seed_free_text_score(predicted, expected):
    "Free text: token F1 over multisets."
    p, e = _plain(predicted), _plain(expected)
    shared = sum((Counter(p) & Counter(e)).values())
    if not p or not e or not shared:
        return float(not p and not e)
    precision, recall = shared / len(p), shared / len(e)
    return 2 * precision * recall / (precision + recall)


_MONTHS = "january february march april may june july august september october november december".split()
_NAMED = re.compile(r"\b(?:" + "|".join(m[:3] for m in _MONTHS) + r")[a-z]*\b", re.I)
_DAY_OF = re.compile(
    r"(\d{1,2})\s*(?:s\s?t|n\s?d|r\s?d|t\s?h)?\s+day\s+of\s+([a-z]+)(?:\s*,?\s*(\d{4}))?", re.I
)


def seed_parse(text, today):
    "The date `dateutil` makes of a text; what the text does not state comes from `today`."
    text = text.strip().rstrip("([{,").strip()
    found = _DAY_OF.search(text)
    if found:
        text = f"{found[2]} {found[1]}" + (f", {found[3]}" if found[3] else "")
    if not text:
        return None
    try:
        return parser.parse(text, default=dt.datetime(today.year, today.month, today.day)).date()
    except (ValueError, OverflowError, TypeError):
        return None


def _flat(text):
    return " ".join(re.sub(r"[^a-z0-9]+", " ", text.lower()).split())


def _phrase_in(part, whole):
    "Does the date phrase `part` occur in `whole`: three words or more, or with a month's name?"
    part, whole = _flat(part), _flat(whole)
    return bool(part) and (len(part.split()) >= 3 or bool(_NAMED.search(part))) and part in whole


def _renderings(date):
    month = _MONTHS[date.month - 1]
    return [date.isoformat(), f"{month} {date.day} {date.year}", f"{date.day} {month} {date.year}"]


def seed_is_null(expected, parsed):
    "No date, and either a blank or neither a month nor a year."
    if parsed is not None:
        return False
    if "_" in expected or "blank" in expected.lower():
        return True
    return not _NAMED.search(expected) and not re.search(r"\b(?:19|20)\d\d\b", expected)


def seed_date_score(predicted, expected, today, name_score=seed_name_score):
    "The score of the literal rule on the day `today`; `name_score(predicted, expected)` is the fallback."
    predicted, expected = str(predicted or ""), str(expected or "")
    p, e = seed_parse(predicted, today), seed_parse(expected, today)
    if seed_is_null(expected, e):
        return 0.0 if predicted.strip() else 1.0
    if not predicted.strip():
        return 0.0
    if p and e and p == e:
        return 1.0
    if _phrase_in(expected, predicted) or _phrase_in(predicted, expected):
        return 1.0
    for date, text in ((e, predicted), (p, expected)):
        if date and any(_flat(r) in _flat(text) for r in _renderings(date)):
            return 1.0
    if p and e:
        if (p.year, p.month) == (e.year, e.month) or abs((p - e).days) <= 45:
            return 0.67
        return 0.33 if p.year == e.year or p.month == e.month else 0.0
    return name_score(predicted, expected)
