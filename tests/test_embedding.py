"""The second opinion: a stub service, several writers of one store, and the real model (--slow)."""

import http.server
import json
import logging
import subprocess
import sys
import threading

import numpy as np
import pytest

from llm_dojo_scoring import embedding as E
from llm_dojo_scoring.config import settings
from llm_dojo_scoring.fields.free_text import free_text_similarities, score_free_text_field
from llm_dojo_scoring.fields.names import decide_name, name_similarities, score_name_field
from llm_dojo_scoring.vector_store import VectorStore


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    "No override, no key, no network, and a store of its own."
    monkeypatch.setenv("LLM_DOJO_SCORING_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    monkeypatch.setattr(E, "_BUILT", {})
    E.use_matcher(E.DEFAULT)
    yield
    E.use_matcher(E.DEFAULT)


@pytest.fixture
def service():
    "An OpenAI-compatible service that embeds a text by its letters; it answers out of order."
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, self.headers["Authorization"], body))
            rows = [
                {"index": i, "embedding": [float(text.count(c)) for c in "abcdefghijklmnopqrstuvwxyz"]}
                for i, text in enumerate(body["input"])
            ]
            answer = json.dumps({"data": rows[::-1]}).encode()
            self.send_response(500 if "outage" in body["input"] else 200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api/v1", asked
    server.shutdown()
    server.server_close()


def test_remote_matcher_speaks_the_embedding_interface(service, monkeypatch):
    url, asked = service
    monkeypatch.setenv("OPENROUTER_API_KEY", "secret")
    monkeypatch.setenv("OPENROUTER_BASE_URL", url + "/")
    matcher = E.remote_matcher()
    assert matcher.backend == "remote" and not asked
    assert matcher.similarity("seller", "buyer") == pytest.approx(0.4243, abs=1e-4)
    path, key, body = asked[0]
    assert (path, key, body["model"]) == (
        "/api/v1/embeddings",
        "Bearer secret",
        "openai/text-embedding-3-small",
    )
    assert matcher.similarities(["seller"], ["buyer", "seller"]).tolist()[0][1] == 1.0
    assert len(asked) == 1  # both vectors are known


def test_vectors_outlive_the_process(service, monkeypatch):
    url, asked = service
    for _ in range(2):
        E.remote_matcher("key", url).similarity("seller", "buyer")
    assert len(asked) == 1
    E.remote_matcher("key", url, "another/model").similarity("seller", "buyer")
    assert len(asked) == 2
    monkeypatch.setenv("LLM_DOJO_SCORING_CACHE", "off")
    E.remote_matcher("key", url).similarity("seller", "buyer")
    assert len(asked) == 3


def test_long_lists_go_in_batches_and_come_back_in_order(service):
    url, asked = service
    texts = [f"{'a' * (i % 5)}{'b' * (i // 5)}c" for i in range(700)]
    grid = E.remote_matcher("key", url).similarities(texts, texts[:3])
    assert [len(body["input"]) for *_, body in asked] == [256, 256, 188]
    vectors = np.array([[t.count(c) for c in "abc"] for t in texts], dtype=float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.allclose(grid, vectors @ vectors[:3].T, atol=1e-5)


def test_an_outage_leaves_the_strings_standing(service, caplog):
    url, asked = service
    matcher = E.remote_matcher("key", url)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            assert E.rescue(0.2, "outage", "seller", matcher) == (0.2, False)
    assert len(asked) == 3 and "strings decide" in caplog.text
    assert E.remote_matcher("key", "http://127.0.0.1:9").similarity("a", "b") is None


def test_no_backend_is_one_log_line(monkeypatch, caplog):
    monkeypatch.setattr(E, "local_matcher", lambda model: None)
    with settings(field_scoring__embedding_enabled=True), caplog.at_level(logging.WARNING):
        assert [E.get_matcher(), E.get_matcher(), E.backend_name()] == [None, None, "none"]
        score_name_field("The Vendor", "Seller of Record")
    assert len(caplog.records) == 1


def test_remote_is_the_fallback_of_local(service, monkeypatch):
    monkeypatch.setattr(E, "local_matcher", lambda model: None)
    monkeypatch.setenv("OPENROUTER_API_KEY", "secret")
    monkeypatch.setenv("OPENROUTER_BASE_URL", service[0])
    assert E.backend_name() == "none"  # not enabled
    with settings(field_scoring__embedding_enabled=True):
        assert E.backend_name() == "remote"
        assert decide_name("resell", "seller of").rule == "embedding"


class Stub:
    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def similarity(self, a, b):
        self.asked.append((a, b))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_override_provider_and_default():
    stub = Stub(0.9)
    E.use_matcher(lambda: stub)
    assert score_name_field("The Vendor", "Seller of Record") == 0.9
    assert score_name_field("The Vendor", "Seller of Record", False) < 0.5
    E.use_matcher(None)
    assert score_name_field("The Vendor", "Seller of Record") < 0.5
    with settings(field_scoring__embedding_enabled=True):
        assert E.get_matcher() is None


@pytest.mark.parametrize(
    "answer", [None, float("nan"), "high", RuntimeError("x"), KeyError("y"), ZeroDivisionError()]
)
def test_whatever_a_matcher_does_the_string_score_stands(answer):
    plain = score_free_text_field("vendor may quit", "termination for convenience by vendor", False)
    assert (
        score_free_text_field("vendor may quit", "termination for convenience by vendor", Stub(answer))
        == plain
    )
    grid = free_text_similarities(
        ["vendor may quit"], ["termination for convenience by vendor"], Stub(answer)
    )
    assert grid.tolist() == [[plain]]


def test_only_pairs_below_the_threshold_are_asked():
    stub = Stub(0.99)
    items, labels = ["Acme Corp", "Alpha Beta", ""], ["Acme", "Gamma Delta"]
    grid = name_similarities(items, labels, stub)
    assert grid.tolist() == [[1.0, 0.99], [0.99, 0.99], [0.0, 0.0]]
    assert all("" not in pair for pair in stub.asked)
    stub.asked.clear()
    with settings(field_scoring__embedding_rescue_below=0.0):
        name_similarities(items, labels, stub)
    assert not stub.asked


WRITER = """
import sys, numpy as np
from llm_dojo_scoring.vector_store import VectorStore
store = VectorStore(sys.argv[1], "m")
for i in range(40):
    store.put({f"text {i} {j}": np.full(8, i + j / 100) for j in range(25)})
sys.exit(store.broken)
"""


def test_several_processes_write_one_store(tmp_path):
    path = tmp_path / "v.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path]) for _ in range(3)]
    assert [w.wait(120) for w in writers] == [0, 0, 0]
    found = VectorStore(path, "m").get([f"text {i} {j}" for i in range(40) for j in range(25)])
    assert len(found) == 1_000 and found["text 39 24"].tolist() == pytest.approx([39.24] * 8)


def test_odd_texts_have_keys(tmp_path):
    store = VectorStore(tmp_path / "v.sqlite", "m")
    texts = ["\ud800", "\x00", "a" * 100_000, "中"]
    store.put({t: np.ones(2) for t in texts})
    assert set(store.get(texts)) == set(texts)


def test_nothing_heavy_is_imported():
    code = "import sys, llm_dojo_scoring.fields.free_text as f; heavy = {'torch', 'transformers', 'scipy'}; "
    code += "print(sorted(heavy & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.slow
def test_the_real_model_places_paraphrases_near():
    with settings(field_scoring__embedding_enabled=True):
        matcher = E.get_matcher()
        assert (E.backend_name(), matcher.model) == ("local", "sentence-transformers/all-MiniLM-L6-v2")
        near = matcher.similarity("payment is due within thirty days", "invoices are payable in 30 days")
        far = matcher.similarity("payment is due within thirty days", "the laws of the State of Delaware")
        assert near > 0.6 > 0.3 > far
        assert matcher.similarity("Delaware", "Delaware") == 1.0
        assert decide_name("The Vendor Entity", "Supplier Company").rule in ("embedding", "different name")


@pytest.mark.slow
def test_batches_and_single_texts_agree_to_six_places():
    matcher = E.local_matcher()
    texts = ["fee", "Seller shall deliver the goods " * 12, "term " * 90, "Delaware law governs"]
    grid = matcher.similarities(texts, texts)
    again = E.VectorMatcher(matcher.encode)
    for i, a in enumerate(texts):
        for j, b in enumerate(texts):
            again._kept.clear()
            assert grid[i, j] == pytest.approx(again.similarity(a, b), abs=3e-6)
    assert (grid == grid.T).all()


def test_what_is_embedded_ahead_is_sorted_cut_into_blocks_and_kept_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(E.VectorMatcher, "AT_ONCE", 4)
    asked = []

    def encode(texts):
        asked.append(list(texts))
        if len(asked) == 3:
            raise OSError("the machine is switched off")
        return [[len(t), 1.0] for t in texts]

    texts = ["x" * n for n in (9, 3, 1, 7, 5, 2, 8, 4, 6, 10)]
    store = VectorStore(tmp_path / "v.sqlite", "m")
    assert E.embed_ahead([*texts, *texts, " "], E.VectorMatcher(encode, "b", "m", store)) == 10
    assert [len(t) for block in asked for t in block] == list(range(1, 11))
    assert len(store.get(texts)) == 8
    asked[:] = [[], [], []]
    again = E.VectorMatcher(encode, "b", "m", VectorStore(tmp_path / "v.sqlite", "m"))
    E.embed_ahead(texts, again)
    assert asked[3:] == [["x" * 9, "x" * 10]]


def test_only_a_matcher_with_vectors_is_asked_ahead():
    class Pairs:
        def similarity(self, a, b):
            raise AssertionError("not asked")

    assert [E.embed_ahead(["a"], m) for m in (Pairs(), False, None)] == [0, 0, 0]
