"""Inputs at the edge of bootstrap, Monte Carlo and comparisons, each with the value that is right for it."""

import math

import pytest

from llm_dojo_scoring import bootstrap, calibration, planner, pooled
from llm_dojo_scoring import gate as gate_page
from llm_dojo_scoring import leaderboard as board_page
from llm_dojo_scoring import monte_carlo as mc
from llm_dojo_scoring.document_counts import count_documents
from llm_dojo_scoring.intervals import bootstrap_ratio, interval_for
from llm_dojo_scoring.montecarlo_command import _short
from llm_dojo_scoring.paired_tests import paired_interval

GRADES = [0.5, 0.6, 0.7, 0.8, 0.9] * 6
TWO_OF_THREE = {"x": {"expected": "a", "observations": {"a": 2, "b": 1}}}


def rows(values, pre="d"):
    return [{"filename": f"{pre}{i}", "overall_score": v} for i, v in enumerate(values)]


def run(name, values):
    return {"experiment_name": name, "results": rows(values)}


def ends(interval):
    return interval["lo"], interval["hi"]


VALUES = {
    "all equal graded": (lambda: ends(bootstrap.bootstrap_ci([0.3] * 9)), (0.3, 0.3)),
    "all None": (lambda: bootstrap.bootstrap_ci([None] * 5), None),
    "nan strings": (lambda: bootstrap.bootstrap_ci(["nan", "NaN", "None"]), None),
    "bools": (lambda: bootstrap.bootstrap_ci([True] * 3 + [False])["n"], 4),
    "negative": (lambda: bootstrap.bootstrap_ci([-1, -2, -3])["lo"] >= -3, True),
    "wilson 0": (lambda: bootstrap.wilson_ci(0, 20)["lo"], 0.0),
    "wilson 1": (lambda: bootstrap.wilson_ci(1, 20)["hi"], 1.0),
    "wilson n0": (lambda: bootstrap.wilson_ci(0.5, 0), None),
    "wilson None": (lambda: bootstrap.wilson_ci(None, 10), None),
    "delta same": (
        lambda: bootstrap.delta_significance([1, 0, 1, 1, 0] * 20, [1, 0, 1, 1, 0] * 20)["significant"],
        False,
    ),
    "delta all apart": (lambda: bootstrap.delta_significance([0] * 12, [1] * 12)["significant"], True),
    "interval one cluster": (lambda: interval_for([1, 0, 1], clusters=["a"] * 3).lo, None),
    "interval unicode clusters": (
        lambda: interval_for([1, 0, 1, 1], clusters=["契約", "é", "é", "契約"]).n_clusters,
        2,
    ),
    "ratio sums zero": (lambda: bootstrap_ratio([0, 0], [0, 0]).value, None),
    "big ints": (lambda: bootstrap.bootstrap_ci([10**15, 10**15 + 2])["lo"] >= 10**15, True),
    "entropy one": (lambda: mc.shannon_entropy({"a": 1}), 0.0),
    "margin tie": (lambda: mc.majority_margin({"a": 2, "b": 2}), 0.0),
    "K larger than votes": (
        lambda: round(mc.exact_committees(TWO_OF_THREE, (25,))[0][25]["estimate"], 3) > 0.9,
        True,
    ),
    "no docs": (lambda: mc.exact_committees({}, (1,))[0][1]["estimate"], None),
    "escalate all": (lambda: mc.escalation_curve(TWO_OF_THREE, {"x": 0.5}, [1.0], 0.95)[0]["accuracy"], 0.95),
    "escalate none": (
        lambda: mc.escalation_curve(TWO_OF_THREE, {"x": 0.5}, [0.0], 0.95)[0]["n_escalated"],
        0,
    ),
    "chances 0": (
        lambda: mc.pipeline_chances({"p_first_attempt_fail": 0, "p_retry_fail": 0}, 3)["failure_rate"],
        0.0,
    ),
    "chances 1": (
        lambda: mc.pipeline_chances({"p_first_attempt_fail": 1, "p_retry_fail": 1}, 3, False)["failure_rate"],
        1.0,
    ),
    "extrapolate rate 0": (lambda: mc.extrapolate(0, 10**9)["expected"], 0.0),
    "extrapolate huge": (lambda: mc.extrapolate(1e-3, 10**12)["expected"], 1e9),
    "paired boot zeros": (lambda: mc.paired_delta_bootstrap([0.0] * 30)["p_win"], 0.5),
    "gate A=A": (lambda: gate_page.gate(run("a", GRADES), run("b", GRADES)).verdict, "passed"),
    "gate margin boundary": (
        lambda: gate_page.gate(run("a", [0.8] * 30), run("b", [0.79] * 30)).verdict,
        "passed",
    ),
    "gate unicode": (
        lambda: (
            gate_page.gate(
                {"experiment_name": "ä", "results": rows(GRADES, pre="契")},
                {"experiment_name": "契", "results": rows(GRADES, pre="契")},
            ).verdict
        ),
        "passed",
    ),
    "board all tie": (
        lambda: len(board_page.leaderboard([run(x, GRADES) for x in "abcd"], n_boot=10).groups),
        1,
    ),
    "pooled none": (
        lambda: pooled.pooled_interval(count_documents(["a"], tp=[0], fp=[0], fn=[0]), "recall").value,
        None,
    ),
    "pooled one doc": (
        lambda: pooled.pooled_interval(count_documents(["a"], tp=[3], fp=[1], fn=[1]), "recall").lo,
        None,
    ),
    "pooled all right": (
        lambda: pooled.pooled_interval(count_documents("ab", tp=[3, 1], fp=[0, 0], fn=[0, 0]), "f1").hi,
        1.0,
    ),
    "cost none accepted": (
        lambda: (
            pooled.pooled_interval(
                count_documents("abc", cost=[1, 1, 1], accepted=[0, 0, 0]), "cost_per_accepted"
            ).value
        ),
        None,
    ),
    "cal all right": (lambda: calibration.calibration([0.9, 0.8] * 5, [1] * 10, n_boot=50).auroc.value, None),
    "accept none right": (
        lambda: calibration.accept_threshold([0.9] * 20, [0] * 20, max_error=0.05).threshold,
        None,
    ),
    "plan equal": (lambda: planner.measure_pilot(run("a", [0.5] * 10)).sd, 0.0),
    "paired equal": (lambda: ends(paired_interval([0.5] * 5, [0.5] * 5).to_dict()), (0.0, 0.0)),
}
REFUSED = {
    "paired unequal": lambda: bootstrap.paired_difference([1, 0, 1], [1, 0]),
    "interval out of range": lambda: interval_for([0.5, 1.2]),
    "ratio negative": lambda: bootstrap_ratio([1], [-1]),
    "K zero": lambda: mc.exact_committees(TWO_OF_THREE, (0,)),
    "K text": lambda: mc.exact_committees(TWO_OF_THREE, ("3",)),
    "alpha 1.01": lambda: mc.escalation_curve(TWO_OF_THREE, {"x": 0.5}, [1.01], 0.95),
    "alpha nan": lambda: mc.escalation_curve(TWO_OF_THREE, {"x": 0.5}, [math.nan], 0.95),
    "no confidence": lambda: mc.escalation_curve(TWO_OF_THREE, {}, [0.5], 0.95),
    "cost 0": lambda: mc.escalation_curve(TWO_OF_THREE, {"x": 0.5}, [0.5], 0.95, base_cost=0),
    "acc percent": lambda: mc.escalation_curve(TWO_OF_THREE, {"x": 0.5}, [0.5], 95),
    "tries 0": lambda: mc.pipeline_chances({"p_first_attempt_fail": 0.1, "p_retry_fail": 0.1}, 0),
    "p>1": lambda: mc.pipeline_chances({"p_first_attempt_fail": 1.1, "p_retry_fail": 0.1}, 1),
    "rescue nan": lambda: mc.pipeline_chances(
        {"p_first_attempt_fail": 0.1, "p_retry_fail": 0.1}, 1, True, math.nan
    ),
    "gate all None": lambda: gate_page.gate(run("a", [None] * 5), run("b", [None] * 5)),
    "gate dup": lambda: gate_page.gate(
        run("a", GRADES), {"experiment_name": "b", "results": rows(GRADES) + rows(GRADES)}
    ),
    "gate other docs": lambda: gate_page.gate(
        run("a", GRADES), {"experiment_name": "b", "results": rows(GRADES, pre="e")}
    ),
    "gate empty": lambda: gate_page.gate(run("a", []), run("b", [])),
    "board empty": lambda: board_page.leaderboard([], n_boot=10),
    "pooled neg": lambda: count_documents("ab", tp=[-3, 1], fp=[0, 0], fn=[0, 0]),
    "cal percent": lambda: calibration.calibration([90, 80] * 5, [1] * 10, n_boot=50),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", VALUES)
def test_the_value_is_the_right_one(case):
    made, wanted = VALUES[case]
    assert made() == wanted


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_told(case):
    with pytest.raises(ValueError):
        REFUSED[case]()


def test_equal_runs_are_ahead_in_half_of_the_resamples():
    assert bootstrap.paired_difference([1, 0, 1] * 10, [1, 0, 1] * 10).p_win == 0.5


def test_rows_of_one_document_are_one_cluster():
    assert interval_for([1, 1, 0, 0], clusters=["a", "a", "b", "b"]).n_clusters == 2


def test_a_board_does_not_depend_on_the_order_of_its_runs():
    a, b = run("a", GRADES), run("b", [x - 0.2 for x in GRADES])
    one, two = (board_page.leaderboard(order, n_boot=10) for order in ([a, b], [b, a]))
    assert one.groups == two.groups and len(one.groups) == 2


def test_partial_credit_that_hardly_varies_keeps_a_narrow_interval():
    counts = count_documents("abc", credit=[0.5, 0.5000001, 0.5], fields=[1, 1, 1])
    found = pooled.pooled_interval(counts, "coverage")
    assert 0.49 < found.lo <= found.value <= found.hi < 0.51


@pytest.mark.parametrize("value, text", [(2.5e-7, "2.5e-07"), (0.0, "0.0000"), (0.5, "0.5000"), (3, "3")])
def test_a_small_share_is_not_printed_as_none(value, text):
    assert _short(value) == text
