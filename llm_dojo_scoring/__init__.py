"""Score what language models extract from legal documents. A name loads its module when it is first used."""

__version__ = "0.8.0"

import importlib

_NAMES = {
    "bootstrap": "bootstrap_ci delta_significance wilson_ci",
    "config": "Settings clear_settings_cache configure get_settings load_settings settings",
    "cost": "estimate_cost tokens_summary",
    "equivalences": "equivalent_doc_subclasses equivalent_subtypes normalize_doc_subclass normalize_subtype",
    "extraction.explain": "explain_extraction explain_field",
    "extraction.score": "ExtractionScoreResult score_extraction",
    "fields.dispatch": "score_field",
    "labels": "normalize_label",
    "lists.score": "EntityListScore score_entity_list",
    "run_summary": "summarize_run",
    "task_answers": "normalize_task_answer task_kind",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}
_SUBMODULES = (
    "bootstrap config core cost cuad diagnostics embedding equivalences field_scoring labels master_labels"
    " run_summary score_run taxonomy vocab"
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
