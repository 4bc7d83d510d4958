"""Text forms: every Unicode corner, and time that grows with the length."""

import string
import unicodedata

import pytest
from growth import assert_near_linear, repeated
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring import text as T

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
MEASURES = [T.token_f1, T.token_coverage, T.token_set_jaccard, T.token_set_ratio, T.sequence_ratio]
SYMMETRIC = [T.token_f1, T.token_set_jaccard, T.token_set_ratio, T.sequence_ratio]


@given(json_values, json_values)
@settings(max_examples=300, deadline=None)
def test_any_values_give_measures_in_range(a, b):
    for measure in MEASURES:
        assert 0.0 <= measure(a, b) <= 1.0
    for measure in SYMMETRIC:
        assert measure(a, b) == measure(b, a)
        assert measure(a, a) == 1.0
    assert T.token_coverage(a, a) == float(bool(T.tokens(a)))


@given(st.text(max_size=60))
@settings(max_examples=500, deadline=None)
def test_forms_are_stable_and_hold_no_marks(text):
    words = T.tokens(text)
    assert T.tokens(" ".join(words)) == words
    assert T.normalize_text(T.normalize_text(text)) == T.normalize_text(text)
    assert not any(unicodedata.category(c)[0] in "PSZ" for w in words for c in w)
    assert bool(T.normalize_text(text)) == bool(words)
    assert T.content_tokens(text) <= set(words) and bool(T.content_tokens(text)) == bool(words)
    assert sum(T.token_counts(text).values()) == len(words)


@given(st.text(alphabet=string.printable, max_size=60).filter(lambda t: "\n" not in t))
@settings(max_examples=300, deadline=None)
def test_ascii_text_is_cut_as_the_reference_lists_it(text):
    blanks = str.maketrans(string.punctuation, " " * len(string.punctuation))
    assert T.tokens(text) == text.lower().translate(blanks).split()


@given(st.lists(st.sampled_from("seller buyer shall pay the fee notice".split()), max_size=12), st.data())
@settings(max_examples=300, deadline=None)
def test_token_f1_is_the_squad_formula(a, data):
    from collections import Counter

    b = data.draw(st.lists(st.sampled_from("seller buyer shall pay the fee term".split()), max_size=12))
    n = sum((Counter(a) & Counter(b)).values())
    want = float(not a and not b) if not a or not b else (2 * n / (len(a) + len(b)))
    assert T.token_f1(" ".join(a), " ".join(b)) == pytest.approx(want, abs=1e-12)


def test_copies_cannot_spoil_what_is_kept():
    T.tokens("Acme Corp").append("x")
    assert T.tokens("Acme Corp") == ["acme", "corp"]


def test_long_texts_are_read_like_short_ones():
    long = "Fee: $5; " * 5_000
    assert T.tokens(long) == ["fee", "5"] * 5_000
    assert T.token_counts(long) == {"fee": 5_000, "5": 5_000}
    assert T.token_f1(long, long) == 1.0


def test_lone_surrogates_and_nulls_do_not_raise():
    for text in ("\ud800", "Acme\udfff Corp", "\x00", "\ufffe"):
        assert T.token_f1(text, text) == 1.0
        T.normalize_text(text), T.content_tokens(text)


@pytest.mark.parametrize(
    "unit", ["-", "-\n", "a-\n", "- ", "-\t\n ", "a-  ", "é-\n", "\u200b", "中", "\u0301", "§"]
)
def test_time_grows_with_the_length(unit):
    def read(text):
        T.tokens(text), T.fold(text), T.normalize_text(text)

    assert_near_linear(read, repeated(unit))


@given(st.text("aBe1 -\n\r\t.'“”’–§•\u00a0…\u2003é\u0301™\u00ad", max_size=30))
@settings(max_examples=500, deadline=None)
def test_words_are_those_of_the_folded_text(text):
    assert T.tokens_once(text) == T.fold(text).translate(T._SEPARATORS).split()
