"""The benchmark command: its arithmetic, its table, and its reasons for skipping."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


class Clock:
    "A clock that moves only when work is done."

    now = 0.0

    def process_time(self):
        return self.now

    def work(self, seconds):
        self.now += seconds


@pytest.fixture
def frame(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import frame

    return frame


@pytest.fixture
def clock(monkeypatch, frame):
    clock = Clock()
    monkeypatch.setattr(frame, "time", clock)
    return clock


def test_the_ratio_is_of_the_two_sides_and_slices_are_scaled(frame, clock):
    ours, slow = frame.Side(lambda: clock.work(0.002)), frame.Side(lambda: clock.work(0.01), scale=10, reps=1)
    result = frame.measured(
        frame.Row("x", "", ours, slow, floor=frame.Side(lambda: clock.work(0.001)), reps=5)
    )
    assert (
        result.ratio == pytest.approx(50) and result.floor_ratio == pytest.approx(2) and result.missed == []
    )


def test_preparation_is_not_timed(frame, clock):
    ours = frame.Side(lambda: clock.work(0.002), before=lambda: clock.work(5))
    assert frame.interleaved({"ours": ours}, 3) == {"ours": pytest.approx(0.002)}


def test_a_target_that_is_missed_is_named(frame, clock):
    row = frame.Row(
        "x", "", frame.Side(lambda: clock.work(1)), frame.Side(lambda: clock.work(1)), least_ratio=50, reps=3,
        growth=lambda n: lambda: clock.work(n**2), sizes=(10, 30, 90), most_growth=1.1,
        memory=lambda: bytes(3_000_000), most_mb=1, check=lambda: False,
    )  # fmt: skip
    result = frame.measured(row)
    assert result.growth == pytest.approx(2) and result.peak_mb == pytest.approx(3, abs=0.1)
    assert [m.split()[0] for m in result.missed] == ["ratio", "growth", "peak", "answers"]


def test_the_command_prints_a_table_and_says_why_it_skips(tmp_path):
    done = subprocess.run(
        [sys.executable, FOLDER / "run.py", "--only", "c5", "--only", "a3", "--json", tmp_path / "r.json"],
        capture_output=True,
        text=True,
        env={"PATH": "", "DOJO_PACK": str(tmp_path)},
    )
    assert done.returncode in (0, 1), done.stderr
    assert "| c5 exact 509" in done.stdout and ">= 1000x" in done.stdout
    assert "skipped: " in done.stdout
    stored = json.loads((tmp_path / "r.json").read_text())
    assert {"python", "cores"} < stored.keys() and "c5 exact 509" in {row["key"] for row in stored["rows"]}


def test_the_baseline_agrees_where_the_rules_agree(frame):
    import baseline

    from llm_dojo_scoring.bootstrap import bootstrap_ci, delta_significance

    scores = [0.67, 1.0, 0.33, 0.0, 0.85, 1.0]
    ours = bootstrap_ci(scores, n_boot=300)
    assert {k: ours[k] for k in ("lo", "hi")} == baseline.bootstrap_ci(scores, 300)
    ours = delta_significance(scores, scores[1:], n_boot=300)
    assert {k: ours[k] for k in ("ci_lo", "ci_hi")} == baseline.delta_significance(scores, scores[1:], 300)
    assert baseline.jaro_winkler("MARTHA", "MARHTA") == pytest.approx(0.9611, abs=1e-4)
    assert baseline.jaro_winkler("DIXON", "DICKSONX") == pytest.approx(0.8133, abs=1e-4)


def test_drawn_committees_of_the_baseline_come_out_where_counting_says(frame):
    import baseline
    import rows_monte_carlo

    docs = rows_monte_carlo.study(60)
    assert rows_monte_carlo.agree(docs, (1, 3, 10), 100)
    assert baseline.committees(docs, (3,), 20) == baseline.committees(docs, (3,), 20)
