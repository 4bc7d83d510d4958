"""The doors: names that users import, what importing them costs, and the seams that programs hang on."""

import importlib
import json
import subprocess
import sys

import pytest

import llm_dojo_scoring.field_scoring as door
from llm_dojo_scoring.config import settings

FACADES = {
    "field_scoring": [
        *(
            "fields.names",
            "fields.ids",
            "fields.money",
            "fields.dates",
            "fields.date_rules",
            "fields.durations",
        ),
        *("fields.free_text", "lists.matching", "lists.partial_gt", "lists.score", "fields.dispatch"),
        *("factuality.grounding", "factuality.audit", "factuality.spans", "factuality.presence"),
        *("extraction.score", "field_settings"),
    ],
    "monte_carlo": [
        *("mc.distributions", "mc.traces", "mc.corpus", "mc.resamples", "mc.committee", "mc.escalation"),
        *("mc.ablation", "mc.selection", "mc.reliability", "mc.exemplars", "mc.figures"),
    ],
}
LIGHT = [
    "field_scoring",
    "extraction.explain",
    "extraction.row",
    "run_inputs",
    "run_labels",
    "scored_run",
    "score_run",
    "registry",
    "pruning",
    "monte_carlo",
]
HEAVY = (
    "pandas matplotlib openpyxl langfuse torch sentence_transformers sklearn statsmodels pyarrow joblib"
).split()
TABLED = """
get_settings get_ambiguous_band get_bipartite_match_threshold get_embedding_model
get_embedding_rescue_below get_presence_embedding_threshold embedding_enabled get_partial_gt_fields
get_containment_fields verification_enabled get_verification_coverage normalize_text parse_date
parse_money score_id_field score_date_field score_money_field score_name_field score_free_text_field
score_containment_field EntityListScore score_entity_list verify_list_items audit_list_field
audit_scalar_field disaggregate_clause_spans score_category_presence FIELD_SCORERS LIST_PREFIX
is_entity_list score_field get_field_types ExtractionScoreResult score_extraction
""".split()


@pytest.mark.parametrize("facade, rooms", FACADES.items())
def test_a_door_opens_on_the_room_itself(facade, rooms):
    module = importlib.import_module(f"llm_dojo_scoring.{facade}")
    for room in map(importlib.import_module, (f"llm_dojo_scoring.{r}" for r in rooms)):
        for name in room.__all__:
            assert getattr(module, name) is getattr(room, name)
            assert name in module.__all__


@pytest.mark.parametrize("name", TABLED)
def test_tabled_names_are_there(name):
    assert name in door.__all__ and getattr(door, name) is not None


def test_star_import_brings_public_names_only():
    names = {}
    exec("from llm_dojo_scoring.field_scoring import *", names)
    assert set(TABLED) <= names.keys()
    assert not [n for n in names if n.startswith("_") and n != "__builtins__"]


@pytest.mark.parametrize("module", LIGHT)
def test_scoring_imports_stay_light(module):
    code = f"import sys, llm_dojo_scoring.{module}; print([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_old_private_names_answer():
    assert door._heuristic_field_type("effective_date", "x") == "date"
    assert door._heuristic_field_type("contract_value", "x") == "money"
    assert door._heuristic_field_type("docket_number", "x") == "id"
    assert door._heuristic_field_type("parties", ["x"]) == "entity_list"
    assert door._get_embedding() is None


class Oracle:
    "A matcher to which all texts are alike."

    def similarity(self, a, b):
        return 0.9


def test_assigning_the_matcher_reaches_the_rooms_and_can_be_undone(monkeypatch):
    pair = ("free_text", "Licensee pays the fee", "An amount is due")
    assert door.score_field(*pair) == 0.0
    with monkeypatch.context() as m:
        m.setattr(door, "_get_embedding", lambda: Oracle())
        assert door.score_field(*pair) == 0.9
        m.setattr(door, "_get_embedding", lambda: None)
        with settings(field_scoring__embedding_enabled=True):
            assert door.score_field(*pair) == 0.0
    assert door._get_embedding() is None and door.score_field(*pair) == 0.0


def test_a_program_for_the_old_package_runs_unchanged():
    """Calls as programs wrote them: by position, by keyword, reading attributes and records."""
    result = door.score_extraction(
        doc_class="contract",
        field_types={"parties": "entity_list:name", "effective_date": "date", "governing_law": "name"},
        predicted={"parties": ["Acme Corp"], "effective_date": "March 3, 2024", "governing_law": "Delaware"},
        expected={
            "parties": ["Acme Corp", "Beta LLC"],
            "effective_date": "2024-03-01",
            "governing_law": "Delaware",
        },
        doc_text="Acme Corp and Beta LLC agreed on March 3, 2024.",
    )
    record = json.loads(json.dumps(result.to_dict()))
    keys = "doc_class field_scores overall_score ambiguous_fields entity_list_scores entity_list_audit"
    assert list(record) == keys.split()
    assert record["entity_list_scores"]["parties"].keys() == set(
        "field precision recall f1 matched n_predicted n_expected partial_gt".split()
    )
    assert record["entity_list_audit"]["parties"].keys() == set(
        "n_predicted matched_gt verified_in_doc true_items verified_precision hallucinated hallucination_rate"
        " doc_verification".split()
    )
    assert result.needs_judge_review and result.overall_verified_precision == 1.0
    bare = door.ExtractionScoreResult("contract", {"a": 1.0}, 1.0, [], {}, {})
    assert bare.to_dict()["field_scores"] == {"a": 1.0} and bare.overall_verified_precision is None
    score = door.EntityListScore("parties", 1.0, 0.5, 0.6667, 1, 0, 1)
    assert score.to_dict()["n_expected"] == 2 and score.score == 0.6667
