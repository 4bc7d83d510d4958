"""Rows j and k: scores into a manifest, and a manifest into totals."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path

import orjson
from frame import Row, Side

from llm_dojo_scoring.emitter import Emitter, LocalManifestSink, manifest_totals
from llm_dojo_scoring.registry import get_registry

EMITTED, READ = 5_000, 320_000


@dataclass(frozen=True)
class PlainScore:
    "A score as one would write it first."

    agent: str
    metric: str
    value: float
    doc_id: str | None = None
    run_id: str | None = None
    metadata: dict = field(default_factory=dict)
    timestamp: float = field(default_factory=time.time)


def naive_emit(path, n):
    "A known name, one object kept, one open, one line of JSON a score; no ids, no lock."
    known, kept = get_registry(), []
    for i in range(n):
        known.get("accuracy")
        score = PlainScore("sorter", "accuracy", 1.0, f"doc-{i}", "run-7")
        kept.append(score)
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(score), sort_keys=True) + "\n")


def emit(path, n):
    "The same scores, checked, with ids, in one write, and on disk when it returns."
    em = Emitter([LocalManifestSink(path)])
    em.emit_scores(
        {
            "agent_name": "sorter",
            "doc_id": f"doc-{i}",
            "metric_name": "accuracy",
            "value": 1.0,
            "run_id": "run-7",
        }
        for i in range(n)
    )
    em.flush()


def emit_one_by_one(path, n):
    "The same by `emit_score`: each is with the operating system, under a lock, when it returns."
    em = Emitter([LocalManifestSink(path)])
    for i in range(n):
        em.emit_score("sorter", f"doc-{i}", "accuracy", 1.0, run_id="run-7")
    em.flush()


def write_lines(path, n):
    "An id and a line for each score, written at once: what no emitter that gives ids can avoid."
    score, lines = asdict(PlainScore("sorter", "accuracy", 1.0, "doc-1", "run-7")), []
    for i in range(n):
        score["record_id"] = hashlib.sha256(f"sorter accuracy doc-{i} run-7".encode()).hexdigest()[:32]
        lines.append(orjson.dumps(score))
    path.write_bytes(b"\n".join(lines))


def naive_totals(path):
    known, totals = {f.name for f in fields(PlainScore)}, {}
    for line in open(path, encoding="utf-8"):
        score = PlainScore(**{k: v for k, v in json.loads(line).items() if k in known})
        key = (score.agent, score.metric, score.run_id)
        n, total = totals.get(key, (0, 0.0))
        totals[key] = (n + 1, total + score.value)
    return totals


def parse_lines(path):
    for line in open(path, "rb"):
        orjson.loads(line)


def manifest(folder, n):
    path = folder / f"scores-{n}.jsonl"
    if not path.exists():
        with path.open("wb") as file:
            for i in range(n):
                score = PlainScore("sorter", f"m{i % 20}", i / 8, f"doc-{i}", f"run-{i % 40}", {}, 1e9)
                file.write(orjson.dumps(asdict(score) | {"record_id": f"{i:032x}"}) + b"\n")
    return path


def emitting():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.jsonl"
        yield Row(
            key="j emit",
            what=f"{EMITTED:,} scores into a manifest",
            ours=Side(partial(emit, path, EMITTED)),
            baseline=Side(partial(naive_emit, path, EMITTED)),
            floor=Side(partial(write_lines, path, EMITTED)),
            floor_what="ids and lines",
            least_ratio=25,
            growth=lambda n: partial(emit, path, n),
            sizes=(5_000, 20_000, 80_000),
            most_growth=1.1,
        )

        yield Row(
            key="j one by one",
            what=f"{EMITTED:,} scores into a manifest, one call each",
            ours=Side(partial(emit_one_by_one, path, EMITTED)),
            baseline=Side(partial(naive_emit, path, EMITTED)),
        )


def reading():
    with tempfile.TemporaryDirectory() as folder:
        path = manifest(Path(folder), READ)
        yield Row(
            key="k totals",
            what=f"{READ:,} lines of a manifest into totals",
            ours=Side(partial(manifest_totals, path), reps=3),
            baseline=Side(partial(naive_totals, path), reps=1),
            floor=Side(partial(parse_lines, path), reps=3),
            floor_what="parsing the lines",
            least_ratio=5,
            memory=partial(manifest_totals, path),
            most_mb=32,
            growth=lambda n: partial(manifest_totals, manifest(Path(folder), n)),
            sizes=(20_000, 80_000, 320_000),
            most_growth=1.1,
            check=lambda: manifest_totals(path) == naive_totals(path),
        )


def rows(context):
    return [("j", emitting), ("k totals", reading)]
