"""Measure two sides of a claim in turn, in one process, by CPU time, and set the ratio against its target."""

from __future__ import annotations

import gc
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field


class Skip(Exception):
    "A row that cannot be measured here; the message says why."


@dataclass
class Side:
    "One thing to time."

    call: Callable[[], object]  # What is timed
    scale: float = 1.0  # A slice was timed: multiply by this
    reps: int | None = None  # Fewer repetitions than the row's, for slow baselines
    before: Callable[[], object] | None = (
        None  # Untimed preparation of each repetition, such as emptying a cache
    )


@dataclass
class Row:
    "One line of the table: what is timed, against what, and what is asked of it."

    key: str  # "c1 replay"
    what: str  # In words
    ours: Side
    baseline: Side | None = None
    floor: Side | None = None  # The part that no implementation can avoid
    floor_what: str = ""
    least_ratio: float | None = None  # baseline / ours
    growth: Callable[[int], Callable[[], object] | Side] | None = None  # size -> call, or how to time it
    sizes: tuple[int, ...] = ()
    most_growth: float | None = None  # Largest exponent
    memory: Callable[[], object] | None = None  # What is run under the memory tracer
    most_mb: float | None = None
    reps: int = 7
    check: Callable[[], bool] | None = None  # Do both sides give the same answer?


@dataclass
class Result:
    key: str
    what: str
    seconds: dict = field(default_factory=dict)
    ratio: float | None = None
    least_ratio: float | None = None
    floor_ratio: float | None = None
    floor_what: str = ""
    growth: float | None = None
    most_growth: float | None = None
    peak_mb: float | None = None
    most_mb: float | None = None
    same: bool | None = None
    skipped: str = ""

    @property
    def missed(self) -> list[str]:
        "The targets that were missed."
        out = []
        if self.least_ratio and (self.ratio or 0) < self.least_ratio:
            out.append(f"ratio {self.ratio:.3g} < {self.least_ratio:g}")
        if self.most_growth and self.growth > self.most_growth:
            out.append(f"growth {self.growth:.2f} > {self.most_growth:g}")
        if self.most_mb and self.peak_mb > self.most_mb:
            out.append(f"peak {self.peak_mb:.1f} MB > {self.most_mb:g}")
        if self.same is False:
            out.append("answers differ")
        return out


def cpu_seconds(call: Callable[[], object], number: int = 1) -> float:
    "CPU seconds of one call, over `number` calls."
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(number):
            call()
        return (time.process_time() - start) / number
    finally:
        gc.enable()


def interleaved(sides: dict[str, Side], reps: int) -> dict[str, float]:
    "Median CPU seconds of each side, the sides run in turn so that a busy machine slows all of them."
    times, numbers = {name: [] for name in sides}, {}
    for name, side in sides.items():  # warm up, and find how often a short call must be repeated
        if side.before:
            side.before()
        once = cpu_seconds(side.call)
        numbers[name] = 1 if side.before else max(1, min(1000, math.ceil(0.01 / max(once, 1e-6))))
        if side.reps is not None and once > 1:  # a slow side is not warmed up: its first run counts
            times[name].append(once)
    for _ in range(reps):
        for name, side in sides.items():
            if side.reps is not None and len(times[name]) >= side.reps:
                continue
            if side.before:
                side.before()
            times[name].append(cpu_seconds(side.call, numbers[name]))
    return {name: statistics.median(t) * sides[name].scale for name, t in times.items()}


def exponent(make, sizes: tuple[int, ...], before=None, reps: int = 5) -> float:
    "Slope of log time over log size, through all sizes."
    sides = {str(n): made if isinstance(made := make(n), Side) else Side(made, before=before) for n in sizes}
    seconds = interleaved(sides, reps)
    x, y = [math.log(n) for n in sizes], [math.log(seconds[str(n)]) for n in sizes]
    mx, my = statistics.fmean(x), statistics.fmean(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)


def peak_mb(call: Callable[[], object]) -> float:
    "Peak of traced memory above the start, in MB."
    gc.collect()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def measured(row: Row | Result) -> Result:
    "Run one row; one that measured itself is taken as it is."
    if isinstance(row, Result):
        return row
    result = Result(row.key, row.what, least_ratio=row.least_ratio, floor_what=row.floor_what)
    if row.check:
        result.same = bool(row.check())
    sides = {"ours": row.ours, "baseline": row.baseline, "floor": row.floor}
    result.seconds = interleaved({k: s for k, s in sides.items() if s}, row.reps)
    if row.baseline:
        result.ratio = result.seconds["baseline"] / result.seconds["ours"]
    if row.floor:
        result.floor_ratio = result.seconds["ours"] / result.seconds["floor"]
    if row.growth and row.sizes:
        result.growth, result.most_growth = exponent(row.growth, row.sizes, row.ours.before), row.most_growth
    if row.memory:
        result.peak_mb, result.most_mb = peak_mb(row.memory), row.most_mb
    return result
