"""A plugged-in model: scored, logged, resumed after a kill, the stored fingerprints reproduced."""

import gzip
import json
import os
import subprocess
import sys
import threading
import time

import pytest
from score_servers import PhoenixStandIn

from llm_dojo_scoring.classification import exact_match
from llm_dojo_scoring.emitter import read_scorecard
from llm_dojo_scoring.eval_run import evaluate_model
from llm_dojo_scoring.experiment import load_records
from llm_dojo_scoring.jsonl_log import read_log
from llm_dojo_scoring.local_eval import (
    ManifestStore,
    call_with_rate_limit_retry,
    dataset_fingerprint,
    resolve_tracer,
    run_local_eval,
)
from llm_dojo_scoring.phoenix_sink import PhoenixSink


def rows(n):
    return [{"filename": f"{i}.txt", "input": {"n": i}, "expected": "license"} for i in range(n)]


def test_stored_fingerprints_are_reproduced(pack):
    "Runs whose rows are in the pack in the order of the run have the fingerprint that their record stores."
    with gzip.open(pack / "runs.jsonl.gz") as file:
        stored = {
            r["run"]: (r.get("data_source") or {}).get("dataset_fingerprint") for r in map(json.loads, file)
        }
    mine: dict = {}
    with gzip.open(pack / "rows_labels.jsonl.gz") as file:
        for row in map(json.loads, file):
            if row["run"] in ("027", "031", "140"):
                truth = (row.get("sorter") or {}).get("expected_subtype") or row.get("expected")
                mine.setdefault(row["run"], []).append(
                    {"filename": row["filename"], "expected": row.get("expected", truth)}
                )
    assert len(mine) == 3
    for run, found in mine.items():
        assert dataset_fingerprint(found) == stored[run], run


def test_order_and_errors_are_kept():
    def task(given):
        time.sleep(0.01 * (3 - given["n"] % 3))
        if given["n"] % 5 == 0:
            raise ValueError(f"bad {given['n']}")
        return given["n"]

    results = run_local_eval(task, rows(40), max_concurrency=8).results
    assert [r.input["n"] for r in results] == list(range(40))
    assert [r.output for r in results] == [None if i % 5 == 0 else i for i in range(40)]
    assert (
        results[0].error == "ValueError: bad 0"
        and results[1].error is None
        and results[1].expected == "license"
    )


def test_a_store_takes_rows_from_threads(tmp_path):
    store = ManifestStore(tmp_path / "m.jsonl", {"a": 1}).initialize()
    threads = [
        threading.Thread(
            target=lambda n=n: [
                store.append({"filename": f"{n}-{i}", "status": "completed"}) for i in range(50)
            ]
        )
        for n in range(6)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    again = ManifestStore(tmp_path / "m.jsonl", {"a": 1}).initialize()
    assert len(again.rows()) == 300 and all("updated_at" in r for r in again.rows())
    with pytest.raises(ValueError, match="another run"):
        ManifestStore(tmp_path / "m.jsonl", {"a": 2}).initialize()
    (tmp_path / "x.jsonl").write_text('{"filename": "a"}\n')
    with pytest.raises(ValueError, match="header"):
        ManifestStore(tmp_path / "x.jsonl", {"a": 1}).initialize()


def test_jitter_is_the_same_each_time():
    def pauses():
        found = []

        def call():
            raise RuntimeError("rate limit")

        with pytest.raises(RuntimeError):
            call_with_rate_limit_retry(call, sleep=found.append)
        return found

    first = pauses()
    assert first == pauses() and len(first) == 4
    assert all(0.75 * b <= p <= 1.25 * b for p, b in zip(first, (2, 4, 8, 16), strict=True))


RUN = """
import os, sys, time
from llm_dojo_scoring.classification import exact_match
from llm_dojo_scoring.eval_run import evaluate_model
folder, stuck = sys.argv[1], int(sys.argv[2])
def model(given):
    if given["n"] >= stuck:
        os.write(1, b"%d\\n" % given["n"])
        time.sleep(3600)
    return "license" if given["n"] % 4 else "hosting"
rows = [{"filename": f"{i}.txt", "input": {"n": i}, "expected": "license"} for i in range(60)]
how = dict(run_id="killed", folder=folder, max_concurrency=2)
run = evaluate_model(model, rows, {"accuracy": exact_match}, **how)
print(run.called, run.scores["accuracy"])
"""


def test_a_killed_run_is_taken_up_where_it_stopped(tmp_path):
    folder = tmp_path / "reports"
    args = [sys.executable, "-c", RUN, str(folder)]
    process = subprocess.Popen([*args, "30"], stdout=subprocess.PIPE, text=True)
    said = {process.stdout.readline(), process.stdout.readline()}
    process.kill()
    process.communicate()
    assert said == {"30\n", "31\n"}  # two calls were under way
    kept = sum(r.get("status") == "completed" for r in read_log(folder / "killed.jsonl").records)
    assert kept == 30 and not (folder / "experiment_log.jsonl").exists()
    again = subprocess.run([*args, "60"], capture_output=True, text=True, check=True)
    called, accuracy = again.stdout.split()
    assert (int(called), float(accuracy)) == (30, 0.75)  # the two under way at the kill are called again
    (record,) = load_records(folder / "experiment_log.jsonl")
    assert (record["n_rows"], record["n_ok"], record["scores"]["accuracy"]) == (60, 60, 0.75)
    assert read_scorecard(folder / "killed.scores.jsonl", "sorter")["accuracy"] == 0.75


def test_an_interrupted_run_keeps_its_answers_and_is_finished_by_the_next_start(tmp_path):
    stop = [True]

    def model(given):
        if stop and given["n"] == 5:
            raise KeyboardInterrupt
        return "license"

    plug = dict(run_id="r", folder=tmp_path, max_concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        evaluate_model(model, rows(12), {"accuracy": exact_match}, **plug)
    assert not (tmp_path / "experiment_log.jsonl").exists()
    stop.clear()
    run = evaluate_model(model, rows(12), {"accuracy": exact_match}, **plug)
    assert run.called < 12 - 4 and run.scores == {"accuracy": 1.0}


def test_a_mistake_of_the_caller_is_told_before_anything_is_called_or_written(tmp_path):
    def never(given):
        pytest.fail("called")

    good = {"accuracy": exact_match}
    for model, docs, scorers, said in (
        ("gpt-5", rows(2), good, "`model` must be a function"),
        (never, ["a.txt"], good, "row 0: expected a mapping"),
        (never, [{"filename": ("a",), "expected": "x"}], good, "that is a text"),
        (never, rows(2), {"acuracy": exact_match}, "did you mean accuracy"),
        (never, rows(2), [exact_match], "`scorers` must be"),
    ):
        with pytest.raises((ValueError, KeyError), match=said):
            evaluate_model(model, docs, scorers, run_id="r", folder=tmp_path)
    with pytest.raises(ValueError, match="`run_id` must be"):
        evaluate_model(never, rows(2), good, run_id=" ", folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
    notes = tmp_path / "r.jsonl"
    notes.write_text("somebody's notes\n")
    with pytest.raises(ValueError, match="no run's manifest"):
        evaluate_model(never, rows(2), good, run_id="r", folder=tmp_path)
    assert notes.read_text() == "somebody's notes\n"


def test_failed_rows_are_misses_and_servers_get_every_score(tmp_path):
    def model(given):
        if given["n"] == 1:
            return "ERROR: content filter"
        if given["n"] == 2:
            raise TimeoutError("slow")
        return "license"

    with PhoenixStandIn() as server:
        sink = PhoenixSink(server.base_url, "local")
        run = evaluate_model(
            model, rows(4), {"accuracy": exact_match}, run_id="r", folder=tmp_path, sinks=[sink]
        )
        assert run.scores == {"accuracy": 0.5} and run.record["n_ok"] == 2
        assert run.deliveries[0].pending == 4  # no trace was sent: the scores wait for theirs
        from llm_dojo_scoring.score_record import span_id_for

        server.known["span"] |= {span_id_for("r", f"{i}.txt") for i in range(4)}
        assert sink.flush().sent == 4
        assert sorted(server.values().values()) == [0.0, 0.0, 1.0, 1.0]
    html = run._repr_html_()
    assert "0.5000" in html and "2 failed" in html


def test_a_failed_row_is_a_miss_whatever_the_scorer_says_and_is_called_again(tmp_path):
    down = [True]

    def model(given):
        if given["n"] == 1 and down:
            raise TimeoutError("slow")
        return "license"

    plug = dict(run_id="r", folder=tmp_path)
    run = evaluate_model(model, rows(4), {"accuracy": lambda said, truth: 1.0}, **plug)
    assert run.scores == {"accuracy": 0.75}
    down.clear()
    run = evaluate_model(model, rows(4), {"accuracy": lambda said, truth: 1.0}, **plug)
    assert (run.called, run.scores) == (1, {"accuracy": 1.0})
    assert read_scorecard(tmp_path / "r.scores.jsonl", "sorter")["accuracy"] == 1.0


def test_without_servers_a_run_is_untraced_and_says_why(monkeypatch):
    for name in [n for n in os.environ if n.startswith(("LANGFUSE_", "PHOENIX_"))]:
        monkeypatch.delenv(name)
    tracer, backend, about = resolve_tracer("r", "t", base_url="http://127.0.0.1:9")
    assert backend == "none" and set(about["passed_over"]) == {"langfuse", "phoenix"}
    with pytest.raises(ValueError, match="prefer"):
        resolve_tracer("r", "t", prefer="braintrust")
