"""One contract for all sinks (Langfuse by its SDK, Phoenix, MLflow, OpenTelemetry), on servers that fail."""

import base64
import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from score_servers import LangfuseServer, MlflowServer, OtelCollector, PhoenixStandIn

from llm_dojo_scoring.jsonl_log import append_records, scan_log
from llm_dojo_scoring.langfuse_config import LangfuseConfig
from llm_dojo_scoring.langfuse_sink import LangfuseSink
from llm_dojo_scoring.mlflow_sink import MlflowSink, mlflow_assessment, mlflow_trace
from llm_dojo_scoring.otel_sink import OtelSink
from llm_dojo_scoring.outbox import receipts_path
from llm_dojo_scoring.phoenix_sink import PhoenixSink, phoenix_place
from llm_dojo_scoring.score_record import ScoreRecord
from llm_dojo_scoring.sinks import LocalManifestSink

SDK = importlib.util.find_spec("langfuse") is not None
needs_sdk = pytest.mark.skipif(not SDK, reason="needs the extra: langfuse")


class Case:
    "A server, its sink, and a manifest of scores."

    def __init__(self, name, folder):
        self.name = name
        self.manifest = LocalManifestSink(folder / "scores.jsonl")
        makes = {
            "langfuse": LangfuseServer,
            "phoenix": PhoenixStandIn,
            "mlflow": MlflowServer,
            "otel": OtelCollector,
        }
        self.server = makes[name]()

    def sink(self, **options):
        options = {"timeout": 120.0, "deadline": 600.0} | options  # limits only: nothing waits so long
        url = self.server.base_url
        if self.name == "langfuse":
            key = options.pop("key", LangfuseServer.secret_key)
            sink = LangfuseSink(config=LangfuseConfig(url, LangfuseServer.public_key, key), **options)
        elif self.name == "phoenix":
            sink = PhoenixSink(url, "local", **options)
        else:
            sink = {"mlflow": MlflowSink, "otel": OtelSink}[self.name](url, **options)
        sink.bind(self.manifest.path)
        return sink

    def ready(self, records):
        "Make the places that scores stand at."
        for record in records:
            if self.name == "phoenix" and (place := phoenix_place(record)):
                self.server.known[place[0]].add(place[1])
            if self.name == "mlflow" and (trace := mlflow_trace(record)):
                self.server.traces.setdefault(trace, [])

    def emit(self, records, ready=True):
        self.manifest.emit_many(records)
        if ready:
            self.ready(records)
        return records


@pytest.fixture(params=[pytest.param("langfuse", marks=needs_sdk), "phoenix", "mlflow", "otel"])
def case(request, tmp_path):
    made = Case(request.param, tmp_path)
    with made.server:
        yield made


def scores(n=25, **changed):
    return [
        ScoreRecord("sorter", f"m{i % 3}", i / 50, f"doc-{i}", "run-7", timestamp=1e9 + i, **changed)
        for i in range(n)
    ]


def test_everything_arrives_and_reads_back_equal(case):
    sent = case.emit(scores(450))
    sink = case.sink()
    report = sink.flush()
    assert (report.sent, report.refused, report.pending, report.error) == (450, 0, 0, None)
    assert case.server.values() == {r.record_id: r.value for r in sent}
    if case.name != "otel":
        verified = sink.verify()
        assert (verified.complete, verified.equal, verified.missing, verified.different) == (
            True,
            450,
            (),
            (),
        )
    else:
        assert "cannot be asked" in sink.verify().error


def test_sending_twice_is_sending_once(case):
    sent = case.emit(scores())
    assert case.sink().flush().sent == 25
    before = len(case.server.requests)
    assert case.sink().flush().sent == 0 and len(case.server.requests) == before  # another process: receipts
    receipts_path(case.manifest.path).unlink()  # a crash between answer and receipt
    assert case.sink().flush().sent == 25
    assert case.server.values() == {r.record_id: r.value for r in sent}
    if case.name == "mlflow":
        assert all(len(rows) == 1 for rows in case.server.traces.values())
    if case.name == "otel":
        assert case.server.repeats() == 2  # a collector has no ids: the page says so


def test_a_score_given_anew_replaces_the_old_one(case):
    first = case.emit(scores(3))
    sink = case.sink()
    sink.flush()
    again = case.emit([ScoreRecord("sorter", "m0", 0.99, "doc-0", "run-7", timestamp=2e9)])
    assert again[0].record_id == first[0].record_id
    assert sink.flush().sent == 1
    assert case.server.values()[first[0].record_id] == 0.99 and len(case.server.values()) == 3


def test_one_refused_score_costs_no_other(case):
    bad = [ScoreRecord("sorter", "poison", 1.0, f"doc-{i}", "run-7", timestamp=1.0) for i in (3, 17)]
    case.server.poison = "poison"
    sent = case.emit(scores(25))
    case.emit(bad)
    report = case.sink().flush()
    assert (report.sent, report.refused, report.pending) == (25, 2, 0)
    assert "refused on order" in report.reasons[0]
    assert case.server.values() == {r.record_id: r.value for r in sent}
    before = len(case.server.requests)
    assert case.sink().flush().refused == 0 and len(case.server.requests) == before  # not asked again
    refused = [r for r in scan_log(receipts_path(case.manifest.path)) if r["status"] == "refused"]
    assert {r["record_id"] for r in refused} == {r.record_id for r in bad}


class Clock:
    "A clock that only waiting moves: how slow the machine is does not show on it."

    def __init__(self):
        self.now, self.pauses = 0.0, []

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds

    def options(self, **more):
        return {"clock": lambda: self.now, "sleep": self.sleep} | more


def test_too_many_requests_wait_as_long_as_asked(case):
    sent = case.emit(scores())
    case.server.fail(times=2, status=429, headers={"Retry-After": "7"})
    clock = Clock()
    report = case.sink(**clock.options()).flush()
    assert (report.sent, report.pending, clock.pauses) == (25, 0, [7.0, 7.0])
    assert case.server.values() == {r.record_id: r.value for r in sent}


def test_a_wait_beyond_the_deadline_is_left_for_later(case):
    sent = case.emit(scores())
    case.server.fail(times=1, status=429, headers={"Retry-After": "3600"})
    clock = Clock()
    report = case.sink(**clock.options(deadline=600.0)).flush()
    assert (report.sent, report.pending) == (0, 25) and "429" in report.error
    assert (clock.pauses, case.server.arrived) == ([], 1)  # not waited for, not asked again
    assert case.sink().flush().sent == len(sent)


def test_a_server_that_hangs_blocks_nobody_for_long(case):
    "The server answers nothing until it is released, and the flush is back before that."
    sent = case.emit(scores())
    case.server.hold()
    clock = Clock()
    report = case.sink(timeout=0.4, **clock.options(deadline=60.0)).flush()
    assert (report.sent, report.pending) == (0, 25) and "no answer" in report.error
    assert clock.pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]  # the next pause, 30, would end after the deadline
    assert not case.server.values()
    case.server.release()
    assert case.sink().flush().sent == len(sent)
    assert case.server.values() == {r.record_id: r.value for r in sent}


def test_an_answer_in_drips_is_no_answer(case):
    "Bytes that come one by one keep a socket's own limit from ever striking."
    sent = case.emit(scores())
    case.server.hold(drip=True)
    report = case.sink(timeout=0.4, deadline=2.0).flush()
    assert (report.sent, report.pending) == (0, 25) and report.error
    case.server.release()
    assert case.sink().flush().complete
    assert case.server.values() == {r.record_id: r.value for r in sent}


def test_a_slow_server_gets_a_part_at_each_delivery(tmp_path):
    "MLflow takes scores one by one: what there is no time for waits for the next delivery."
    case, clock = Case("mlflow", tmp_path), Clock()
    with case.server as server:
        sent, answer = case.emit(scores(12)), server.answer

        def slow(*asked):
            clock.now += 3.0
            return answer(*asked)

        server.answer, shares = slow, []
        while case.sink().outbox.pending():
            shares.append(case.sink(**clock.options(timeout=10.0, deadline=11.0)).flush().sent)
        assert shares == [2, 2, 2, 2, 2, 2]  # two calls a score, three seconds each
        assert server.values() == {r.record_id: r.value for r in sent}


def test_a_server_that_is_not_there(case):
    case.emit(scores(5))
    case.server.__exit__()
    report = case.sink(**Clock().options(deadline=3.0)).flush()
    assert (report.sent, report.pending) == (0, 5) and report.error


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_in_trouble_is_asked_again(case, status):
    case.emit(scores(5))
    case.server.fail(times=1, status=status)
    clock = Clock()
    assert case.sink(**clock.options()).flush().sent == 5 and clock.pauses == [0.5]


def test_undefined_scores_never_leave(case):
    good = case.emit(scores(2))
    bad = [float("nan"), float("inf"), None, {"a": 1}, [1, 2]]
    case.emit(
        [ScoreRecord("sorter", "bad", v, f"bad-{i}", "run-7", timestamp=1.0) for i, v in enumerate(bad)]
    )
    report = case.sink().flush()
    assert (report.sent, report.refused, report.pending) == (2, 5, 0)
    assert case.server.values() == {r.record_id: r.value for r in good}
    assert all(b"NaN" not in raw and b"Infinity" not in raw for _, _, raw in case.server.requests)


def test_flags_and_labels_arrive_as_such(case):
    sent = case.emit(
        [
            ScoreRecord("sorter", "flag", True, "doc-0", "run-7", timestamp=1.0),
            ScoreRecord("sorter", "label", "partial", "doc-0", "run-7", timestamp=1.0),
        ]
    )
    sink = case.sink()
    assert sink.flush().sent == 2
    assert [case.server.values()[r.record_id] for r in sent] == [1.0, "partial"]
    if case.name != "otel":
        assert sink.verify().equal == 2


def test_document_text_stays_unless_asked(case):
    secret = "The Licensee shall pay three million dollars to the Licensor upon signing of this Agreement."
    case.emit(
        [
            ScoreRecord("s", "m0", 1.0, "d", "r", {"comment": secret, "evidence": secret}, 1.0, label=secret),
            ScoreRecord("s", "m1", 1.0, "d", "r", {"expected": secret}, 1.0, explanation=secret),
            ScoreRecord("s", "raw_prediction", secret, "d", "r", timestamp=1.0),
            ScoreRecord("s", "judge_notes", "short, but a text", "d", "r", timestamp=1.0, data_type="TEXT"),
        ]
    )
    report = case.sink().flush()
    assert (report.sent, report.withheld, report.pending) == (2, 2, 0)
    wire = b"".join(raw for _, _, raw in case.server.requests)
    assert b"million" not in wire and b"short, but" not in wire
    told = case.sink(include_text=True, mask=lambda text: text.replace("three million", "***"))
    assert told.flush().sent == 2
    wire = b"".join(raw for _, _, raw in case.server.requests)
    assert b"million" not in wire and b"shall pay ***" in wire


def test_wrong_keys_keep_everything_and_are_not_shown(case):
    case.emit(scores(5))
    case.server.secret = LangfuseServer.secret
    sink = case.sink(key="sk-lf-wrong-0123456789") if case.name == "langfuse" else case.sink()
    report = sink.flush()
    assert (report.sent, report.refused, report.pending) == (0, 0, 5)
    assert "401" in report.error and "sk-lf-wrong" not in report.error and "Basic c" not in report.error


def test_without_a_place_a_score_is_refused(case):
    if case.name == "otel":
        pytest.skip("a collector takes events without a trace")
    case.emit([ScoreRecord("sorter", "accuracy", 1.0)])
    report = case.sink().flush()
    assert (report.sent, report.refused) == (0, 1) and "to stand on" in report.reasons[0]


def test_an_unknown_trace_waits_without_holding_up_the_others(case):
    if case.name not in ("phoenix", "mlflow"):
        pytest.skip("this server takes scores before their traces")
    early = case.emit(
        [ScoreRecord("sorter", "m0", 0.1, f"early-{i}", "run-7", timestamp=1.0) for i in range(3)],
        ready=False,
    )
    sent = case.emit(scores(5))
    report = case.sink().flush()
    assert (report.sent, report.pending) == (5, 3) and "yet" in report.error
    case.ready(early)
    assert case.sink().flush().sent == 3
    assert case.server.values() == {r.record_id: r.value for r in [*early, *sent]}


def test_a_strict_sink_raises_what_others_report(case):
    case.emit([ScoreRecord("sorter", "bad", None, "d", "run-7", timestamp=1.0)])
    with pytest.raises(RuntimeError, match="1 refused"):
        case.sink(strict=True).flush()


SENDER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from test_sinks import Case
class There(Case):
    def __init__(self, name, manifest, url):
        from llm_dojo_scoring.sinks import LocalManifestSink
        self.name, self.manifest = name, LocalManifestSink(manifest)
        self.server = type("S", (), {"base_url": url})
sink, when, taken = There(sys.argv[2], sys.argv[3], sys.argv[4]).sink(), sys.argv[5], []
sink.batch, send = 10, sink.send
def stop():
    print("here", flush=True)
    time.sleep(3600)
def counted(records, timeout):
    if when == "before" and len(taken) == 4:
        stop()
    taken.append(send(records, timeout))
    if when == "answered" and len(taken) == 3:
        stop()  # the server has them, no receipt says so
    return taken[-1]
sink.send = counted
sink.flush()
"""


def test_a_sender_killed_midway_loses_and_doubles_nothing(case):
    sent = case.emit(scores(120))
    args = [str(Path(__file__).parent), case.name, str(case.manifest.path), case.server.base_url]
    there = []
    for when in ("answered", "before"):
        process = subprocess.Popen([sys.executable, "-c", SENDER, *args, when], stdout=subprocess.PIPE)
        said = process.stdout.readline()
        there.append((len(case.server.values()), len(case.sink().outbox.pending())))
        process.kill()
        process.communicate()
        assert said == b"here\n"
    assert there == [(30, 100), (60, 60)]  # one batch arrived without its receipt, and went again
    with receipts_path(case.manifest.path).open("ab") as file:
        file.write(b'{"sink": "torn')  # what a kill in mid-write leaves
    report = case.sink().flush()
    assert (report.complete, report.sent) == (True, 60)
    assert case.server.values() == {r.record_id: r.value for r in sent}
    if case.name == "mlflow":
        assert all(len(rows) == 1 for rows in case.server.traces.values())
    if case.name == "otel":
        assert case.server.repeats() == 2  # a collector has no ids: the page says so


def test_mlflow_itself_sends_what_the_stand_in_reads(tmp_path, monkeypatch):
    "MLflow's own client writes to the stand-in, and its assessment has the shape of ours."
    mlflow = pytest.importorskip("mlflow", reason="needs the extra: mlflow")
    from mlflow.entities import AssessmentSource, Feedback

    record = ScoreRecord("sorter", "accuracy", 0.5, "d", "r", timestamp=1e9)
    case = Case("mlflow", tmp_path)
    with case.server:
        case.ready([record])
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        client = mlflow.tracking._tracking_service.utils._get_store(case.server.base_url)
        client.create_assessment(
            Feedback(
                trace_id=mlflow_trace(record),
                name="accuracy",
                value=0.5,
                source=AssessmentSource(source_type="CODE", source_id="x"),
                metadata={"record_id": record.record_id},
                create_time_ms=int(1e12),
                last_update_time_ms=int(1e12),
            )
        )
        (theirs,) = case.server.traces[mlflow_trace(record)]
        ours = mlflow_assessment(record)
        assert set(theirs) - {"assessment_id", "valid"} == set(ours)
        assert (
            theirs["feedback"] == ours["feedback"] and theirs["create_time"][:19] == ours["create_time"][:19]
        )
        case.emit([record])
        assert case.sink().flush().sent == 1 and len(case.server.traces[mlflow_trace(record)]) == 1


@needs_sdk
def test_the_sdk_still_has_the_calls_that_are_used():
    import inspect

    from langfuse.api import CreateScoreRequest
    from langfuse.api.observations.client import ObservationsClient
    from langfuse.api.scores.client import ScoresClient

    assert {"request", "request_options"} <= set(inspect.signature(ScoresClient.create).parameters)
    wanted = {"limit", "cursor", "fields", "id", "name", "trace_id", "session_id", "request_options"}
    assert wanted <= set(inspect.signature(ScoresClient.get_many).parameters)
    wanted = {
        "limit",
        "cursor",
        "fields",
        "name",
        "trace_id",
        "session_id",
        "is_root_observation",
        "request_options",
    }
    assert wanted <= set(inspect.signature(ObservationsClient.get_many).parameters)
    wanted = {
        "id",
        "name",
        "value",
        "data_type",
        "timestamp",
        "metadata",
        "environment",
        "comment",
        "trace_id",
    }
    assert wanted <= set(CreateScoreRequest.model_fields)


def test_secrets_are_not_written_by_pickle_or_json(case):
    sink = case.sink()
    assert "sk-lf" not in repr(vars(sink))
    if case.name == "langfuse":
        with pytest.raises(TypeError):
            pickle.dumps(sink.config)
        with pytest.raises(TypeError):
            json.dumps(sink.config.secret_key)


@pytest.mark.parametrize("status", [400, 401, 404, 422, 500])
def test_a_server_that_quotes_the_key_does_not_make_it_shown(case, status):
    key = "sk-lf-THESECRET0123456789" if case.name == "langfuse" else "THESECRET-of-any-form"
    options = {
        "langfuse": {"key": key},
        "phoenix": {"api_key": key},
        "mlflow": {"token": key},
        "otel": {"headers": {"x-key": key}},
    }
    whole = base64.b64encode(f"{LangfuseServer.public_key}:{key}".encode()).decode()
    handle = case.server.handle

    def quoting(method, path, query, headers, raw):
        handle(method, path, query, headers, raw)
        said = f"you sent {headers.get('authorization')} and {headers.get('x-key')}"
        return status, {"message": said}, case.server.always

    case.server.handle = quoting
    case.emit(scores(1))
    sink = case.sink(**options[case.name], **Clock().options(deadline=2.0))
    shown = repr(sink.flush())
    if status != 500:  # there the SDK asks again and again
        shown += repr(sink.verify())
    receipts = receipts_path(case.manifest.path)
    shown += receipts.read_text() if receipts.exists() else ""
    assert "THESECRET" not in shown and whole not in shown and whole[:30] not in shown


def test_damaged_manifests_and_receipts_cost_their_line_only(case):
    sent = case.emit(scores(4))
    with case.manifest.path.open("ab") as file:
        file.write(b'{"agent": "sorter", "met')
    append_records(case.manifest.path, [{"no": "score"}])
    more = case.emit([ScoreRecord("sorter", "m0", 0.7, "last", "run-7", timestamp=1.0)])
    assert case.sink().flush().sent == 5
    assert len(case.server.values()) == len(sent) + len(more)
