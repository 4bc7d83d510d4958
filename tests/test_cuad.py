"""The clause categories against random spellings and the corpus's own questions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import cuad


@given(st.sampled_from(cuad.CUAD_CATEGORIES), st.randoms(use_true_random=False))
def test_spelling_of_a_category_does_not_matter(name, rng):
    spelled = "".join(rng.choice([c.upper(), c.lower()]) for c in name)
    for mark in "-/ ":
        spelled = spelled.replace(mark, rng.choice([" ", "_", "-", "/", "", " – "]))
    assert cuad.canonical_category(spelled) == name


@given(st.text(max_size=40) | st.none() | st.integers() | st.lists(st.text(), max_size=2))
def test_any_name_is_a_category_or_nothing(name):
    assert cuad.canonical_category(name) in {None, *cuad.CUAD_CATEGORIES}
    assert isinstance(cuad.category_from_question(name), str)
    assert cuad.applicable_categories(name) <= set(cuad.CUAD_CATEGORIES)
    assert isinstance(cuad.build_subtype_handoff(name), str)


ANSWERS = st.sampled_from(
    ["Acme Inc.", "ACME, INC", "Globex LLC", "", "  ", None, "[***]", "1 year", "1-year", 7]
)
LABELS = st.lists(
    st.builds(lambda q, a: {"question": q, "answer": a}, st.sampled_from(cuad.CUAD_CATEGORIES), ANSWERS),
    max_size=12,
)


@given(LABELS)
def test_every_answer_reaches_its_field_once(labels):
    fields = cuad.build_expected_fields(labels)
    given_by_field = {}
    for label in labels:
        field = cuad.CUAD_CATEGORY_TO_FIELD[label["question"]]
        if field and label["answer"] is not None and str(label["answer"]).strip():
            given_by_field.setdefault(field, []).append(str(label["answer"]).strip())
    assert set(fields) == set(given_by_field)
    for field, answers in given_by_field.items():
        if field in cuad.CUAD_LIST_FIELDS:
            kept = [cuad.clause_key(a) for a in fields[field]]
            assert len(kept) == len(set(kept)) and set(kept) == set(map(cuad.clause_key, answers))
        else:
            assert fields[field] in answers


@given(LABELS, st.sampled_from([None, *cuad.CUAD_EXCLUSIONS]))
def test_presence_names_each_applicable_yes_no_category(labels, folder):
    presence = cuad.build_presence_expectations(labels, folder)
    assert set(presence) == set(cuad.CUAD_YES_NO_CATEGORIES) & cuad.applicable_categories(folder)
    for entry in presence.values():
        assert entry["expected"] == bool(entry["answer"]) and entry["field"] in cuad.CUAD_LIST_FIELDS


def test_no_label_of_the_corpus_stands_in_an_excluded_category(pack):
    import gzip

    n = 0
    for line in gzip.open(pack / "expected.jsonl.gz", "rt", encoding="utf-8"):
        row = json.loads(line)
        folders = cuad.SUBTYPE_CUAD_FOLDERS.get(row["family"], ())
        possible = (
            set().union(*map(cuad.applicable_categories, folders)) if folders else set(cuad.CUAD_CATEGORIES)
        )
        labelled = set(row["presence"] or ())
        assert labelled <= possible, (row["filename"], labelled - possible)
        n += len(labelled)
    assert n > 3000


def test_the_questions_of_the_benchmark_name_the_catalogue(pack):
    questions = pack / "contracteval" / "questions.json"
    found = {
        cuad.canonical_category(cuad.category_from_question(q))
        for q in _texts(json.loads(questions.read_text()))
    }
    assert found - {None} == set(cuad.CUAD_CATEGORIES)


def _texts(value):
    if isinstance(value, dict):
        for key, v in value.items():
            yield from _texts(key)
            yield from _texts(v)
    elif isinstance(value, list):
        for v in value:
            yield from _texts(v)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(
    "mistake", ["Parties", {"question": "Parties", "answer": "x"}, [None], [["Parties", "x"]], ["x"]]
)
def test_labels_of_another_shape_are_refused(mistake):
    for build in (cuad.build_expected_fields, cuad.build_presence_expectations):
        with pytest.raises(TypeError, match="clause_labels"):
            build(mistake)
