"""The emitter: independent sinks, plain values, one write a score, scorecards from memory."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from llm_dojo_scoring import jsonl_log
from llm_dojo_scoring.emitter import (
    Emitter,
    LangfuseSink,
    LocalManifestSink,
    ScoreRecord,
    get_emitter,
    manifest_totals,
    read_scorecard,
    reset_default_emitter,
)
from llm_dojo_scoring.registry import Registry, get_registry
from llm_dojo_scoring.score_emitter import DEFAULT_MANIFEST_PATH, build_emitter, emit_run_scores

CORPUS = 17_691  # rows of the published corpus


@pytest.fixture
def manifest(tmp_path):
    return LocalManifestSink(tmp_path / "scores.jsonl")


@pytest.fixture
def calls(monkeypatch):
    "How often the log was written, and how often it was brought to disk."
    found, write, sync = {"write": 0, "fsync": 0}, os.write, os.fsync

    def counted(name, real):
        def call(*given):
            found[name] += 1
            return real(*given)

        return call

    monkeypatch.setattr(jsonl_log.os, "write", counted("write", write))
    monkeypatch.setattr(jsonl_log.os, "fsync", counted("fsync", sync))
    return found


def test_a_score_costs_one_write_and_the_whole_corpus_one_trip_to_the_disk(manifest, calls):
    em = Emitter([manifest])
    for i in range(CORPUS):
        em.emit_score("sorter", f"doc-{i % 509}", "accuracy", float(i % 3 == 0), run_id=f"run-{i // 509}")
    assert calls == {"write": CORPUS, "fsync": 0}
    em.flush()
    assert calls == {"write": CORPUS, "fsync": 1}
    assert sum(1 for _ in manifest.path.open()) == CORPUS
    assert read_scorecard(manifest.path, "sorter")["accuracy"] == pytest.approx(5897 / CORPUS)
    assert sum(n for n, _ in manifest_totals(manifest.path).values()) == CORPUS


def test_a_scorecard_reads_no_file(manifest):
    em = Emitter([manifest])
    em.emit_scores(
        dict(agent_name="sorter", doc_id=f"d{i}", metric_name="accuracy", value=i % 2, run_id="r")
        for i in range(1000)
    )
    manifest.path.unlink()
    assert em.get_scorecard("sorter", "r") == {"accuracy": 0.5}


def test_many_at_once_is_one_write(manifest, calls):
    em = Emitter([manifest])
    rows = [
        dict(agent_name="sorter", doc_id=str(i), metric_name="accuracy", value=1.0) for i in range(CORPUS)
    ]
    em.emit_scores(rows)
    assert calls == {"write": 1, "fsync": 0}
    with pytest.raises(KeyError, match="unknown score"):
        em.emit_scores([*rows[:3], dict(agent_name="sorter", doc_id="x", metric_name="acuracy", value=1.0)])
    assert calls["write"] == 1
    assert len(manifest.read_all()) == CORPUS == len(em.records)


def test_every_line_is_json_whatever_the_value(manifest):
    em = Emitter([manifest])
    values = [
        np.float32(0.5),
        np.int64(2),
        np.bool_(True),
        float("nan"),
        float("-inf"),
        None,
        {"a": np.nan},
        [1, "x"],
    ]
    for i, value in enumerate(values):
        em.emit_score(
            "sorter", f"d{i}", "raw_prediction", value, {"when": os, "n": np.float64(1)}, run_id="r"
        )
    lines = [json.loads(line, parse_constant=pytest.fail) for line in manifest.path.read_text().splitlines()]
    assert [line["value"] for line in lines] == [0.5, 2, True, None, None, None, {"a": None}, [1, "x"]]
    assert [r.value for r in manifest.read_all()] == [r.value for r in em.records]


def test_a_failing_sink_costs_the_others_nothing(manifest):
    class Failing:
        def emit(self, record):
            raise RuntimeError("no")

        def flush(self):
            raise RuntimeError("no")

    class Working:
        def __init__(self):
            self.got, self.flushed = [], 0

        def emit(self, record):
            self.got.append(record)

        def flush(self):
            self.flushed += 1

    working = Working()
    em = Emitter([Failing(), working, manifest])
    em.emit_score("sorter", "d", "accuracy", 1.0)
    em.flush()
    assert (len(working.got), working.flushed, len(manifest.read_all())) == (1, 1, 1)
    assert em.failures == {"Failing": 1}


def test_a_manifest_that_cannot_be_written_raises_after_the_others_had_theirs(tmp_path):
    got = []
    sink = type("S", (), {"emit": lambda self, r: got.append(r), "flush": lambda self: None})()
    manifest = LocalManifestSink(tmp_path / "scores.jsonl")
    manifest.path = tmp_path  # a folder
    with pytest.raises(OSError):
        Emitter([manifest, sink]).emit_score("sorter", "d", "accuracy", 1.0)
    assert len(got) == 1


def test_undefined_scores_have_no_say_and_rules_hold():
    em = Emitter([])
    for doc, value in (("a", 1.0), ("b", float("nan")), ("c", None)):
        em.emit_score("sorter", doc, "accuracy", value)
        em.emit_score("sorter", doc, "estimated_cost_usd", value)
    em.emit_score("sorter", None, "prompt_version", "v1")
    em.emit_score("sorter", None, "prompt_version", "v2")
    card = em.get_scorecard("sorter")
    assert (card["accuracy"], card["estimated_cost_usd"], card["prompt_version"]) == (1.0, 1.0, "v2")
    em.emit_score("judge", "a", "judge_notes", "fine")
    assert em.get_scorecard("judge")["judge_notes"] == "fine"
    assert "accuracy" not in em.get_scorecard("judge")


def test_only_a_document_in_a_run_is_scored_anew():
    em = Emitter([])
    for value in (1.0, 0.0):
        em.emit_score("sorter", "d", "accuracy", value)
        em.emit_score("sorter", None, "estimated_cost_usd", 0.5, run_id="r")
        em.emit_score("sorter", "d", "f1_macro", value, run_id="r")
    card = em.get_scorecard("sorter")
    assert (card["accuracy"], card["estimated_cost_usd"], card["f1_macro"]) == (0.5, 1.0, 0.0)


def test_fields_of_one_document_are_scores_of_their_own():
    em = Emitter([])
    for field, value in (("parties", 1.0), ("fees", 0.0)):
        em.emit_score("contracts_specialist", "d", "extraction_field_score", value, {"field": field}, "r")
    assert em.get_scorecard("contracts_specialist", "r")["extraction_field_score"] == 0.5


@pytest.mark.parametrize(
    "agent", ["insurance_claims_specialist", "contract_auditor", "arbiter", "audit_agent"]
)
def test_every_agent_sees_what_its_bundle_names(agent):
    em = Emitter([])
    em.emit_score(agent, "d", "verified_precision", 0.5)
    assert em.get_scorecard(agent) == {"verified_precision": 0.5}


def test_registries_are_private():
    one, two = Emitter([]), Emitter([])
    one.register_metric("mine", 1)
    assert "mine" not in two.registry.metrics and "mine" not in get_registry().metrics
    mine = Registry()
    with pytest.raises(KeyError):
        Emitter(sinks=[], registry=mine).emit_score("sorter", "d", "accuracy", 1.0)
    assert not mine.metrics


def test_threads_lose_nothing(manifest):
    em = Emitter([manifest])

    def work(n):
        for i in range(200):
            em.emit_score("sorter", f"{n}-{i}", "accuracy", 1.0, run_id="r")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(manifest.read_all()) == 1200 == len(em.records)


def test_the_environment_names_the_manifest(tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_DOJO_SCORING_MANIFEST", str(tmp_path / "a" / "m.jsonl"))
    reset_default_emitter()
    assert get_emitter() is get_emitter()
    get_emitter().emit_score("sorter", "d", "accuracy", 1.0)
    assert len(LocalManifestSink().read_all()) == 1
    reset_default_emitter()


def test_the_bridge_names_what_nobody_registered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith("LANGFUSE_")]:
        monkeypatch.delenv(name)
    em = build_emitter(langfuse=True)
    assert DEFAULT_MANIFEST_PATH.as_posix() == "reports/scores_manifest.jsonl"
    emitted, skipped = emit_run_scores(em, "sorter", "run-1", {"new_kpi": 1, "accuracy": 0.9, "f2": None})
    assert (emitted, skipped) == (["accuracy"], ["new_kpi", "f2"])
    assert isinstance(em.sinks[1], LangfuseSink) and not em.sinks[1].available
    assert len(LocalManifestSink(tmp_path / DEFAULT_MANIFEST_PATH).read_all()) == 1


def test_a_record_reads_back_from_both_forms():
    record = ScoreRecord("a", "m", 0.5, "d", "r", {"x": 1}, 5.0, label="ok", trace_id="ab" * 16)
    assert ScoreRecord.from_dict(record.as_line()) == record
    assert list(record.as_dict()) == "agent metric value doc_id run_id metadata timestamp".split()


@pytest.mark.parametrize("module", ["emitter", "score_emitter", "experiment_log"])
def test_importing_stays_light(module):
    heavy = (
        "pandas matplotlib langfuse phoenix opentelemetry mlflow httpx scipy sklearn pydantic_core".split()[
            :-1
        ]
    )
    code = f"import sys, llm_dojo_scoring.{module}; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
