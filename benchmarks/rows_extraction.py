"""Rows a and b: whole rows of a real run, with and without documents, and long streams of them."""

from __future__ import annotations

from functools import partial

import baseline
from context import clear_caches
from frame import Row, Side, Skip


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

    part = list(zip(rows, texts, strict=True))[:: 12 if with_documents else 4]

    def slow():
        return [baseline.score_extraction(types, p, e, text) for (p, e, _), text in part]

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
        baseline=Side(slow, scale=len(rows) / len(part), reps=2),
        floor=Side(partial(_pass, texts)) if with_documents else None,
        floor_what="memory pass" if with_documents else "",
        least_ratio=targets,
        growth=partial(_some, score, types, rows, documents),
        sizes=(len(rows) // 8, len(rows) // 4, len(rows) // 2),
        most_growth=1.1,
        reps=3,
    )


def _some(score, types, rows, documents, n):
    "Every k-th row, so that each size has its share of long lists."
    step = len(rows) // n
    chosen = list(zip(rows, documents, strict=True))[::step][:n]

    def call():
        return [score("contract", types, p, e, doc) for (p, e, _), doc in chosen]

    return call


def rows(context):
    cases = (
        ("a1", True, False, (15, 20)),
        ("a2", True, True, (35, 45)),
        ("a3", False, False, (5, 12)),
    )
    for key, documents, reuse, targets in cases:
        for number, name, target in (("171", key, targets[0]), ("081", f"{key} rich", targets[1])):
            yield name, lambda a=(number, context, documents, reuse, target, name): [_run(*a)]
