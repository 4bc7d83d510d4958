"""Rows a and b: whole rows of a real run, with and without documents, and long streams of them."""

from __future__ import annotations

import json
import math
import tempfile
from functools import partial
from pathlib import Path

import baseline
from context import clear_caches
from frame import Result, Row, Side, Skip, interleaved
from rows_startup import child


def _score_extraction():
    try:
        from llm_dojo_scoring.extraction.score import score_extraction
        from llm_dojo_scoring.taxonomy import field_types_for
    except ImportError as error:
        raise Skip("the extraction scorer is not in this copy") from error
    return score_extraction, field_types_for("contract")


def _pass(texts):
    return sum(t.encode().count(b"e") for t in texts)


def _run(number, context, with_documents, reuse, targets, key, floor=None):
    score, types = _score_extraction()
    rows = context.run(number)
    texts = [context.text(name) for _, _, name in rows] if with_documents else [None] * len(rows)
    documents = texts
    if reuse:
        from llm_dojo_scoring.document import Document

        documents = [Document(text) for text in texts]

    def ours():
        return [
            score("contract", types, predicted, expected, doc)
            for (predicted, expected, _), doc in zip(rows, documents, strict=True)
        ]

    def slow():
        return [
            baseline.score_extraction(types, p, e, text) for (p, e, _), text in zip(rows, texts, strict=True)
        ]

    if reuse:
        ours()
    what = f"score_extraction of run {number}, {len(rows)} rows"
    what += (
        ", stand-in texts" * with_documents
        + ", index reused" * reuse
        + ", no document" * (not with_documents)
    )
    return Row(
        key=key,
        what=what,
        ours=Side(ours, before=None if reuse else clear_caches),
        baseline=Side(slow, reps=2),  # all rows: the few with long lists take half of the time
        floor=Side(partial(_pass, texts)) if with_documents else None,
        floor_what="memory pass" if with_documents else "",
        least_ratio=targets,
        growth=partial(_some, score, types, rows, documents, reuse),
        sizes=(len(rows) // 8, len(rows) // 4, len(rows) // 2),
        most_growth=1.1,
        reps=3,
    )


def _some(score, types, rows, documents, reuse, n):
    "Rows by n, each k-th together, one set after the other, so that all rows have their share in every size."
    step, pairs = len(rows) // n, list(zip(rows, documents, strict=True))

    def call():
        for start in range(step):
            if not reuse:
                clear_caches()
            for (p, e, _), doc in pairs[start::step]:
                score("contract", types, p, e, doc)

    return Side(call, scale=1 / step)


_READ = """
import json
from llm_dojo_scoring.taxonomy import field_types_for
from llm_dojo_scoring.run_labels import read_labels
from llm_dojo_scoring.master_labels import join_key
types = field_types_for("contract")
labels = read_labels({labels!r}, fields=types, rule="all_spans")
"""
_STREAMS = {
    "b2": """
from llm_dojo_scoring.extraction.score import score_extraction
for line in open({predictions!r}, encoding="utf-8"):
    row = json.loads(line)
    score_extraction("contract", types, row["predicted"], labels[join_key(row["filename"])].expected)
""",
    "b2 run": """
from llm_dojo_scoring.score_run import score_rows
for _ in score_rows({predictions!r}, labels): pass
""",
}


def _streamed(context, code, repeats):
    "Rows, CPU seconds and peak MiB of a fresh process that scores run 171 so many times from a JSONL file."
    mine = [r for r in context.lines("rows_extraction.jsonl.gz") if r["run"] == "171"]
    with tempfile.TemporaryDirectory(prefix="dojo-rows-") as folder:
        path = Path(folder) / "rows.jsonl"
        with path.open("w", encoding="utf-8") as f:
            for _ in range(repeats):
                f.writelines(json.dumps(row) + "\n" for row in mine)
        names = {"predictions": str(path), "labels": str(context.pack / "master_clauses.csv.gz")}
        seconds, peak, _ = child((_READ + code).format(**names))
        return repeats * len(mine), seconds, peak


def stream(context, key, what, target):
    "Rows streamed through one process: time per row beyond start-up, and memory that does not grow."
    _, types = _score_extraction()
    every = context.run("171")
    texts = [json.dumps(predicted) for predicted, _, _ in every]

    def slow():
        for text, (_, expected, _) in zip(texts, every, strict=True):
            baseline.score_extraction(types, json.loads(text), expected)

    (few, quick, low), (many, seconds, high) = (_streamed(context, _STREAMS[key], n) for n in (4, 16))
    per_row = interleaved({"baseline": Side(slow, reps=3)}, 3)["baseline"] / len(every)
    ours = (seconds - quick) / (many - few)
    yield Result(
        key,
        f"{what}, {many:,} rows from JSONL, no document (growth is memory's, from {few:,} rows)",
        seconds={"ours": ours * many, "baseline": per_row * many},
        ratio=per_row / ours,
        least_ratio=target,
        growth=math.log(high / low) / math.log(many / few),
        most_growth=0.1,
        peak_mb=high,
        most_mb=300,
    )


def rows(context):
    cases = (
        ("a1", True, False, (15, 20)),
        ("a2", True, True, (35, 45)),
        ("a3", False, False, (5, 12)),
    )
    for key, documents, reuse, targets in cases:
        for number, name, target in (("171", key, targets[0]), ("081", f"{key} rich", targets[1])):
            yield name, lambda a=(number, context, documents, reuse, target, name): [_run(*a)]
    yield "b2", partial(stream, context, "b2", "score_extraction", 6)
    yield "b2 run", partial(stream, context, "b2 run", "score_rows, presence and tidy rows too", None)
