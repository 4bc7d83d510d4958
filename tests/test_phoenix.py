"""A real Phoenix: traces and scores sent, read back equal, the sender killed midway.

The server has an environment of its own: `python tests/phoenix_server.py --install` makes it.
`DOJO_PHOENIX_URL` names one that runs already.
"""

import os
import subprocess
import sys
import time

import pytest
from phoenix_server import PhoenixServer, executable

from llm_dojo_scoring.classification import exact_match
from llm_dojo_scoring.eval_run import evaluate_model
from llm_dojo_scoring.local_eval import resolve_tracer
from llm_dojo_scoring.outbox import receipts_path
from llm_dojo_scoring.phoenix_sink import PhoenixApi, PhoenixSink
from llm_dojo_scoring.phoenix_sync import (
    PhoenixClient,
    check_phoenix,
    fetch_phoenix_records,
    phoenix_available,
)
from llm_dojo_scoring.score_record import ScoreRecord, span_id_for
from llm_dojo_scoring.sinks import LocalManifestSink
from llm_dojo_scoring.tracing import PhoenixTracer

SORTER = "subtype_classification"


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory):
    running = os.environ.get("DOJO_PHOENIX_URL")
    if running:
        yield running
        return
    if executable() is None:
        pytest.skip("no Phoenix server here: python tests/phoenix_server.py --install")
    with PhoenixServer(tmp_path_factory.mktemp("phoenix")) as server:
        print(f"phoenix answered after {server.seconds:.0f} s")
        yield server.base_url


@pytest.fixture
def project():
    return f"test-{time.time_ns()}"


def wait_for(question, seconds=900):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := question():
            return found
        time.sleep(0.2)
    raise TimeoutError


def answer(i):
    return {
        "doc_type": "contract",
        "expected_subtype": "license" if i % 3 else "hosting",
        "contract_subtype": "license",
        "subtype_ok": bool(i % 3),
        "doc_type_ok": True,
        "confidence": 0.9,
    }


def traced(url, project, run, n, failed=()):
    tracer = PhoenixTracer(PhoenixApi(url, project), run, SORTER, ["test"])
    for i in range(n):
        problem = {"error": "ERROR: timeout"} if i in failed else {"output": {"sorter": answer(i)}}
        about = {"filename": f"doc-{i}", "model": "m-1", "prompt_version": "sorter_v1"}
        tracer.record(f"doc-{i}", input=about, started=1e9 + i, ended=1e9 + i + 1, **problem)
    assert tracer.flush() == n and tracer.error is None
    return tracer


def test_a_run_comes_back_as_it_was_sent(phoenix, project, tmp_path):
    "1,200 traces: more than the thousand at which the client's own list ends without a word."
    run, n = f"run-{project}", 1200
    traced(phoenix, project, run, n, failed=(7, 8))
    client = PhoenixClient(phoenix)
    wait_for(lambda: len(client.list_traces(SORTER, run, project_name=project)) == n)
    (record,) = fetch_phoenix_records(client, project_name=project)
    assert (record["n_rows"], record["n_ok"], record["n_errors"]) == (n, n - 2, 2)
    right = sum(bool(i % 3) for i in range(n) if i not in (7, 8))
    assert record["scores"]["sorter"]["subtype_accuracy"] == round(right / n, 4)
    assert (record["model"], record["prompt_versions"]["sorter"]) == ("m-1", "sorter_v1")
    assert record["data_source"]["project"] == f"phoenix:{project}"
    traced(phoenix, project, run, 5)  # sent again: known spans stay as they are
    assert len(client.list_traces(SORTER, run, project_name=project)) == n


def test_scores_read_back_equal(phoenix, project, tmp_path):
    run = f"run-{project}"
    traced(phoenix, project, run, 30)
    wait_for(lambda: len(PhoenixClient(phoenix).list_traces(SORTER, run, project_name=project)) == 30)
    local = LocalManifestSink(tmp_path / "scores.jsonl")
    values = [True, False, "partial", 0.25, 3, 1e-9]
    sent = [
        ScoreRecord("sorter", f"m{i % 6}", values[i % 6], f"doc-{i // 6}", run, timestamp=1e9)
        for i in range(180)
    ]
    sent.append(ScoreRecord("sorter", "run_accuracy", 0.5, None, run, timestamp=1e9))
    local.emit_many(sent)
    sink = PhoenixSink(phoenix, project, deadline=600)
    sink.bind(local.path)
    report = sink.flush()
    assert (report.sent, report.refused, report.pending) == (181, 0, 0)
    verified = sink.verify()
    assert verified.complete and verified.equal == 181
    receipts_path(local.path).unlink()
    assert sink.flush().sent == 181  # again, as after a crash
    client = PhoenixClient(phoenix)
    notes = client.scores([{"context": {"span_id": span_id_for(run, "doc-3")}}], project)
    assert len(notes) == 6  # nothing is doubled
    changed = ScoreRecord("sorter", "m3", 0.75, "doc-0", run, timestamp=2e9)
    local.emit(changed)
    assert sink.flush().sent == 1 and sink.verify().complete


def test_scores_wait_for_their_traces(phoenix, project, tmp_path):
    run = f"run-{project}"
    local = LocalManifestSink(tmp_path / "scores.jsonl")
    local.emit_many(ScoreRecord("sorter", "m", i / 10, f"doc-{i}", run, timestamp=1e9) for i in range(10))
    traced(phoenix, project, run, 4)
    wait_for(lambda: len(PhoenixClient(phoenix).list_traces(SORTER, run, project_name=project)) == 4)
    sink = PhoenixSink(phoenix, project, deadline=600)
    sink.bind(local.path)
    report = sink.flush()
    assert (report.sent, report.pending) == (4, 6) and "does not have yet" in report.error
    traced(phoenix, project, run, 10)
    wait_for(lambda: len(PhoenixClient(phoenix).list_traces(SORTER, run, project_name=project)) == 10)
    assert sink.flush().sent == 6 and sink.verify().equal == 10


SENDER = """
import sys, time
from llm_dojo_scoring.phoenix_sink import PhoenixSink
sink, when, taken = PhoenixSink(sys.argv[1], sys.argv[2], deadline=3600), sys.argv[4], []
sink.batch, send = 20, sink.send
sink.bind(sys.argv[3])
def stop():
    print("here", flush=True)
    time.sleep(3600)
def counted(records, timeout):
    if when == "before" and len(taken) == 20:
        stop()
    taken.append(send(records, timeout))
    if when == "answered" and len(taken) == 10:
        stop()  # Phoenix has them, no receipt says so
    return taken[-1]
sink.send = counted
sink.flush()
"""


def test_a_sender_killed_midway_loses_nothing(phoenix, project, tmp_path):
    run, n = f"run-{project}", 50
    traced(phoenix, project, run, n)
    wait_for(lambda: len(PhoenixClient(phoenix).list_traces(SORTER, run, project_name=project)) == n)
    local = LocalManifestSink(tmp_path / "scores.jsonl")
    sent = [
        ScoreRecord("sorter", f"m{j}", (i + j) / 100, f"doc-{i}", run, timestamp=1e9)
        for i in range(n)
        for j in range(20)
    ]
    local.emit_many(sent)
    args, receipts = [sys.executable, "-c", SENDER, phoenix, project, str(local.path)], []
    for when in ("answered", "before"):
        process = subprocess.Popen([*args, when], stdout=subprocess.PIPE)
        said = process.stdout.readline()
        receipts.append(receipts_path(local.path).read_bytes().count(b"\n"))
        process.kill()
        process.communicate()
        assert said == b"here\n"
    assert receipts == [180, 580]  # the batch between answer and receipt went again
    sink = PhoenixSink(phoenix, project, deadline=600)
    sink.bind(local.path)
    assert sink.flush().complete
    verified = sink.verify()
    print(f"killed twice: {verified.describe()}")
    assert verified.complete and verified.equal == len(sent)
    spans = [{"context": {"span_id": span_id_for(run, f"doc-{i}")}} for i in range(n)]
    assert len(PhoenixClient(phoenix).scores(spans, project)) == len(sent)  # and nothing is doubled


def test_a_plugged_in_model_is_traced_and_scored(phoenix, project, tmp_path):
    run = f"run-{project}"
    tracer, backend, about = resolve_tracer(run, SORTER, prefer="phoenix", base_url=phoenix, project=project)
    assert backend == "phoenix" and about["version"]
    rows = [
        {"filename": f"{i}.txt", "input": {"text": "x" * 100, "n": i}, "expected": "license"}
        for i in range(12)
    ]
    sink = PhoenixSink(phoenix, project, deadline=600)
    plug = dict(run_id=run, folder=tmp_path, tracer=tracer, sinks=[sink])
    result = evaluate_model(
        lambda g: "license" if g["n"] % 2 else "hosting", rows, {"accuracy": exact_match}, **plug
    )
    assert result.scores["accuracy"] == 0.5 and result.record["tracing_backend"] == "phoenix"
    wait_for(lambda: len(PhoenixClient(phoenix).list_traces(SORTER, run, project_name=project)) == 12)
    sink.flush()
    assert sink.verify().equal == 12
    (one, *_) = PhoenixClient(phoenix).list_traces(SORTER, run, project_name=project)
    assert one["input"]["text"] == "(text withheld: 100 characters)"


def test_it_is_known_by_its_header(phoenix):
    assert phoenix_available(phoenix)
    assert check_phoenix(phoenix).describe() == f"Phoenix answers at {phoenix}"
    assert PhoenixClient(phoenix).spans("nobody-has-written-here") == []
