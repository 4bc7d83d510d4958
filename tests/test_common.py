"""What all field scorers promise, checked on all of them at once. A new scorer joins the tables first."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring.core import Verdict
from llm_dojo_scoring.fields.dispatch import FIELD_SCORERS, decide_field, score_field
from llm_dojo_scoring.lists.score import EntityListScore

ODD_VALUES = [
    *(
        "",
        " ",
        "Acme Corp",
        "$250,000",
        "March 3, 2024",
        "2024",
        "two years",
        "N/A",
        "_____ day of ____, 19",
        "***",
    ),
    *("\x00\ud800", "本协议适用中国法律", "a" * 3_000, "[1, 2", "null"),
    *(0, -1, 1.5, True, False, 10**400, None, float("nan"), float("inf")),
    *(
        ["a", "b"],
        [],
        [None],
        ("x",),
        {"name": "Acme Corp"},
        {},
        {"a": {"b": [1]}},
        {"x"},
        b"\xff",
        np.float64(2),
        np.array(["a"]),
    ),
]
VALID = {  # values that say something in the type
    "id": ["ABC-123", "0", "CO-2019-001", "Case No. 1:19-cv-00012", 12345],
    "date": ["March 3, 2024", "2024-03-03", "10th day of January 2000", "11/4/10", "1 April 2006"],
    "money": ["$250,000", "2M", "USD 1.5 million", "€5", 2_000_000, 0, 1.5, "two million dollars"],
    "name": ["Acme Corp", "Trust Company", "FRANCHISE AGREEMENT", "Société Générale S.A.", "本协议"],
    "free_text": ["pay the fee within thirty days", "shall", "0", "本协议适用中国法律"],
    "containment": ["the laws of the State of Delaware", "of the", "two years", "Delaware"],
}
SYMMETRIC_ON = {  # score(a, b) == score(b, a)
    "id": ["ABC-123", "abc 123", "ABC-124", ""],
    "date": ["2024-03-03", "March 20, 2024", "2024-12-01", "1999-01-01"],
    "money": ["$1", "$1.01", "$1.02", "2M", 2_000_000, "€2M"],
    "free_text": ["pay the fee", "the fee pay", "audit the books", ""],
}
NOT_SYMMETRIC = {
    "name": ("Acme Software Services", "Acme Software"),  # a label inside the prediction earns full credit
    "containment": (
        "the laws of the State of Delaware",
        "Delaware",
    ),  # so does a label inside a longer passage
}
DIFFERENT = {  # pairs that must not earn full credit
    "id": ("ABC-123", "ABC-124"),
    "date": ("March 3, 2024", "March 4, 2024"),
    "money": ("$250,001", "$250,000"),
    "name": ("Acme Corp", "Sovereign State Bank of Ohio"),
    "free_text": ("pay the fee", "audit the books"),
    "containment": ("the State of Delaware", "the laws of the State of Delaware"),
}
SPELLED_ALIKE = {  # pairs that differ in form only
    "id": ("abc 123", "ABC-123"),
    "date": ("2024-03-03", "March 3rd, 2024"),
    "money": ("$2,000,000", "2M USD"),
    "name": ("GLOBAL TECHNOLOGIES, LTD.", "Global Technologies Ltd"),
    "free_text": ("Pay the Fee.", "pay the fee"),
    "containment": ("STATE OF DELAWARE", "the State of Delaware"),
}
TABLES = (VALID, DIFFERENT, SPELLED_ALIKE)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def is_share(score):
    return type(score) is float and math.isfinite(score) and 0.0 <= score <= 1.0


def test_every_scorer_is_in_the_tables():
    assert all(set(table) == set(FIELD_SCORERS) for table in TABLES)
    assert set(SYMMETRIC_ON) | set(NOT_SYMMETRIC) == set(FIELD_SCORERS)


@pytest.mark.parametrize("field_type", FIELD_SCORERS)
def test_any_pair_gives_a_finite_score(field_type):
    for a, b in product(ODD_VALUES, repeat=2):
        assert is_share(FIELD_SCORERS[field_type](a, b)), (a, b)


@pytest.mark.parametrize("field_type", FIELD_SCORERS)
@settings(max_examples=150)
@given(a=json_values, b=json_values)
def test_any_json_value_is_scored(field_type, a, b):
    assert is_share(FIELD_SCORERS[field_type](a, b))
    assert is_share(score_field(field_type, a, b))


@pytest.mark.parametrize("field_type", FIELD_SCORERS)
def test_equal_values_score_one(field_type):
    for value in VALID[field_type]:
        assert FIELD_SCORERS[field_type](value, value) == 1.0, value


@pytest.mark.parametrize("field_type", FIELD_SCORERS)
def test_form_does_not_matter_and_content_does(field_type):
    score = FIELD_SCORERS[field_type]
    assert score(*SPELLED_ALIKE[field_type]) == score(*SPELLED_ALIKE[field_type][::-1]) == 1.0
    assert score(*DIFFERENT[field_type]) < 1.0


@pytest.mark.parametrize("field_type", FIELD_SCORERS)
@pytest.mark.parametrize("nothing", [None, "", float("nan"), []], ids=repr)
def test_nothing_never_equals_something(field_type, nothing):
    for value in VALID[field_type]:
        assert FIELD_SCORERS[field_type](nothing, value) == 0.0, value


@pytest.mark.parametrize("field_type", SYMMETRIC_ON)
def test_symmetry(field_type):
    score = FIELD_SCORERS[field_type]
    assert all(score(a, b) == score(b, a) for a, b in product(SYMMETRIC_ON[field_type], repeat=2))


@pytest.mark.parametrize("field_type, pair", NOT_SYMMETRIC.items())
def test_asymmetry_is_real(field_type, pair):
    score = FIELD_SCORERS[field_type]
    assert score(*pair) == 1.0
    assert field_type == "name" or score(*pair[::-1]) < 1.0


@pytest.mark.parametrize("field_type", FIELD_SCORERS)
def test_verdict_and_score_are_one_rule(field_type):
    for a, b in product(ODD_VALUES + VALID[field_type], VALID[field_type] + [None, ""]):
        verdict = decide_field(field_type, a, b)
        assert isinstance(verdict, Verdict) and verdict.score == score_field(field_type, a, b), (a, b)
        assert verdict.rule and verdict.rule == verdict.rule.lower(), (a, b)
        if not isinstance(a, (list, tuple, set, dict, np.ndarray)):
            assert verdict.score == FIELD_SCORERS[field_type](a, b), (a, b)


@pytest.mark.parametrize("field_type", FIELD_SCORERS)
def test_the_best_of_several_answers_counts(field_type):
    right, wrong = SPELLED_ALIKE[field_type], DIFFERENT[field_type][1]
    for answers in ([wrong, right[1]], [right[1], wrong], (right[1],), [None, right[1]]):
        assert score_field(field_type, right[0], answers) == 1.0, answers


class Nobody:
    "A matcher that finds everything alike."

    def similarity(self, a, b):
        return 0.99

    def similarities(self, a, b):
        return np.full((len(a), len(b)), 0.99)


@pytest.mark.parametrize("field_type", ["id", "date", "money"])
def test_no_matcher_changes_an_exact_type(field_type):
    score = FIELD_SCORERS[field_type]
    for a, b in product(VALID[field_type] + ["prose about it"], repeat=2):
        assert score(a, b, Nobody()) == score(a, b), (a, b)


@pytest.mark.parametrize("field_type", ["name", "free_text"])
def test_a_matcher_never_lowers_a_score(field_type):
    score = FIELD_SCORERS[field_type]
    for a, b in product(VALID[field_type], repeat=2):
        assert score(a, b, Nobody()) >= score(a, b)
    assert score(*DIFFERENT[field_type], Nobody()) == pytest.approx(0.99)


@pytest.mark.parametrize("field_type", FIELD_SCORERS)
@pytest.mark.parametrize("partial_gt", [False, True])
def test_lists_of_every_type_keep_their_promises(field_type, partial_gt):
    for a, b in product([*ODD_VALUES, VALID[field_type]], repeat=2):
        got = score_field(f"entity_list:{field_type}", a, b, partial_gt=partial_gt)
        assert isinstance(got, EntityListScore)
        assert all(is_share(x) for x in (got.precision, got.recall, got.f1, got.score)), (a, b)
        assert 0 <= got.matched_predicted <= got.n_predicted and 0 <= got.matched <= got.n_expected, (a, b)
        assert got.matched_predicted + got.unmatched_predicted == got.n_predicted
        assert got.matched + got.unmatched_expected == got.n_expected
    same = score_field(
        f"entity_list:{field_type}", VALID[field_type], VALID[field_type], partial_gt=partial_gt
    )
    assert same.score == same.precision == 1.0 and same.unmatched_expected == 0
