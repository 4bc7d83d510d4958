"""Comparison of two runs: what is refused, what counts as a miss, and what real runs say."""

import gzip
import json
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from llm_dojo_scoring.bootstrap import record_ci
from llm_dojo_scoring.compared_runs import aligned, read_run
from llm_dojo_scoring.comparison import (
    NotComparable,
    compare_prompts,
    compare_runs,
    delta_vs_best,
    paired_compare,
    verdict,
)
from llm_dojo_scoring.headlines import headline_of
from llm_dojo_scoring.leaderboard import leaderboard
from llm_dojo_scoring.noise_floor import known_noise_floor, noise_floor
from llm_dojo_scoring.paired_tests import holm, mcnemar_p, paired_interval, paired_p, tango_bounds
from llm_dojo_scoring.planner import documents_for_difference, measure_pilot
from llm_dojo_scoring.surfaces import surface_key

flags = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def run_of(column, name="run", **header):
    rows = [{"filename": f"doc {i}", "correct": bool(v)} for i, v in enumerate(column)]
    return {"experiment_name": name, "results": rows, **header}


@given(flags)
def test_documents_that_agree_do_not_enter_the_exact_test(pairs):
    a, b = zip(*pairs, strict=True)
    differ = [(x, y) for x, y in pairs if x != y]
    gained = sum(y for _, y in differ)
    assert paired_p(a, b)[0] == mcnemar_p(len(differ) - gained, gained)
    lo, hi = tango_bounds(len(differ) - gained, gained, len(pairs))
    assert -1 <= lo <= (2 * gained - len(differ)) / len(pairs) <= hi <= 1


@pytest.mark.parametrize(
    ("n", "test", "bounds"),
    [
        (12, "swaps-counted", "paired-t"),
        (13, "paired-t", "paired-t"),
        (49, "paired-t", "paired-t"),
        (50, "paired-t", "paired-percentile-bootstrap"),
    ],
)
def test_the_number_of_documents_chooses_the_method(n, test, bounds):
    a, b = [i % 3 / 4 for i in range(n)], [i % 4 / 4 for i in range(n)]
    assert (paired_p(a, b)[1], paired_interval(a, b, n_boot=50).method) == (test, bounds)


@pytest.mark.parametrize("d", [1e-12, 0.25])
def test_equal_differences_are_as_many_tosses_of_a_coin(d):
    assert paired_p([0.0] * 13, [d] * 13) == (2**-12, "sign")
    assert paired_p([0.5] * 13, [0.5] * 13) == (1.0, "paired-t")


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_by_its_definition(ps):
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    want = [None] * len(ps)
    for k, i in enumerate(order):
        want[i] = min(1, max((len(ps) - j) * ps[order[j]] for j in range(k + 1)))
    assert holm(ps) == pytest.approx(want)


@given(flags, st.randoms())
def test_the_order_of_rows_does_not_matter(pairs, random):
    one, two = (run_of(c) for c in zip(*pairs, strict=True))
    turned = {**two, "results": random.sample(two["results"], len(pairs))}
    first, again = compare_runs(one, two).headline, compare_runs(one, turned).headline
    assert first.to_dict() == again.to_dict()


@given(flags)
def test_swapping_the_sides_turns_every_sign(pairs):
    one, two = (run_of(c) for c in zip(*pairs, strict=True))
    ab, ba = compare_runs(one, two).headline, compare_runs(two, one).headline
    assert ab.interval.value == pytest.approx(-ba.interval.value)
    assert ab.interval.lo == pytest.approx(-ba.interval.hi)
    assert (ab.better, ab.worse, ab.p) == (ba.worse, ba.better, ba.p)


@pytest.mark.parametrize("part", ["dataset_fingerprint", "seed", "n_samples"])
@pytest.mark.parametrize("value", [None, "", float("nan")])
def test_a_surface_lacking_a_part_equals_none(part, value):
    source = {"dataset_fingerprint": "c2", "seed": 0, "n_samples": 4}
    whole, lacking = (
        run_of([1, 0, 1, 0], data_source=source),
        run_of([1, 0, 1, 0], data_source={**source, part: value}),
    )
    assert surface_key(whole) == "c2:0:4" and surface_key(lacking) is None
    for pair in ((whole, lacking), (lacking, lacking)):
        with pytest.raises(NotComparable):
            compare_runs(*pair)
    assert delta_vs_best(lacking, [lacking]) is None


def test_failures_are_misses_in_every_comparison():
    good = run_of([1] * 30, "a")
    bad = run_of([1] * 30, "b")
    bad["results"][:6] = [{"filename": f"doc {i}", "status": "error"} for i in range(6)]
    assert compare_prompts(good, bad)["delta"] == -0.2
    assert compare_runs(good, bad).headline.worse == 6
    hidden = run_of([1] * 30, "c")
    hidden["results"][0] |= {"reasoning": "error: 403", "confidence": 0}
    assert read_run(hidden).mean() == pytest.approx(29 / 30)


def test_a_failed_document_is_a_miss_in_the_fields_the_other_side_has():
    rows = [{"filename": c, "overall_score": 1.0, "field_scores": {"law": 1.0}} for c in "ABC"]
    down = [*rows[:2], {"filename": "C", "status": "error"}]
    one, two = aligned(read_run(rows), read_run(down))[1]["law"]
    assert (one.tolist(), two.tolist()) == ([1, 1, 1], [1, 1, 0])


def test_verdicts_need_all_three_conditions():
    sure = {"mean": 0.02, "ci_lo": 0.01, "ci_hi": 0.03, "p_win": 0.97}
    assert "BEATS" in verdict(sure) and "LOSES" in verdict(
        {"mean": -0.02, "ci_lo": -0.03, "ci_hi": -0.01, "p_win": 0.03}
    )
    assert "LOGIC REPAIR" in verdict({**sure, "p_win": 0.5})
    assert "LOGIC REPAIR" in verdict({**sure, "ci_lo": 0.0})
    assert "LOGIC REPAIR" in verdict(sure, 0.02) and "BEATS" in verdict(sure, 0.0199)


def test_one_run_twice_is_refused_and_no_manifest_is_no_manifest():
    def run(name, manifest):
        made = run_of([1, 0] * 15, name, parameters={"manifest": manifest})
        return made

    with pytest.raises(NotComparable):
        paired_compare(run("a", None), run("a", None), metric="exact_match")
    with pytest.raises(NotComparable):
        paired_compare(run("a", "m"), run("b", "m"), metric="exact_match")
    for manifest in (None, ""):
        assert paired_compare(run("a", manifest), run("b", manifest), metric="exact_match")["mean"] == 0


def test_paired_interval_of_grades_is_scipys_t():
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 30))
    got, want = paired_interval(a, b, alpha=0.1), stats.ttest_rel(b, a).confidence_interval(0.9)
    assert (got.lo, got.hi) == pytest.approx((want.low, want.high))


@pytest.mark.parametrize("correlation, least", [(0.8, 0.65), (0.5, 0.35)])
def test_power_of_pairing(correlation, least):
    "A gain of 0.04 on 50 documents with a spread of 0.15: pairing finds it far more often."
    rng, n, tries, found = np.random.default_rng(4), 50, 2000, {}
    shared = rng.normal(0, 0.15 * math.sqrt(correlation), (tries, n))
    a, b = (shared + rng.normal(gain, 0.15 * math.sqrt(1 - correlation), (tries, n)) for gain in (0, 0.04))
    found["paired"] = float((stats.ttest_rel(b, a, axis=1).pvalue < 0.05).mean())
    found["unpaired"] = float((stats.ttest_ind(b, a, axis=1).pvalue < 0.05).mean())
    assert found["paired"] >= least and found["paired"] > 1.5 * found["unpaired"]


@pytest.fixture(scope="module")
def runs(pack):
    def lines(name):
        with gzip.open(pack / name, "rt", encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    rows = defaultdict(list)
    for name in ("labels", "extraction", "chained"):
        for row in lines(f"rows_{name}.jsonl.gz"):
            rows[row["run"]].append(row)
    return {run["run"]: {**run, "results": rows[run["run"]]} for run in lines("runs.jsonl.gz")}


@pytest.mark.parametrize(
    "name, a, b",
    [
        ("subtype509.v9", "063", "104"),
        ("subtype509.v12", "103", "141"),
        ("extraction50.v28", "075", "078"),
        ("other_models.163_195", "163", "195"),
        ("other_models.165_191", "165", "191"),
        ("other_models.168_188", "168", "188"),
    ],
)
def test_published_noise_floors(pack, runs, name, a, b):
    want = {p["name"]: p for p in json.loads((pack / "published.json").read_text())}[f"noise.{name}"]
    assert round(noise_floor([runs[a], runs[b]]).floor, 4) == want["recomputed"]
    if want["published"]:
        known = known_noise_floor(runs[a])
        assert known == want["published"] and abs(want["recomputed"] - known) <= want["tolerance"]


def test_every_stored_run_is_read(runs):
    read = 0
    for run in runs.values():
        if not run["results"] or run["task"] == "contracteval":
            continue
        got = read_run(run)
        read += 1
        assert len(got) == len(run["results"]), run["run"]
        assert got.surface == surface_key(run)
        stored = headline_of(run)
        if stored is None or run["task"] == "docclass_classification" or got.failed.any():
            continue
        assert got.mean() == pytest.approx(stored, abs=1.1e-4), run["run"]
    assert read >= 170


def test_runs_on_other_surfaces_are_refused(runs):
    with pytest.raises(NotComparable, match="another surface"):
        compare_runs(runs["060"], runs["063"])
    assert compare_runs(runs["063"], runs["104"]).headline.n == 509


def test_record_ci_of_any_age(runs):
    for run in runs.values():
        got = record_ci(run)
        if got:
            assert got["source"] in ("stored", "results-bootstrap", "wilson") and got["lo"] <= got["hi"]


def test_distance_from_the_best_of_the_surface(runs):
    board = list(runs.values())
    subtype = [r for r in board if r["task"] == "subtype_classification" and r["n_rows"] == 509]
    distances = [delta_vs_best(r, board) for r in subtype]
    assert max(distances) == 0.0 and min(distances) < -5


def test_real_reruns_differ_less_paired_than_not(runs):
    record = compare_prompts(runs["063"], runs["104"])
    half = (record["significance"]["ci_hi"] - record["significance"]["ci_lo"]) / 2
    loose = (record["unpaired"]["ci_hi"] - record["unpaired"]["ci_lo"]) / 2
    assert record["paired"] and half < loose / 2


def test_a_board_of_real_prompts(runs):
    "On 50 contracts the best of 21 prompts beats 14 raw, and hardly one when all pairs are counted."
    surface = surface_key(runs["075"])
    board = leaderboard([r for r in runs.values() if r["results"] and surface_key(r) == surface], n_boot=100)
    raw = sum(e.p < 0.05 for e in board.entries[1:])
    real = len(board.entries) - 1 - len(board.tied_with_best)
    assert (len(board.entries), len(board.documents)) == (21, 50)
    assert raw == 14 and real <= 3 and "not distinguishable from" in board.sentence()


def test_a_plan_from_real_prompts(runs):
    pilot = measure_pilot(runs["075"], runs["078"])
    assert -0.1 < pilot.icc < 0.4 and pilot.items > 4
    needs = {p: documents_for_difference(pilot, 0.02, paired=p) for p in (True, False)}
    assert needs[True] < needs[False]
