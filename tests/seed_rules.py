"""The specification's rules to the letter, for comparison: what a stored score was computed with.

Nothing here imports the package. Each function takes `(predicted, expected)` and returns the unrounded score.
"""

import difflib
import re
from collections import Counter

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
