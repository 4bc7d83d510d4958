"""Committees: the numbers of votes that are tabled, and the edges of a draw."""

import random
from typing import get_args

import pytest

from llm_dojo_scoring.mc.committee import (
    K_LIST,
    LabelOrder,
    draw_committee,
    exact_chances,
    simulate_committees,
)


def test_the_numbers_of_votes_are_those_of_the_tables():
    assert K_LIST == (1, 2, 3, 5, 7, 10, 15, 25)
    docs = {"d": {"expected": "a", "observations": ["a", "b"]}}
    assert exact_chances(docs).shape == (1, 8) and list(simulate_committees(docs, n_sim=2)[0]) == list(K_LIST)


@pytest.mark.parametrize(("k", "winner"), [(-1, ""), (0, ""), (1, "a"), (2, "a")])
def test_one_vote_is_a_committee_and_none_is_none(k, winner):
    assert draw_committee({"a": 3, "b": 0}, k, random.Random(0)) == winner


def test_every_order_of_labels_that_is_named_is_taken():
    votes = {"b": 1, "a": 1}
    assert set(get_args(LabelOrder)) == {"sorted", "observed"}
    drawn = {o: draw_committee(votes, 1, random.Random(0), label_order=o) for o in get_args(LabelOrder)}
    assert drawn == {"sorted": "b", "observed": "a"}  # the first number of the stream is above one half
    with pytest.raises(ValueError, match="label_order"):
        draw_committee(votes, 1, random.Random(0), label_order="by name")
