"""Labels: order and names never matter, rates stay in range, failures never help, scikit-learn agrees."""

# ruff: noqa: E501

import json
import math
import random

import numpy as np
import pytest
import sklearn.metrics as sk
from growth import assert_near_linear, repeated
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring import classification as C
from llm_dojo_scoring import failure_modes as FM
from llm_dojo_scoring import tasks as T
from llm_dojo_scoring.choices import read_choice
from llm_dojo_scoring.dojo_compat import classify_failure
from llm_dojo_scoring.label_counts import code_labels, count_labels
from llm_dojo_scoring.label_rows import failure_kind, read_row
from llm_dojo_scoring.legalbench import LEGALBENCH_TASKS, legalbench_task_score
from llm_dojo_scoring.run_records import (
    docclass_record,
    docclass_row,
    sorter_record,
    subtype_record,
    subtype_row,
)

FAMILIES = ["license", "hosting", "supply", "joint_venture", "agency"]
DOC_CLASSES = ["contract", "court_opinion", "merger_agreement", "corporate_record"]
pairs = st.lists(st.tuples(st.sampled_from(FAMILIES), st.sampled_from(FAMILIES)), min_size=1, max_size=30)
rows = st.lists(
    st.tuples(
        st.sampled_from([*FAMILIES, None, ""]),
        st.sampled_from([*FAMILIES, "ERROR: license", " ERROR:", None, ""]),
    ),
    max_size=30,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def columns(found):
    return [e for e, _ in found], [p for _, p in found]


def numbers(value):
    "All numbers in a record."
    if isinstance(value, dict):
        return [n for k, v in value.items() if k not in ("seed", "n_boot", "level") for n in numbers(v)]
    if isinstance(value, list):
        return [n for v in value for n in numbers(v)]
    return [value] if isinstance(value, float) else []


def without_interval(record):
    return {k: v for k, v in record.items() if not k.endswith("_ci")}


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_row_order_never_matters(found, rng):
    shuffled = rng.sample(found, len(found))
    for task in ("subtype", "multiclass", "legalbench", "maud_question"):
        one = T.score_task(task, *columns(found), n_boot=1)
        assert without_interval(one) == without_interval(T.score_task(task, *columns(shuffled), n_boot=1))


@given(rows, st.permutations(FAMILIES))
@settings(max_examples=50, deadline=None)
def test_renaming_the_classes_renames_the_tables(found, others):
    names = dict(zip(FAMILIES, others, strict=True))
    renamed = [(names.get(e, e), names.get(p, p)) for e, p in found]
    one, two = (T.score_task("multiclass", *columns(f), n_boot=1) for f in (found, renamed))
    assert two["per_class"] == {names.get(k, k): v for k, v in one["per_class"].items()}
    for key in ("exact_match", "macro_accuracy", "macro_f1", "balanced_accuracy", "n_failed", "n_unscored"):
        assert one[key] == two[key]
    cells = [
        {(names.get(a, a), names.get(b, b)) if one is r else (a, b): n
         for a, row in zip(r["confusion"]["labels"], r["confusion"]["matrix"], strict=True)
         for b, n in zip(r["confusion"]["labels"], row, strict=True) if n}
        for r in (one, two)
    ]  # fmt: skip
    assert cells[0] == cells[1]


@given(rows)
@settings(max_examples=50, deadline=None)
def test_rates_stay_in_range_and_counts_add_up(found):
    e, p = columns(found)
    for task in ("subtype", "multiclass", "legalbench", "maud_question"):
        record = T.score_task(task, e, p, n_boot=5)
        assert all(0 <= n <= 1 for n in numbers(without_interval(record)))
        assert record["n"] + record["n_unscored"] == len(found)
        assert sum(map(sum, record["confusion"]["matrix"])) == record["n"] - record["n_failed"]
    b = C.binary_metrics(e, p, positive="license")
    assert b["tp"] + b["fn"] == sum(x == "license" for x in e)
    assert b["tp"] + b["fn"] + b["fp"] + b["tn"] <= b["n"]


@given(rows, st.integers(0, 29))
@settings(max_examples=40, deadline=None)
def test_a_failure_never_helps(found, at):
    if not found:
        return
    at %= len(found)
    failed = [(e, "ERROR: " + e) if i == at and e else (e, p) for i, (e, p) in enumerate(found)]
    for task in ("subtype", "multiclass"):
        before, after = (T.score_task(task, *columns(f), n_boot=1)["exact_match"] for f in (found, failed))
        assert after <= before
    b, a = (C.binary_metrics(*columns(f), positive="license") for f in (found, failed))
    assert a["tp"] <= b["tp"] and a["tn"] <= b["tn"] and a["accuracy"] <= b["accuracy"]


@given(pairs)
@settings(max_examples=50, deadline=None)
def test_scikit_learn_agrees(found):
    e, p = columns(found)
    assert C.accuracy(e, p) == round(sk.accuracy_score(e, p), 4)
    assert math.isclose(C.macro_f1(e, p), sk.f1_score(e, p, average="macro", zero_division=0))
    assert math.isclose(
        C.balanced_accuracy(e, p), np.mean(sk.recall_score(e, p, labels=sorted(set(e)), average=None))
    )
    if len({*e, *p}) > 1:
        kappa = sk.cohen_kappa_score(e, p)
        assert (
            math.isnan(kappa)
            and C.cohen_kappa(e, p) is None
            or math.isclose(C.cohen_kappa(e, p), kappa, abs_tol=1e-12)
        )
        assert math.isclose(C.matthews_corrcoef(e, p), sk.matthews_corrcoef(e, p), abs_tol=1e-12)
    matrix, labels = C.confusion_matrix(e, p)
    assert matrix == sk.confusion_matrix(e, p, labels=labels).tolist()
    table = C.class_table(e, p)
    report = sk.classification_report(e, p, output_dict=True, zero_division=0)
    for label in set(e):
        assert math.isclose(table[label]["accuracy"], report[label]["recall"])
        assert math.isclose(table[label]["precision"] or 0.0, report[label]["precision"])
    for beta, name in ((1, "f1"), (2, "f2")):
        expected = sk.fbeta_score(
            [x == "license" for x in e], [x == "license" for x in p], beta=beta, zero_division=0
        )
        assert C.binary_metrics(e, p, positive="license")[name] == round(expected, 4)


@given(json_values, json_values)
@settings(max_examples=120, deadline=None)
def test_any_answer_is_scored(truth, answer):
    for task in (
        "subtype",
        "doc_class",
        "multiclass",
        "court_opinion",
        "maud_question",
        "legalbench",
        "free",
    ):
        record = T.score_task(task, [truth], [answer], n_boot=1)
        assert record["n"] + record["n_unscored"] == 1
    T.score_task(
        "docclass", [truth], [answer], expected_subclass=[truth], predicted_subclass=[answer], n_boot=1
    )
    T.score_task(
        "maud_docclass", [truth], [answer], expected_subclass=[truth], predicted_subclass=[answer], n_boot=1
    )
    C.binary_metrics([truth], [answer], normalize=False)
    C.exact_match(answer, truth)
    T.contracteval_metrics([["a clause"], []], [answer, answer])
    for task in (
        "hearsay",
        "ssla_plaintiff",
        "sara_numeric",
        "successor_liability",
        "definition_extraction",
        "unfair_tos",
    ):
        for mode in ("official", "corrected"):
            legalbench_task_score(task, [truth], [answer], mode=mode)
    row = {"filename": "a", "status": "completed", "sorter": {"doc_type": answer, "contract_subtype": answer, "doc_subclass": answer,
           "expected_subtype": truth, "expected_doc_type": truth, "expected_subclass": truth, "confidence": answer, "reasoning": answer}}  # fmt: skip
    subtype_record([row], n_boot=1)
    docclass_record([row], n_boot=1)
    sorter_record([{"predicted": answer, "expected": truth, "cost_usd": answer}], n_boot=1)
    FM.summarize_failures([row])
    FM.per_subtype_accuracy([row])
    FM.confusion_from_rows([row])


@pytest.mark.parametrize(
    "sentinel", ["ERROR: contract", "ERROR:", "  ERROR: yes", "ERROR:other", "ERROR: all_cash"]
)
def test_a_failed_call_is_a_miss_everywhere_and_never_a_class(sentinel):
    for truth in ("contract", "yes", "other", "all_cash", "license"):
        assert C.exact_match(sentinel, truth) == 0.0 and C.failure(sentinel, truth) == 1.0
        for task in ("subtype", "doc_class", "multiclass", "maud_question", "legalbench", "court_opinion"):
            record = T.score_task(task, [truth, truth], [sentinel, truth])
            assert (record["exact_match"], record["n_failed"]) == (0.5, 1), (task, truth)
            assert len(record["confusion"]["labels"]) == 1
        second = T.score_task(
            "docclass",
            ["merger_agreement"],
            [sentinel],
            expected_subclass=[truth],
            predicted_subclass=[truth],
        )
        assert second["subclass_accuracy"] == second["exact_match"] == 0.0 and second["per_subclass"] == {}
    assert C.binary_metrics(["no", "no"], [sentinel, sentinel])["tn"] == 0


@pytest.mark.parametrize("nothing", [None, float("nan"), "", "  ", "ERROR: no label", np.nan])
def test_no_truth_no_score(nothing):
    for task in ("subtype", "doc_class", "multiclass", "maud_question", "legalbench"):
        one = T.score_task(task, ["contract"], ["contract"])
        two = T.score_task(task, ["contract", nothing, nothing], ["contract", None, "contract"])
        assert (two["exact_match"], two["n"], two["n_unscored"]) == (one["exact_match"], 1, 2)
    assert C.accuracy(["contract", nothing], ["contract", "contract"]) == 1.0
    assert C.exact_match(nothing, nothing) is None
    second = T.score_task(
        "docclass", ["contract"], ["contract"], expected_subclass=[nothing], predicted_subclass=["other"]
    )
    assert (second["n_subclass_scored"], second["subclass_accuracy"], second["exact_match"]) == (0, None, 1.0)
    assert FM.classify_failure({"expected_subtype": nothing, "doc_type_ok": True}) == "unscored"
    assert (
        docclass_row({"doc_type": "contract", "expected_doc_type": "contract", "expected_subclass": nothing})[
            "failure_mode"
        ]
        is None
    )


def test_no_reading_makes_one_answer_of_two():
    for task, answers in {
        "multiclass": ["contract law", "contract dispute", "tort law", "a contract", "1", "2", "1.0"],
        "subtype": [*FAMILIES, "other", "lease", "nda", "memorandum"],
        "maud_question": [
            "Yes",
            "No",
            "Buyer",
            "Target",
            "All Cash",
            "All Stock",
            "Other",
            "None",
            "5 days",
            "10 days",
            "-5%",
            "5%",
        ],
        "legalbench": ["yes", "no", "maybe", "A", "B", "是", "否"],
        "doc_class": [*DOC_CLASSES, "lease", "nonsense"],
    }.items():
        for a in answers:
            for b in answers:
                assert T.score_task(task, [a], [b])["exact_match"] == float(a == b), (task, a, b)
    types = ["bylaws", "indenture", "charter_amendment", "other", "memo", "minutes"]
    for a in types:
        for b in types:
            found = T.score_task(
                "docclass",
                ["corporate_record"],
                ["corporate_record"],
                expected_subclass=[a],
                predicted_subclass=[b],
            )
            assert found["subclass_accuracy"] == float(a == b), (a, b)


def test_every_function_refuses_unequal_lengths():
    for score in (C.accuracy, C.per_class_stats, C.macro_accuracy, C.confusion_matrix, C.binary_metrics, C.macro_f1,
                  C.balanced_accuracy, C.cohen_kappa, C.matthews_corrcoef, C.class_table, T.legalbench_score,
                  T.multiclass_score, T.court_opinion_score, T.maud_question_score, T.contracteval_metrics):  # fmt: skip
        for e, p in ((["a", "b"], ["a"]), ([], ["a"])):
            with pytest.raises((ValueError, TypeError)):
                score(e, p)
    with pytest.raises(ValueError):
        T.maud_docclass_score(["contract"], ["contract"], ["other"], [])


def test_failed_rows_without_truth_stay_in_the_denominator():
    right = {
        "status": "completed",
        "sorter": {"doc_type": "contract", "contract_subtype": "license", "expected_subtype": "license"},
    }
    record = subtype_record([right, {"status": "error", "sorter": {}}])
    assert record["sorter"]["subtype_accuracy"] == 0.5 and record["sorter"]["subtype_accuracy_ci"]["n"] == 2
    assert record["sorter"]["failure_insights"]["mode_counts"] == {"error": 1}
    assert record["sorter"]["confusion_matrix"] == {"license": {"license": 1}}


def test_equivalence_never_costs():
    rng = random.Random(3)
    for _ in range(200):
        row = {"doc_type": rng.choice(DOC_CLASSES), "expected_doc_type": rng.choice(DOC_CLASSES), "contract_subtype": rng.choice(FAMILIES),
               "expected_subtype": rng.choice([*FAMILIES, None]), "doc_subclass": rng.choice(["all_cash", "other", None, "mixed_cash_stock"]),
               "expected_subclass": rng.choice(["all_cash", "other", None, "mixed_cash_stock_election"])}  # fmt: skip
        for flags, strict, lenient in (
            (subtype_row(row), "subtype_ok", "subtype_ok_equiv"),
            (docclass_row(row), "subclass_ok", "subclass_ok_equiv"),
        ):
            assert not flags[strict] or flags[lenient]
            assert flags[strict] in (True, False, None)


def test_disguise_needs_both_signs():
    base = {
        "status": "completed",
        "sorter": {"doc_type": "contract", "reasoning": "error: 403", "confidence": 0.0},
    }
    assert failure_kind(base) == "disguised"
    for change in ({"confidence": 0.3}, {"reasoning": "An error: none"}, {"reasoning": None}):
        assert failure_kind({**base, "sorter": base["sorter"] | change}) == ""
    assert read_row(base, "as_stored").failure == ""


def test_dojo_compat_contract():
    assert classify_failure(True, True, "x") is None and classify_failure(True, None, None) is None
    assert (classify_failure(False, False, "x"), classify_failure(True, False, "x")) == (
        "doc_type_miss",
        "subclass_miss",
    )


@pytest.mark.parametrize(
    "unit",
    ["(", "A ", "answer: ", "\n", "**", '{"a":'],
)
def test_reading_is_linear(unit):
    def read(part):
        read_choice(part, list("ABCDE"))
        read_choice(part, ["UCC", "Common Law"], prose=True)
        for task in ("ssla_plaintiff", "sara_numeric", "successor_liability", "citation_prediction_open"):
            legalbench_task_score(task, ["$5,000"], [part])

    assert_near_linear(read, repeated(unit))


def test_many_rows_are_counted_with_an_exact_interval():
    rng = np.random.default_rng(0)
    e = np.array(FAMILIES)[rng.integers(0, 5, 200_000)].tolist()
    p = np.array([*FAMILIES, "ERROR: timeout"])[rng.integers(0, 6, 200_000)].tolist()
    record = T.score_task("subtype", e, p)
    assert record["exact_match_ci"]["method"] == "exact-percentile"
    small = T.score_task("subtype", e[:2000], p[:2000])
    assert small["exact_match_ci"]["method"] == "percentile-bootstrap"
    direct = sum(a == b for a, b in zip(e, p, strict=True)) / len(e)
    assert record["exact_match"] == round(direct, 4)


def test_coding_equals_reading_row_by_row():
    rng = random.Random(1)
    pool = [
        "License",
        "license",
        " LICENSE ",
        "joint venture",
        "Joint-Venture",
        "ERROR: x",
        None,
        "",
        1,
        True,
        1.0,
        float("nan"),
        {"label": "License"},
        ["a"],
    ]
    e, p = ([rng.choice(pool) for _ in range(300)] for _ in range(2))
    coded = code_labels(e, p)
    for i in range(300):
        one = C.exact_match(p[i], e[i])
        assert (coded.expected[i] < 0) == (one is None)
        if one is not None:
            assert one == float(coded.expected[i] == coded.predicted[i]), (e[i], p[i])
    assert count_labels(e, p).n_rows == 300


def test_records_are_plain_json():
    row = {
        "filename": "a",
        "sorter": {
            "doc_type": "contract",
            "contract_subtype": "license",
            "expected_subtype": "license",
            "expected_doc_type": "contract",
            "expected_subclass": None,
        },
    }
    for record in (subtype_record([row] * 3), docclass_record([row] * 3), sorter_record([{"expected": "a", "predicted": "a"}] * 3),
                   T.score_task("subtype", ["license"] * 3, ["license"] * 3), FM.summarize_failures([row]), T.legalbench_score(["yes"], ["no"])):  # fmt: skip
        json.dumps(record, allow_nan=False)
    for name in LEGALBENCH_TASKS:
        json.dumps(legalbench_task_score(name, ["Yes"], ["Yes"]), allow_nan=False)


@pytest.mark.parametrize("flag", ["yes", " Y ", "TRUE", "1", "1.0", 1, 1.0, True, np.bool_(True)])
def test_a_flag_is_set_however_a_table_writes_it(flag):
    for truth, said in ((flag, True), (True, flag)):
        assert C.binary_counts([truth], [said], normalize=False)["tp"] == 1
    for unset in ("no", "n", "false", "0", "0.0", 0, False, "2"):
        assert C.binary_counts([unset], [flag], normalize=False)["fp"] == 1
