"""What may turn a clause around: which side said what, the caps, and texts with nothing to turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.fields.critical import critical_flags, guarded_score

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
