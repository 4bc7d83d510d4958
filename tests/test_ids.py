"""Ids: the normal form takes time in proportion to the text, whatever stands at its end."""

import pytest
from growth import assert_near_linear, repeated

from llm_dojo_scoring.fields import ids
from llm_dojo_scoring.fields.ids import normalize_id, score_id_field


@pytest.mark.parametrize("unit", ["Inc. ", "llc, ", "A-1 ", "—", "co 1 ", "trust\n", "(1)", "e\u0301"])
def test_many_suffixes_take_linear_time(unit):
    assert_near_linear(lambda text: score_id_field(text, "A-1"), repeated(unit), 60_000)


def test_the_text_before_a_suffix_is_not_cut_into_words_again_for_each(monkeypatch):
    cut, tokens = [], ids.tokens
    monkeypatch.setattr(ids, "tokens", lambda text: cut.append(len(text)) or tokens(text))
    text = "A-1 " + "Inc. " * 2_000
    assert normalize_id(text) == "A1"
    assert sum(cut) < 2 * len(text)


@pytest.mark.parametrize(
    "value, form",
    [
        ("Acme 123, Inc. LLC", "ACME123"),
        ("123 CO", "123CO"),
        ("123 Trust Co", "123"),
        ("Inc.", "INC"),
        ("— Inc.", "INC"),
        (f"A{' ' * 60}Inc.", "A"),
    ],
)
def test_suffixes_are_dropped_from_the_end_as_long_as_something_stands_before(value, form):
    assert normalize_id(value) == form
