"""Retries: the events that are tabled, and where a message says that a text was too long."""

import random
from inspect import signature

import pytest

from llm_dojo_scoring.mc.reliability import (
    extrapolate,
    failure_sweep,
    fit_pipeline_probs,
    pipeline_chances,
    simulate_rows,
)

PROBS = {"p_first_attempt_fail": 0.2, "p_retry_fail": 0.5}


@pytest.mark.parametrize("key", ["error", "failure_mode", "reasoning", "predicted"])
@pytest.mark.parametrize("said", ["Maximum CONTEXT length is 8192", "length_limit", "the prompt is too long"])
def test_a_failed_row_says_anywhere_that_it_was_too_long(key, said):
    rows = [
        {"status": "failed", key: said},
        {"status": "failed", "error": "timeout"},
        {"status": "completed", "predicted": "lease", "reasoning": "the prompt is too long"},
    ]
    got = fit_pipeline_probs(rows)
    assert (got["n_rows"], got["n_failed"], got["p_length_limit"]) == (3, 2, 0.5)
    assert got["p_retry_fail"] == pytest.approx(0.9 * got["p_first_attempt_fail"])


def test_three_tries_and_a_fallback_unless_told_otherwise():
    assert pipeline_chances(PROBS) == pipeline_chances(PROBS, 3, True, 0.97)
    assert pipeline_chances(PROBS)["failure_rate"] == pytest.approx(0.2 * 0.5**2 * 0.03)
    assert pipeline_chances(PROBS)["avg_attempts"] == pytest.approx(1 + 0.2 + 0.1)


def test_the_tries_of_a_sweep_are_those_of_the_tables():
    rows = failure_sweep(PROBS, n_sim=200)
    shapes = [(t, f) for t in (1, 2, 3, 5) for f in (True, False)]
    assert [(r["max_tries"], r["fallback"]) for r in rows] == shapes
    for row, (tries, fallback) in zip(rows, shapes, strict=True):
        played = simulate_rows(200, PROBS, tries, fallback, 0.97, random.Random(42 + tries))
        assert row["simulated"] == played["failure_rate"]
    defaults = {n: p.default for n, p in signature(failure_sweep).parameters.items()}
    assert (defaults["n_sim"], defaults["fallback_rescue"], defaults["seed"]) == (50_000, 0.97, 42)


def test_one_in_a_hundred_is_not_more_than_one_in_a_hundred():
    got = extrapolate(0.01, 199)  # at most one may be lost: floor of 1.99
    assert got["p_over_1pct"] == pytest.approx(1 - (1 + 1.99) * 2.718281828459045**-1.99)
    assert extrapolate(0.0, 1000) == {"expected": 0.0, "p_over_1pct": 0.0, "p_any": 0.0}
