"""Score what language models extract from legal documents. A name loads its module when it is first used."""

__version__ = "0.8.0"

import importlib

_NAMES = {
    "bundles": "BUILTIN_BUNDLES Bundle bundle_metric_names get_bundle validate_bundle",
    "audit_sums": "sum_audits",
    "chunk_merge": "merge_chunks",
    "chunked_extraction": "extract_chunked",
    "class_summary": "summarize_labels",
    "classification": "accuracy binary_metrics confusion_matrix exact_match macro_accuracy per_class_stats",
    "failure_modes": (
        "classify_docclass_failure classify_failure confusion_from_rows per_subtype_accuracy"
        " summarize_failures"
    ),
    "run_records": "chained_record docclass_record sorter_record subtype_record",
    "tasks": (
        "chained_composite chained_summary contracteval_metrics contracteval_score court_opinion_score"
        " legalbench_score maud_docclass_score maud_question_score multiclass_score score_task"
    ),
    "bootstrap": "bootstrap_ci delta_significance wilson_ci",
    "comparison": "compare_prompts compare_runs",
    "pooled": "pooled_difference pooled_differences pooled_interval",
    "config": "Settings clear_settings_cache configure get_settings load_settings settings",
    "cost": "estimate_cost tokens_summary",
    "diagnostics": "extraction_diagnostics pool_diagnostics",
    "doc_bundles": "DOC_TYPES DOC_TYPE_BUNDLES get_doc_bundle list_doc_types validate_doc_bundle",
    "emitter": "Emitter get_emitter LangfuseSink LocalManifestSink reset_default_emitter ScoreRecord",
    "equivalences": "equivalent_doc_subclasses equivalent_subtypes normalize_doc_subclass normalize_subtype",
    "extraction_manifest": "score_extraction_manifest",
    "extraction.explain": "explain_extraction explain_field",
    "extraction.score": "ExtractionScoreResult score_extraction",
    "fields.dispatch": "score_field",
    "handoff": "handoff_ablation",
    "judge": "judge_calibration",
    "judge_correction": "corrected_score",
    "label_audit": "audit_labels",
    "labels": "normalize_label",
    "misses": "attribute_misses recovery_check",
    "rescore": "moved_scores rescore_manifest",
    "lists.score": "EntityListScore score_entity_list",
    "profiles": "AgentProfile get_profile list_profiles load_profiles",
    "pruning": "DEFAULT_DASHBOARD_TIER dashboard_metrics headline_metrics prune_metrics prune_records",
    "registry": "Registry clear_registry_cache get_registry load_registry",
    "run_diagnostics": "diagnose",
    "run_summary": "summarize_run",
    "score_spec": "MetricDef MetricTier",
    "task_answers": "normalize_task_answer task_kind",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}
_SUBMODULES = (
    "adjudication bootstrap bundles classification comparison config contracteval core cost cuad"
    " diagnostics doc_bundles embedding emitter equivalences error_analysis experiment explorer export"
    " failure_modes field_scoring interpret io label_audit labels langfuse_sync legalbench master_labels"
    " metrics misses monte_carlo phoenix_sync pooled profiles pruning registry report rescore run_records"
    " run_summary score_catalog score_run score_spec tasks taxonomy visualize vocab"
).split()

__all__ = ["__version__", *_SUBMODULES, *_WHERE]


def __getattr__(name):
    if name in _WHERE:
        value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
