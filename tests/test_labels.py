"""Labels, families and task answers: on anything a model may return, on long texts, on the stored rows."""

import gzip
import json
import string

import pytest
from growth import assert_near_linear, repeated
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import equivalences, labels, task_answers
from llm_dojo_scoring.cuad import SUBTYPE_CUAD_FOLDERS
from llm_dojo_scoring.vocab import CONTRACT_SUBTYPE_KEYS, TASK_KINDS

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(labels.DOC_LABELS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["doc_type", "answer", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
TEXT = st.text(alphabet="{}\"':, \nabcdo_-", max_size=60) | st.text(max_size=40)
TASKS = [*TASK_KINDS, "rule_qa"]


@given(JSON | JSON.map(json.dumps) | TEXT)
def test_any_output_is_read(value):
    for valid in (None, ["yes", "no"], labels.DOC_LABELS):
        assert isinstance(labels.normalize_label(value, valid), str)
    for task in TASKS:
        assert isinstance(task_answers.normalize_task_answer(task, value), str)
    assert equivalences.normalize_subtype(value) in {*CONTRACT_SUBTYPE_KEYS, "other"}
    assert equivalences.normalize_doc_subclass(value) in {*equivalences._SECOND_LEVEL, "other"}
    assert isinstance(equivalences.equivalent_subtypes(value, value), bool)


@given(st.text(alphabet=string.ascii_lowercase + " -_'\".*!", max_size=20))
def test_what_is_clean_stays_clean(text):
    for form in (labels.clean_label, labels.label_key):
        assert form(form(text)) == form(text)
    assert labels.normalize_label(labels.normalize_label(text)) == labels.normalize_label(text)


@given(
    st.lists(
        st.text(alphabet="abc $5-", min_size=1, max_size=6),
        min_size=2,
        max_size=2,
        unique_by=lambda t: "".join(c for c in t if c.isalnum() or c in "$"),
    )
)
def test_two_unknown_answers_stay_two(pair):
    a, b = pair
    for task in ("maud_question", "legalbench", "subtype", "multiclass", "rule_qa"):
        assert task_answers.normalize_task_answer(task, a) != task_answers.normalize_task_answer(task, b), (
            task
        )


@pytest.mark.parametrize(
    "error", ["contract", '{"doc_type": "contract"}', "yes", "all cash", "license", "other", ""]
)
def test_a_failed_call_is_no_answer(error):
    for text in (f"ERROR: {error}", f" ERROR:{error}", f"ERROR: {error}\n"):
        assert labels.is_failed(text)
        for task in TASKS:
            form = task_answers.normalize_task_answer(task, text)
            assert labels.is_failed(form) and form == text.strip()
        assert labels.is_failed(labels.normalize_label(text, [error, "x"]))


LONG = {
    "braces": "{",
    "objects": '{"a": 1} ',
    "nested": '{"a":',
    "cut off": '{"doc_type": "',
    "keys": '"doc_type" ',
    "label": "contract ",
    "denied": "not a contract or ",
    "lines": "answer: contract\n",
    "markers": "answer is ",
    "blanks": " ",
    "words": "a ",
    "letters": "a",
    "digits": "1",
    "yes": "yes",
    "quotes": "'",
    "under": "_",
    "commas": ",",
}


@pytest.mark.parametrize("name", LONG)
def test_long_outputs_are_read_in_linear_time(name):
    def read(text):
        labels.normalize_label(text)
        for task in ("maud_question", "legalbench", "subtype", "rule_qa"):
            task_answers.normalize_task_answer(task, text)
        equivalences.normalize_subtype(text)

    assert_near_linear(read, repeated(LONG[name]))


def test_every_folder_of_the_corpus_is_its_family():
    for key, folders in SUBTYPE_CUAD_FOLDERS.items():
        for folder in folders:
            assert equivalences.normalize_subtype(folder) == key


def test_stored_labels_are_what_they_were(pack):
    n = flags = 0
    with gzip.open(pack / "rows_labels.jsonl.gz", "rt", encoding="utf-8") as f:
        for line in f:
            row = json.loads(line).get("sorter")
            if not row:
                continue
            for key in ("doc_type", "expected_doc_type"):
                if row.get(key):
                    assert labels.normalize_label(row[key]) == row[key]
            for key in ("contract_subtype", "expected_subtype"):
                if row.get(key):
                    assert equivalences.normalize_subtype(row[key]) == row[key]
                    assert task_answers.normalize_task_answer("subtype", row[key]) == row[key]
            for key in ("doc_subclass", "expected_subclass"):
                if row.get(key):
                    assert equivalences.normalize_doc_subclass(row[key]) == row[key], row[key]
            n += 1
            if (
                row.get("expected_subtype")
                and row.get("contract_subtype")
                and row.get("subtype_ok_equiv") is not None
            ):
                equivalent = equivalences.equivalent_subtypes(
                    row["contract_subtype"], row["expected_subtype"]
                )
                flags += float(equivalent) == float(row["subtype_ok_equiv"])
    assert n > 17_000 and flags > 15_000


def test_titles_of_contracts_name_their_own_family_more_than_any_other(pack):
    right = wrong = unknown = 0
    with gzip.open(pack / "expected.jsonl.gz", "rt", encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            title = (row["expected_fields"] or {}).get("document_name")
            if title and row["family"]:
                found = equivalences.normalize_subtype(title)
                right, wrong, unknown = (
                    right + (found == row["family"]),
                    wrong + (found not in ("other", row["family"])),
                    unknown + (found == "other"),
                )
    assert right > 300 and right > 5 * wrong, (right, wrong, unknown)


@pytest.mark.parametrize(
    "key", ["doc_type", "label", "answer", "classification", "class", "category", "prediction"]
)
def test_each_name_of_the_answer_field_is_read(key):
    assert labels.json_answer({key: "lease"}) == labels.json_answer(f'{{"{key}": "lease"}}') == "lease"


@pytest.mark.parametrize("letter", string.ascii_lowercase + string.digits)
def test_no_letter_is_read_as_an_apostrophe(letter):
    assert labels.label_mentions("q", {"label": [f"q{letter}"]}) == []


@pytest.mark.parametrize(
    ("text", "negated"),
    [("not a lease", True), ("not just a lease", False), ("not only a lease", False), ("not merely", None)],
)
def test_not_just_is_no_denial(text, negated):
    assert [m.negated for m in labels.label_mentions(text, {"lease": ["lease"]})] == [negated][
        : negated is not None
    ]


def test_a_line_states_a_label_without_its_blank():
    text = "It may be a lease.\nAnswer: LoanAgreement"
    assert labels.normalize_label(text, ["loan agreement", "lease"]) == "loan agreement"


def test_a_thousand_lines_are_searched_for_a_stated_label():
    lines = ["A lease or a loan."] + ["..."] * 998
    assert labels.normalize_label("\n".join([*lines, "Answer: lease"]), ["lease", "loan"]) == "lease"
    assert labels.normalize_label("\n".join([*lines, "...", "Answer: lease"]), ["lease", "loan"]) != "lease"
