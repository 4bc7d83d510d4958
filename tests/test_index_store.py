"""Indexes and vectors on disk: many processes, some of them killed, and never another answer."""

import inspect
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from llm_dojo_scoring.config import settings
from llm_dojo_scoring.document import Document
from llm_dojo_scoring.index_store import IndexStore
from llm_dojo_scoring.score_run import score_rows
from llm_dojo_scoring.stated import look_up
from llm_dojo_scoring.vector_store import VectorStore

ROOT = Path(__file__).parents[1]
ASKED = [("date", "March 3, 2021"), ("money", "$250,000"), ("id", "AB-1234"), ("date", "May 1, 1999")]


def text_of(i):
    "A text of its own for every number."
    rng = random.Random(i)
    words = " ".join(f"w{rng.randrange(3_000)}" for _ in range(400))
    return f"{words} On March {i % 28 + 1}, 2021 Acme {i} pays ${i * 1000:,} under AB-{i}. {words[::-1]}"


def answers(document):
    return [
        [look_up(item, document, kind) for kind, item in ASKED],
        document.window("Acme pays under"),
        document.coverage("Acme pays w17 w18 w19"),
    ]


INDEXES = """
import sys, random
from llm_dojo_scoring.document import Document
from llm_dojo_scoring.index_store import IndexStore
from llm_dojo_scoring.stated import look_up
exec(sys.argv[3])
store, seed = IndexStore(sys.argv[1], 20, least=0), int(sys.argv[2])
print("begun", flush=True)
while True:
    for i in range(40):
        document = Document(text_of((i * (seed % 7 + 1)) % 40))
        store.fill(document)
        answers(document)
        store.keep(document)
"""
VECTORS = """
import sys
import numpy as np
from llm_dojo_scoring.vector_store import VectorStore
store = VectorStore(sys.argv[1] + "/v.sqlite", "m")
print("begun", flush=True)
while not store.broken:
    for i in range(40):
        store.put({f"text {i}": np.full(384, i)})
        [found] = store.get([f"text {i}"]).values()
        assert (found == i).all()
"""
SHARED = "\n".join([f"ASKED = {ASKED!r}", inspect.getsource(text_of), inspect.getsource(answers)])


def hammered(code, folder, kills=4):
    "Two processes at work on one folder; one after the other is killed and replaced."

    def started(seed):
        line = [sys.executable, "-c", code, str(folder), str(seed), SHARED]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert process.stdout.readline() == b"begun\n"
        return process

    rng, running = random.Random(3), [started(i) for i in range(2)]
    try:
        for i in range(kills):
            time.sleep(rng.uniform(0.02, 0.3))
            victim = running.pop(0)
            assert victim.poll() is None, "it ended by itself"
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            running.append(started(2 + i))
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_processes_that_are_killed_leave_no_wrong_index(tmp_path):
    hammered(INDEXES, tmp_path)
    store = IndexStore(tmp_path, 20, least=0)
    plain, kept = [answers(Document(text_of(i))) for i in range(40)], []
    for i in range(40):
        document = Document(text_of(i))
        kept.append(store.fill(document))
        assert answers(document) == plain[i]
    assert any(kept) and not store.broken


def test_processes_that_are_killed_leave_no_wrong_vector(tmp_path):
    hammered(VECTORS, tmp_path)
    store = VectorStore(tmp_path / "v.sqlite", "m")
    found = store.get([f"text {i}" for i in range(40)])
    assert found and not store.broken
    assert all(
        (vector == int(text.split()[1])).all() and len(vector) == 384 for text, vector in found.items()
    )


@pytest.mark.parametrize("at", (0, 15, 47, 60, 900, 2_500))
def test_a_flipped_bit_is_a_miss(tmp_path, at):
    store, document = IndexStore(tmp_path, least=0), Document(text_of(5))
    answers(document)
    store.keep(document)
    [entry] = tmp_path.rglob("*.index")
    data = bytearray(entry.read_bytes())
    data[at % len(data)] ^= 1 << at % 8
    entry.write_bytes(data)
    fresh = Document(text_of(5))
    assert IndexStore(tmp_path, least=0).fill(fresh) is False
    assert answers(fresh) == answers(document)


def rows_and_texts(data):
    "The sample run over texts that are long enough to be kept."
    texts = {
        p.stem: p.read_text() * (1 + 25_000 // p.stat().st_size)
        for p in sorted((data / "contracts").iterdir())
    }
    return str(data / "runs" / "extractions.jsonl"), str(data / "labels" / "expected.jsonl"), texts


def scored(run, labels, texts, **options):
    return list(score_rows(run, labels, documents=texts, run="careful", **options))


def test_rows_are_the_same_with_and_without_the_store(data, tmp_path, monkeypatch):
    run, labels, texts = rows_and_texts(data)
    with settings(index_cache_mb=0):
        plain = scored(run, labels, texts)
    monkeypatch.setenv("LLM_DOJO_SCORING_CACHE", str(tmp_path))
    assert scored(run, labels, texts) == plain
    entries = {p: p.stat().st_size for p in tmp_path.rglob("*.index")}
    assert entries
    from llm_dojo_scoring import document

    document._DOCUMENTS.clear()
    monkeypatch.setattr(document._Index, "_written", None)  # nothing is cut into words a second time
    assert scored(run, labels, texts) == plain
    assert {p: p.stat().st_size for p in tmp_path.rglob("*.index")} == entries


def test_vectors_that_were_damaged_are_misses(tmp_path):
    import sqlite3

    store = VectorStore(tmp_path / "v.sqlite", "m")
    store.put({"a": np.ones(4), "b": np.zeros(4)})
    for change in (
        "zeroblob(24)",
        "x'00'",
        "NULL",
        "'text'",
        "substr(vector, 1, 20)",
        "vector || x'00000000'",
    ):
        with sqlite3.connect(store.path) as link:
            link.execute(f"UPDATE checked_vectors SET vector = {change} WHERE key = ?", (store._key("a"),))
        link.close()
        assert set(store.get(["a", "b"])) == {"b"}, change
        store.put({"a": np.ones(4)})
        assert store.get(["a"])["a"].tolist() == [1, 1, 1, 1]
