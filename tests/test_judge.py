"""Judge: junk never raises, coverage is counted, and the pair ablation stays a paired one."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.audit_sums import sum_all_audits, sum_audits
from llm_dojo_scoring.handoff import handoff_ablation
from llm_dojo_scoring.judge import (
    append_judgments,
    calibrate_judge,
    judge_calibration,
    judgment,
    read_judge_answer,
    read_judgments,
)
from llm_dojo_scoring.judge_correction import corrected_score
from llm_dojo_scoring.run_files import BadInput

anything = st.recursive(
    st.sampled_from(
        [None, "", "accurate", "partial", "{", '{"label": "accurate"}', 0.9, 0.3, 1, True, float("nan"), b"x"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["label", "score", "verdict"]), inner, max_size=2),
    ),
    max_leaves=4,
)
rows = st.lists(
    st.one_of(
        anything,
        st.fixed_dictionaries(
            {
                "kind": st.sampled_from(["calibration", "calibration", "other"]),
                "filename": st.sampled_from(["a", "b", "c", "d", None, ""]),
                "correctness_label": anything,
                "deterministic_overall_score": anything,
            }
        ),
    ),
    max_size=8,
)


@given(rows)
def test_calibration_of_anything(judged):
    record = judge_calibration(judged)
    json.dumps(record, allow_nan=False)
    if record:
        counts = calibrate_judge(judged)
        assert record["n_decisive"] <= record["n_scored"] <= record["n_judged"] == counts.n_judged
        assert counts.kappa is None or -1 <= counts.kappa <= 1
        assert record["agree_rate"] is None or 0 <= record["agree_rate"] <= 1


@given(st.sampled_from(["classification", "completeness", "correctness"]), anything)
def test_answers_never_raise(kind, output):
    answer = read_judge_answer(kind, output)
    assert (answer.label is None) == bool(answer.error)
    assert answer.score is None or 0 <= answer.score <= 1


def test_a_failed_parse_is_no_agreement():
    weak = {"filename": "a", "overall_score": 0.1, "ambiguous_fields": ["x"]}
    record = judge_calibration([judgment(weak, "the service is down")])
    assert (record["n_judged"], record["n_scored"], record["agree_rate"]) == (1, 0, None)


def test_reruns_count_once_and_damage_is_named(tmp_path):
    file = tmp_path / "run.jsonl"
    row = {"filename": "a", "overall_score": 0.9, "ambiguous_fields": ["x"]}
    append_judgments(file, [judgment(row, "inaccurate")])
    append_judgments(file, [judgment(row, "accurate")])
    assert [r["correctness_label"] for r in read_judgments(file)] == ["accurate"]
    record = judge_calibration(str(file))
    assert (record["n_judged"], record["judge_strict"], record["judgments_file"]) == (1, 0, str(file))
    file.write_text(file.read_text() + '{"kind": "calib\n')
    with pytest.raises(BadInput, match=r"run\.jsonl:3: expected"):
        judge_calibration(file)
    with pytest.raises(BadInput, match="there is none"):
        judge_calibration(tmp_path / "no.jsonl")
    with pytest.raises(ValueError):
        append_judgments(file, [{"x": float("nan")}])


def coverage(n_runs, sensitivity, specificity, share, rows, labelled, seed):
    "Shares of runs whose corrected and whose naive interval hold the truth."
    rng = np.random.default_rng(seed)
    held = np.zeros(2)
    for _ in range(n_runs):
        y = rng.random(rows) < share
        f = (
            np.where(y, rng.random(rows) < sensitivity, rng.random(rows) >= specificity)
            .astype(float)
            .tolist()
        )
        told = y[:labelled].astype(float).tolist() + [None] * (rows - labelled)
        interval = corrected_score(f, told).interval
        mean, half = np.mean(f), 1.96 * np.std(f) / math.sqrt(rows)
        held += (interval.lo <= share <= interval.hi, abs(mean - share) <= half)
    return held / n_runs


@pytest.mark.parametrize(
    "sensitivity, specificity, share, rows, labelled",
    [
        (0.97, 0.70, 0.7, 300, 60),
        (0.95, 0.90, 0.9, 200, 40),
        (0.99, 0.99, 0.8, 200, 20),
        (0.8, 0.8, 0.5, 300, 150),
    ],
)
def test_the_corrected_interval_holds_the_truth(sensitivity, specificity, share, rows, labelled):
    corrected, naive = coverage(700, sensitivity, specificity, share, rows, labelled, seed=3)
    assert corrected >= 0.93, corrected  # 95 % less three standard errors of the count
    if sensitivity != specificity:  # a judge that leans: its own interval misses
        assert naive < 0.7, naive


def test_the_correction_is_unbiased():
    rng = np.random.default_rng(5)
    values = []
    for _ in range(600):
        y = rng.random(200) < 0.6
        f = np.where(y, 1.0, rng.random(200) < 0.4).astype(float)
        values.append(corrected_score(f, [*y[:50].astype(float), *[None] * 150]).interval.value)
    assert abs(np.mean(values) - 0.6) < 0.01


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([None, 0.0, 0.5, 1.0])), max_size=12)
)
def test_corrections_stay_in_bounds(pairs):
    found = corrected_score([f for f, _ in pairs], [y for _, y in pairs]).interval
    if found.value is not None:
        assert 0 <= found.value <= 1
    if found.lo is not None:
        assert 0 <= found.lo <= found.value <= found.hi <= 1


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["extractor_scores", "extractor_gt_scores", "sorter"]), anything),
        max_size=6,
    )
)
def test_ablation_of_anything(given_rows):
    json.dumps(handoff_ablation(given_rows), allow_nan=False)


def test_a_crashed_pass_makes_no_gain():
    good = {"extractor_scores": {"overall_score": 0.8}, "extractor_gt_scores": {"overall_score": 0.9}}
    crashed = {
        "extractor_scores": {"overall_score": 0.8},
        "extractor_gt_scores": {"overall_score": 0.0, "predicted": {"_parse_error": True}},
    }
    record = handoff_ablation([good, good, crashed])
    assert (record["sorter_loss_pp"], record["n_docs"], record["n_excluded"]) == (10.0, 2, 1)
    assert record["sorter_loss_pp_ci"]["lo"] == 10.0


@given(
    st.lists(
        st.one_of(anything, st.fixed_dictionaries({"entity_list_audit": anything, "predicted": anything})),
        max_size=5,
    )
)
def test_audit_sums_of_anything(given_rows):
    sum_all_audits(given_rows)
    assert sum_audits(given_rows).n_docs == 0


def test_audit_sums_of_a_real_run(pack):
    import gzip

    with gzip.open(pack / "rows_extraction.jsonl.gz", "rt", encoding="utf-8") as lines:
        stored = [r for r in map(json.loads, lines) if r["run"] == "171"]
    names = ("n_predicted", "matched_gt", "verified_in_doc", "true_items")
    unpacked = [
        {
            "predicted": r.get("predicted"),
            "entity_list_audit": {
                f: dict(zip(names, a, strict=True)) for f, a in (r.get("entity_list_audit") or {}).items()
            },
        }
        for r in stored
    ]
    for field, sums in sum_all_audits(unpacked).items():
        columns = list(
            zip(
                *(
                    r["entity_list_audit"][field]
                    for r in stored
                    if field in (r.get("entity_list_audit") or {})
                ),
                strict=True,
            )
        )
        assert (sums.n_predicted, sums.matched_gt, sums.verified_in_doc, sums.true_items) == tuple(
            map(sum, columns)
        )
        assert sums.n_unusable == 0


def test_agreement_without_exception_is_no_proof():
    judged, labels = [1.0, 0.0] * 50, [1.0, 0.0] * 8 + [None] * 84
    found = corrected_score(judged, labels)
    alone = 2.13 * np.std(judged[16:], ddof=1) / math.sqrt(84)  # what the judge's own spread would give
    assert found.interval.half > 1.5 * alone and "never differed" in found.interval.note


def test_an_audit_with_more_matches_than_items_is_unusable():
    audit = {"n_predicted": 1, "matched_gt": 2, "verified_in_doc": 1, "true_items": 1}
    sums = sum_audits([{"entity_list_audit": {"key_obligations": audit}}])
    assert (sums.n_docs, sums.n_unusable, sums.verified_precision) == (0, 1, None)
