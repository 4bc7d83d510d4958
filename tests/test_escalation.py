"""Escalation: the shares that are tabled, and a stronger model that is nearly perfect."""

from inspect import signature
from typing import get_args

import pytest

from llm_dojo_scoring.mc.escalation import ALPHAS, Gating, Ties, escalation_curve, tail_accuracy

OWN = {f"d{i:02}": i / 20 for i in range(20)}  # share of right answers, and the confidence too
DOCS = {
    name: {"expected": "a", "observations": ["a"] * round(20 * p) + ["b"] * round(20 * (1 - p))}
    for name, p in OWN.items()
}


def test_the_shares_are_those_of_the_tables():
    assert ALPHAS == (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
    assert [row["alpha"] for row in escalation_curve(DOCS, OWN)] == list(ALPHAS)
    assert [row["n_escalated"] for row in escalation_curve(DOCS, OWN)] == [0, 1, 2, 3, 4, 5, 6, 8, 10]


def test_the_tail_is_a_hundred_and_fifty_in_a_thousand():
    assert signature(tail_accuracy).parameters["alpha"].default == 0.15
    assert tail_accuracy(DOCS, OWN) == pytest.approx((0 + 1 + 2) / 20 / 3)


@pytest.mark.parametrize(("strong", "low", "high"), [(0.98, 0.93, 1.0), (0.9, 0.85, 0.95), (0.02, 0.0, 0.07)])
@pytest.mark.parametrize("gating", get_args(Gating))
def test_how_far_the_stronger_model_may_be_off_ends_at_0_and_1(strong, low, high, gating):
    (row,) = escalation_curve(DOCS, OWN, [0.5], strong, gating=gating)
    kept = 0.5 * sum(OWN.values()) / 20 if gating == "mixed" else sum(sorted(OWN.values())[10:]) / 20
    for key, accuracy in (("accuracy", strong), ("accuracy_low", low), ("accuracy_high", high)):
        assert row[key] == pytest.approx(kept + 0.5 * accuracy)


def test_every_choice_that_is_named_is_taken_and_no_other():
    assert (set(get_args(Gating)), set(get_args(Ties))) == ({"ranked", "mixed"}, {"shared", "observed"})
    for name, choices in (("gating", Gating), ("ties", Ties)):
        for choice in get_args(choices):
            assert escalation_curve(DOCS, OWN, **{name: choice})
        with pytest.raises(ValueError, match=name):
            escalation_curve(DOCS, OWN, **{name: "by lot"})
