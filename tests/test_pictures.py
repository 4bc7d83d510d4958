"""Pictures of runs: what they need, what hostile names become, and that nothing global is left behind."""

import warnings

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from llm_dojo_scoring import visualize as v
from llm_dojo_scoring.answer_plots import SizedRun, calibration_error, calibration_points, plot_reliability
from llm_dojo_scoring.plot_style import short_names
from llm_dojo_scoring.run_plots import PricedRun, forest_rows, pareto_front, plot_field_heatmap, plot_forest

HOSTILE = "<script>alert(1)</script>|$\\frac{`[x](javascript:1)\n\x00=1+1"


@pytest.fixture
def runs():
    return pd.DataFrame(
        {
            "Experiment Name": ["a", HOSTILE, "c"],
            "Subtype Accuracy": [0.9, 0.8, 0.95],
            "n": [100, 100, 100],
            "model": ["m", HOSTILE, "m"],
            "prompt_version": ["v1", "v2", HOSTILE],
            "Average Confidence": [0.9, 0.9, 0.8],
            "Accuracy: license": [0.5, None, 0.7],
            "Failures: family_confusion": [3, 4, None],
            "cost": [0.1, 0.2, 0.4],
        }
    )


def texts(figure):
    figure.canvas.draw()
    return [t.get_text() for t in figure.findobj(matplotlib.text.Text)]


@pytest.mark.parametrize("key", v.PLOT_FACTORY)
def test_every_picture_survives_hostile_names_and_leaves_nothing_behind(runs, key, tmp_path):
    before = dict(matplotlib.rcParams)
    given = {"cost_column": "cost"} if key == "cost" else {}
    figure = v.PLOT_FACTORY[key](runs, **given)
    assert isinstance(figure, matplotlib.figure.Figure)
    (path,) = v.save_plots({key: figure}, tmp_path, prefix="p")
    assert path.name == f"p_{key}.png" and path.stat().st_size > 5000
    assert dict(matplotlib.rcParams) == before and plt.get_fignums() == []


def test_best_run_stands_on_top_with_its_whole_name(runs):
    figure = v.plot_metric_ci(runs)
    labels = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert (
        labels[0] == "c" and labels[1] == "a" and labels[2].startswith("<script>alert(1)</script>|$\\frac{")
    )
    assert "axis from" in figure.axes[0].get_xlabel()


def test_an_interval_that_excludes_its_score_is_drawn(runs):
    runs["Subtype Accuracy CI (lo)"], runs["Subtype Accuracy CI (hi)"] = 0.99, 0.1
    assert len(v.plot_metric_ci(runs).axes[0].patches) >= 3


def test_a_failure_mode_keeps_its_colour_whatever_stands_beside_it(runs):
    alone = v.plot_failure_modes(runs).axes[0].patches[0].get_facecolor()
    more = runs.assign(**{"Failures: equivalent_family": 0})[
        ["Experiment Name", "Failures: equivalent_family", "Failures: family_confusion"]
    ]
    beside = [
        p.get_facecolor() for p in v.plot_failure_modes(more).axes[0].patches if p.get_width() in (3, 4)
    ]
    assert set(beside) == {alone}


def test_a_picture_that_cannot_be_drawn_warns_and_the_others_stand(runs):
    with pytest.warns(UserWarning, match="no picture 'per_subtype'"):
        drawn = v.build_all_plots(runs[["Experiment Name", "Subtype Accuracy"]])
    assert list(drawn) == ["metric_ci"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(v.build_all_plots(runs, cost_column="cost")) == list(v.PLOT_FACTORY)


def test_runs_with_failed_rows_are_never_on_the_front():
    runs = [
        PricedRun("cheap", 0.9, 0.1, 1),
        PricedRun("a", 0.8, 0.2),
        PricedRun("b", 0.8, 0.3),
        PricedRun("c", 0.85, 0.9),
    ]
    assert pareto_front(runs) == ["a", "c"]
    assert pareto_front(runs[::-1]) == ["a", "c"]
    assert (
        pareto_front(
            [PricedRun("x", None, 1.0), PricedRun("y", float("nan"), 1.0), PricedRun("z", 1.0, -1.0)]
        )
        == []
    )


def rows(wrong, label="a"):
    return [
        {"filename": f"d{i}", "expected": label, "predicted": "b" if i < wrong else label} for i in range(80)
    ]


def test_forest_verdicts_are_paired_and_other_documents_are_not_compared():
    elsewhere = [{**r, "filename": "x" + r["filename"]} for r in rows(1)]
    named = {"best": rows(4), "one more": rows(5), "many more": rows(30), "other documents": elsewhere}
    from llm_dojo_scoring.compared_runs import read_run

    found = {
        r.name: r for r in forest_rows([read_run(r, name=n) for n, r in named.items()], reference="best")
    }
    assert {n: r.verdict for n, r in found.items()} == {
        "best": "reference",
        "one more": "level",
        "many more": "apart",
        "other documents": "elsewhere",
    }
    assert abs(found["many more"].difference + 26 / 80) < 1e-12
    shown = texts(plot_forest(found.values()))
    assert any("not comparable" in t for t in shown)


def test_ties_in_confidence_are_one_point():
    points = calibration_points([0.95] * 100 + [0.6], [True] * 80 + [False] * 20 + [True])
    assert [(p.confidence, p.n) for p in points] == [(0.6, 1), (0.95, 100)]
    assert abs(calibration_error(points) - (0.15 * 100 + 0.4) / 101) < 1e-12


def test_heat_map_keeps_surfaces_apart():
    scores = {"a": {"f": 0.5}, "b": {"f": 0.7, "g": None}, "c": {"f": 0.9}}
    figure = plot_field_heatmap(scores, surfaces={"a": 30, "b": 509, "c": 30})
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["a", "c", "", "b"]
    against = plot_field_heatmap(scores, baseline="a", surfaces={"a": 30, "b": 509, "c": 30})
    assert {"+0.00", "+0.40"} <= set(texts(against)) and "+0.20" not in texts(against)


def test_reliability_marks_runs_of_which_a_part_was_scored():
    figure = plot_reliability([SizedRun("whole", 100, 0.05), SizedRun("part", 100, 0.07, 40)])
    assert any("some documents not scored" in t for t in texts(figure))


def test_labels_are_never_alike():
    long = "x" * 40
    assert len(set(short_names([long + "a" + long, long + "b" + long, long + "a" + long], 30))) == 3
