"""Whoever works on the chunks: the same results in the same order, and none of them lost."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from llm_dojo_scoring.run_files import BadInput
from llm_dojo_scoring.score_command import app as score
from llm_dojo_scoring.score_run import score_rows, score_run
from llm_dojo_scoring.workers import Workers, WorkersLost, in_order


def squared(chunk):
    return [x * x for x in chunk]


def killed_once(folder, chunk):
    "The squares; the process that works on the chunk of 12 dies the first time."
    mark = Path(folder) / "mark"
    if 12 in chunk and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return squared(chunk)


def sleepy(chunk):
    time.sleep(0.5)
    return chunk


def fatal(*chunk):
    os.kill(os.getpid(), signal.SIGKILL)


CHUNKS = [list(range(i, i + 3)) for i in range(0, 60, 3)]
RIGHT = list(map(squared, CHUNKS))


def test_processes_give_the_results_in_order():
    drawn = []
    results = in_order(squared, (drawn.append(c) or c for c in CHUNKS), 2)
    assert next(results) == RIGHT[0] and len(drawn) == 8  # a window, not the run
    assert [RIGHT[0], *results] == RIGHT


def test_a_killed_process_loses_nothing(tmp_path):
    assert list(in_order(partial(killed_once, tmp_path), CHUNKS, 2)) == RIGHT
    assert (tmp_path / "mark").exists()


def test_a_chunk_that_always_kills_is_an_error_and_not_an_endless_loop():
    with pytest.raises(RuntimeError, match="terminated"):
        list(in_order(fatal, CHUNKS[:2], 2))


def test_the_command_says_so_in_one_line(data, monkeypatch, tmp_path):
    monkeypatch.setattr("llm_dojo_scoring.score_run._scored_batch", fatal)
    asked = [data / "runs/extractions.jsonl", "--labels", data / "labels/expected.jsonl", "--run", "careful"]
    asked += ["--out", tmp_path / "out", "--jobs", 2]
    said = CliRunner().invoke(score, [str(a) for a in asked])
    assert said.exit_code == 2 and said.stdout == ""
    assert "dojo-score: jobs: expected worker processes that stay alive; terminated 3 times" in said.stderr


def test_an_error_in_a_chunk_is_the_callers():
    with pytest.raises(TypeError):
        list(in_order(squared, [[1], [None]], 2))


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    quiet = {"dashboard_address": None, "scheduler_port": 0, "silence_logs": 50}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as local:
        yield local


def test_a_cluster_gives_the_same(cluster):
    assert list(in_order(squared, CHUNKS, Workers(2, "dask", cluster.scheduler_address))) == RIGHT


def test_a_run_on_a_cluster_is_the_run_of_one_process_although_a_worker_is_killed(cluster, data, tmp_path):
    run, labels = data / "runs/extractions.jsonl", data / "labels/expected.jsonl"
    options = {"documents": data / "contracts", "run": "careful"}
    alone = score_run(run, labels, **options)
    workers = Workers(1, "dask", cluster.scheduler_address)
    far = score_rows(run, labels, jobs=workers, **options)
    first = next(far)
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    assert [first, *far] == list(score_rows(run, labels, **options))
    assert score_run(run, labels, jobs=workers, **options).to_dict() == alone.to_dict()


def ended(work):
    "What the work raises, however long it may take; a daemon, so that waiting for ever ends with the tests."
    found = []

    def watched():
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=watched, daemon=True)
    thread.start()
    thread.join(240)
    return found[0] if found else "still waiting"


def test_a_chunk_that_always_kills_is_an_error_on_a_cluster_too(cluster, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    error = ended(lambda: list(in_order(fatal, [[1]], Workers(1, "dask", cluster.scheduler_address))))
    assert isinstance(error, WorkersLost) and "one chunk terminated every worker" in str(error)


def test_nobody_waits_for_workers_that_never_come_back(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    monkeypatch.setattr("llm_dojo_scoring.workers._PATIENCE", 3)
    quiet = {"dashboard_address": None, "scheduler_port": 0, "silence_logs": 50}
    with distributed.LocalCluster(n_workers=0, **quiet) as local:
        place = local.scheduler_address
        line = [sys.executable, "-m", "distributed.cli.dask_worker", place, "--no-nanny", "--nthreads", "1"]
        path = os.pathsep.join(p for p in sys.path if p)  # this module, too
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        only = subprocess.Popen([*line, "--no-dashboard"], env={**os.environ, "PYTHONPATH": path}, **quiet)

        def midway():
            local.wait_for_workers(1)
            results = in_order(sleepy, [[i] for i in range(40)], Workers(1, "dask", place))
            next(results)
            only.kill()
            return list(results)

        try:
            for work in (midway, lambda: list(in_order(squared, CHUNKS, Workers(1, "dask", place)))):
                error = ended(work)
                assert isinstance(error, WorkersLost) and "none was there for 3 seconds" in str(error)
        finally:
            only.kill()
            only.wait()


def test_a_scheduler_that_does_not_answer_is_a_bad_input():
    pytest.importorskip("distributed", reason="needs the extra dask")
    with pytest.raises(BadInput, match="scheduler tcp://127.0.0.1:9: expected a Dask scheduler that answers"):
        list(in_order(squared, CHUNKS, Workers(1, "dask", "tcp://127.0.0.1:9")))
