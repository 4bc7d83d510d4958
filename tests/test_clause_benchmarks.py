"""Clause questions, their benchmarks and the guards, on whatever a model may return."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import contracteval
from llm_dojo_scoring.benchmarks import cuad_curve
from llm_dojo_scoring.contracteval_mapping import answer_pieces, build_category_output
from llm_dojo_scoring.contracteval_readings import READINGS, ClauseCounts, read_clause_run
from llm_dojo_scoring.contracteval_rubric import contracteval_metrics, contracteval_pairs
from llm_dojo_scoring.contracteval_summary import summarize_clauses
from llm_dojo_scoring.fields.critical import critical_flags, guarded_score

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.lists(st.sampled_from("the rent is due No related clause . \n a  b".split(" ")), max_size=8).map(
    " ".join
)
PAIR = st.tuples(st.lists(WORDS, max_size=2), WORDS | st.just("ERROR: x") | JSON)


@given(st.lists(PAIR, max_size=8))
def test_no_answer_raises_and_every_pair_is_counted_once(pairs):
    spans, outputs = [list(s) for s, _ in pairs], [o for _, o in pairs]
    for reading in READINGS:
        run = read_clause_run(spans, outputs, reading, contracts=[i % 3 for i in range(len(pairs))])
        assert run.counts.n_pairs == len(pairs)
        total = sum(run.by_contract.values(), ClauseCounts())
        assert (total.tp, total.fp, total.fn, total.none) == (
            run.counts.tp,
            run.counts.fp,
            run.counts.fn,
            run.counts.none,
        )
        for rate in ("precision", "recall", "f1", "f2", "jaccard_mean"):
            assert run.counts.rate(rate) is None or 0 <= run.counts.rate(rate) <= 1


@given(st.lists(PAIR, max_size=8))
def test_the_record_follows_from_its_pairs(pairs):
    spans, outputs = [list(s) for s, _ in pairs], [o for _, o in pairs]
    record = contracteval_metrics(spans, outputs)
    outcomes = [p.outcome for p in contracteval_pairs(spans, outputs)]
    assert [record[k] for k in ("tp", "tn", "fp", "fn")] == [
        outcomes.count(k) for k in ("tp", "tn", "fp", "fn")
    ]


def test_the_record_of_four_answers_by_hand():
    spans = [["the rent is due"], ["a b"], [], []]
    outputs = ["the rent is due monthly", "No related clause.", "no related clause", "the rent"]
    assert contracteval_metrics(spans, outputs, categories=list("xyxy")) == {
        **{"task": "contracteval", "kind": "contracteval", "n_pairs": 4, "n_positive": 2},
        **{"tp": 1, "tn": 1, "fp": 1, "fn": 1},
        **{"accuracy": 0.5, "precision": 0.5, "recall": 0.5, "f1": 0.5, "f2": 0.5},
        **{"jaccard_mean": 0.4, "jaccard_median": 0.4},  # 4 of 5 words, and none
        **{"no_related_rate": 0.5, "false_no_related_rate": 0.5},
        **{"false_no_related_rate_paper": round(1 / 1244, 4), "false_no_related_denominator": 1244},
        "per_category": {
            "x": {
                **{"n_pairs": 2, "n_positive": 1, "tp": 1, "tn": 1, "fp": 0, "fn": 0, "accuracy": 1.0},
                **{"precision": 1.0, "recall": 1.0, "f1": 1.0, "f2": 1.0, "jaccard_mean": 0.8},
            },
            "y": {
                **{"n_pairs": 2, "n_positive": 1, "tp": 0, "tn": 0, "fp": 1, "fn": 1, "accuracy": 0.0},
                **{"precision": 0.0, "recall": 0.0, "f1": 0.0, "f2": 0.0, "jaccard_mean": 0.0},
            },
        },
        "n_failed": 0,
    }


@given(WORDS, st.lists(WORDS, min_size=1, max_size=2))
def test_the_robust_reading_finds_what_the_papers_finds(answer, spans):
    paper, robust = (read_clause_run([spans], [answer], r).counts for r in READINGS)
    assert robust.tp >= paper.tp


@given(JSON)
def test_any_output_can_be_mapped(output):
    truth = {"Insurance": ["shall insure the goods"], "Parties": ["A"]}
    for reading in ("corrected", "published"):
        answers = build_category_output(output, truth, reading=reading)
        assert len(answers) == 32 and all(isinstance(a, str) and a for a in answers.values())
        assert all(isinstance(item, str) for item, _ in answer_pieces(output, reading))


@pytest.mark.parametrize("reading", ["corrected", "published"])
def test_a_verbatim_item_is_found(reading):
    clause = "Tenant shall insure the goods against fire"
    rows = [{"filename": "A.pdf", "predicted": {"key_obligations": [f"{clause}."]}}]
    found = contracteval.evaluate_record(rows, {"a": {"Insurance": [clause]}}, reading=reading)
    assert (found["tp"], found["fn"], found["fp"], found["n_pairs"]) == (1, 0, 0, 32)


def test_only_the_corrected_reading_keeps_a_clause_with_a_semicolon():
    clause = "Tenant shall insure the goods; Landlord shall insure the roof of the house"
    rows = [{"filename": "a", "predicted": {"key_obligations": [clause]}}]
    truth = {"a": {"Insurance": [clause]}}
    found = {
        r: contracteval.evaluate_record(rows, truth, reading=r)["tp"] for r in ("corrected", "published")
    }
    assert found == {"corrected": 1, "published": 0}


def test_run_196_is_its_record(pack):
    (run,) = summarize_clauses(pack / "rows_contracteval.jsonl.gz")
    counts = run.readings["paper"].counts
    assert (counts.tp, counts.tn, counts.fp, counts.fn) == (19, 36, 29, 16)
    assert round(run.readings["paper"].jaccard_median, 4) == 0.1923


@given(JSON | WORDS, JSON | WORDS)
def test_guards_never_raise_and_only_a_cap_moves_a_score(predicted, expected):
    flags = critical_flags(predicted, expected)
    assert guarded_score(0.9, predicted, expected) == (0.9, flags)
    assert guarded_score(0.9, predicted, expected, cap=0.5)[0] == (0.5 if flags else 0.9)


@given(WORDS)
def test_a_text_differs_from_itself_in_nothing(text):
    assert critical_flags(text, text) == []


@pytest.mark.parametrize("file", ["clause_pairs", "more_clause_pairs"])
def test_guards_look_both_ways_and_find_every_change(data, file):
    wrong = n_paraphrases = 0
    for line in (data / "critical" / f"{file}.jsonl").read_text().splitlines():
        pair = json.loads(line)
        there, back = (
            {f.kind for f in critical_flags(*ab)} for ab in ((pair["a"], pair["b"]), (pair["b"], pair["a"]))
        )
        assert there == back, pair
        if pair["kind"] == "paraphrase":
            n_paraphrases, wrong = n_paraphrases + 1, wrong + bool(there)
        else:
            assert pair["kind"] in there, pair
    assert wrong <= 0.02 * n_paraphrases


PARTIES = st.sampled_from(
    ["Licensor", "Acme Corp.", "Beta LLC", "Tenant", "Party A", "Stark Industries", "3M Company"]
)
VERBS = st.sampled_from(["indemnify", "pay", "reimburse", "insure", "notify", "supply"])


@given(PARTIES, VERBS, PARTIES, st.booleans())
def test_parties_that_change_places_are_flagged(one, verb, other, denied):
    if one == other:
        return
    clause = "{} shall" + " not" * denied + f" {verb} {{}} within thirty days"
    kinds = {f.kind for f in critical_flags(clause.format(one, other), clause.format(other, one))}
    assert kinds == {"role"}


@given(PARTIES, VERBS, PARTIES)
def test_one_negation_is_flagged_and_two_are_none(one, verb, other):
    clause = f"{one} shall {{}}{verb} {other} each year"
    assert [f.kind for f in critical_flags(clause.format(""), clause.format("not "))] == ["negation"]
    assert critical_flags(clause.format(""), clause.format("not fail to ")) == []


@given(
    st.integers(2, 99), st.integers(2, 99), st.sampled_from(["days", "percent", "miles", "units", "months"])
)
def test_another_number_is_flagged(one, other, unit):
    flags = critical_flags(f"within {one} {unit} of the site", f"within {other} {unit} of the site")
    assert [f.kind for f in flags] == ([] if one == other else ["number"])


@given(st.lists(st.tuples(WORDS, st.floats(0, 1)), max_size=5))
def test_areas_stay_in_range(predictions):
    truth = {"A__Insurance": ["the rent is due"], "B__Insurance": []}
    for mode in ("official", "corrected"):
        found = cuad_curve(truth, {"A__Insurance": predictions}, mode=mode).as_dict()
        assert 0 <= found["aupr"] <= 1
