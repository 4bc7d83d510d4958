"""Whatever a model returns and whatever a table holds, a field scorer gives a number in [0, 1]."""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from llm_dojo_scoring.config import settings
from llm_dojo_scoring.fields.date_rules import decide_date, is_null_expectation
from llm_dojo_scoring.fields.dates import parse_date
from llm_dojo_scoring.fields.dispatch import FIELD_SCORERS, decide_field, score_field
from llm_dojo_scoring.fields.durations import parse_duration_days
from llm_dojo_scoring.fields.money import parse_money
from llm_dojo_scoring.labels import is_failed, normalize_label

DEEP, DEEP_OBJECT = [], {}
for _ in range(3_000):
    DEEP, DEEP_OBJECT = [DEEP], {"a": DEEP_OBJECT}

# fmt: off
VALUES = [
    None, True, False, 0, 1, -1, 2**70, 10**400, -(10**400), 1.5, -0.0, 1e308, float("nan"),
    float("inf"), -float("inf"),
    "", " ", "\x00", "\ud800", "a\ud800b", "½", "²", "٣", "5", "$5", "2024", "2024-01-01", "null",
    "Acme Inc", "x" * 5_000,
    [], [[]], {}, {"a": None}, {"a": [1, {"b": "c"}]}, [None, ""], ["Acme", 5, None, ["x"], {"y": 1}],
    [1, 2.5, True],
    "[1, 2", '["a","b"]', '{"label": ["x"]}', DEEP, DEEP_OBJECT,
    json.loads("[" * 900 + '"x 5"' + "]" * 900),
    b"\xff", (1, 2), {1, 2}, frozenset(), np.int64(5), np.float32("nan"), np.array([1, 2]), np.array([]),
    np.array("x"),
    np.bool_(True), pd.NA, pd.NaT, pd.Timestamp("2024-01-01"), np.datetime64("NaT"),
    np.datetime64("2024-01-01", "ns"),
    Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1E+5000"), dt.date(2024, 1, 1),
    dt.timedelta(days=3),
    object(), pd.Series([1, 2]), range(3), 1 + 2j,
]
# fmt: on
LABELS = [None, "Acme Inc", "$5,000", "2024-01-01", ["Acme", "Beta LLC"], "", 0, 5, 2024, "two years"]
LISTS = ["entity_list", "entity_list:date", "entity_list:money", "entity_list:free_text"]


@pytest.mark.parametrize("field_type", [*FIELD_SCORERS, *LISTS])
def test_any_value_against_any_label(field_type):
    for value in VALUES:
        for label in (*LABELS, value):
            score = score_field(field_type, value, label)
            assert 0 <= getattr(score, "f1", score) <= 1


@pytest.mark.parametrize(
    "read", [parse_date, parse_money, parse_duration_days, is_failed, normalize_label, is_null_expectation]
)
def test_any_value_is_read(read):
    for value in VALUES:
        read(value)


# fmt: off
@pytest.mark.parametrize("predicted, expected, score", [
    (np.datetime64("2024-03-03T23:00", "ns"), "March 3, 2024", 1.0),
    (pd.Timestamp("2024-03-03 23:00", tz="US/Pacific"), "March 3, 2024", 1.0),
    ({"date": "2024-03-03"}, "March 3, 2024", 1.0),
    (["N/A"], "Effective Date:", 1.0),
    ("[●]", "____ day of ____, 20__", 1.0),
    ("The effective date is not specified in the agreement.", "Effective Date:", 1.0),
    ("The effective date is not specified in the agreement.", "March 3, 2024", 0.0),
    ("2024.0", "March 3, 2024", 0.33),
    (2024.0, "March 3, 2024", 0.33),
    ("2024-04-04", [None, ["March 3, 2024", ["April 4, 2024"]]], 1.0),
    ("this 3d day of March, 2024", "3 de marzo de 2024", 1.0),
])
# fmt: on
def test_dates_of_every_kind(predicted, expected, score):
    assert decide_date(predicted, expected).score == score


@pytest.mark.parametrize("nothing", [[{"": None}], [[], None], [""], [{"a": []}]])
@pytest.mark.parametrize("field_type", ["date", "money", "id", "name", "free_text", "containment"])
def test_a_list_of_labels_that_hold_nothing_never_raises(field_type, nothing):
    from llm_dojo_scoring.field_scoring import FIELD_SCORERS

    assert 0.0 <= FIELD_SCORERS[field_type](None, nothing) <= 1.0
    assert 0.0 <= FIELD_SCORERS[field_type]("$5", nothing) <= 1.0


def test_the_only_value_of_a_list_or_table_is_the_answer_and_of_two_none_is():
    for field_type, one in (("id", "AB-12"), ("money", "$5"), ("free_text", "pay the fee")):
        assert score_field(field_type, {"answer": one}, one) == score_field(field_type, [one], one) == 1.0
        assert score_field(field_type, {"answer": one, "or": "$6"}, one) < 1.0
        assert score_field(field_type, [one, "$6"], one) < 1.0


def test_a_cap_on_turned_clauses_leaves_every_other_verdict_as_it_is():
    pairs = [("pay the fee within ten days", "pay the fee"), ("pay", "pay the fee"), ("", "pay"), ("go", "")]
    for field_type in ("containment", "free_text", "name"):
        plain = [decide_field(field_type, *pair) for pair in pairs]
        with settings(field_scoring__critical_cap=0.1):
            assert [decide_field(field_type, *pair) for pair in pairs] == plain
