"""Every family of scores through the same workers: the same bytes alone, in processes and on a cluster."""

import json
import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import orjson
import pytest

from llm_dojo_scoring.bootstrap import bootstrap_cis
from llm_dojo_scoring.class_summary import summarize_labels
from llm_dojo_scoring.contracteval_summary import summarize_clauses
from llm_dojo_scoring.document_counts import count_documents
from llm_dojo_scoring.gate import gate
from llm_dojo_scoring.leaderboard import leaderboard
from llm_dojo_scoring.mc.ablation import prompt_ablation
from llm_dojo_scoring.mc.reliability import failure_sweep
from llm_dojo_scoring.mc.resamples import paired_delta_bootstraps
from llm_dojo_scoring.mc.selection import effectiveness
from llm_dojo_scoring.pooled import pooled_differences
from llm_dojo_scoring.rescore import rescore
from llm_dojo_scoring.run_comparison import compare_runs
from llm_dojo_scoring.score_run import score_run
from llm_dojo_scoring.workers import Workers, in_order

ROOT = Path(__file__).parents[1]


def as_bytes(value):
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)


def lines_of(name):
    return [json.loads(line) for line in (ROOT / "data" / name).open()]


def renamed(rows, times):
    "The rows again and again, each time about documents of other names."
    return [{**r, "filename": f"{i} {r['filename']}"} for i in range(times) for r in rows]


def run_of(times):
    run = [r for r in lines_of("runs/extractions.jsonl") if r["run"] == "careful"]
    return renamed(run, times), renamed(lines_of("labels/expected.jsonl"), times)


def scored(jobs):
    run, labels = run_of(6)
    found = score_run(run, labels, jobs=jobs)
    return as_bytes([found.to_dict(), found.rows, found.fields])


def rescored(jobs):
    run, labels = run_of(6)
    found = rescore(run, labels=labels, jobs=jobs)
    rows = [[r.doc_id, r.row, r.rules, r.expected] for r in found.rows]
    return as_bytes([found.as_dict(), rows, list(found.skipped)])


def classified(jobs):
    found = []
    for name, task in (("families", "subtype"), ("document_classes", "docclass")):
        rows = renamed(lines_of(f"labels_runs/{name}.jsonl"), 30)
        summary = summarize_labels(rows, task, n_boot=200, jobs=jobs)
        found.append([summary.to_dict(), summary.mistakes, summary.hits])
    return as_bytes(found)


def clauses(jobs):
    answers = lines_of("contracteval/answers.jsonl")
    questions = [
        {**r, "title": f"{i} {r['title']}", "label_spans": [r.get("predicted")] if i % 3 else []}
        for i in range(30)
        for r in answers
    ]
    spans = {"Governing Law": ["governed by the laws of Utah"], "Cap On Liability": []}
    truth = {f"{i}.txt": spans for i in range(40)}
    quoted = {"governing_law": "governed by the laws of Utah", "key_obligations": ["Pay the rent."]}
    documents = [{"filename": f"{i}.txt", "predicted": quoted if i % 3 else {}} for i in range(40)]
    return as_bytes(
        [
            [s.as_dict() for s in summarize_clauses(questions, jobs=jobs)],
            [s.as_dict() for s in summarize_clauses(documents, truth, jobs=jobs)],
        ]
    )


def resampled(jobs):
    random = np.random.default_rng(7)
    graded, flags = random.random((90, 150)), random.integers(0, 2, (130, 70)).astype(float)
    columns = {f"graded {i}": graded[:, i] for i in range(150)} | {
        f"flag {i}": flags[:, i] for i in range(70)
    }
    pairs = [graded[:, i] - graded[:, i + 1] for i in range(149)]
    return as_bytes(
        [bootstrap_cis(columns, n_boot=300, jobs=jobs), paired_delta_bootstraps(pairs, 300, jobs=jobs)]
    )


def compared(jobs):
    random = np.random.default_rng(8)
    names = [f"{i}.txt" for i in range(80)]
    a, b = (
        [
            {"doc_id": d, "overall_score": s[0], "field_scores": {f"f{j}": s[j] for j in range(9)}}
            for d, s in zip(names, run, strict=True)
        ]
        for run in random.random((2, 80, 9)).tolist()
    )
    counts = {k: random.integers(0, 9, 80) for k in ("tp", "fp", "fn")}
    one, two = (
        count_documents(names, **counts),
        count_documents(names, **counts | {"fp": random.integers(0, 9, 80)}),
    )
    pooled = pooled_differences(one, two, n_boot=300, jobs=jobs)
    found = compare_runs(a, b, n_boot=300, jobs=jobs)
    return as_bytes([found.to_dict(), [d.to_dict() for d in pooled.values()]])


def what_ifs(jobs):
    "Prompts against each other, the choice among them, and documents lost by tries."
    random, versions = np.random.default_rng(9), [f"v{i}" for i in range(14)]
    flags = random.integers(0, 2, (14, 60)).astype(float)
    outcomes = {
        ("m", v): {f"{i}.txt": x for i, x in enumerate(row.tolist())}
        for v, row in zip(versions, flags, strict=True)
    }
    probs = {"p_first_attempt_fail": 0.2, "p_retry_fail": 0.1, "p_length_limit": 0.3}
    choice = effectiveness(outcomes, "m", n_boot=60, repeats=3, jobs=jobs)
    pairs = prompt_ablation(outcomes, n_boot=200, jobs=jobs)
    return as_bytes([pairs, choice, failure_sweep(probs, n_sim=2_000, jobs=jobs)])


def ranked(jobs):
    random = np.random.default_rng(10)
    runs = [
        [{"doc_id": f"{i}.txt", "overall_score": x} for i, x in enumerate(column)]
        for column in random.random((9, 70)).tolist()
    ]
    board = leaderboard(runs, n_boot=300, jobs=jobs)
    verdict = gate(runs[0], runs[1], margin=0.1, n_boot=300, jobs=jobs)
    return as_bytes([board.to_dict(), verdict.to_dict()])


FAMILIES = {
    "what-ifs": what_ifs,
    "ranking": ranked,
    "score_run": scored,
    "rescore": rescored,
    "classify": classified,
    "contracteval": clauses,
}
FAMILIES |= {"bootstrap": resampled, "comparison": compared}
# Where the chunks are given out, if not in the module of that name.
MODULES = {
    "classify": "label_answers",
    "contracteval": "contracteval_summary",
    "rescore": "rescored_rows",
    "what-ifs": "mc.selection",
    "ranking": "leaderboard",
    "comparison": "run_comparison",
}


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    quiet = {"dashboard_address": None, "scheduler_port": 0, "silence_logs": 50}
    # On a busy machine a new worker may take longer to start than the cluster waits for it by default.
    with dask_config({"distributed.deploy.lost-worker-timeout": "600s"}):
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as local:
            yield local


def dask_config(values):
    import dask

    return dask.config.set(values)


@pytest.fixture(scope="module")
def alone():
    "What one process gives, computed once for each family."
    found = {}

    def of(family):
        if family not in found:
            found[family] = FAMILIES[family](1)
        return found[family]

    return of


@pytest.mark.parametrize("family", FAMILIES)
def test_two_processes_give_the_bytes_of_one(family, alone):
    assert FAMILIES[family](2) == alone(family)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cluster_gives_the_bytes_of_one_process(family, alone, cluster):
    assert FAMILIES[family](Workers(1, "dask", cluster.scheduler_address)) == alone(family)


def killed_once(mark, function, numbered):
    "The second chunk kills the worker that has it, the first time."
    number, chunk = numbered
    if number == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(chunk)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_worker_killed_midway_loses_nothing(family, alone, cluster, tmp_path, monkeypatch):
    right, mark = alone(family), tmp_path / "killed"

    def dangerous(function, chunks, workers=1):
        return in_order(partial(killed_once, mark, function), enumerate(chunks), workers)

    monkeypatch.setattr(f"llm_dojo_scoring.{MODULES.get(family, family)}.in_order", dangerous)
    assert FAMILIES[family](Workers(1, "dask", cluster.scheduler_address)) == right
    assert mark.exists()
