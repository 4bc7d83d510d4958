"""Score what language models extract from legal documents. A name loads its module when it is first used."""

__version__ = "0.8.0"

import importlib

_NAMES = {
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
    "config": "Settings clear_settings_cache configure get_settings load_settings settings",
    "cost": "estimate_cost tokens_summary",
    "equivalences": "equivalent_doc_subclasses equivalent_subtypes normalize_doc_subclass normalize_subtype",
    "extraction.explain": "explain_extraction explain_field",
    "extraction.score": "ExtractionScoreResult score_extraction",
    "fields.dispatch": "score_field",
    "label_audit": "audit_labels",
    "labels": "normalize_label",
    "lists.score": "EntityListScore score_entity_list",
    "run_summary": "summarize_run",
    "task_answers": "normalize_task_answer task_kind",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}
_SUBMODULES = (
    "bootstrap classification config core cost cuad diagnostics embedding equivalences experiment"
    " failure_modes field_scoring labels legalbench master_labels run_records run_summary score_run"
    " tasks taxonomy vocab"
    " label_audit"
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
