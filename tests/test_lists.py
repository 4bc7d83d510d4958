"""Entity lists: every small assignment by brute force, any JSON value as a list, rescue within its bounds."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring.lists.matching import clean_items, optimal_pairs
from llm_dojo_scoring.lists.partial_gt import ROLE_WORDS, count_used, names_party, rescue_labels

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
    import json

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
