"""Free text and containment: matrices against pairs, stored scores, jurisdictions, and time."""

import gzip
import itertools
import json
import random

import pytest
from growth import assert_near_linear, repeated
from hypothesis import given, settings
from hypothesis import strategies as st
from seed_rules import seed_containment_score, seed_free_text_score

from llm_dojo_scoring.fields import free_text
from llm_dojo_scoring.fields.free_text import (
    coverage_matrix,
    decide_containment,
    free_text_similarities,
    score_containment_field,
    score_free_text_field,
)
from llm_dojo_scoring.fields.ids import normalize_id, score_id_field
from llm_dojo_scoring.fields.names import name_similarities, score_name_field
from llm_dojo_scoring.text import as_text, token_coverage

WORDS = "the of seller buyer shall not pay fee Virginia West New Mexico York — 中国 § 30 thirty-day".split()
texts = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
anything = (
    texts | st.text(max_size=15) | st.none() | st.integers() | st.booleans() | st.lists(texts, max_size=2)
)


@given(st.lists(anything, max_size=7), st.lists(anything, max_size=7))
@settings(max_examples=400, deadline=None)
def test_matrices_are_the_pair_scorers(items, labels):
    f1, covered = free_text_similarities(items, labels), coverage_matrix(items, labels)
    assert f1.shape == covered.shape == (len(items), len(labels))
    for (i, a), (j, b) in itertools.product(enumerate(items), enumerate(labels)):
        assert f1[i, j] == score_free_text_field(a, b)
        assert covered[i, j] == token_coverage(b, a)


class Lengths:
    "A second opinion that goes by lengths, so that all cosines occur."

    def similarity(self, a, b):
        return (7 * len(a) + 3 * len(b)) % 13 / 12


@given(st.lists(anything, max_size=4), st.lists(anything, max_size=4))
@settings(max_examples=200, deadline=None)
def test_matrices_are_the_pair_scorers_with_a_second_opinion_too(items, labels):
    clauses, names = (
        free_text_similarities(items, labels, Lengths()),
        name_similarities(items, labels, Lengths()),
    )
    for (i, a), (j, b) in itertools.product(enumerate(items), enumerate(labels)):
        assert clauses[i, j] == score_free_text_field(a, b, Lengths())
        assert names[i, j] == score_name_field(a, b, Lengths())


@pytest.mark.parametrize("dash", ["—", "-", "[]", "§", "...", " "])
def test_a_second_opinion_is_not_asked_about_a_dash(dash):
    for matrix, score in (
        (free_text_similarities, score_free_text_field),
        (name_similarities, score_name_field),
    ):
        assert matrix([dash], ["seller"], Lengths()) == score(dash, "seller", Lengths()) == 0


@given(st.lists(texts, min_size=1, max_size=30), st.lists(texts, min_size=1, max_size=120))
@settings(max_examples=60, deadline=None)
def test_common_and_rare_words_count_alike(items, labels):
    with pytest.MonkeyPatch.context() as patch:  # the matrix product, for lists of any size
        for limit in ("_FEW", "_TABLE", "_DENSE"):
            patch.setattr(free_text, limit, 0)
        free_text._overlaps.cache_clear()
        f1, covered = free_text_similarities(items, labels), coverage_matrix(items, labels)
    free_text._overlaps.cache_clear()
    for (i, a), (j, b) in itertools.product(enumerate(items[:10]), enumerate(labels)):
        assert f1[i, j] == score_free_text_field(a, b)
        assert covered[i, j] == token_coverage(b, a)


@given(st.lists(anything, min_size=1, max_size=8), st.lists(anything, min_size=1, max_size=8))
@settings(max_examples=200, deadline=None)
def test_short_and_long_lists_are_compared_alike(items, labels):
    items, labels = (tuple(map(as_text, side)) for side in (items, labels))
    short = free_text._overlaps.__wrapped__(items, labels)
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("_FEW", "_TABLE"):  # from a table of counts, then word by word
            patch.setattr(free_text, limit, 0)
            other = free_text._overlaps.__wrapped__(items, labels)
            assert [table.tolist() for table in short] == [table.tolist() for table in other]
            assert len(other) == 5


def test_rare_words_of_a_large_vocabulary_are_each_counted_in_its_own_place():
    rng = random.Random(3)
    items, labels = (
        [" ".join(f"w{rng.randrange(4000)}" for _ in range(60)) for _ in range(60)] for _ in "ab"
    )
    f1, covered = free_text_similarities(items, labels), coverage_matrix(items, labels)
    for (i, a), (j, b) in itertools.product(enumerate(items), enumerate(labels)):
        assert f1[i, j] == score_free_text_field(a, b) and covered[i, j] == token_coverage(b, a)
    assert len({*f1.flat}) > 3


@pytest.mark.parametrize("denial", ["isn't", "ISN’T", "Nonexclusive", "not"])
def test_a_denial_on_one_side_is_noted(denial):
    said, label = f"it is {denial} governed by Ohio law", "it is governed by Ohio law"
    assert decide_containment(said, label).note.startswith("negation in the prediction only")
    assert decide_containment(said, said).note == ""


@given(anything, anything)
@settings(max_examples=400, deadline=None)
def test_scores_are_in_range(a, b):
    for scorer in (score_free_text_field, score_containment_field, score_id_field):
        assert 0.0 <= scorer(a, b) <= 1.0 and scorer(a, a) == 1.0
    assert score_free_text_field(a, b) == score_free_text_field(b, a)
    assert score_id_field(a, b) == score_id_field(b, a)
    assert normalize_id(normalize_id(a)) == normalize_id(a)


def rows(pack, name):
    with gzip.open(pack / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    "field, n, moved, replaced",
    [("governing_law", 2872, 7, 0), ("term_length", 2717, 0, 0), ("renewal_terms", 1209, 1, 0)],
)
def test_stored_containment_scores(pack, field, n, moved, replaced):
    # what moves, moves because a section sign or a zero-width blank is no word any more
    expected = {e["filename"]: e["expected_fields"] or {} for e in rows(pack, "expected.jsonl.gz")}
    seen, by_seed, changed = 0, 0, []
    for row in rows(pack, "rows_extraction.jsonl.gz"):
        stored = (row.get("field_scores") or {}).get(field)
        label = expected.get(row["filename"], {}).get(field)
        if stored is None or label is None or not isinstance(row.get("predicted"), dict):
            continue
        predicted = row["predicted"].get(field)
        seen += 1
        by_seed += abs(seed_containment_score(predicted, label) - stored) < 5e-5
        verdict = decide_containment(predicted, label)
        if abs(verdict.score - stored) > 5e-5:
            changed.append((verdict, label + str(predicted)))
    assert (seen, by_seed, len(changed)) == (n, n, moved)
    assert all("§" in text or "\u200b" in text for _, text in changed)
    assert sum("§" not in text and v.rule == "another place" for v, text in changed) == replaced


def test_ascii_free_text_is_the_seeds(pack):
    found = [
        (e["expected_fields"] or {}).get("key_obligations", []) for e in rows(pack, "expected.jsonl.gz")[:60]
    ]
    labels = [t for side in found for t in side[:3] if t.isascii() and "-\n" not in t]
    assert len(labels) > 80
    for a, b in itertools.product(labels[:40], labels[40:80]):
        assert score_free_text_field(a, b) == seed_free_text_score(a, b)


@pytest.mark.parametrize(
    "predicted, expected",
    [
        ("West Virginia", "Virginia"),
        ("New Mexico", "Mexico"),
        ("governed by the laws of West Virginia", "governed by the laws of Virginia"),
        ("Northern Ireland", "Ireland"),
        ("Papua New Guinea", "Guinea"),
        ("Equatorial Guinea", "Guinea"),
        ("American Samoa", "Samoa"),
        ("South Sudan", "Sudan"),
        ("District of Columbia", "British Columbia"),
        ("New South Wales", "Wales"),
        ("North Korea", "South Korea"),
        ("Washington, D.C.", "Washington"),
        ("the laws of the State of New Jersey", "the laws of the State of New York"),
    ],
)
def test_another_jurisdiction_is_not_covered(predicted, expected):
    verdict = decide_containment(predicted, expected)
    assert verdict.score < 1.0 and "another place" in verdict.note
    assert score_containment_field(expected, expected) == 1.0


@pytest.mark.parametrize(
    "text, bare", [("12A Co", "12A"), ("12AB LP", "12AB"), ("A12 Co", "A12CO"), ("AB12 LP", "AB12LP")]
)
def test_two_letters_after_a_figure_belong_to_the_id(text, bare):
    assert normalize_id(text) == bare


@pytest.mark.parametrize("unit", ["a ", "a", "not ", "New York ", "§", "中", "-\n", "the the "])
def test_time_grows_with_the_length(unit):
    def score(text):
        score_free_text_field(text, text[1:]), score_containment_field(text, text[1:]), normalize_id(text)
        free_text_similarities([text] * 3, [text] * 3)

    assert_near_linear(score, repeated(unit))
