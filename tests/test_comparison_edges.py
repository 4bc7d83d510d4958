"""Edges of intervals, votes, traces, runs: undefined is None, a mistake is told, like goes with like."""

import inspect
import json
import math
import random

import pytest
from typer.testing import CliRunner

from llm_dojo_scoring import bootstrap as B
from llm_dojo_scoring import comparison as C
from llm_dojo_scoring import error_analysis as EA
from llm_dojo_scoring import io as IO
from llm_dojo_scoring import monte_carlo as MC
from llm_dojo_scoring.gate_command import app as gate_app
from llm_dojo_scoring.headlines import headline_rows
from llm_dojo_scoring.label_rows import failure_kind
from llm_dojo_scoring.mc.scenarios import contender_scenario
from llm_dojo_scoring.plot_style import plot_style
from llm_dojo_scoring.recount import recount
from llm_dojo_scoring.row_scores import scores_of_row

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    "a, b, apart",
    [
        ([0, 0], [1, 1], False),
        ([0, 0, 0], [1, 1, 1], False),
        ([0.1] * 3, [0.9] * 3, False),
        ([0, 0], [1, 1, 1], False),
        ([0] * 4, [1] * 4, True),  # exact p is 2 / 70
        ([0, 0], [1] * 50, True),  # exact p is 1 / 1326
        ([0.5] * 50, [0.5] * 50, False),
        ([0, NAN, 0, 1], [1, 1, 0, INF], False),
    ],
)
def test_few_documents_show_only_what_an_exact_test_shows(a, b, apart):
    assert B.delta_significance(a, b)["significant"] is apart


@pytest.mark.parametrize("a, b", [([0], [1]), ([None] * 3, [1, 1, 1]), ([], [1, 0]), ([NAN, NAN, 1], [1, 0])])
def test_less_than_two_on_a_side_is_undefined(a, b):
    assert B.delta_significance(a, b) is None


@pytest.mark.parametrize(
    "scores", [[1, 0, NAN], [1, 0, INF], [NAN, -INF, 1, 0], ["1", 1, 0], [None, True, False]]
)
def test_what_is_no_number_enters_no_interval(scores):
    found = B.bootstrap_ci(scores, n_boot=200)
    assert (found["lo"], found["hi"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    "knob", [{"n_boot": 0}, {"n_boot": -5}, {"n_boot": 2.5}, {"alpha": 5}, {"alpha": 0}, {"alpha": NAN}]
)
def test_a_wrong_knob_is_told(knob):
    with pytest.raises(ValueError, match="must be"):
        B.bootstrap_ci([1, 0, 1], **knob)


@pytest.mark.parametrize("p", [92.3, -0.1, 1.0001, INF, "0.5"])
def test_a_percentage_is_no_share(p):
    with pytest.raises(ValueError, match="`p` must be"):
        B.wilson_ci(p, 100)


@pytest.mark.parametrize("p, n", [(NAN, 10), (None, 10), (0.5, 0), (0.5, -3), (0.5, NAN)])
def test_an_unknown_share_has_no_interval(p, n):
    assert B.wilson_ci(p, n) is None


@pytest.mark.parametrize(
    "deltas, p_win",
    [
        ([0.0] * 2, 0.5),
        ([0.1 + 0.2 - 0.3] * 6, 0.5),
        ([1e-17, -1e-17, 0], 0.5),
        ([1.0], None),
        ([], None),
        ([NAN, None], None),
    ],
)
def test_ties_count_half_and_one_document_shows_nothing(deltas, p_win):
    assert MC.paired_delta_bootstrap(deltas, n_boot=200)["p_win"] == p_win


def test_the_sides_may_be_swapped():
    one, two = (
        MC.paired_delta_bootstrap([s * d for d in (0.3, -0.1, 0.2)], n_boot=400)["p_win"] for s in (1, -1)
    )
    assert one + two == pytest.approx(1) and one > two


@pytest.mark.parametrize("value", [None, NAN, INF, -INF])
def test_a_statistic_that_is_undefined_has_no_interval(value):
    found = MC.bootstrap([1, 2, 3], lambda v: value, n_boot=20)
    assert found == {"estimate": None, "ci_lo": None, "ci_hi": None, "std": None, "samples": []}


def test_resamples_without_a_statistic_are_left_out():
    found = MC.bootstrap([0, 0, 1], lambda v: 1.0 if any(v) else NAN, n_boot=60)
    assert (found["estimate"], found["ci_lo"], found["ci_hi"]) == (1.0, 1.0, 1.0)
    assert 0 < len(found["samples"]) < 60


@pytest.mark.parametrize(
    "dist, bits, margin",
    [
        (dict.fromkeys(range(8), 1 / 8), 3.0, 0.0),
        ({"a": 10, "b": 10}, 1.0, 0.0),
        ({"a": 0, "b": 0}, 0.0, 0.0),
        ({"a": 3, "c": 0}, 0.0, 1.0),
        ({"a": 1e308, "b": 1e308}, 1.0, 0.0),
        ({"a": 5e-324, "b": 5e-324}, 1.0, 0.0),
        ({}, 0.0, 0.0),
    ],
)
def test_votes_of_any_size_are_shares(dist, bits, margin):
    assert MC.shannon_entropy(dist, normalized=False) == pytest.approx(bits)
    assert MC.majority_margin(dist) == pytest.approx(margin)


@pytest.mark.parametrize("weight", [-1, NAN, INF, None, "2"])
@pytest.mark.parametrize(
    "read",
    [
        MC.normalize_dist,
        MC.shannon_entropy,
        MC.majority_margin,
        lambda d: MC.draw_committee(d, 3, random.Random(0)),
    ],
)
def test_a_weight_that_is_none_is_told(read, weight):
    with pytest.raises(ValueError, match="weights of at least 0"):
        read({"a": weight, "b": 2})


@pytest.mark.parametrize(
    "labels", [{"x": 0.2, "y": 0.3, "z": 0.5}, {1: 0.5, "b": 0.5}, {None: 0.5, "b": 0.5}]
)
def test_the_order_of_labels_draws_no_other_committee(labels):
    turned = dict(reversed(labels.items()))
    assert [MC.draw_committee(d, 5, random.Random(7)) for d in (labels, turned)] == [
        MC.draw_committee(labels, 5, random.Random(7))
    ] * 2


@pytest.mark.parametrize("dist, k", [({}, 3), ({"a": 0.0}, 3), ({"a": 1}, 0), ({"a": 1}, -1)])
def test_nothing_to_draw_is_the_empty_text(dist, k):
    assert MC.draw_committee(dist, k, random.Random(0)) == ""


@pytest.mark.parametrize("n, d", [(1, 0), (0, 0), (NAN, 2), (2, NAN), (INF, 2), (None, 2)])
def test_a_share_of_nothing_known_is_undefined(n, d):
    assert MC.safe_div(n, d) is None


@pytest.mark.parametrize(
    "text, hedges",
    [
        ("I am certain; no guesswork.", False),
        ("uncertainty is not the word", False),
        ("He could be-have", False),
        ("not at all ambiguous", False),
        ("It isn't at all unclear", False),
        ("nothing ambiguous here", False),
        ("neither unclear nor ambiguous", False),
        ("far from unclear", False),
        ("A Noise Abatement Agreement", False),
        ("the noise level covenant", False),
        ("limits on noise emissions", False),
        ("noise-free premises", False),
        ("I\u2019m not sure", True),
        ("Ambiguous.", True),
        ("there is noise in the scan", True),
        ("noise levels aside, the family is unclear", True),
        ("I am not, at this point, certain: unclear", True),
    ],
)
def test_a_hedge_is_the_model_in_doubt(text, hedges):
    assert MC.uncertainty_phrases(text) is hedges


@pytest.mark.parametrize(
    "text, label, named",
    [
        ("the shipment", "ip", False),
        ("IP rights", "ip", True),
        ("an outsourcing agreement", "sourcing", False),
        ("the franchisee", "franchise", False),
        ("supplying goods", "supply", False),
        ("a joint-venture deal", "joint_venture", True),
        ("co-branding", "co_branding", True),
        ("x", "", False),
        (None, "ip", False),
    ],
)
def test_a_label_is_named_as_whole_words(text, label, named):
    assert MC.decoy_mentioned(text, label) is named


def test_a_metric_is_drawn_with_bounds_of_its_own():
    pd = pytest.importorskip("pandas")
    row = {
        "Experiment Name": "a",
        "Subtype Accuracy": 0.9,
        "Subtype Accuracy CI (lo)": 0.88,
        "Subtype Accuracy CI (hi)": 0.92,
    }
    frame = pd.DataFrame([{**row, "Overall Score": 0.5, "Exact Match": 0.99, "n": 100}])
    bounds = {
        m: EA.metric_trend(frame, m)[["lo", "hi"]].values.tolist()[0]
        for m in ("Subtype Accuracy", "Overall Score", "Exact Match")
    }
    assert bounds["Subtype Accuracy"] == [0.88, 0.92]
    assert all(math.isnan(b) for b in bounds["Overall Score"]) and bounds["Exact Match"] != [0.88, 0.92]


@pytest.mark.parametrize(
    "columns",
    [{"MODEL": ["x"]}, {"n_samples": [5]}, {"n": [None]}, {"n": ["abc"]}, {"n": [2.5]}, {"n": [INF]}],
)
def test_a_table_of_runs_is_read_whatever_its_sizes(columns):
    pd = pytest.importorskip("pandas")
    assert len(IO.normalize_results_frame(pd.DataFrame(columns))) == 1


def rows(scores, run="r"):
    return [{"run": run, "filename": f"d{i}", "overall_score": s} for i, s in enumerate(scores)]


@pytest.mark.parametrize("floor", [-0.1, NAN, INF])
def test_a_noise_floor_is_a_number(floor):
    with pytest.raises(ValueError, match="`noise_floor` must be"):
        C.verdict({"mean": 0.1, "ci_lo": 0.05, "ci_hi": 0.2, "p_win": 1.0}, floor)
    with pytest.raises(ValueError, match="`noise_floor` must be"):
        C.compare_runs(rows([1, 0]), rows([0, 0]), noise_floor=floor)


@pytest.mark.parametrize(
    "mean, lo, hi, p_win, said",
    [
        (0.02, 0.01, 0.03, 0.9, "BEATS"),
        (0.02, 0.01, 0.03, 0.89, "ahead in 89.0% of resamples only"),
        (-0.02, -0.03, -0.01, 0.1, "LOSES"),
        (-0.02, -0.03, -0.01, 0.2, "behind in 80.0% of resamples only"),
        (0.02, 0.0, 0.03, 0.97, "the interval holds 0"),
        (NAN, NAN, NAN, NAN, "nothing to show it by"),
    ],
)
def test_a_verdict_says_what_it_rests_on(mean, lo, hi, p_win, said):
    assert said in C.verdict({"mean": mean, "ci_lo": lo, "ci_hi": hi, "p_win": p_win})


def test_a_surface_is_the_same_however_a_table_stored_its_numbers():
    keys = {
        C.surface_key({"dataset_fingerprint": "f", "seed": s, "n_samples": n})
        for s, n in ((42, 5), (42.0, 5.0), ("42", "5"))
    }
    assert keys == {"f:42:5"}
    assert C.surface_key({"dataset_fingerprint": "f", "seed": 42.5, "n_samples": 5}) == "f:42.5:5"


def record(name, n=30, manifest=None, seed=0, shift=0.0):
    scored = [{"filename": f"d{i}", "overall_score": (i * 7 % 10) / 10 + shift * (i % 3)} for i in range(n)]
    surface = {"dataset_fingerprint": "f", "seed": seed, "n_samples": n}
    return {
        "experiment_name": name,
        "data_source": surface,
        "results": scored,
        "parameters": {"manifest": manifest},
    }


def test_only_a_manifest_that_is_named_makes_two_runs_one():
    assert C.paired_compare(record("a"), record("b"))["n"] == 30
    for one, two in ((record("a", manifest="m"), record("b", manifest="m")), (record("a"), record("a"))):
        with pytest.raises(C.NotComparable, match="both runs are the"):
            C.paired_compare(one, two)
    assert C.paired_compare(record("a", manifest="m"), record("b", manifest="n"))["n"] == 30


def test_twenty_shared_documents_are_needed():
    assert C.paired_compare(record("a", 20), record("b", 20))["n"] == 20
    with pytest.raises(ValueError, match="20 shared documents"):
        C.paired_compare(record("a", 19), record("b", 19))


def test_runs_without_a_seed_are_not_comparable_and_seed_0_is_one():
    assert C.paired_compare(record("b", shift=0.02), record("a"))["mean"] == pytest.approx(0.02)
    with pytest.raises(C.NotComparable, match="states no seed"):
        C.paired_compare(record("a", seed=None), record("b", seed=None))


@pytest.mark.parametrize(
    "function, tabled",
    [
        (C.compare_prompts, {"a": ..., "b": ..., "seed": 42}),
        (C.surface_key, {"record": ...}),
        (C.delta_vs_best, {"record": ..., "records": ...}),
        (C.paired_compare, {"a": ..., "b": ..., "metric": "overall_score", "n_boot": 2000, "seed": 42}),
        (C.verdict, {"stat": ...}),
    ],
)
def test_names_and_defaults_are_as_tabled(function, tabled):
    found = {k: p.default for k, p in inspect.signature(function).parameters.items()}
    assert {k: found[k] for k in tabled} == {
        k: inspect.Parameter.empty if d is ... else d for k, d in tabled.items()
    }
    assert all(default is not inspect.Parameter.empty for k, default in found.items() if k not in tabled)


STORED_ROWS = [  # a row of an extraction, and whether its call failed
    ({"overall_score": 0.5}, False),
    ({"overall_score": 0.5, "status": "completed"}, False),
    ({"overall_score": 0.5, "status": "Success"}, False),
    ({"overall_score": 0.5, "status": "scored", "failed": False}, False),
    ({"overall_score": 0.5, "status": ""}, False),
    ({"overall_score": 0.5, "predicted": {"reasoning": "error: 403", "confidence": 0.9}}, False),
    ({"overall_score": 0.5, "predicted": {"reasoning": "error: 403"}}, True),
    ({"overall_score": 0.5, "status": "completed", "predicted": "ERROR: 429"}, True),
    ({"overall_score": 0.5, "status": "completed", "failed": True}, True),
    ({"overall_score": 0.5, "status": "timeout"}, True),
    ({"status": "error"}, True),
]  # fmt: skip


@pytest.mark.parametrize("row, failed", STORED_ROWS)
def test_every_reader_of_stored_rows_agrees_on_who_failed(row, failed):
    record = {"task": "contract_entity_extraction", "results": [row], "scores": {}}
    again = recount(record)
    assert bool(failure_kind(row)) == scores_of_row(row).failed == failed
    assert again["recounted"] == {"scored": int(not failed), "total": 1}
    assert again["scores"]["overall_extraction_score"] == (0.0 if failed else 0.5)
    assert headline_rows(record, failed="miss") == [0.0 if failed else 0.5]
    left_out = failed and failure_kind(row) != "disguised"  # as the stored intervals had it
    assert headline_rows(record) == ([] if left_out else [0.5])


def test_a_dojo_score_folder_is_recounted_as_it_was_scored():
    rows = [{"status": "scored", "failed": False, "overall_score": x} for x in (0.5, 1.0)]
    rows += [{"status": "failed", "failed": True, "overall_score": 0.0}]
    again = recount({"task": "contract_entity_extraction"}, rows)
    assert again["scores"]["overall_extraction_score"] == 0.5 and again["n_error"] == 1


def stored_run(name, n=30, **changes):
    rows = [
        {"filename": f"d{i:02d}", "overall_score": 0.8 + 0.01 * (i % 7), "field_scores": {"law": 1.0}}
        for i in range(n)
    ]
    source = {"dataset_fingerprint": "abc", "seed": 42, "n_samples": 30}
    scorer = {"version": "0.8.0", "settings_hash": "s1"}
    return {"experiment_name": name, "data_source": source, "scorer": scorer, "results": rows, **changes}


def on(**parts):
    return {"data_source": {"dataset_fingerprint": "abc", "seed": 42, "n_samples": 30, **parts}}


def with_score(value):
    run = stored_run("b")
    run["results"][0]["overall_score"] = value
    return run


GATED = [  # candidate, exit code, part of what is said
    (stored_run("b"), 0, ""),
    (stored_run("b", **on(seed="42", n_samples="30")), 0, ""),
    (stored_run("b", **on(seed=42.0)), 0, ""),
    (stored_run("b", scorer={"version": "0.7.0", "settings_hash": "s1"}), 3, "another scorer version"),
    (stored_run("b", scorer={"version": "0.8.0", "settings_hash": "s2"}), 3, "other settings: s1 and s2"),
    (stored_run("b", scorer={}), 3, "not stated"),
    (stored_run("b", **on(dataset_fingerprint=None)), 3, "states no fingerprint"),
    (stored_run("b", **on(seed=None)), 3, "states no seed"),
    (stored_run("b", **on(seed=0)), 3, "another surface"),
    (stored_run("b", **on(seed="forty-two")), 3, "another surface"),
    (stored_run("b", n=20, **on(n_samples=20)), 3, "another surface"),
    (stored_run("b", n=20), 3, "10 documents are not in the second run"),  # the same surface, it says
    (with_score(None), 3, "no overall_score where the baseline has one: d00"),
    (with_score("NaN"), 3, "no overall_score where the baseline has one: d00"),
    (with_score(1e300), 4, "d00 has overall_score 1e+300"),
    (stored_run("b", results=[]), 4, "results"),
    (stored_run("b", results=stored_run("b")["results"] * 2), 4, "more than once"),
]


@pytest.mark.parametrize("candidate, code, said", GATED)
def test_the_gate_refuses_what_is_not_on_its_surface(candidate, code, said, tmp_path):
    files = []
    for name, run in (("a", stored_run("a")), ("b", candidate)):
        files.append(str(tmp_path / f"{name}.json"))
        (tmp_path / f"{name}.json").write_text(json.dumps(run))
    done = CliRunner().invoke(gate_app, files)
    assert (done.exit_code, said in done.stderr) == (code, True), done.stderr


def test_no_picture_shows_the_source_of_a_formula():
    probs = {"p_first_attempt_fail": 0.02, "p_retry_fail": 0.018}
    lost = {"one try": {1000: 20.0, 320_000: 6400.0}, "three": {1000: 1e-4, 320_000: 0.04}}
    for figure in (MC.plot_failure_sweep(MC.failure_sweep(probs, n_sim=100)), MC.plot_failure_scale(lost)):
        with plot_style():
            figure.canvas.draw()
        axes = figure.axes[0]
        labels = [t.get_text() for a in (axes.xaxis, axes.yaxis) for t in a.get_ticklabels(which="both")]
        assert any(labels) and not any("$" in text for text in labels), labels


def test_a_model_without_rows_is_no_plateau():
    rows = [
        {"task": "subtype_classification", "model": "m", "prompt_version": v, "filename": f"d{i}"}
        | {"predicted": "license", "expected": "license", "status": "completed"}
        for v in ("v1", "v2")
        for i in range(25)
    ]
    found = contender_scenario(rows, "subtype_classification", "n", n_boot=50)
    report = next(iter(found.files.values()))
    assert "No version of the model n was run. The corpus has answers of m." in report
    assert "Plateau" not in report and found.numbers["wins"] == {}
