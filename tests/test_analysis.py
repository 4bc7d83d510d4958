"""Questions to a table of runs: what is pinned, what must hold whatever the order, and what lacks columns."""

import gzip
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring import error_analysis as ea
from llm_dojo_scoring import io
from llm_dojo_scoring.interpret import interpret, render_notes
from llm_dojo_scoring.run_ranking import champion, comparable_runs, score_difference, score_interval

METRIC = ea.DEFAULT_METRIC
NAMES = """qwen3.7-flash_sorter_v9_subtype_langfuse qwen3.7-flash_sorter_v12_subtype_langfuse
qwen3.7-flash_sorter_v13_subtype_langfuse gpt-5-nano_sorter_v13_subtype_langfuse
deepseek-v4-flash_sorter_v13_subtype_langfuse qwen3.7-flash_sorter_v13_subtype_langfuse_rerun
qwen3.7-flash_sorter_v14_subtype_langfuse qwen3.7-flash_sorter_v12_subtype_langfuse_bug""".split()
MODELS = ["Qwen 3.7-Flash"] * 3 + ["gpt-5-nano", "DeepSeek V4 Flash"] + ["Qwen 3.7-Flash"] * 3
SCORES = [0.9116, 0.9234, 0.9430, 0.8978, 0.9253, 0.9350, 0.9371, 0.8800]
LOWS = [0.8827, 0.8978, 0.9210, 0.8700, 0.9000, 0.9120, 0.9140, 0.8500]
HIGHS = [0.9405, 0.9450, 0.9650, 0.9256, 0.9500, 0.9580, 0.9600, 0.9100]
MODES = {"equivalent_family": 4, "family_confusion": 29, "function_over_form": 2, "other_fallback": 4}


def table():
    frame = pd.DataFrame(
        {"Experiment Name": NAMES, "MODEL": MODELS, METRIC: SCORES, ea.CI_LO: LOWS, ea.CI_HI: HIGHS}
    )
    frame["DATE"] = [f"2026-08-{day}" for day in (13, 15, 16, 16, 16, 16, 16, 16)]
    frame["SAMPLE (n)"], frame["Failures: n Failed"], frame["Cost Estimated USD"] = 509, 39, 0.27
    frame[f"{METRIC} CI (half)"] = (frame[ea.CI_HI] - frame[ea.CI_LO]) / 2
    frame[ea.EQUIV_METRIC] = frame[METRIC] + 0.005
    for mode, n in MODES.items():
        frame[f"Failures: {mode}"] = n
    for family in ("license", "agency", "franchise", "hosting"):
        low = family in ("franchise", "hosting")
        frame[f"Accuracy: {family}"] = (frame[METRIC] + (-0.15 if low else 0.01)).clip(0.4, 1)
    return frame


@pytest.fixture
def runs():
    return io.normalize_results_frame(table())


def test_what_programs_rely_on(runs):
    assert runs["key"][0] == "Qwen 3.7-Flash_v9" and runs["n"][0] == 509
    assert ea.best_run(runs)["Experiment Name"] == NAMES[2]
    assert ea.runner_up(runs)["Experiment Name"] == NAMES[6]
    assert ea.best_run(runs, min_n=1000) is None and ea.runner_up(runs.iloc[:1]) is None
    versions = ea.prompt_version_summary(runs).set_index("prompt_version")
    assert versions.loc["v13", "n_runs"] == 4
    assert ea.model_summary(runs).set_index("model").loc["Qwen 3.7-Flash", "n_runs"] == 6
    modes = ea.failure_mode_summary(runs)
    assert list(modes.index) == [c.removeprefix("Failures: ") for c in ea.FAILURE_COLUMNS]
    assert modes.loc["family_confusion", "n_total"] == 232
    assert modes["pct_of_failures"].sum() == pytest.approx(1) and set(modes["n_runs"]) == {8}
    assert set(ea.subtype_hotspots(runs, 2).index) == {"franchise", "hosting"}
    assert len(ea.regression_alerts(runs, threshold=0.005)) == 2 and len(ea.regression_alerts(runs)) >= 1
    reliability = ea.reliability_assessment(runs)
    assert reliability["median_ci_half"] == pytest.approx((0.0236 + 0.025) / 2, abs=5e-5)
    assert reliability["runs_with_ci_pct"] == 1.0
    trend = ea.metric_trend(runs)
    assert ((trend["lo"] <= trend[METRIC]) & (trend[METRIC] <= trend["hi"])).all()
    with pytest.raises(ValueError):
        ea.require_metric(runs, "Overall Extraction")


def test_what_interpretation_relies_on(runs):
    found = interpret(runs, target=0.94)
    assert found.summary["winner"] == NAMES[2] and found.summary["winner_score"] == 0.943
    assert found.summary["winner_n"] == 509 and found.summary["winner_equiv_score"] == 0.948
    assert found.summary["n_runs"] == 8 and found.summary["metric"] == METRIC
    assert [n.severity for n in found.notes if n.kind == "target"] == ["info"]
    missed = interpret(runs, target=0.95)
    assert [n.severity for n in missed.notes if n.kind == "target"] == ["warning"]
    text = render_notes(found)
    assert text.startswith(f"[i] Best run: {NAMES[2]}") and "[!]" in text and "Target met" in text
    assert len(found.by_severity()["critical"]) == 1
    assert [n["kind"] for n in found.to_dict()["notes"]][0] == "winner"


@settings(max_examples=5)
@given(st.permutations(range(8)))
def test_nothing_depends_on_the_order_of_the_table(order):
    straight = io.normalize_results_frame(table())
    shuffled = io.normalize_results_frame(table().iloc[list(order)])
    assert render_notes(interpret(straight)) == render_notes(interpret(shuffled))
    assert ea.best_run(shuffled)["Experiment Name"] == NAMES[2]
    pd.testing.assert_frame_equal(
        ea.regression_alerts(straight, threshold=0), ea.regression_alerts(shuffled, threshold=0)
    )
    pd.testing.assert_frame_equal(ea.model_summary(straight), ea.model_summary(shuffled))


LEAVE_OUT = [
    "DATE",
    "MODEL",
    "Experiment Name",
    "SAMPLE (n)",
    ea.CI_LO,
    "Failures: n Failed",
    f"{METRIC} CI (half)",
]


@pytest.mark.parametrize("column", LEAVE_OUT)
def test_a_missing_column_is_a_missing_value(column):
    for frame in (io.normalize_results_frame(table().drop(columns=column)), table().drop(columns=column)):
        render_notes(interpret(frame, target=0.9, cost_column="Cost Estimated USD"))
        for ask in (ea.metric_trend, ea.regression_alerts, ea.reliability_assessment, ea.best_run):
            ask(frame)
        ea.failure_mode_summary(frame), ea.confusion_drivers(frame), ea.subtype_hotspots(frame)
        ea.per_subtype_summary(frame, best_only=True)


@pytest.mark.parametrize("labels", [[0] * 8, list("abcdefgh"), range(100, 108)])
def test_row_labels_do_not_matter(runs, labels):
    relabelled = runs.set_index(pd.Index(list(labels)))
    assert render_notes(interpret(relabelled)) == render_notes(interpret(runs))
    for ask in (ea.per_subtype_summary, ea.failure_mode_summary, ea.regression_alerts, ea.model_summary):
        pd.testing.assert_frame_equal(ask(relabelled), ask(runs))


def test_a_small_sample_is_never_crowned(runs):
    tiny = pd.DataFrame({"Experiment Name": ["tiny"], METRIC: [1.0], "SAMPLE (n)": [1], "MODEL": ["x"]})
    both = io.normalize_results_frame(pd.concat([table(), tiny]))
    assert champion(both, METRIC)["Experiment Name"] == NAMES[2]
    found = interpret(both)
    assert found.summary["winner"] == NAMES[2]
    assert any("another surface" in n.headline for n in found.notes)


def test_only_runs_on_one_surface_are_ranked(runs):
    elsewhere = runs.assign(surface=["s1"] * 5 + ["s2"] * 3)
    assert len(comparable_runs(elsewhere, METRIC)) == 5
    drops = ea.regression_alerts(elsewhere, threshold=0.005)
    assert not len(drops)  # both drops of the table happen across the two surfaces


def test_failed_documents_stand_beside_the_winner(runs):
    notes = interpret(runs.assign(n_scored=467))
    assert "467 of 509 documents scored" in notes.notes[0].headline


@pytest.mark.parametrize("metric", ["Overall Extraction", "Average Confidence", "F2"])
def test_a_graded_score_gets_no_interval_from_its_mean(metric):
    assert score_interval({metric: 0.9, "n": 500}, metric) is None
    assert score_interval(
        {metric: 0.9, "n": 500, f"{metric} CI (lo)": 0.8, f"{metric} CI (hi)": 0.95}, metric
    ) == (0.8, 0.95)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 1000), st.integers(2, 1000))
def test_a_difference_lies_in_its_interval(p, q, n, m):
    d, lo, hi = score_difference({METRIC: p, "n": n}, {METRIC: q, "n": m}, METRIC)
    back = score_difference({METRIC: q, "n": m}, {METRIC: p, "n": n}, METRIC)
    assert lo <= d <= hi and back == pytest.approx((-d, -hi, -lo))


def test_stored_runs_go_through(pack):
    rows = [pack / f"rows_{name}.jsonl.gz" for name in ("labels", "extraction", "chained")]
    frame = io.normalize_results_frame(io.load_log(pack / "runs.jsonl.gz", rows=rows).frame)
    found = interpret(frame, target=0.94, cost_column="Cost Estimated USD")
    assert found.summary["n_runs"] == 203 and "509 of 509 documents scored" in found.notes[0].headline
    assert found.summary["winner"] == "deepseek-v4-pro_sorter_v13_subtype_langfuse"
    ranked = comparable_runs(frame, METRIC)
    place = ranked["run"].tolist().index("102")
    assert place >= len(ranked) - 4 and len(ranked) >= 20  # stored, it would be near the middle
    with gzip.open(pack / "runs.jsonl.gz", "rt") as lines:
        assert sum(json.loads(line)["task"] == "subtype_classification" for line in lines) == 53
    for metric in ("Overall Extraction", "Exact Match", "Doc Type Accuracy", "F1"):
        assert interpret(frame, metric).summary["winner"]


def test_a_polars_table_is_a_table():
    polars = pytest.importorskip("polars")
    runs = io.normalize_results_frame(polars.DataFrame(table().to_dict("list")))
    assert interpret(runs).summary["winner"] == NAMES[2]


@pytest.mark.parametrize("column", ["SAMPLE (n)", "Rows Completed", "Failures: family_confusion"])
def test_an_endless_number_is_a_missing_one(column):
    from llm_dojo_scoring.report import build_report

    rows = [
        {"Experiment Name": f"m_sorter_v{i}", "Subtype Accuracy": 0.9, "SAMPLE (n)": 509} for i in range(3)
    ]
    table = pd.DataFrame([{**r, "Rows Completed": 500, "Failures: family_confusion": 2} for r in rows])
    endless = table.astype({column: float}).assign(**{column: [float("inf"), 2.0, float("-inf")]})
    frame = io.normalize_results_frame(endless)
    assert frame["n"].isna().sum() == 2 * (column == "SAMPLE (n)")
    assert "## Failure modes" in build_report(frame) and render_notes(interpret(frame))
