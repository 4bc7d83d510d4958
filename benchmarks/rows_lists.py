"""Rows f: list matching, from the similarity matrix to the pairs."""

from __future__ import annotations

from functools import partial

import baseline
import numpy as np
from context import altered, clauses, clear_caches, names
from frame import Row, Side, Skip

SIZES = (20, 100, 500)


def _score_list():
    try:
        from llm_dojo_scoring.lists.score import score_entity_list
    except ImportError as error:
        raise Skip("the list scorer is not in this copy") from error
    return score_entity_list


def _floor(element, items, labels):
    "Character similarity of all cells in C, and the assignment of them."
    from rapidfuzz.distance import JaroWinkler
    from rapidfuzz.process import cdist
    from scipy.optimize import linear_sum_assignment

    if element == "name":
        matrix = cdist(items, labels, scorer=JaroWinkler.similarity)
    else:
        matrix = np.random.default_rng(0).random((len(items), len(labels)))
    return linear_sum_assignment(matrix, maximize=True)


def square(context, element, field_name, made, targets):
    "Lists of n items against n labels."
    score = _score_list()

    def sides(n):
        labels = context.labels(field_name, made, n)
        return altered(labels), labels

    for n, target in zip(SIZES, targets, strict=True):
        items, labels = sides(n)
        part = items[: max(1, n // 20)] if n == 500 else items
        yield Row(
            key=f"f {element} {n}",
            what=f"score_entity_list of {n} {element} items against {n} labels",
            ours=Side(partial(score, element, items, labels), before=clear_caches),
            baseline=Side(
                partial(baseline.score_list, element, part, labels),
                scale=n / len(part),
                reps=7 if n == 20 else 1,
            ),
            floor=Side(partial(_floor, element, items, labels)),
            floor_what="cdist and assignment" if element == "name" else "assignment",
            least_ratio=target,
            reps=21 if n == 20 else 7,
            growth=lambda size: partial(score, element, *sides(size)),
            sizes=(100, 220, 500) if n == 500 else (),
            most_growth=2.1 if n == 500 else None,
        )


def cell_by_cell(context):
    "A matrix of name similarities at once, against our own scorer called for each cell."
    from llm_dojo_scoring.fields.names import name_similarities, score_name_field

    labels = context.labels("parties", names, 100)
    items = altered(labels)
    yield Row(
        key="fr",
        what="name_similarities of 100 against 100, against score_name_field cell by cell",
        ours=Side(partial(name_similarities, items, labels), before=clear_caches),
        baseline=Side(lambda: [[score_name_field(a, b) for b in labels] for a in items], before=clear_caches),
        check=lambda: (
            name_similarities(items, labels).tolist()
            == [[score_name_field(a, b) for b in labels] for a in items]
        ),
    )


def rows(context):
    yield "fr", lambda: cell_by_cell(context)
    yield "f name", lambda: square(context, "name", "parties", names, (10, 60, 60))
    yield "f free_text", lambda: square(context, "free_text", "key_obligations", clauses, (12, 80, 150))
