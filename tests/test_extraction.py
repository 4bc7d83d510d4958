"""The extraction score, the composite row and the explanation: what holds for any output of a model."""

import copy
import gzip
import json
import math

import pytest
from growth import assert_near_linear
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring.config import settings as scoring_settings
from llm_dojo_scoring.extraction.explain import explain_extraction
from llm_dojo_scoring.extraction.row import extraction_row, is_schema_valid, row_metrics, schema_for
from llm_dojo_scoring.extraction.score import score_extraction
from llm_dojo_scoring.run_labels import read_labels
from llm_dojo_scoring.taxonomy import field_types_for

TYPES = field_types_for("contract")
EXPECTED = {
    "document_name": "FRANCHISE AGREEMENT",
    "parties": ["Goosehead Insurance Agency, LLC", "Acme Franchising, Inc.", "Franchisee"],
    "effective_date": "March 3, 2024",
    "term_length": "The term is two (2) years from the Effective Date.",
    "governing_law": "the laws of the State of Texas",
    "contract_value": "$250,000",
    "key_obligations": ["Licensee shall pay the fee within thirty days of each invoice."],
    "termination_clauses": [],
    "renewal_terms": None,
}
TEXT = """Franchise Agreement dated March 3, 2024 between Goosehead Insurance Agency, LLC
and Acme Franchising, Inc. Licensee shall pay the fee of $250,000 within thirty days of each invoice.
The laws of the State of Texas govern."""
WORDS = st.sampled_from(
    ["Acme Franchising", "March 3, 2024", "$250,000", "two years", "Texas", "null", "", "—", "1"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS,
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=5), x, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from([*TYPES, "penalty", "reasoning", "_x"]), JSON, max_size=6)


@settings(max_examples=150, deadline=None)
@given(predicted=OBJECTS | JSON)
def test_any_output_gives_bounded_scores_and_is_left_alone(predicted):
    before = copy.deepcopy(predicted)
    row = extraction_row(predicted, EXPECTED, TYPES, doc_text=TEXT, presence={})
    assert repr(predicted) == repr(before)
    scored = {f for f, v in EXPECTED.items() if v}
    assert row["field_scores"].keys() == scored
    assert all(0.0 <= s <= 1.0 and s == round(s, 4) for s in row["field_scores"].values())
    assert row["overall_score"] == round(math.fsum(row["field_scores"].values()) / len(scored), 4)
    for audit in row["entity_list_audit"].values():
        assert 0 <= audit["matched_gt"] <= audit["true_items"] <= audit["n_predicted"]
        assert audit["hallucinated"] == audit["n_predicted"] - audit["true_items"]
        assert audit["verified_in_doc"] == audit["true_items"]
    for counts in row["entity_list_scores"].values():
        assert 0 <= counts["precision"] <= 1 and counts["matched"] <= counts["n_expected"]
    if not isinstance(predicted, dict):
        assert row["overall_score"] == row["schema_valid"] == row["field_presence"] == 0.0
    json.dumps({k: v for k, v in row.items() if k != "predicted"}, allow_nan=False)


@settings(max_examples=60, deadline=None)
@given(predicted=OBJECTS)
def test_the_explanation_has_the_scores_of_the_scorer(predicted):
    result = score_extraction("contract", TYPES, predicted, EXPECTED, TEXT)
    explained = explain_extraction("contract", TYPES, predicted, EXPECTED, TEXT)
    assert {e.field: e.score for e in explained.fields} == result.field_scores
    assert explained.overall_score == result.overall_score
    html = explained._repr_html_()
    assert html.count("<table") == html.count("</table>") and str(explained)
    for e in (*explained.fields, *explained.audited):
        for place in e.evidence:
            if place.start is not None:
                assert TEXT[place.start : place.end] == place.text


def test_the_same_answer_scores_one():
    same = {f: v for f, v in EXPECTED.items() if v}
    row = extraction_row(same, EXPECTED, TYPES, doc_text=TEXT)
    assert row["field_scores"] == dict.fromkeys(same, 1.0)
    assert (row["overall_score"], row["field_presence"], row["schema_valid"]) == (1.0, 1.0, 1.0)
    assert row["ambiguous_fields"] == []


@pytest.mark.parametrize(
    "null", [None, float("nan"), "", "  ", [], {}, (), set(), [None, ""], ["N/A"]], ids=repr
)
@pytest.mark.parametrize("field", ["governing_law", "parties"])
def test_no_truth_no_score(field, null):
    result = score_extraction("contract", TYPES, {field: "Texas"}, {field: null})
    if field == "governing_law" and null == ["N/A"]:
        return  # a list of acceptable answers for a scalar; its reading is the dispatcher's
    assert (result.overall_score, result.field_scores, result.entity_list_scores) == (None, {}, {})


@pytest.mark.parametrize(
    "expected", [["Utah", "the laws of the State of Texas"], ("Texas law", "Utah"), {"Texas", "Utah"}]
)
def test_the_best_acceptable_answer_counts(expected):
    best = score_extraction(
        "contract", TYPES, {"governing_law": "the laws of the State of Texas"}, {"governing_law": expected}
    )
    alone = [
        score_extraction(
            "contract", TYPES, {"governing_law": "the laws of the State of Texas"}, {"governing_law": e}
        )
        for e in expected
    ]
    assert best.overall_score == max(r.overall_score for r in alone)


def test_order_of_lists_and_fields_changes_no_number():
    predicted = {"parties": ["Acme Franchising Inc", "Goosehead", "Texas"], "governing_law": "Texas"}
    turned = {"governing_law": "Texas", "parties": predicted["parties"][::-1]}
    expected = dict(reversed([(f, v[::-1] if isinstance(v, list) else v) for f, v in EXPECTED.items()]))
    one = score_extraction("contract", TYPES, predicted, EXPECTED, TEXT)
    other = score_extraction("contract", dict(reversed(TYPES.items())), turned, expected, TEXT)
    assert one.field_scores == other.field_scores and one.entity_list_audit == other.entity_list_audit
    assert list(one.entity_list_audit) == sorted(one.entity_list_audit)


def test_settings_are_read_at_the_call():
    year_and_month = ("contract", TYPES, {"effective_date": "March 9, 2024"}, EXPECTED)
    assert "effective_date" in score_extraction(*year_and_month).ambiguous_fields
    with scoring_settings(field_scoring__ambiguous_band=(0.0, 0.1)):
        assert "effective_date" not in score_extraction(*year_and_month).ambiguous_fields


def test_the_implied_schema_is_a_json_schema():
    schema = schema_for(TYPES)
    assert schema["properties"]["parties"] == {"type": "array", "items": {"type": "string"}}
    assert is_schema_valid({"parties": ["Acme"]}, TYPES, schema) and not is_schema_valid(
        {"parties": [1]}, TYPES, schema
    )
    assert is_schema_valid({}, TYPES, schema), "a schema of one's own decides alone"
    for bad in (True, "0.5", 1.01, -0.01, float("nan")):
        assert not is_schema_valid({"parties": [], "confidence": bad}, TYPES)
    for good in (0, 1, 0.5, None):
        assert is_schema_valid({"parties": [], "confidence": good}, TYPES)


def test_trackers_read_the_row():
    row = extraction_row(
        {"parties": ["Acme Franchising, Inc.", "Nobody LLC"]}, EXPECTED, TYPES, doc_text=TEXT
    )
    full = row_metrics(row, "full", TYPES)
    assert full["parties_score"] == full["parties_f1"] == row["entity_list_f1"]["parties"]
    assert (
        full["parties_verified_precision"] == row["entity_list_audit"]["parties"]["verified_precision"] == 0.5
    )
    assert list(row_metrics(row, "overall")) == list(full)[:4]


def test_long_documents_and_lists_stay_linear():
    """The grid of similarities is square in the items, and matters little at these sizes."""
    clause = "Licensee number {} shall pay the fee of ${} within {} days of March {}, 2024."

    def score(items):
        half = items[: len(items) // 2]
        score_extraction(
            "contract", TYPES, {"key_obligations": items}, {"key_obligations": half}, "\n".join(items * 4)
        )

    assert_near_linear(score, lambda n: [clause.format(i, i * 7, i % 90, i % 28 + 1) for i in range(n)], 200)


def stored_rows(pack, run):
    with gzip.open(pack / "rows_extraction.jsonl.gz") as f:
        rows = (json.loads(line) for line in f)
        return [r for r in rows if r["run"] == run]


def test_stored_clause_lists_were_scored_as_written(pack):
    """The stored counts are those of the raw items, hence `disaggregate=False`."""
    for row in stored_rows(pack, "171"):
        for field, stored in row["entity_list_scores"].items():
            assert stored[4] == len(row["predicted"][field])


def test_a_real_run_scores_near_its_stored_scores(pack):
    labels = read_labels(pack / "expected.jsonl.gz", fields=TYPES)
    from llm_dojo_scoring.master_labels import join_key

    ours, stored = [], []
    for row in stored_rows(pack, "171")[:60]:
        label = labels[join_key(row["filename"])]
        ours.append(score_extraction("contract", TYPES, row["predicted"], label.expected).overall_score)
        stored.append(row["overall_score"])
    assert abs(sum(ours) / len(ours) - sum(stored) / len(stored)) < 0.06


def test_a_result_shows_itself_and_a_hostile_field_stays_text():
    from llm_dojo_scoring.extraction.score import score_extraction

    evil = "<script>alert(1)</script>"
    result = score_extraction(evil, {evil: "name"}, {evil: evil}, {evil: "LEASE"})
    shown = result._repr_html_()
    assert "<script" not in shown and shown.count("&lt;script&gt;") == 2 and shown.count("<tr>") == 2


def test_a_result_shows_each_field_under_its_head_and_the_mean_above():
    shown = score_extraction("contract", {"value": "money"}, {"value": "$5"}, {"value": "$5"})._repr_html_()
    heads = "".join(f'<th scope="col">{h}</th>' for h in ("field", "type", "score", "rule", "note"))
    assert heads in shown and "<caption>contract: 1.0000</caption>" in shown
    assert "<td>money</td><td>1.0000</td><td>same amount</td>" in shown
    unscored = score_extraction("contract", {"value": "money"}, {}, {"value": None})
    assert "<caption>contract: not scored</caption>" in unscored._repr_html_()


def test_items_are_looked_for_in_the_contract_by_their_type():
    dates, label = {"dates": ["2024-03-03", "2024-03-04"]}, {"dates": ["1999-01-01"]}
    result = score_extraction("contract", {"dates": "entity_list:date"}, dates, label, TEXT)
    audit = result.entity_list_audit["dates"]
    assert (audit["n_predicted"], audit["true_items"], audit["hallucinated"]) == (2, 1, 1)


def test_strings_alone_are_compared_without_a_word_to_the_log(caplog):
    score_extraction(
        "contract", TYPES, {**EXPECTED, "parties": ["Somebody Else"]}, EXPECTED, TEXT, embedding=False
    )
    assert not caplog.records


OF_EACH_TYPE = {
    "object": {"a": 1}, "array": ["a"], "string": "a", "number": 1.5, "integer": 2, "boolean": True,
    "null": None,
}  # fmt: skip


@pytest.mark.parametrize("kind", OF_EACH_TYPE)
def test_a_schema_takes_the_values_of_its_type_and_no_others(kind):
    schema = {"type": "object", "properties": {"value": {"type": kind}}}
    taken = {k for k, value in OF_EACH_TYPE.items() if is_schema_valid({"value": value}, {}, schema)}
    assert taken == ({"number", "integer"} if kind == "number" else {kind})


def test_a_type_that_no_schema_knows_is_refused():
    with pytest.raises(ValueError, match="must be of the types object, array"):
        is_schema_valid({"value": 1}, {}, {"properties": {"value": {"type": "float"}}})


def test_reasoning_is_an_object_a_text_or_nothing():
    for said, valid in (({"why": "x"}, True), ("because", True), (None, True), (3, False), (["x"], False)):
        assert is_schema_valid({"parties": [], "reasoning": said}, TYPES) is valid
