"""The published study comes out by its own rule; the right rule says what its faults were worth."""

import json
import random

import pytest

from llm_dojo_scoring import monte_carlo as mc
from llm_dojo_scoring.mc.collect import build_corpus, read_runs

TASKS = {"subtype": "subtype_classification", "docclass": "docclass_classification"}
PUBLISHED = {"votes": "drop_invalid", "disguised": "as_stored"}


@pytest.fixture(scope="module")
def study(pack):
    "The corpus as recorded and as published, and the published figures."
    records = [r for r in read_runs(pack) if r["results"]]
    override = json.loads((pack / "labels.json").read_text())["published_corpus_override"]
    figures = {f["name"]: f for f in json.loads((pack / "published.json").read_text())}
    tables = json.loads((pack / "published/monte_carlo.json").read_text())
    return build_corpus(records), build_corpus(records, answers_of=override), figures, tables


@pytest.mark.parametrize("short", TASKS)
def test_committees_and_escalation(short, study):
    recorded, published, figures, tables = study
    task, strong = TASKS[short], {"subtype": 0.95, "docclass": 0.90}[short]
    labels = mc.task_label_vocabulary(task)
    docs = mc.load_observations(published, task, labels, signals="published", **PUBLISHED)
    exact, _ = mc.exact_committees(docs, (1, 3, 5, 10))
    for k in (3, 5, 10):
        assert exact[k]["estimate"] == pytest.approx(
            figures[f"ensemble.{short}.acc@{k}.exact"]["recomputed"], abs=1e-6
        )
    one, _ = mc.exact_committees(docs, (1,), bounds="truncated")
    assert [round(one[1][k], 4) for k in ("estimate", "ci_lo", "ci_hi")] == tables[task]["accuracy_at_k"]["1"]
    confidence = mc.build_confidence(docs)
    curve = mc.escalation_curve(docs, confidence, escalated_acc=strong, gating="mixed")
    keys = ("accuracy", "accuracy_low", "accuracy_high")
    made = [
        [r["alpha"], *(round(r[k], 4) for k in keys), round(r["cost_multiplier"], 4), r["n_escalated"]]
        for r in curve
    ]
    assert made == tables[task]["escalation"]
    names = mc.escalation_order(confidence, ties="observed")[: curve[3]["n_escalated"]]
    assert names == [name for _, name in tables[task]["escalation_candidates"]]
    ranked = mc.escalation_curve(docs, confidence, [0.15], ties="observed")[0]["accuracy"]
    assert round(ranked, 4) == figures[f"escalation.{short}.doc_level_alpha0.15"]["recomputed"]


@pytest.mark.parametrize("short, ordered, unordered", [("subtype", 156, 78), ("docclass", 12, 6)])
def test_pairs_of_prompts(short, ordered, unordered, study):
    recorded, published, _, tables = study
    task = TASKS[short]
    labels = mc.task_label_vocabulary(task)
    outcomes = mc.run_outcomes(published, task, labels, reruns="last", **PUBLISHED)
    rows = mc.prompt_ablation(outcomes, pairs="ordered", bounds="truncated")
    assert len(rows) == ordered
    keys = ("accuracy_a", "accuracy_b", "mean", "ci_lo", "ci_hi")
    found = {
        (r["model"], r["prompt_a"], r["prompt_b"]): [
            r["n_shared"],
            *(round(r[k], 4) for k in keys),
            round(r["p_win_strict"], 3),
        ]
        for r in rows
    }
    assert all(found[tuple(row[:3])] == row[3:] for row in tables[task]["prompt_ablation"])
    assert len(mc.prompt_ablation(mc.run_outcomes(recorded, task, labels))) == unordered


def test_failures(study):
    recorded, *_ = study
    probs = mc.fit_pipeline_probs(recorded, disguised="as_stored")
    assert (round(probs["p_first_attempt_fail"], 6), round(probs["p_retry_fail"], 6)) == (0.002374, 0.002137)
    sweep = {(r["max_tries"], r["fallback"]): r for r in mc.failure_sweep(probs, (1,), first_try="retry")}
    assert (sweep[1, True]["simulated"], sweep[1, False]["simulated"]) == (0.00004, 0.00202)
    right = mc.fit_pipeline_probs(recorded)
    assert (right["n_failed"], round(right["p_first_attempt_fail"], 5)) == (383, 0.02165)


@pytest.mark.parametrize("short, found, best", [("subtype", 65.0, 135.5), ("docclass", 9.0, 9.0)])
def test_exemplars(short, found, best, study):
    _, published, figures, tables = study
    task = TASKS[short]
    labels = mc.task_label_vocabulary(task)
    pairs = mc.exemplar_candidates(published, task, labels, match="substring", disguised="as_stored")
    counts = {(p["expected"], p["decoy"]): (p["count"], p["near_misses"]) for p in pairs}
    assert all(counts[e, d] == (n, m) for e, d, n, m in tables[task]["confusion_pairs"])
    drawn = mc.random_search(pairs, random.Random(42))
    chosen = {(e, d): int(n) for e, d, n in tables[task]["selected_exemplar_pairs"]}
    assert {(p["expected"], p["decoy"]): p["near_misses"] for p in drawn["pairs"]} == chosen
    assert (drawn["gain"], mc.best_exemplars(pairs)["gain"]) == (found, best)
