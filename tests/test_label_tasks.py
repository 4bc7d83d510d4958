"""Whole tasks of labels: the record's keys, the label set in any form, and the second level of each class."""

import pytest

from llm_dojo_scoring.label_tasks import (
    court_opinion_score,
    hit_interval,
    legalbench_score,
    multiclass_score,
    score_labels,
    score_two_levels,
)

KEYS = """task kind exact_match exact_match_ci macro_accuracy per_class confusion top_confusions
n n_failed n_unscored classes_without_answers macro_f1 balanced_accuracy""".split()
TWO = "task kind doc_type_accuracy doc_type_accuracy_ci per_class n n_failed n_unscored confusion".split()
MORE = """subclass_accuracy subclass_accuracy_ci subclass_accuracy_equiv exact_match exact_match_ci
per_subclass n_subclass_scored subclass_confusion""".split()


@pytest.mark.parametrize(
    ("made", "task", "more"),
    [
        (multiclass_score(["a", "b"], ["a", "a"]), "multiclass", ["micro_accuracy"]),
        (court_opinion_score(["other"], ["other"]), "court_opinion", []),
        (legalbench_score(["Yes", "No"], ["yes", "yes"]), "legalbench", ["binary"]),
    ],
)
def test_the_record_of_one_column(made, task, more):
    assert list(made) == [*KEYS, *more] and (made["task"], made["kind"]) == (task, task)


def test_the_record_of_two_levels():
    classes = ["contract", "merger_agreement", "contract"]
    found = score_two_levels("docclass", classes, [*classes[:2], "other"])
    assert list(found) == TWO and found["task"] == "docclass"
    assert found["confusion"]["labels"] == ["contract", "merger_agreement", "other"]
    assert found["confusion"]["matrix"] == [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    more = score_two_levels("docclass", classes, classes, [None, "all_cash", None], [None, "all_cash", None])
    assert list(more) == [*TWO, *MORE]
    assert more["subclass_confusion"] == {"matrix": [[1]], "labels": ["all_cash"]}


@pytest.mark.parametrize("form", [list, tuple, iter, dict.fromkeys])
def test_a_label_set_may_come_in_any_form(form):
    expected, predicted = ["License", "hosting", "supply"], ["a license deal", "the hosting deal", "supply!"]
    found = score_labels("subtype", expected, predicted, valid=form(["license", "hosting", "supply"]))
    assert found["exact_match"] == 1.0


@pytest.mark.parametrize("answers", [[], ["a"]])
def test_no_truth_gives_rates_of_0_and_no_interval(answers):
    made = multiclass_score([None] * len(answers), answers)
    assert [made[k] for k in ("exact_match", "macro_accuracy", "macro_f1", "balanced_accuracy")] == [0.0] * 4
    assert (made["exact_match_ci"], made["n"], made["n_unscored"]) == (None, 0, len(answers))


@pytest.mark.parametrize(("rows", "method"), [(50, "percentile-bootstrap"), (51, "exact-percentile")])
def test_above_fifty_million_draws_nothing_is_drawn(monkeypatch, rows, method):
    monkeypatch.setattr("llm_dojo_scoring.label_tasks._MOST_DRAWS", 5_000)
    assert hit_interval([1.0, 0.0] * (rows // 2) + [1.0] * (rows % 2), 0, 100)["method"] == method


def test_a_second_level_is_read_among_the_types_of_its_true_class():
    classes = ["corporate_record", "merger_agreement", "merger_agreement", "contract"]
    truths = ["bylaws", "all_cash", "other", "memo"]
    answers = ["The bylaws of the company", "cash", "stock for stock", "memo"]
    found = score_two_levels("docclass", classes, classes, truths, answers)
    assert (found["subclass_accuracy"], found["n_subclass_scored"], found["exact_match"]) == (1.0, 4, 1.0)
    wrong = score_two_levels("docclass", ["contract"] * 2, ["contract"] * 2, truths[:2], answers[:2])
    assert wrong["subclass_accuracy"] == 0.5  # a contract has no types of its own: only one answer names one
