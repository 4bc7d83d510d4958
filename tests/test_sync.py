"""Traces read back: failed ones are rows, repeats are not, all pages, quoted names, the right server."""

import importlib.util
import json
import os
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from unittest.mock import MagicMock, Mock

import pytest
from score_servers import LangfuseServer

from llm_dojo_scoring import langfuse_sync, phoenix_sync
from llm_dojo_scoring.http_call import Reply
from llm_dojo_scoring.langfuse_sync import (
    DOCCLASS_TRACE,
    SORTER_TRACE,
    LangfuseClient,
    LangfuseConfig,
    fetch_run_records,
    load_langfuse_config,
    sync_sorter_results,
)
from llm_dojo_scoring.traces import aggregate_run, latest_rows, row_from_trace

needs_sdk = pytest.mark.skipif(
    importlib.util.find_spec("langfuse") is None, reason="needs the extra: langfuse"
)
ANSWER = {
    "doc_type": "contract",
    "expected_subtype": "license",
    "contract_subtype": "license",
    "subtype_ok": True,
    "doc_type_ok": True,
    "confidence": 0.9,
}


def trace(i=1, **changed):
    return {
        "id": f"t{i}",
        "sessionId": "run-7",
        "timestamp": f"2026-08-15T05:00:{i:02}Z",
        "input": {"filename": f"{i}.txt"},
        "output": {"sorter": ANSWER},
    } | changed


class Fixed:
    def __init__(self, *traces):
        self.traces = traces

    def list_traces(self, name=None, session=None, max_items=None):
        return list(self.traces)


@pytest.fixture
def server():
    with LangfuseServer() as made:
        yield made


def client(server):
    config = LangfuseConfig(server.base_url, server.public_key, server.secret_key, project="mine")
    return LangfuseClient(config, min_interval=0.0)


def test_failed_traces_are_misses():
    (record,) = fetch_run_records(Fixed(trace(1), trace(2, output=None), trace(3, output="ERROR: timeout")))
    assert (record["n_rows"], record["n_ok"], record["n_errors"]) == (3, 1, 2)
    assert record["scores"]["sorter"]["subtype_accuracy"] == 0.3333
    assert record["scores"]["sorter"]["per_subtype"]["license"]["total"] == 1


def test_an_error_level_outweighs_an_output_and_missing_flags_are_no_hits():
    (record,) = fetch_run_records(
        Fixed(
            trace(1, level="ERROR", error="cut off"),
            trace(2, output={"sorter": {"doc_type": "contract", "expected_subtype": "license"}}),
        )
    )
    assert (record["n_ok"], record["scores"]["sorter"]["subtype_accuracy"]) == (1, 0.0)


def test_the_same_trace_on_two_pages_is_one_row_and_a_retry_replaces():
    first = trace(1, output=None)
    retried = trace(2, input={"filename": "1.txt"})
    (record,) = fetch_run_records(Fixed(first, first, retried, retried))
    assert (record["n_rows"], record["scores"]["sorter"]["subtype_accuracy"]) == (1, 1.0)
    (record,) = fetch_run_records(Fixed(retried, first))  # newest first, as servers list
    assert (record["n_rows"], record["n_ok"]) == (1, 1)


def test_traces_that_no_time_tells_apart_are_all_kept():
    rows = [row_from_trace(trace(1) | {"output": o}) for o in ({"sorter": ANSWER}, None, "ERROR: x")]
    assert len(latest_rows(rows)) == 3


def test_truth_that_is_missing_is_in_no_denominator():
    unscored = {"doc_type": "contract", "expected_subclass": None, "subclass_ok": False, "doc_type_ok": True}
    scored = unscored | {"expected_subclass": "all_cash", "subclass_ok": True}
    rows = [row_from_trace(trace(i, output=o), DOCCLASS_TRACE) for i, o in enumerate((unscored, scored))]
    record = aggregate_run("s", rows, DOCCLASS_TRACE)
    assert record["scores"]["subclass_accuracy"] == 1.0 == record["scores"]["sorter"]["subtype_accuracy"]
    assert record["n_unscored"] == 1


@pytest.mark.parametrize(
    "junk", [None, 3, "text", [], [1], {}, {"output": [1]}, {"output": {"sorter": 3}}, {"input": 5}]
)
def test_odd_traces_never_raise(junk):
    for task in (SORTER_TRACE, DOCCLASS_TRACE, "another"):
        row_from_trace(junk, task)


def test_model_prompt_and_time_come_from_the_first_trace_that_has_them():
    later = trace(9, input=json.dumps({"filename": "9.txt", "model": "m-1", "prompt_version": "sorter_v9"}))
    (record,) = fetch_run_records(Fixed(later, trace(1)))
    assert (record["model"], record["prompt_versions"]["sorter"]) == ("m-1", "sorter_v9")
    assert record["timestamp"] == "2026-08-15T05:00:01Z"


@needs_sdk
def test_traces_of_the_sdk_read_back_as_the_run_that_was_traced(server):
    from langfuse import Langfuse, propagate_attributes

    sdk = Langfuse(
        public_key=server.public_key, secret_key=server.secret_key, base_url=server.base_url, flush_at=50
    )
    for i in range(130):
        seed = Langfuse.create_trace_id(seed=f"run-7:{i}.txt")
        with propagate_attributes(session_id="run-7", trace_name=SORTER_TRACE):
            with sdk.start_as_current_observation(
                name=SORTER_TRACE,
                as_type="chain",
                input={"filename": f"{i}.txt", "model": "m-1"},
                trace_context={"trace_id": seed},
            ) as span:
                with sdk.start_as_current_observation(name="llm", as_type="generation"):
                    pass
                if i % 10 == 0:
                    span.update(level="ERROR", status_message="timeout")
                else:
                    span.update(output={"sorter": {**ANSWER, "subtype_ok": i % 2 == 0}})
    sdk.flush()
    sdk.shutdown()
    assert len(server.observations) == 260
    traces = client(server).list_traces(name=SORTER_TRACE, session="run-7", max_items=None)
    assert len(traces) == 130 == len({t["id"] for t in traces})
    assert server.count("/api/public/v2/observations", "GET") == 2
    (record,) = fetch_run_records(client(server))
    assert (record["n_rows"], record["n_ok"], record["model"]) == (130, 117, "m-1")
    assert record["scores"]["sorter"]["subtype_accuracy"] == round(52 / 130, 4)
    assert record["data_source"]["project"] == "langfuse:mine"


@needs_sdk
def test_scores_read_back_through_all_pages(server):
    for i in range(230):
        server.keep_score({"id": f"s{i:03}", "name": "accuracy", "value": i / 230, "traceId": f"t{i}"})
    found = client(server).list_scores(name="accuracy")
    assert len(found) == 230 and found[7]["subject"] == {"kind": "trace", "id": "t7"}
    assert len(client(server).list_scores(max_items=150)) == 150


def test_limits_are_waited_out_and_given_up_with_a_reason(server, monkeypatch):
    slept = []
    monkeypatch.setattr(langfuse_sync.time, "sleep", slept.append)
    server.fail(times=2, status=429, headers={"Retry-After": "3"})
    assert client(server).list_scores() == []
    assert [s for s in slept if s] == [3.0, 3.25]
    server.fail(times=3, status=429)
    config = LangfuseConfig(server.base_url, server.public_key, server.secret_key)
    with pytest.raises(RuntimeError, match="given up after 3 attempts"):
        LangfuseClient(config, max_retries=2, min_interval=0.0).list_scores()
    server.fail(times=1, status=500)
    with pytest.raises(RuntimeError, match="500"):
        client(server).list_scores()


def test_wrong_keys_are_an_error_that_does_not_show_them(server):
    config = LangfuseConfig(server.base_url, "pk-lf-wrong-1234567", "sk-lf-wrong-1234567")
    with pytest.raises(RuntimeError, match="401") as caught:
        LangfuseClient(config, min_interval=0.0).list_traces()
    assert "wrong-1234567" not in str(caught.value) and "cGst" not in str(caught.value)
    assert "wrong" not in repr(config)


def test_ids_are_quoted():
    asked = []
    held = LangfuseClient.__new__(LangfuseClient)
    held._request = lambda path, params=None: asked.append(path)
    held.get_trace("../../admin?x=1")
    held.get_session("a/b c")
    assert asked == ["/api/public/traces/..%2F..%2Fadmin%3Fx%3D1", "/api/public/sessions/a%2Fb%20c"]


@pytest.mark.parametrize("meta, pages", [({}, 4), ({"totalPages": 3}, 3)])
def test_all_numbered_pages_are_read(meta, pages):
    held = LangfuseClient.__new__(LangfuseClient)
    asked = []

    def request(path, query):
        asked.append(query["page"])
        return {"data": [{"id": query["page"]}] * 50 if query["page"] <= 3 else [], "meta": meta}

    held._request = request
    assert len(held.fetch_all("/x")) == 150 and len(asked) == pages
    assert len(held.fetch_all("/x", max_items=70)) == 70


def test_a_page_of_a_proxy_is_no_answer(monkeypatch):
    held = LangfuseClient(LangfuseConfig("http://127.0.0.1:9", "pk", "sk"), min_interval=0)
    for body in ("<html>sign in</html>", [1, 2], None):
        monkeypatch.setattr(held, "_once", lambda *_, body=body: Reply(200, {}, body))
        with pytest.raises(RuntimeError, match="not as Langfuse does"):
            held.list_traces("subtype_classification")


def test_settings_come_from_a_file_without_touching_the_environment(tmp_path, monkeypatch):
    for name in [n for n in os.environ if n.startswith("LANGFUSE_")]:
        monkeypatch.delenv(name)
    file = tmp_path / "langfuse.env"
    file.touch(mode=0o600)
    file.write_text(
        'export LANGFUSE_PUBLIC_KEY="pk-lf-a"\nLANGFUSE_SECRET_KEY=sk-lf-b # the key\nLANGFUSE_BASE_URL=https://b.example.org\n'
        "LANGFUSE_HOST=https://h.example.org/\n"
    )
    config = load_langfuse_config(file)
    assert (config.base_url, config.public_key, config.secret_key == "sk-lf-b") == (
        "https://h.example.org",
        "pk-lf-a",
        True,
    )
    assert "LANGFUSE_PUBLIC_KEY" not in os.environ
    monkeypatch.chdir(tmp_path)
    assert load_langfuse_config().public_key == "pk-lf-a"
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-env")
    assert load_langfuse_config().public_key == "pk-lf-env"
    with pytest.raises(ValueError, match="file that exists"):
        load_langfuse_config(tmp_path / "none.env")


def test_the_workbook_holds_the_runs_and_no_formula(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl", reason="reads the workbook back")
    mock = Mock(spec=LangfuseClient)
    mock.list_traces.return_value = [trace(1, sessionId="=HYPERLINK(1)"), trace(2)]
    monkeypatch.setattr(langfuse_sync, "LangfuseClient", lambda *a, **k: mock)
    frame, path = sync_sorter_results(tmp_path / "out", max_items=5)
    mock.list_traces.assert_called_once_with(name=SORTER_TRACE, session=None, max_items=5)
    assert (len(frame), path.name) == (2, "Sorter_Experiment_Results.xlsx")
    book = openpyxl.load_workbook(path)
    sheet = book["Eval Results"]
    assert [c.value for c in sheet["B"]] == ["Experiment Name", "=HYPERLINK(1)", "run-7"]
    assert sheet["B2"].data_type == "s" and sheet.freeze_panes == "F2"
    assert len((tmp_path / "out/Sorter_Experiment_Codebook.csv").read_text().splitlines()) >= 115
    assert sync_sorter_results(tmp_path, workbook=False)[1] is None
    with pytest.raises(ValueError, match="unsupported"):
        sync_sorter_results(tmp_path, task="chained_sorter_extractor")


@needs_sdk
@pytest.mark.skipif(
    os.environ.get("LLM_DOJO_SCORING_LANGFUSE_TEST") != "1",
    reason="asks a real Langfuse: set LLM_DOJO_SCORING_LANGFUSE_TEST=1 and its keys",
)
def test_a_real_langfuse_takes_and_returns_a_score(tmp_path):
    from llm_dojo_scoring.langfuse_sink import LangfuseSink
    from llm_dojo_scoring.score_record import ScoreRecord
    from llm_dojo_scoring.sinks import LocalManifestSink

    local = LocalManifestSink(tmp_path / "scores.jsonl")
    local.emit(ScoreRecord("sorter", "accuracy", 0.5, "doc-1", "llm-dojo-live-test", timestamp=1e9))
    sink = LangfuseSink()
    sink.bind(local.path)
    assert sink.flush().sent == 1
    until = time.monotonic() + 120
    while not (found := sink.verify()).complete and time.monotonic() < until:
        time.sleep(5)
    assert found.equal == 1
    assert isinstance(LangfuseClient().list_traces(max_items=3), list)


# ---- Phoenix


def answering(headers):
    "A web server that answers 200 to everything, with those headers."

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    made = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return made, f"http://127.0.0.1:{made.server_port}"


@pytest.mark.parametrize("headers, there", [({}, False), ({"x-phoenix-server-version": "20.26.1"}, True)])
def test_only_phoenix_is_phoenix(headers, there):
    made, url = answering(headers)
    try:
        assert phoenix_sync.phoenix_available(url) is there
        status = phoenix_sync.check_phoenix(url)
        assert (status.available, "not reachable" in status.describe()) == (there, not there)
    finally:
        made.shutdown()
        made.server_close()


def test_the_probe_goes_through_the_module_that_tests_replace(monkeypatch):
    reply = MagicMock()
    reply.__enter__.return_value.status = 200
    monkeypatch.setattr(urllib.request, "urlopen", lambda *a, **k: reply)
    assert phoenix_sync.phoenix_available()

    def broken(*a, **k):
        raise OSError("no")

    monkeypatch.setattr(urllib.request, "urlopen", broken)
    assert not phoenix_sync.phoenix_available()


def test_the_address_is_read_at_each_call(monkeypatch):
    monkeypatch.setenv("PHOENIX_URL", "http://127.0.0.1:1/")
    assert phoenix_sync.phoenix_url() == "http://127.0.0.1:1"
    assert "not reachable" in phoenix_sync.PhoenixClient().describe()


@pytest.mark.parametrize("modern", [True, False])
def test_spans_of_a_library_client(modern):
    pd = pytest.importorskip("pandas")
    library, frame = Mock(), pd.DataFrame({"name": ["a", "b"]})
    (library.spans if modern else library).get_spans_dataframe.return_value = frame
    held = phoenix_sync.PhoenixClient.__new__(phoenix_sync.PhoenixClient)
    held.base_url, held._client, held._modern, held.error = "http://x", library, modern, None
    assert [s["name"] for s in held.spans()] == ["a", "b"]
    (library.spans if modern else library).get_spans_dataframe.return_value = pd.DataFrame()
    assert held.spans() == []
    (library.spans if modern else library).get_spans_dataframe.side_effect = RuntimeError("gone")
    assert held.spans() is None and "gone" in held.error
