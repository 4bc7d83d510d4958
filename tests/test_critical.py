"""What may turn a clause around: which side said what, the caps, and texts with nothing to turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.fields.critical import critical_flags, guarded_score, negation_flag

TURNED = {
    "negation": ("Licensee may assign", "Licensee may not assign", "no negation", "not assign"),
    "role": ("Licensor shall pay Licensee", "Licensee shall pay Licensor", "licensor", "licensee"),
    "number": ("pay within 5 days", "pay within 10 days", "0 months 5 days", "0 months 10 days"),
}
WORDS = st.sampled_from(
    "Licensor Licensee buyer seller shall may not no never unless except pay to from 5 10 days $10 2%".split()
)


@pytest.mark.parametrize("kind", TURNED)
def test_a_flag_keeps_what_each_side_says_apart(kind):
    predicted, expected, said, labelled = TURNED[kind]
    assert [tuple(f) for f in critical_flags(predicted, expected)] == [(kind, said, labelled)]
    assert [tuple(f) for f in critical_flags(expected, predicted)] == [(kind, labelled, said)]


@pytest.mark.parametrize("cap, score", [(0, 0), (0.0, 0.0), (0.5, 0.5), (1, 0.9), (1.0, 0.9), (None, 0.9)])
def test_a_flagged_pair_is_held_to_any_share(cap, score):
    predicted, expected, *_ = TURNED["negation"]
    assert guarded_score(0.9, predicted, expected, cap=cap)[0] == score
    assert guarded_score(0.9, predicted, predicted, cap=cap) == (0.9, [])


@given(st.lists(WORDS, max_size=14).map(" ".join), st.sampled_from(["", " ", "\n"]))
def test_a_text_is_not_turned_beside_itself_or_beside_nothing(text, nothing):
    assert critical_flags(text, text) == critical_flags(text, nothing) == critical_flags(nothing, text) == []


@pytest.mark.parametrize(
    "words",
    ["other than", "but for", "save for", "save as", "apart from", "aside from", "with the exception of"],
)
def test_an_exception_is_one_in_whatever_words(words):
    fees = "Licensee shall pay all fees"
    assert negation_flag(f"{fees} {words} taxes", f"{fees} and taxes").predicted == "except taxes"
    assert negation_flag(f"{fees} {words} taxes", f"{fees} except taxes") is None


@pytest.mark.parametrize("word", ["valid", "effective", "complete", "correct", "active", "sufficient"])
def test_a_word_beside_its_opposite_denies_nothing(word):
    for both in (f"{word} or in{word}", f"in{word} or {word}"):
        assert negation_flag(f"every clause, {both}, is kept", "every clause is kept") is None
    flag = negation_flag(f"each in{word} clause is kept", f"each {word} clause is kept")
    assert flag.predicted == f"in{word} clause"


def test_to_limit_denies_behind_a_modal_from_the_first_word_on():
    rest = "the use of all devices sold in the territory"
    for start in ("may", "Licensee may", "and shall"):
        assert negation_flag(f"{start} limit {rest}", f"{start} expand {rest}").predicted == "limit use"
    for start in ("the", "Licensee honours each", "a"):
        assert negation_flag(f"{start} limit on {rest} applies", f"{start} cap on {rest} applies") is None


@pytest.mark.parametrize("link", ["and", "or"])
def test_a_negation_said_twice_denies_once(link):
    once = f"Licensee shall not copy {link} modify the software"
    twice = f"Licensee shall not copy {link} shall not modify the software"
    assert negation_flag(twice, once) is None
