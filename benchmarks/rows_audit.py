"""Rows g: is what a model returned in the document?"""

from __future__ import annotations

import random
from functools import partial

import baseline
from context import altered, clauses, clear_caches
from frame import Row, Side, Skip


def _audit():
    try:
        from llm_dojo_scoring.document import Document
        from llm_dojo_scoring.factuality import audit
    except ImportError as error:
        raise Skip("the audit is not in this copy") from error
    return audit, Document


def _pass(text):
    "One pass over the text's memory."
    return text.encode().count(b"e")


def _clauses(context, n):
    return context.labels("key_obligations", clauses, n)


def items_of(text, others, n=50, seed=9):
    "Items as a model returns them: half are in the text, half are altered clauses of other contracts."
    parts = [part for part in text.split("\n\n" if "\n\n" in text else ". ") if len(part) > 60]
    return random.Random(seed).sample(parts, n // 2) + altered(others[: n - n // 2])


def lists(context):
    audit, make = _audit()
    text, others = context.long_text, _clauses(context, 40)
    items, labels = items_of(text, others), others[25:]
    slow = Side(partial(baseline.audit_list, "free_text", items, labels, text), reps=5)
    shared = {"baseline": slow, "floor": Side(partial(_pass, text)), "floor_what": "memory pass"}
    what = "audit of 50 clauses against 15 labels and 300 KB"
    cold = partial(audit.audit_list_field, "free_text", items, labels, text)
    yield Row("g list cold", what, Side(cold, before=clear_caches), least_ratio=10, **shared)
    index = make(text)
    warm = partial(audit.audit_list_field, "free_text", items, labels, index)
    warm()
    yield Row("g list reused", f"{what}, index reused", Side(warm), least_ratio=20, **shared)


def scalars(context):
    audit, make = _audit()
    text, rng = context.long_text, random.Random(3)
    values = []
    for i, sentence in enumerate(rng.sample(text.split(". "), 50)):
        months = rng.choice(["January", "May", "October", "March"])
        date = f"{months} {rng.randint(1, 28)}, {rng.randint(1995, 2024)}"
        values.append(
            ("date", date, "May 1, 2001") if i % 2 else ("name", " ".join(sentence.split()[:5]), "Acme")
        )

    def ours(doc):
        return [audit.audit_scalar_field(kind, value, label, doc) for kind, value, label in values]

    some = values[:10]

    def slow():
        return [baseline.audit_scalar(kind, value, label, text) for kind, value, label in some]

    shared = {
        "baseline": Side(slow, scale=len(values) / len(some), reps=3),
        "floor": Side(partial(_pass, text)),
        "floor_what": "memory pass",
    }
    what = "50 scalar audits against 300 KB"
    yield Row(
        "g scalar cold", what, Side(partial(ours, text), before=clear_caches), least_ratio=150, **shared
    )
    index = make(text)
    ours(index)
    yield Row(
        "g scalar reused", f"{what}, index reused", Side(partial(ours, index)), least_ratio=500, **shared
    )


def rows(context):
    return [("g list", partial(lists, context)), ("g scalar", partial(scalars, context))]
