"""Stored classification runs: what their records say follows from their rows. Skipped without the data pack."""

# ruff: noqa: E501

import gzip
import json
from collections import Counter, defaultdict

import pytest

from llm_dojo_scoring import tasks
from llm_dojo_scoring.class_summary import summarize_labels
from llm_dojo_scoring.failure_modes import (
    confusion_from_rows,
    per_subtype_accuracy,
    summarize_docclass_failures,
)
from llm_dojo_scoring.label_rows import failure_kind
from llm_dojo_scoring.legalbench import LEGALBENCH_TASKS
from llm_dojo_scoring.run_records import docclass_record, sorter_record, subtype_record

AS_STORED = {"disguised": "as_stored", "failed": "leave_out"}


def lines(path):
    with gzip.open(path) as f:
        return [json.loads(line) for line in f]


@pytest.fixture(scope="module")
def stored(pack):
    rows = defaultdict(list)
    for row in lines(pack / "rows_labels.jsonl.gz"):
        rows[row["run"]].append(row)
    return {r["run"]: (r, rows[r["run"]]) for r in lines(pack / "runs.jsonl.gz") if r["run"] in rows}


def of_task(stored, task):
    return {k: v for k, v in stored.items() if v[0]["task"] == task}


def test_341_failures_in_disguise(stored):
    kinds = Counter(failure_kind(row) for _, rows in stored.values() for row in rows)
    assert kinds == {"": 18_172, "disguised": 341, "status": 42}
    for head, rows in stored.values():
        assert head.get("hidden_error_rows") in (None, sum(failure_kind(r) == "disguised" for r in rows))


def test_family_records(stored):
    runs = of_task(stored, "subtype_classification")
    assert len(runs) == 53
    for run, (head, rows) in runs.items():
        theirs, ours = head["scores"]["sorter"], subtype_record(rows, **AS_STORED, n_boot=2)["sorter"]
        for key in (
            "exact_match",
            "subtype_accuracy",
            "subtype_accuracy_equiv",
            "confidence",
            "confusion_matrix",
        ):
            assert theirs.get(key, ours[key]) == ours[key], (run, key)
        for family, counts in theirs["per_subtype"].items():
            assert counts == {k: ours["per_subtype"][family][k] for k in counts}
        if run not in ("012", "102"):
            assert theirs["failure_insights"]["mode_counts"] == ours["failure_insights"]["mode_counts"], run


def test_run_102_over_both_denominators(stored):
    rows = stored["102"][1]
    assert subtype_record(rows, **AS_STORED)["sorter"]["subtype_accuracy"] == 0.9143
    ours = subtype_record(rows)["sorter"]
    assert (ours["subtype_accuracy"], ours["subtype_accuracy_ci"]["n"]) == (0.8389, 509)
    assert ours["failure_insights"]["mode_counts"]["error"] == 42


def test_document_class_records(stored):
    runs = of_task(stored, "docclass_classification")
    assert len(runs) == 5
    for run, (head, rows) in runs.items():
        ours = docclass_record(rows, n_boot=2)
        moved = {"subclass_accuracy"} if run in ("182", "184") else set()
        for key in ("doc_type_accuracy", "subclass_accuracy", "subclass_accuracy_equiv", "exact_match", "confidence",
                    "per_class_accuracy", "per_subclass_support", "subclass_confusion", "n_errors"):  # fmt: skip
            assert (head["scores"][key] == ours[key]) == (key not in moved), (run, key)
        assert ours["subclass_accuracy_equiv"] >= ours["subclass_accuracy"]
        if "sorter" in head["scores"]:
            theirs = head["scores"]["sorter"]["failure_insights"]["mode_counts"]
            assert theirs == ours["sorter"]["failure_insights"]["mode_counts"]
            assert theirs == summarize_docclass_failures(rows)["mode_counts"]


def test_run_185_over_the_rows_that_have_truth(stored):
    sorter = [r["sorter"] for r in stored["185"][1]]
    columns = [
        [s[k] for s in sorter] for k in ("expected_doc_type", "doc_type", "expected_subclass", "doc_subclass")
    ]
    found = tasks.score_task(
        "docclass", *columns[:2], expected_subclass=columns[2], predicted_subclass=columns[3]
    )
    assert (found["subclass_accuracy"], found["n_subclass_scored"], found["n"]) == (0.5749, 167, 676)
    assert (found["doc_type_accuracy"], found["exact_match"]) == (0.9926, 0.8905)


def test_flat_records(stored):
    runs = of_task(stored, "task_classification") | of_task(stored, "sorter_classification")
    assert len(runs) == 59
    for head, rows in runs.values():
        ours = sorter_record(rows)
        for key, theirs in head["scores"].items():
            if key.endswith("_ci"):
                assert theirs is None or {k: ours[key][k] for k in theirs} == theirs
            else:
                assert ours[key] == theirs, (head["run"], key)
        task = "legalbench" if head["task"] == "task_classification" else "doc_class"
        found = tasks.score_task(
            task, [r["expected"] for r in rows], [r["predicted"] for r in rows], n_boot=2
        )
        assert found["exact_match"] == ours["exact_match"]


def test_family_tables_agree_with_the_record(stored):
    for run in ("104", "142", "084"):
        rows = stored[run][1]
        record = subtype_record(rows, n_boot=2)["sorter"]
        matrix, labels = confusion_from_rows(rows)
        table = {
            a: {b: n for b, n in zip(labels, row, strict=True) if n}
            for a, row in zip(labels, matrix, strict=True)
        }
        assert {k: v for k, v in table.items() if v} == record["confusion_matrix"]
        for family, found in per_subtype_accuracy(rows).items():
            assert (found["n"], found["correct"], found["correct_equiv"]) == tuple(
                record["per_subtype"][family][k] for k in ("total", "correct", "equiv")
            )


def test_every_legalbench_file_has_a_tested_route(pack):
    names = {p.stem for p in (pack / "external/legalbench/train").glob("*.tsv")}
    assert len(names) == 101 and names == {n for n, t in LEGALBENCH_TASKS.items() if t.tested}


def test_the_summary_has_the_interval_of_the_record(stored):
    for run in ("102", "104", "142"):
        summary = summarize_labels(stored[run][1], "subtype")
        record = subtype_record(stored[run][1])["sorter"]
        assert round(summary.accuracy, 4) == record["subtype_accuracy"]
        assert summary.interval == record["subtype_accuracy_ci"]
        assert round(summary.lenient, 4) == record["subtype_accuracy_equiv"]
