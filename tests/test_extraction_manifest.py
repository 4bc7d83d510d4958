"""A manifest that carries its own expectations: every document has a row, and failures count."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from llm_dojo_scoring.extraction_manifest import score_extraction_manifest
from llm_dojo_scoring.manifest_command import app
from llm_dojo_scoring.rescore import rescore
from llm_dojo_scoring.run_inputs import read_predictions

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
EXPECTED = {"governing_law": "the laws of Utah", "key_obligations": ["Buyer may audit the books of Seller."]}


@given(JSON, st.booleans())
def test_any_answer_has_a_row_and_a_score_in_bounds(answer, failed):
    row = {"filename": "a.txt", "status": "error" if failed else "completed", "expected_fields": EXPECTED}
    scores = score_extraction_manifest([{**row, "predicted": {"governing_law": answer}}])
    (only,) = scores.rows
    assert 0 <= only["overall_score"] <= 1 and only["overall_score"] == scores.overall
    assert (only["status"] == "error") >= failed and (only["overall_score"] == 0.0 or not failed)
    assert scores.as_dict()["n_rows"] == 1 and "a.txt" in scores.markdown()


def test_failed_rows_that_say_only_what_was_expected_are_read_and_missed():
    rows = [
        {"filename": "a.txt", "predicted": {"governing_law": "Utah"}, "expected_fields": EXPECTED},
        {
            "filename": "b.txt",
            "status": "error",
            "error": "timeout",
            "expected_fields": EXPECTED,
            "presence": {},
        },
    ]
    assert [p.failed for p in read_predictions(rows)] == [False, True]
    scores = score_extraction_manifest(rows)
    assert scores.n_failed == 1 and scores.overall == scores.rows[0]["overall_score"] / 2
    assert scores.summary()["overall"] == {"n": 1, "mean": scores.rows[0]["overall_score"]}
    assert scores.rows[1]["schema_valid"] == 0.0 and scores.rows[1]["field_presence"] == 0.0
    assert rescore(rows).skipped == ("b.txt: failed",)


def test_what_a_failed_call_left_behind_is_no_answer_and_a_repeat_is_no_row():
    row = {"filename": "a.txt", "status": "error", "predicted": dict(EXPECTED), "expected_fields": EXPECTED}
    scores = score_extraction_manifest([row, {**row, "status": "completed"}], documents={"a.txt": "Utah"})
    assert set(scores.rows[0]["field_scores"].values()) == {0.0} and scores.rows[0]["entity_list_audit"] == {}
    assert (len(scores.rows), scores.repeated, scores.overall) == (1, ("a.txt",), 0.0)


def test_a_score_is_that_of_rescoring(data):
    paths = {"labels": data / "labels/expected.jsonl", "run": "careful"}
    manifest = score_extraction_manifest(data / "runs/extractions.jsonl", **paths)
    for row, again in zip(
        (r for r in manifest.rows if r["status"] == "completed" and r["expected_fields"]),
        rescore(data / "runs/extractions.jsonl", **paths).rows,
        strict=True,
    ):
        assert row["filename"] == again.doc_id and row["field_scores"] == again.row["field_scores"]


def test_hostile_names_stay_text(tmp_path):
    bad = "<b>*x*|</b>.txt"
    (tmp_path / "m.jsonl").write_text(
        json.dumps({"filename": bad, "predicted": {}, "expected_fields": EXPECTED}) + "\n"
    )
    said = CliRunner().invoke(app, [str(tmp_path / "m.jsonl")])
    assert said.exit_code == 0 and "\\<b\\>\\*x\\*\\|" in said.stdout


@pytest.mark.parametrize("line", ['{"filename": "a.txt", "pred', "[1]", '{"predicted": {}}', ""])
def test_a_bad_manifest_is_one_line_and_writes_nothing(tmp_path, line):
    (tmp_path / "m.jsonl").write_text(line + "\n")
    asked = [
        str(tmp_path / "m.jsonl"),
        "--output",
        str(tmp_path / "r.md"),
        "--rows",
        str(tmp_path / "r.jsonl"),
    ]
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 2 and said.stderr.count("\n") == 1 and said.stdout == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.jsonl"]
