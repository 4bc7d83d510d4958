"""Outcomes of field scores: whatever a row holds, in whatever kind of mapping, and counted as one by one."""

from collections import Counter
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.core import is_blank
from llm_dojo_scoring.field_outcomes import Outcomes, count_outcomes, count_populated, outcome

SCORES = (
    st.sampled_from([0, 1, 0.0, 1.0, 0.5, 1.5, -1, 10**400, np.float64(1.0), np.int64(0), np.float32(0.5)])
    | st.sampled_from(
        [None, True, False, "1", "", [], {}, [1.0], float("nan"), float("inf"), np.bool_(True), 1j]
    )
    | st.floats()
)
VALUES = (
    st.none()
    | st.text(max_size=3)
    | st.lists(st.none() | st.text(max_size=2), max_size=2)
    | st.sampled_from(
        ["null", "N/A", " null", "!", " ", "\t", 0, 0.0, False, float("nan"), [], [[]], {}, (), (" ",)]
    )
)


@given(st.lists(SCORES, max_size=8))
def test_a_column_is_counted_as_its_scores_are_one_by_one(scores):
    found = Counter(map(outcome, scores))
    made = count_outcomes([{"field_scores": {"f": s}} for s in scores])
    want = Outcomes(found["exact"], found["partial"], found["miss"])
    assert made == ({"f": want} if want.n else {})


@given(st.lists(VALUES, max_size=8))
def test_a_field_is_populated_where_it_is_not_blank(values):
    found, n = count_populated([{"predicted": {"f": v}} for v in values], ["f"])
    assert (found, n) == ({"f": sum(not is_blank(v) for v in values)}, len(values))


@pytest.mark.parametrize("kind", [dict, MappingProxyType])
def test_a_row_may_be_any_mapping(kind):
    rows = [kind({"field_scores": kind({"f": 1.0, "g": 0}), "predicted": kind({"f": "x"})}), None, [1], "row"]
    assert count_outcomes(rows) == {"f": Outcomes(1, 0, 0), "g": Outcomes(0, 0, 1)}
    assert count_populated(rows, ["f", "g"]) == ({"f": 1, "g": 0}, 4)


def test_a_flag_beside_a_score_of_1_is_no_score():
    assert count_outcomes([{"field_scores": {"f": s}} for s in (1.0, True, 1, np.bool_(True))])["f"].n == 2
