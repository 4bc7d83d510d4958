"""Every interval that a past run stored comes out again, from the rows it was made of."""

import gzip
import json
from collections import defaultdict

import pytest

from llm_dojo_scoring.bootstrap import bootstrap_ci, record_ci

# task: the interval under `scores`, and the score of one row that it was made of
BLOCKS = {
    ("contract_entity_extraction", "overall_extraction_score_ci"): "overall_score",
    ("subtype_classification", "sorter.subtype_accuracy_ci"): "sorter.subtype_ok",
    (
        "subtype_classification",
        "sorter.exact_match_ci",
    ): "sorter.doc_type_ok",  # named exact_match, kept of doc_type
    ("task_classification", "exact_match_ci"): "correct",
    ("docclass_classification", "doc_type_accuracy_ci"): "sorter.doc_type_ok",
    ("docclass_classification", "subclass_accuracy_ci"): "sorter.subclass_ok",
    ("docclass_classification", "exact_match_ci"): "sorter.exact_match",
}


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def at(record, path):
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


@pytest.fixture(scope="module")
def runs(pack):
    rows = defaultdict(list)
    for name in ("labels", "extraction", "chained"):
        for row in lines(pack / f"rows_{name}.jsonl.gz"):
            rows[row["run"]].append(row)
    return [{**run, "results": rows[run["run"]]} for run in lines(pack / "runs.jsonl.gz")]


def test_all_stored_blocks(runs):
    checked, wrong = 0, []
    for run in runs:
        for (task, path), row_path in BLOCKS.items():
            stored = at(run["scores"], path) if run["task"] == task else None
            if not stored:
                continue
            made = bootstrap_ci([at(row, row_path) for row in run["results"] if row["status"] == "completed"])
            checked += 1
            if {key: made[key] for key in stored} != stored:
                wrong.append((run["run"], path, stored, made))
    assert not wrong
    assert checked == 181


def test_published_intervals(pack, runs):
    published = [p for p in json.loads((pack / "published.json").read_text()) if p["name"].startswith("ci.")]
    by_run = {run["run"]: run for run in runs}
    checked = 0
    for entry in published:
        _, number, *rest = entry["name"].split(".")
        if number not in by_run:
            continue
        run, metric = by_run[number], ".".join(rest)
        paths = [
            (p, r) for (task, p), r in BLOCKS.items() if task == run["task"] and p.endswith(f"{metric}_ci")
        ]
        made = bootstrap_ci([at(row, paths[0][1]) for row in run["results"] if row["status"] == "completed"])
        assert [made[k] for k in ("lo", "hi", "half", "n")] == entry["published"], entry["name"]
        checked += 1
    assert checked >= 5


def test_the_lookup_finds_what_was_stored_and_makes_it_again(runs):
    found = defaultdict(int)
    for run in runs:
        got = record_ci(run)
        source = got and got.pop("source")
        found[source] += 1
        if source != "stored":
            continue
        again = record_ci({**run, "scores": {}})
        if again is not None:  # the four headers without rows
            assert {key: again[key] for key in got} == got, run["run"]
    assert found["stored"] == 141 and found["results-bootstrap"] > 0, dict(found)


def test_failed_rows_as_misses_stand_beside(runs):
    run = next(r for r in runs if r["run"] == "081")
    completed, all_rows = record_ci(run), record_ci(run, failed="miss")
    assert (completed["n"], all_rows["n"]) == (217, 509)
    assert all_rows["hi"] < completed["lo"]
