"""The registry against its table, and each source against the number it claims to return."""

import ast
from pathlib import Path

import pytest

import llm_dojo_scoring
from llm_dojo_scoring import bundles, doc_bundles, profiles, pruning, registry, score_catalog
from llm_dojo_scoring.registry import Registry, load_registry
from llm_dojo_scoring.score_spec import MetricDef, MetricTier

REGISTRY = registry.get_registry()
SPECIALISTS = score_catalog.SPECIALISTS
# name, tier, units, aggregation; "+" before a name: one of the 37 configured scores
TABLE = """
f1_macro 0 01 mean | accuracy 0 01 mean | +extraction_overall_score 0 01 mean | precision 1 01 mean
recall 1 01 mean | f2 1 01 mean | false_positive_rate 1 01 mean | false_negative_rate 1 01 mean
jaccard_similarity 1 01 mean | contracteval_false_no_related 1 01 mean | laziness_rate 1 01 mean
field_presence 1 01 mean | +entity_list_precision 1 01 mean | +entity_list_recall 1 01 mean
verified_precision 1 01 mean | +schema_valid 1 flag mean | +parse_error 1 flag mean | success_rate 1 01 mean
+completeness 1 01 mean | +classification_correct 1 label mean | +class_correct 1 flag mean
+stage_correct 1 flag mean | +extraction_correctness 1 01 mean | +extraction_needs_judge_review 1 flag mean
+expected_field_presence 1 01 mean | +extraction_overall_verified_precision 1 01 mean
+extraction_hallucination_rate 1 01 mean | +estimated_cost_usd 1 USD sum | cost_per_document 1 USD mean
audit_disagreement_rate 1 01 mean | audit_resolution_rate 1 01 mean | +legalbench_accuracy 1 01 mean
+legalbench_macro_f1 1 01 mean | +completeness_label 2 label mean | +extraction_correctness_label 2 label mean
confusion_matrix 2 object none | per_class_stats 2 object none | failure_mode_breakdown 2 object none
bootstrap_ci 2 object none | +confidence_calibration_error 2 01 mean | hallucination_rate 2 01 mean
per_field_scores 2 object none | +extraction_field_score 2 01 mean | +extraction_category_presence 2 01 mean
+guardrail_triggered 2 flag mean | +legalbench_calibration_error 2 01 mean | +classification_quality 3 01 mean
+classification_confidence 3 01 mean | +extraction_confidence 3 01 mean | +judge_notes 3 text mean
+stage_completed 3 flag mean | +run_aborted 3 flag mean
+llm_call_count 3 count sum | +total_tokens 3 count sum
+run_duration_seconds 3 seconds mean | +classification_attempts 3 count sum | +extraction_attempts 3 count sum
prompt_version 3 tag none | model_slug 3 tag none | trace_id 3 tag none | raw_prediction 3 text none
+legalbench_n_questions 3 count sum | +legalbench_task 3 tag none
"""
TABLED = [cell.split() for line in TABLE.strip().splitlines() for cell in line.split("|")]
TRACKERS = """
overall_extraction_score overall_verified_precision category_presence exact_match
macro_accuracy micro_accuracy subtype_accuracy subtype_accuracy_equiv doc_type_accuracy
subclass_accuracy subclass_accuracy_equiv
sorter_exact_match sorter_subtype_accuracy sorter_confidence extractor_overall extractor_field_presence
extractor_verified_precision extractor_category_presence extractor_schema_valid jaccard_mean no_related_rate
false_no_related_rate parties_score parties_f1 parties_precision parties_verified_precision
contract_value_score failure cost field_presence schema_valid confidence date_mae_days
date_median_ae_days date_r2
date_n_pairs duration_mae_days duration_r2 money_mae_usd money_n_pairs span_count_mae
span_count_signed_mean span_count_n_docs field_exact_rate list_micro_f1 sorter_loss_pp agree_rate
""".split()

ADJUDICATED = Path(__file__).parents[1] / "data" / "adjudicated" / "run.json"
LABELS = (["yes", "yes", "yes", "no"], ["yes", "yes", "no", "no"])
FAMILY = [{"filename": "a", "status": "completed",
           "sorter": {"doc_type": "contract", "contract_subtype": "license",
           "expected_subtype": "license", "confidence": 0.9}}]  # fmt: skip
CLASS = [{"filename": "a", "status": "completed",
          "sorter": {"doc_type": "contract", "expected_doc_type": "contract",
          "doc_subclass": "all_cash", "expected_subclass": "all_cash"}}]  # fmt: skip
STAGE = {
    k: 0.5 for k in ("overall_score", "field_presence", "overall_verified_precision", "category_presence")
}
CHAIN = [{**FAMILY[0], "extractor_scores": {**STAGE, "schema_valid": 1.0}}]
TYPES = {
    name: kind
    for entry in score_catalog.DEFAULT_TAXONOMY["doc_classes"]
    for name, kind in entry["field_types"].items()
}
VALUES = {"date": "March 3, 2024", "money": "$5", "id": "A-1"}
FIELDS = {
    f: ["Acme Corp"] if t.startswith("entity_list") else VALUES.get(t, "Acme Corp") for f, t in TYPES.items()
}
TEXT = "Acme Corp agreed on March 3, 2024 to pay $5 under A-1."


def _row():
    from llm_dojo_scoring.extraction.row import extraction_row

    presence = {"Parties": {"expected": True, "answer": "Acme Corp", "field": "parties"}}
    return (extraction_row(FIELDS, FIELDS, TYPES, doc_text=TEXT, presence=presence), "full", TYPES)


SAMPLES = {  # source: what to call it with
    "classification.exact_match": ("contract", "contract"),
    "classification.failure": ("ERROR: x", "contract"),
    "classification.cost": ({"_last_usage": {"cost": 0.1}},),
    "bootstrap.bootstrap_ci": ([1, 0, 1],),
    "tasks.score_task": ("multiclass", *LABELS),
    "tasks.chained_composite": (1.0, 0.5),
    "tasks.get_jaccard": ("a b", "a c"),
    "tasks.contracteval_metrics": ([["a b"], []], ["a b", "No related clause."]),
    "failure_modes.summarize_failures": ([f["sorter"] for f in FAMILY],),
    "run_records.subtype_record": (FAMILY,),
    "run_records.docclass_record": (CLASS,),
    "run_records.chained_record": (CHAIN,),
    "field_scoring.score_extraction": (
        "contract",
        {"parties": "name"},
        {"parties": "A"},
        {"parties": "A"},
        "A",
    ),
    "field_scoring.score_field": ("name", "Acme", "Acme"),
    "field_scoring.score_entity_list": ("name", ["Acme"], ["Acme"]),
    "field_scoring.audit_list_field": ("name", ["Acme"], ["Acme"], "Acme"),
    "field_scoring.score_category_presence": (
        {"parties": ["Acme"]},
        {"Parties": {"expected": True, "answer": "Acme", "field": "parties"}},
        {"parties": "entity_list:name"},
    ),
    "cost.estimate_cost": (1000, 100, "qwen/qwen3.7-flash"),
    "cost.estimate_for_record": (
        {"tokens": {"prompt_tokens": 9, "completion_tokens": 9}, "model": "qwen/qwen3.7-flash", "n_rows": 1},
    ),
    "cost.tokens_summary": (
        [{"prompt_tokens": 9, "completion_tokens": 9, "cost": 0.1}],
        "qwen/qwen3.7-flash",
    ),
}
SAMPLES |= {
    f"{module}.{name}": LABELS
    for module, names in {
        "classification": "macro_f1 accuracy macro_accuracy binary_metrics confusion_matrix per_class_stats"
        " balanced_accuracy cohen_kappa matthews_corrcoef",
        "tasks": "multiclass_score legalbench_score",
    }.items()
    for name in names.split()
}
TRUTHS = [
    {
        "effective_date": "March 3, 2024",
        "term_length": "two years",
        "contract_value": "$5",
        "key_obligations": ["pay"],
    },
    {
        "effective_date": "May 9, 2025",
        "term_length": "one year",
        "contract_value": "$9",
        "key_obligations": ["sue"],
    },
]
LIST = {"precision": 1.0, "recall": 1.0, "f1": 1.0, "matched": 1, "n_predicted": 1, "n_expected": 1}
SAMPLES["diagnostics.extraction_diagnostics"] = (
    [
        {
            "filename": str(i),
            "status": "completed",
            "predicted": truth,
            "expected_fields": truth,
            "field_scores": dict.fromkeys(truth, 1.0),
            "entity_list_scores": {"key_obligations": LIST},
        }
        for i, truth in enumerate(TRUTHS)
    ],
    {field: TYPES[field] for field in TRUTHS[0]},
)
SAMPLES["handoff.handoff_ablation"] = (
    [
        {
            "filename": "a",
            "extractor_scores": {"overall_score": 0.5},
            "extractor_gt_scores": {"overall_score": 0.7},
        }
    ],
)
SAMPLES["judge.judge_calibration"] = (
    [
        {
            "kind": "calibration",
            "filename": "a",
            "deterministic_overall_score": 0.9,
            "correctness_label": "accurate",
        }
    ],
)
SAMPLES["calibration.calibration"] = ([0.9, 0.8, 0.7], [1, 0, 1])
SAMPLES["adjudication.score_adjudicated"] = (ADJUDICATED,)
UNITS = {"01": "float[0,1]"}
SOURCED = [m for m in REGISTRY.filter() if m.source]


@pytest.mark.parametrize("name, tier, units, aggregation", TABLED)
def test_tabled_scores(name, tier, units, aggregation):
    metric = REGISTRY.get(name.lstrip("+"))
    assert (int(metric.tier), metric.units, metric.aggregation) == (
        int(tier),
        UNITS.get(units, units),
        aggregation,
    )
    assert (metric.name in score_catalog.SCORE_CONFIGS) == name.startswith("+")


def test_every_score_of_the_runs_is_there():
    assert len(TABLED) == 63 and set(TRACKERS) <= set(REGISTRY.names())
    assert len(score_catalog.SCORE_CONFIGS) == 37 == sum(row[0].startswith("+") for row in TABLED)


@pytest.mark.parametrize("metric", SOURCED, ids=lambda m: m.name)
def test_a_source_returns_the_score(metric):
    args = _row() if metric.source == "extraction.row.row_metrics" else SAMPLES[metric.source]
    value = metric.scorer()(*args)
    if metric.units in ("object", "label", "text", "tag"):
        assert value is not None
    else:
        value = float(value)
        low = {"float[-1,1]": -1.0, "float(-inf,1]": float("-inf")}.get(metric.units, 0.0)
        assert value >= low and (value <= 1 or not metric.units.startswith("float"))


def defined_names():
    "All functions that the package defines, by name."
    for path in Path(llm_dojo_scoring.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield node.name


def test_gaps_are_gaps():
    defined = set(defined_names())
    assert not set(REGISTRY.gaps()) & defined
    for word in ("wer", "cer", "word_error_rate", "character_error_rate"):  # the transcription bundle's words
        assert word not in defined
    assert not {n for n in defined if n.startswith("score_") and "maud" in n and "clause" in n}
    assert not [n for n in defined if "enron" in n or "synpuf" in n or "correspondence" in n]


def test_every_score_says_where_it_comes_from():
    assert REGISTRY.unresolved() == {}
    for metric in REGISTRY.filter():
        assert bool(metric.source) + bool(metric.given_by) + bool(metric.gap) == 1, metric.name
        assert metric.description and metric.units and metric.aggregation in ("mean", "sum", "none")


PINNED = ("audit_disagreement_rate", "audit_resolution_rate")  # visible through the bundle alone


@pytest.mark.parametrize("agent", profiles.list_profiles())
def test_whoever_uses_a_bundle_has_its_scores(agent):
    profile = profiles.get_profile(agent)
    visible = {m.name for m in profiles.visible_metrics(agent)}
    for fallback in (False, True):
        for name in profile.resolve_bundle(fallback=fallback).metrics_for(agent):
            assert name in visible
            assert name in PINNED or REGISTRY.get(name).applies_to(agent), name
    bundle, used_fallback = profile.resolve_doc_bundle()
    assert used_fallback and bundle == profile.resolve_bundle()


@pytest.mark.parametrize("agent", SPECIALISTS)
@pytest.mark.parametrize("doc_type", doc_bundles.DOC_TYPES)
def test_specialists_have_the_scores_of_their_documents(agent, doc_type):
    for name in doc_bundles.get_doc_bundle(doc_type).metrics_for(agent):
        assert REGISTRY.get(name).applies_to(agent)


def test_audit_rates_belong_to_the_audit_agent():
    assert {REGISTRY.get(n).applicable_agents for n in PINNED} == {("audit_agent",)}
    assert profiles.unknown_agents() == {}


# name, tasks, bundle, fallback, ground truth
PROFILES = """
sorter classify,route classification - yes | reporter summarize reporter - yes
judge classify,review classification - yes | boss orchestrate reporter - yes
pdf_transcriber transcribe transcription - yes | image_extractor transcribe transcription - yes
archivist store cost - no | audit_agent verify,review audit extraction no
sorter_reviewer classify,review classification - no | arbiter verify,review audit - no
"""
ROWS = [cell.split() for line in PROFILES.strip().splitlines() for cell in line.split("|")]
ROWS += [[name, "extract", "extraction", "-", "yes"] for name in SPECIALISTS]
ROWS += [[name, "verify,review", "audit", "extraction", "no"] for name in score_catalog.AUDITORS]


@pytest.mark.parametrize("name, tasks, bundle, fallback, truth", ROWS)
def test_tabled_profiles(name, tasks, bundle, fallback, truth):
    found = profiles.get_profile(name)
    assert found.tasks == tuple(tasks.split(",")) and found.metrics_bundle == bundle
    assert found.fallback_bundle == (None if fallback == "-" else fallback)
    assert found.ground_truth == (truth == "yes") and found.doc_bundle is None and found.aggregation == "mean"
    assert found.title and len(ROWS) == len(profiles.list_profiles()) == 23


DESCRIBED = {
    "contract": "CUAD", "merger_agreement": "MAUD HONEST GAP", "correspondence": "Enron HONEST GAP",
    "insurance_claim": "DE-SynPUF HONEST GAP", "court_opinion": "LegalBench",
    "due_diligence": "Synthetic", "corporate_record": "Synthetic", "compliance_filing": "Synthetic",
}  # fmt: skip


@pytest.mark.parametrize("doc_type, words", DESCRIBED.items())
def test_document_types_say_what_they_rest_on(doc_type, words):
    description = doc_bundles.DOC_TYPE_BUNDLES[doc_type].description
    assert all(w in description for w in words.replace("HONEST GAP", "").split())
    assert ("HONEST GAP" in description) == ("HONEST GAP" in words)
    assert doc_bundles.DOC_TYPES[0] == "contract" and doc_bundles.DOC_TYPES[-1] == "merger_agreement"


def overlay(tmp_path, text, name="table.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


AGENTS = [  # as written in a file, as read
    ("sorter", ("sorter",)),
    ("'sorter, judge'", ("sorter", "judge")),
    ("[sorter]", ("sorter",)),
    ("all", ("ALL",)),
    ("[]", ()),
    ("''", ()),
    ("", ()),
]


@pytest.mark.parametrize("key", ["agents", "applicable_agents"])
@pytest.mark.parametrize("written, read", AGENTS)
def test_agents_as_people_write_them(tmp_path, key, written, read):
    found = load_registry(overlay(tmp_path, f"metrics:\n  m: {{tier: core, {key}: {written}}}\n"))
    assert found.get("m").applicable_agents == read


@pytest.mark.parametrize(
    "written, tier", [("T0", 0), ("t3", 3), ("headline", 0), ("Log", 3), ("2", 2), ("'2'", 2)]
)
def test_tiers_as_people_write_them(tmp_path, written, tier):
    assert load_registry(overlay(tmp_path, f"metrics:\n  m: {{tier: {written}}}\n")).get("m").tier == tier


def test_an_overlay_keeps_what_it_does_not_name(tmp_path):
    text = "extends: default\nmetrics:\n  f2: {units: share}\n  accuracy: {given_by: reviewer}\n"
    found = load_registry(overlay(tmp_path, text))
    before, after = REGISTRY.get("f2"), found.get("f2")
    assert after.units == "share" and (after.tier, after.source, after.key) == (
        before.tier,
        before.source,
        before.key,
    )
    assert found.get("accuracy").source is None and found.get("accuracy").given_by == "reviewer"
    assert set(found.names()) == set(REGISTRY.names()) and REGISTRY.get("f2") == before


def test_the_environment_names_both_files(tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_DOJO_SCORING_REGISTRY", str(overlay(tmp_path, "metrics:\n  m: {}\n", "r.yaml")))
    monkeypatch.setenv("LLM_DOJO_SCORING_PROFILES", str(overlay(tmp_path, "agents:\n  n: {}\n", "p.yaml")))
    assert registry.get_registry().names() == ["m"] and "n" in profiles.list_profiles()
    assert pruning.dashboard_metrics("sorter") == ["m"]  # nothing of the bundle is registered
    assert [m.name for m in profiles.visible_metrics("n")] == ["m"]
    with pytest.raises(KeyError, match="accuracy"):
        profiles.get_profile("sorter").resolve_bundle()
    with pytest.raises(ValueError, match="no bundle"):
        profiles.get_profile("n").resolve_bundle()
    monkeypatch.setenv("LLM_DOJO_SCORING_REGISTRY", str(tmp_path / "none.yaml"))
    with pytest.raises(FileNotFoundError):
        registry.get_registry()
    monkeypatch.setenv("LLM_DOJO_SCORING_REGISTRY", " ")
    assert registry.get_registry() is REGISTRY


def test_what_is_read_is_shared_until_the_content_changes(tmp_path):
    path = overlay(tmp_path, "metrics:\n  m: {tier: core}\n")
    first = load_registry(path)
    overlay(tmp_path, "metrics:\n  m: {tier: core}\n")  # touched, and the same
    assert load_registry(path) is first
    overlay(tmp_path, "metrics:\n  m: {tier: deep}\n")
    assert load_registry(path).get("m").tier == MetricTier.DEEP and first.get("m").tier == MetricTier.CORE
    overlay(tmp_path, "metrics: {m: {tier: gold}}\n")
    for _ in range(2):  # a broken file stays broken
        with pytest.raises(ValueError):
            load_registry(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        load_registry(path)


def test_shared_tables_cannot_be_changed(tmp_path):
    shared = [
        REGISTRY.metrics, load_registry(overlay(tmp_path, "metrics: {m: {}}\n")).metrics,
        score_catalog.DEFAULT_METRICS, score_catalog.SCORE_CONFIGS, bundles.BUILTIN_BUNDLES,
        bundles.BUILTIN_BUNDLES["classification"].agent_overrides, doc_bundles.DOC_TYPE_BUNDLES,
        profiles.DEFAULT_PROFILES, profiles.DEFAULT_PROFILES["sorter"].extras,
    ]  # fmt: skip
    for table in shared:
        with pytest.raises(TypeError, match="shared"):
            table["x"] = 1
    with pytest.raises(AttributeError):
        REGISTRY.metrics = {}
    mine = REGISTRY.copy()
    mine.metrics["x"] = MetricDef("x", 3)
    assert "x" not in REGISTRY.metrics and Registry().metrics is not Registry().metrics
    assert isinstance(REGISTRY.metrics, dict)


def test_an_empty_registry_is_a_registry():
    empty = Registry()
    assert empty.names_for(agent="sorter") == [] and pruning.prune_metrics(registry=empty) == []
    assert pruning.headline_metrics("sorter", registry=empty) == []
    assert profiles.visible_metrics("sorter", registry=empty) == []
    with pytest.raises(KeyError):
        profiles.get_profile("sorter").resolve_bundle(registry=empty)


BUNDLES = {  # name: names, extras
    "classification": ("accuracy f1_macro classification_correct precision recall f2 false_positive_rate"
                       " false_negative_rate estimated_cost_usd cost_per_document schema_valid parse_error"
                       " success_rate",
                       {"sorter": "confusion_matrix failure_mode_breakdown per_class_stats bootstrap_ci",
                        "judge": "confidence_calibration_error"}),
    "extraction": ("extraction_overall_score field_presence entity_list_precision entity_list_recall"
                   " verified_precision completeness schema_valid parse_error success_rate"
                   " estimated_cost_usd cost_per_document",
                   {"contracts_specialist": "jaccard_similarity laziness_rate hallucination_rate",
                    "court_opinions_specialist": "legalbench_accuracy legalbench_macro_f1"}),
    "extraction_open": ("jaccard_similarity accuracy contracteval_false_no_related f1_macro f2", {}),
    "cost": ("estimated_cost_usd cost_per_document total_tokens llm_call_count", {}),
    "factuality": ("verified_precision hallucination_rate", {}),
    "laziness_detection": ("laziness_rate contracteval_false_no_related", {}),
    "audit": ("audit_disagreement_rate audit_resolution_rate verified_precision hallucination_rate"
              " cost_per_document", {}),
    "reporter": ("accuracy f1_macro extraction_overall_score success_rate cost_per_document", {}),
    "transcription": ("accuracy f1_macro", {}),
}  # fmt: skip


@pytest.mark.parametrize("name, row", BUNDLES.items())
def test_tabled_bundles(name, row):
    names, extras = row
    bundle = bundles.get_bundle(name)
    assert bundle.metric_names == tuple(names.split())
    assert bundle.agent_overrides == {agent: tuple(e.split()) for agent, e in extras.items()}
    assert bundles.list_bundles() == sorted(BUNDLES)


def test_the_top_level_has_the_registry():
    names = """BUILTIN_BUNDLES Bundle bundle_metric_names get_bundle validate_bundle DOC_TYPES
        DOC_TYPE_BUNDLES         get_doc_bundle list_doc_types validate_doc_bundle AgentProfile
        get_profile list_profiles load_profiles
        dashboard_metrics headline_metrics prune_metrics prune_records clear_registry_cache
        get_registry load_registry         MetricDef MetricTier Registry DEFAULT_DASHBOARD_TIER""".split()
    for name in names:
        assert getattr(llm_dojo_scoring, name) is not None and name in llm_dojo_scoring.__all__
    for module in "registry bundles profiles doc_bundles pruning".split():
        assert getattr(llm_dojo_scoring, module).__name__.endswith(module)
    for name in "MetricDef MetricTier DEFAULT_METRICS_YAML Registry load_registry get_registry".split():
        assert hasattr(registry, name)
