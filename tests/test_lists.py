"""Entity lists: assignments by brute force, any JSON value as a list, scores and rescue within bounds."""

import copy
import dataclasses
import gzip
import json
import pickle
import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import llm_dojo_scoring.lists.score as list_page
from llm_dojo_scoring.config import settings as in_force
from llm_dojo_scoring.fields.dispatch import FIELD_SCORERS
from llm_dojo_scoring.lists.matching import clean_items, optimal_pairs
from llm_dojo_scoring.lists.partial_gt import (
    ROLE_WORDS,
    count_used,
    is_role_label,
    names_party,
    rescue_labels,
)
from llm_dojo_scoring.lists.score import EntityListScore, distinct_labels, match_list, score_entity_list
from llm_dojo_scoring.text import token_coverage

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def brute_force(matrix, threshold):
    "Most pairs and the largest total among those, over all assignments, in hundredths."
    if matrix.shape[0] > matrix.shape[1]:
        matrix = matrix.T
    n, m = matrix.shape
    best = (0, 0)
    for columns in permutations(range(m), n):
        cells = [matrix[i, j] for i, j in enumerate(columns) if matrix[i, j] >= threshold]
        best = max(best, (len(cells), sum(cells)))
    return best


MATRICES = {
    "ties": lambda rng, shape: rng.integers(0, 4, size=shape) * 25,
    "dense": lambda rng, shape: rng.integers(50, 101, size=shape),
    "sparse": lambda rng, shape: np.where(rng.random(shape) < 0.3, rng.integers(60, 101, size=shape), 0),
}


@pytest.mark.parametrize("kind", MATRICES)
def test_optimal_pairs_against_every_assignment(kind):
    rng = np.random.default_rng(42)
    for _ in range(1_500):
        hundredths = MATRICES[kind](rng, rng.integers(1, 6, size=2))
        pairs = optimal_pairs(hundredths / 100, 0.6)
        assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
        assert pairs == sorted(pairs)
        assert (len(pairs), sum(hundredths[i, j] for i, j in pairs)) == brute_force(hundredths, 60)


def test_a_tie_is_a_tie_whatever_the_scale_of_the_similarities():
    rng = np.random.default_rng(3)
    for _ in range(300):
        steps = rng.integers(0, 4, size=rng.integers(3, 6, size=2))
        expected = optimal_pairs(0.6 + 0.1 * steps, 0.6)
        assert optimal_pairs(0.6 + 0.07 * steps, 0.6) == expected == optimal_pairs(0.61 + 0.13 * steps, 0.6)


def test_large_matrices_agree_with_the_textbook_assignment_where_all_cells_pass():
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(7)
    for shape in ((60, 60), (200, 150), (3, 400)):
        matrix = 0.6 + 0.4 * rng.random(shape)
        rows, columns = linear_sum_assignment(matrix, maximize=True)
        pairs = optimal_pairs(matrix, 0.6)
        assert len(pairs) == min(shape)
        assert sum(matrix[i, j] for i, j in pairs) == pytest.approx(matrix[rows, columns].sum(), abs=1e-6)


def test_trivial_lists_do_not_load_scipy():
    import subprocess
    import sys

    code = (
        "import sys; from llm_dojo_scoring.lists.matching import optimal_pairs as p;"
        "p([[.9,.1],[.2,.8]],.6); p([[.9,.8],[.1,.8]],.6); p([[.9],[.95]],.6); p([[.1,.2]],.6);"
        "assert not any(m.startswith('scipy') for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(json_values)
def test_any_json_value_is_a_list_of_texts(value):
    items = clean_items(value)
    assert all(isinstance(item, str) and item == item.strip() and item for item in items)


@given(st.lists(st.sampled_from(["Acme Corp", "Beta LLC", "State of Ohio", "0"]), max_size=6))
def test_items_of_a_list_do_not_depend_on_its_shape(items):
    assert clean_items(items) == clean_items(tuple(items)) == clean_items(json.dumps(items)) == items
    assert clean_items([items]) == clean_items(repr(items)) == clean_items(dict(enumerate(items))) == items
    assert clean_items(set(items)) == clean_items(frozenset(items)) == sorted(set(items))


def test_deep_and_broken_lists_are_read_without_harm():
    for text in (
        "[" * 100_000,
        "[" * 50_000 + "]" * 50_000,
        "{" * 9 + "}",
        "[" + "1," * 50_000 + "]",
        "[9" + "9" * 9_000 + "]",
    ):
        assert isinstance(clean_items(text), list)


words = st.sampled_from([*sorted(ROLE_WORDS)[:4], "acme", "beta", "the", "we", "of", "bank"])
phrases = st.lists(words, min_size=1, max_size=5).map(" ".join)


@settings(max_examples=300)
@given(st.lists(phrases, max_size=4), st.lists(phrases, max_size=4, unique=True), st.data())
def test_rescue_adds_within_bounds(items, labels, data):
    cells = data.draw(
        st.lists(
            st.sampled_from([0.0, 0.5, 0.7, 1.0]),
            min_size=len(items) * len(labels),
            max_size=len(items) * len(labels),
        )
    )
    pairs = optimal_pairs(np.array(cells).reshape(len(items), len(labels)), 0.6)
    rescued = rescue_labels(items, labels, pairs)
    found = [j for _, j in pairs] + [r.label for r in rescued]
    assert len(found) == len(set(found)) <= len(labels)
    assert len(pairs) <= count_used(items, pairs, rescued) <= min(len(items), len(found))
    if not any(map(names_party, items)):
        assert not any(r.how == "role" for r in rescued)


clauses = st.lists(
    st.lists(
        st.sampled_from("pay the fee rent term notice audit insure assign 0 we".split()),
        min_size=1,
        max_size=7,
    ).map(" ".join),
    max_size=5,
)
parties = st.lists(st.lists(words, min_size=1, max_size=3).map(" ".join), max_size=5)
lists_of = {"free_text": clauses, "name": parties}


@pytest.mark.parametrize("element_type", lists_of)
@pytest.mark.parametrize("partial_gt", [False, True])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_the_order_of_a_list_changes_no_number(element_type, partial_gt, data):
    items, labels = data.draw(lists_of[element_type]), data.draw(lists_of[element_type])
    first = score_entity_list(element_type, items, labels, partial_gt=partial_gt)
    shuffled = data.draw(st.permutations(items)), data.draw(st.permutations(labels))
    assert score_entity_list(element_type, *shuffled, partial_gt=partial_gt) == first
    assert 0 <= first.matched_predicted <= min(first.n_predicted, first.matched + first.n_repeated)
    assert score_entity_list(element_type, items, items, partial_gt=partial_gt).f1 == 1.0
    assert 0 <= first.matched <= first.n_expected == len(labels) - first.n_repeated
    assert 0 <= first.precision <= 1 and 0 <= first.recall <= 1 and 0 <= first.f1 <= 1
    if not partial_gt:
        assert first.matched <= first.matched_predicted
    assert (
        partial_gt or score_entity_list(element_type, items, labels, partial_gt=True).matched >= first.matched
    )


@settings(max_examples=100, deadline=None)
@given(clauses, clauses)
def test_the_matrix_is_that_of_the_pair_scorers(items, labels):
    for element_type, score in FIELD_SCORERS.items():
        match = match_list(element_type, items, labels)
        assert match.similarity.shape == (len(match.items), len(match.labels))
        for i, item in enumerate(match.items):
            for j, label in enumerate(match.labels):
                similar = score(item, label)
                if element_type == "free_text" and (covered := token_coverage(label, item)) >= 0.7:
                    similar = max(similar, covered)
                assert match.similarity[i, j] == similar, (element_type, item, label)


def by_matrix(element_type, items, labels, partial_gt):
    "The comparison of two lists in which each is compared with each."
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(list_page, "_MANY", -1)
        return match_list(element_type, items, labels, False, partial_gt)


few_words = st.lists(
    st.lists(st.sampled_from("pay the fee Fee, a seller of [*] é".split()), max_size=9).map(" ".join),
    max_size=7,
)
few_names = st.lists(
    st.lists(st.sampled_from("Acme ACME, Acm Inc. Seller of Ohio Texas II 2 [*]".split()), max_size=4).map(
        " ".join
    ),
    max_size=7,
)


@pytest.mark.parametrize(
    "element_type, lists", [("free_text", few_words), ("name", few_names), ("odd", few_names)]
)
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_near_texts_are_paired_as_the_matrix_pairs_them(element_type, lists, data):
    sides = data.draw(lists), data.draw(lists)
    partial_gt, least, enough = (
        data.draw(st.sampled_from(of)) for of in ([False, True], [0.3, 0.6, 1.0], [0.2, 0.7])
    )
    limits = {"bipartite_match_threshold": least, "verification_token_coverage": enough}
    with in_force(**{f"field_scoring__{name}": value for name, value in limits.items()}):
        near = match_list(element_type, *sides, False, partial_gt)
        whole = by_matrix(element_type, *sides, partial_gt)
    assert "similarity" in vars(whole) and near == whole
    assert near.similarity.tolist() == whole.similarity.tolist() and near.rows() == whole.rows()


def test_similarities_that_are_made_when_read_are_those_of_the_comparison():
    def compared():
        return match_list(
            "free_text", ["pay the fee on demand", "keep books"], ["pay the fee promptly"], False
        )

    wanted = compared().similarity.tolist()
    assert wanted == [[0.75], [0.0]]
    for copied in (copy.copy, copy.deepcopy, dataclasses.replace, lambda m: pickle.loads(pickle.dumps(m))):
        assert copied(compared()).similarity.tolist() == wanted and copied(compared()) == compared()
    match = compared()
    with in_force(field_scoring__verification_token_coverage=0.9, field_scoring__critical_cap=0.1):
        assert match.similarity.tolist() == wanted  # by the settings that were in force
    with pytest.raises(AttributeError, match="no attribute 'similarities'"):
        _ = match.similarities


def test_of_two_short_labels_the_one_that_an_item_contains_is_rescued():
    items, labels = ["sons of Acme and Beta", "Gamma"], ["of Acme and Beta", "Delta and Gamma Bank"]
    for order in (1, -1):
        rescued = rescue_labels(items[::order], labels[::order], [])
        assert [(r.how, labels[::order][r.label], items[::order][r.item]) for r in rescued] == [
            ("contained", labels[0], items[0])
        ]


def test_real_lists_are_paired_as_the_matrix_pairs_them(real):
    for _, field, items, labels, _, match in real[::7]:
        assert by_matrix(LIST_FIELDS[field], items, labels, True) == match


@given(parties)
def test_repeats_are_left_out_whatever_their_order(labels):
    kept = distinct_labels(labels)
    assert set(distinct_labels(labels[::-1])) == set(kept) and distinct_labels(kept) == kept
    assert set(kept) <= set(labels)


class Matcher:
    "Finds two texts alike when they begin with the same letter; counts how often it was asked."

    def __init__(self):
        self.asked = 0

    def similarity(self, a, b):
        self.asked += 1
        return 0.9 if a[:1].lower() == b[:1].lower() else 0.1


@pytest.mark.parametrize("element_type", ["name", "free_text"])
def test_a_matcher_rescues_names_and_clauses(element_type):
    items, labels = ["Licensee shall remit royalties", "Zeta"], ["late payments bear interest", "Zeta"]
    assert score_entity_list(element_type, items, labels).matched == 1
    matcher = Matcher()
    match = match_list(element_type, items, labels, matcher)
    assert match.pairs == ((0, 0), (1, 1)) and match.similarity[0, 0] == pytest.approx(0.9)
    assert match.similarity[1, 1] == 1.0 and matcher.asked <= 4


@pytest.mark.parametrize(
    "element_type, item, label",
    [("date", "2024-03-03", "2021-04-09"), ("money", "$5", "$50"), ("id", "A-1", "A-2")],
)
def test_a_matcher_rescues_no_exact_type(element_type, item, label):
    matcher = Matcher()
    match = match_list(element_type, [item, "none of these"], [label, "never mind"], matcher)
    assert match.similarity[0, 0] == 0.0 and matcher.asked == 0


LIST_FIELDS = {"parties": "name", "key_obligations": "free_text", "termination_clauses": "free_text"}


def stored_lists(pack):
    "Each stored list score: run, field, items, labels, and the seven stored numbers."
    with gzip.open(pack / "expected.jsonl.gz", "rt", encoding="utf-8") as file:
        expected = {row["filename"]: row["expected_fields"] for row in map(json.loads, file)}
    with gzip.open(pack / "rows_extraction.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            labels = expected.get(row["filename"])
            for field, stored in (row.get("entity_list_scores") or {}).items():
                if labels and field in LIST_FIELDS and row.get("predicted"):
                    yield row["run"], field, row["predicted"].get(field), labels.get(field), stored


@pytest.fixture(scope="module")
def real(pack):
    "Every stored list with its comparison, strings alone."
    return [
        (run, field, items, labels, stored, match_list(LIST_FIELDS[field], items, labels, False, True))
        for run, field, items, labels, stored in stored_lists(pack)
    ]


def test_real_lists_have_the_stored_sizes_and_sound_counts(real):
    assert len(real) == 5_715
    blank_items = 0
    for _, field, _, _, stored, match in real:
        score = EntityListScore.from_match(match, field)
        assert score.n_expected + score.n_repeated == stored[5]
        blank_items += score.n_predicted != stored[4]
        assert 0 <= score.precision <= 1 and score.unmatched_predicted >= 0 and score.unmatched_expected >= 0
    assert blank_items == 1  # one empty text, which is no item
    assert sum(match.n_repeated for *_, match in real) == 1_413


def test_real_lists_where_the_textbook_assignment_loses_a_match(real):
    from scipy.optimize import linear_sum_assignment

    lost = 0
    for *_, match in real:
        rows, columns = linear_sum_assignment(match.similarity, maximize=True)
        textbook = int((match.similarity[rows, columns] >= 0.6).sum())
        assert textbook <= len(match.pairs)
        lost += textbook < len(match.pairs)
    assert lost == 6


def test_the_order_of_real_lists_changes_no_number(real):
    rng = random.Random(42)
    for _, field, items, labels, _, match in real[::29]:
        again = (rng.sample(side, len(side)) for side in (items, labels or []))
        shuffled = score_entity_list(LIST_FIELDS[field], *again, False, True, field_name=field)
        assert shuffled == EntityListScore.from_match(match, field)


def published_rule(items, labels):
    "Matched labels under the published rule without embeddings, written anew from its description."
    from collections import Counter

    from scipy.optimize import linear_sum_assignment

    marks = str.maketrans(dict.fromkeys(",.;:'\"()[]{}!?@#$%^&*+=|\\/<>~`_-", " "))
    items, labels = ([text.lower().translate(marks).split() for text in side] for side in (items, labels))

    def similar(item, label):
        shared = sum((Counter(item) & Counter(label)).values())
        f1 = 2 * shared / (len(item) + len(label))
        covered = len(set(label) & set(item)) / len(set(label))
        return max(f1, covered) if covered >= 0.7 else f1

    def contained(label):
        n = len(label)
        return 3 <= n <= 6 and any(label == item[i : i + n] for item in items for i in range(len(item)))

    rest = [label for label in labels if not contained(label)]
    matrix = np.array([[similar(item, label) for label in rest] for item in items]).reshape(
        len(items), len(rest)
    )
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    return int((matrix[rows, columns] >= 0.6).sum()) + len(labels) - len(rest)


@pytest.mark.parametrize("run, published, ours", [("078", 134, 133), ("h01", 513, 510)])
def test_published_matches_without_embeddings(real, run, published, ours):
    lists = [row for row in real if row[0] == run and row[1] == "key_obligations" and row[3]]
    assert sum(published_rule(items, labels) for _, _, items, labels, *_ in lists) == published
    assert sum(match.matched for *_, match in lists) == ours
    # repeated labels count once (133, 509), and one match more is found in a list of h01


def test_a_role_label_has_one_to_three_role_words():
    roles = "Seller Buyers Company Producer".split()
    assert [is_role_label(" and the ".join(roles[:n])) for n in range(5)] == [False, True, True, True, False]
    assert not is_role_label("Seller Acme") and not is_role_label("the A")
