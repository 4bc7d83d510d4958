"""Rescoring: the same scorer for old and new runs, and exactly the scores that moved."""

import gc
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from llm_dojo_scoring.config import settings
from llm_dojo_scoring.extraction.row import extraction_row
from llm_dojo_scoring.rescore import Move, Rescored, manifest_version, moved_scores, rescore, rescore_manifest
from llm_dojo_scoring.rescore_command import app
from llm_dojo_scoring.rescored_rows import RescoredRow
from llm_dojo_scoring.run_files import BadInput
from llm_dojo_scoring.score_run import checked_field_types

TYPES = checked_field_types()
VALUE = st.none() | st.sampled_from(
    ["Utah", "State of Utah", "March 3, 2024", "3/4/24", "$5", "$5 million", ""]
)
FIELDS = st.dictionaries(
    st.sampled_from(["governing_law", "effective_date", "contract_value", "document_name"]), VALUE
)


def row(i, predicted, expected, **more):
    return {"filename": f"{i}.txt", "predicted": predicted, "expected_fields": expected, **more}


def written(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


@given(st.lists(st.tuples(FIELDS, FIELDS), max_size=4))
def test_a_row_is_scored_as_the_row_function_scores_it(pairs):
    rows = [row(i, p, e) for i, (p, e) in enumerate(pairs)]
    if not rows:
        return
    for found in rescore(rows).rows:
        predicted, expected = pairs[int(found.doc_id[:-4])]
        assert (
            found.row["field_scores"]
            == extraction_row(predicted, expected, TYPES, embedding=False)["field_scores"]
        )


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=4))
def test_nothing_moves_against_itself(pairs):
    now = rescore([row(i, p, e) for i, (p, e) in enumerate(pairs)])
    assert moved_scores(now, now).moved == ()


@given(FIELDS, st.floats(0, 1))
def test_exactly_the_changed_score_is_listed(expected, stored):
    now = rescore([row(0, {"governing_law": "Utah"}, {**expected, "governing_law": "Utah"})])
    scores = {**now.rows[0].row["field_scores"], "governing_law": stored}
    moved = moved_scores(now, [{"filename": "0.TXT", "field_scores": scores}]).moved
    if abs(stored - 1.0) > 1e-4:
        assert [(m.field, m.before, m.after, m.rule) for m in moved] == [
            ("governing_law", stored, 1.0, "label covered")
        ]
    elif stored == 1.0:
        assert moved == ()


def test_failed_empty_repeated_and_unlabelled_rows_are_named():
    rows = [
        row("a", {"governing_law": "Utah"}, {"governing_law": "Utah"}),
        row("a", {"governing_law": "Ohio"}, {"governing_law": "Utah"}),
        row("b", {"governing_law": "Utah"}, {"governing_law": "Utah"}, status="error", error="timeout"),
        row("c", None, {"governing_law": "Utah"}),
        row("d", {"governing_law": "Utah"}, {}),
    ]
    found = rescore(rows)
    assert found.as_dict() == {"rows": 1, "skipped": 4, "overall": 1.0, "fields": {"governing_law": 1.0}}
    assert [s.split(": ")[1] for s in found.skipped] == [
        "came before",
        "failed",
        "no prediction",
        "nothing expected",
    ]


def test_means_are_those_of_the_published_record(tmp_path):
    rows = [
        row(
            0,
            {"governing_law": "Utah", "document_name": "Lease"},
            {"governing_law": "Utah", "document_name": "Lease"},
        ),
        row(
            1,
            {"governing_law": None, "document_name": "Lease"},
            {"governing_law": "Utah", "document_name": "Lease"},
        ),
    ]
    path = written(tmp_path / "extraction_ab_v18_50.jsonl", rows)
    record = rescore_manifest(path, {"governing_law": "containment", "document_name": "name"})
    assert record == {
        "rows": 2,
        "skipped": 0,
        "overall": 0.75,
        "fields": {"document_name": 1.0, "governing_law": 0.5},
    }
    assert list(record["fields"]) == ["document_name", "governing_law"]


def test_embeddings_are_off_for_this_call_alone():
    from llm_dojo_scoring.config import get_settings
    from llm_dojo_scoring.embedding import DEFAULT, use_matcher

    class Loud:
        def similarity(self, a, b):
            raise AssertionError("asked")

    use_matcher(Loud())
    try:
        with settings(field_scoring__embedding_enabled=True):
            rescore(
                [
                    row(
                        0,
                        {"document_name": "Lease", "parties": ["A B"]},
                        {"document_name": "Rent", "parties": ["C D"]},
                    )
                ]
            )
            assert get_settings().field_scoring.embedding_enabled
    finally:
        use_matcher(DEFAULT)


@pytest.mark.parametrize(
    "name, version",
    [
        ("extraction_ab_v18_50", "v18"),
        ("extraction_ab_v22_max_50", "v22max"),
        ("extraction_ab_V22max_50.jsonl.gz", "v22max"),
        ("x/y.z/run_v9.json", "v9"),
        ("revision", "revision"),
        ("", ""),
    ],
)
def test_the_name_tells_the_version(name, version):
    assert manifest_version(name) == version


def test_one_file_holds_several_runs(data):
    path, labels = data / "runs" / "extractions.jsonl", data / "labels" / "expected.jsonl"
    one = rescore(path, labels=labels, run="careful")
    assert len(one.rows) == 12 and one.overall > rescore(path, labels=labels, run="hasty").overall
    with pytest.raises(BadInput, match="choose with run="):
        rescore(path, labels=labels)


def test_a_record_with_results_is_a_manifest_too(tmp_path):
    rows = [row(0, {"governing_law": "Utah"}, {"governing_law": "Utah"}, field_scores={"governing_law": 0.2})]
    record = {"experiment_name": "e", "task": "contract_entity_extraction", "results": rows}
    path = written(tmp_path / "record.jsonl", [record])
    assert [m.before for m in moved_scores(rescore(path), path).moved] == [0.2]


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_the_command_says_what_moved_and_ends_with_one(tmp_path):
    scored = row(
        "a", {"contract_value": "$5 million"}, {"contract_value": "$5"}, field_scores={"contract_value": 1.0}
    )
    path = written(tmp_path / "m.jsonl", [scored])
    ran = run(path, "--against", path, "--json")
    told = json.loads(ran.stdout)
    assert ran.exit_code == 1 and told["moves"]["n_moved"] == 1
    assert told["moves"]["moved"][0] | {"rule": ""} == {
        "doc_id": "a.txt",
        "field": "contract_value",
        "rule": "",
        "before": 1.0,
        "after": 0.0,
        "change": -1.0,
        "expected": "$5",
        "predicted": "$5 million",
    }
    scored["field_scores"]["contract_value"] = 0.0
    assert run(written(path, [scored]), "--against", path).exit_code == 0


def test_two_manifests_of_one_version_stay_apart(tmp_path):
    rows = [row("a", {"governing_law": "Utah"}, {"governing_law": "Utah"})]
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    paths = [written(tmp_path / d / "extraction_ab_v18_50.jsonl", rows) for d in ("x", "y", ".")]
    told = json.loads(run(*paths, "--json").stdout)
    assert len(told) == 3 and "v18" in told and "extraction_ab_v18_50.jsonl" in told


def test_the_series_is_looked_for_where_it_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "manifests"
    folder.mkdir(parents=True)
    for name in ("v13", "v22_max"):
        written(
            folder / f"extraction_ab_{name}_50.jsonl",
            [row("a", {"governing_law": "Utah"}, {"governing_law": "Utah"})],
        )
    ran = run("--auto-50")
    assert ran.exit_code == 0 and ran.stderr.count("warning") == 9
    assert list(json.loads((tmp_path / "reports" / "same_scorer_scores.json").read_text())) == [
        "v13",
        "v22max",
    ]


def test_a_bad_file_writes_nothing(tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"filename": "a", "predicted": {}}\n{"filename": ')
    out = tmp_path / "out.json"
    ran = run(bad, "--out", out)
    assert ran.exit_code == 2 and "bad.jsonl:2" in ran.stderr and ran.stdout == "" and not out.exists()


def test_stored_runs_move_by_rules_that_are_named(pack):
    from llm_dojo_scoring.run_labels import read_labels

    labels = read_labels(pack / "expected.jsonl.gz")
    now = rescore(pack, labels=labels, run="055")
    moves = moved_scores(now, pack / "rows_extraction.jsonl.gz", run="055")
    assert len(now.rows) == 50 and moves.n_documents == 50 and moves.without_scores == ()
    assert all(m.rule and m.rule != "not scored" for m in moves.moved)
    by_field = {f for f in (r["field"] for r in moves.by_rule())}
    assert "governing_law" not in by_field and "term_length" not in by_field  # containment is unchanged


def test_the_known_form_writes_where_it_always_did(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [row("a", {"governing_law": "Utah"}, {"governing_law": "Utah"})]
    path = written(tmp_path / "extraction_ab_v18_50.jsonl", rows)
    assert run(path).exit_code == 0 and not (tmp_path / "reports").exists()
    assert run("--manifest", path).exit_code == 0
    told = json.loads((tmp_path / "reports" / "same_scorer_scores.json").read_text())
    assert told["v18"] == {"rows": 1, "skipped": 0, "overall": 1.0, "fields": {"governing_law": 1.0}}


def test_a_summary_counts_completed_rows_only():
    from llm_dojo_scoring.rescore import summarize

    audit = {"parties": {"verified_precision": 0.5, "hallucination_rate": 0.5}}
    rows = [
        {
            "overall_score": 1.0,
            "field_scores": {"parties": 1.0},
            "entity_list_audit": audit,
            "schema_valid": 1.0,
        },
        {"overall_score": 0.0, "field_scores": {"parties": 0.0}, "status": "failed", "schema_valid": 0.0},
    ]
    told = summarize(rows)
    assert told["overall"] == told["parties"] == told["schema_valid"] == {"n": 1, "mean": 1.0}
    assert told["parties_hallucination_rate"] == {"n": 1, "mean": 0.5}
    assert told["category_presence"] == {"n": 0, "mean": None}
    assert summarize([])["overall"] == {"n": 0, "mean": None}


def live(kind):
    return sum(type(o) is kind for o in gc.get_objects())


def most_alive(monkeypatch, work):
    "The most rows and moves of this work that were in memory at the start of any chunk."
    import llm_dojo_scoring.rescored_rows as module

    gc.collect()
    most, chunk = [0, 0], module._rescored_chunk
    before = live(RescoredRow), live(Move)

    def watched(plan, documents):
        now = live(RescoredRow) - before[0], live(Move) - before[1]
        most[:] = map(max, most, now)
        return chunk(plan, documents)

    with monkeypatch.context() as patched:
        patched.setattr(module, "_rescored_chunk", watched)
        work()
    gc.collect()
    return most


def night(path, n):
    "A manifest whose stored scores are all wrong."
    rows = (row(i, {"governing_law": "Utah"}, {"governing_law": "Utah"}) for i in range(n))
    return written(
        path, [{**r, "field_scores": {"governing_law": 0.25}, "overall_score": 0.25} for r in rows]
    )


def test_rows_in_memory_do_not_grow_with_the_manifest(tmp_path, monkeypatch):
    small, large = night(tmp_path / "s.jsonl", 1_200), night(tmp_path / "l.jsonl", 2_400)
    kept = [most_alive(monkeypatch, lambda m=m: rescore(m))[0] for m in (small, large)]
    assert kept[0] == kept[1] <= 1_000 + 2 * 16
    passing = [most_alive(monkeypatch, lambda m=m: rescore(m, keep_rows=False))[0] for m in (small, large)]
    assert passing[0] == passing[1] <= 2 * 16


def test_moves_in_memory_do_not_grow_with_the_manifest(tmp_path, monkeypatch):
    import llm_dojo_scoring.rescore as module

    gc.collect()
    most, moves_of, before = [0], module._moves_of, live(Move)

    def watched(now, stored):
        if int(now.doc_id[:-4]) % 50 == 0:
            most[0] = max(most[0], live(Move) - before)
        return moves_of(now, stored)

    monkeypatch.setattr(module, "_moves_of", watched)
    path, moves = night(tmp_path / "m.jsonl", 1_200), tmp_path / "moves.jsonl"
    ran = run(path, "--against", path, "--moves", moves, "--rows", tmp_path / "rows.jsonl", "--json")
    assert ran.exit_code == 1 and most[0] <= 1_000 + 4
    told = [json.loads(line) for line in moves.open()]
    assert len(told) == 2_400 and json.loads(ran.stdout)["moves"]["moved"] == told
    assert [json.loads(line)["doc_id"] for line in (tmp_path / "rows.jsonl").open()] == [
        f"{i}.txt" for i in range(1_200)
    ]


def test_what_lies_in_the_file_is_what_was_put_there(tmp_path):
    found = rescore(night(tmp_path / "m.jsonl", 1_100))
    assert [r.doc_id for r in found.rows] == [f"{i}.txt" for i in range(1_100)]
    assert found.rows[1_050].row == found.rows[0].row | {} and found.rows[1_050].rules == found.rows[0].rules
    assert pickle.loads(pickle.dumps(found)).rows == found.rows
    assert Rescored(found.rows, found.skipped).as_dict() == found.as_dict()


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    import llm_dojo_scoring.kept_rows as module

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module._Drawer, "put", full)
    ran = run(night(tmp_path / "m.jsonl", 1_100), "--rows", tmp_path / "rows.jsonl")
    assert ran.exit_code == 2 and "No space left" in ran.stderr and ran.stderr.count("\n") == 1
    assert ran.stdout == "" and not (tmp_path / "rows.jsonl").exists()


@pytest.mark.parametrize("option", ["--out", "--rows", "--moves"])
def test_a_full_device_is_one_line_and_stays_a_device(option, tmp_path):
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("no /dev/full here")
    path = night(tmp_path / "m.jsonl", 3)
    ran = run(path, "--against", path, option, full)
    assert ran.exit_code == 2 and ran.stdout == "" and ran.stderr.count("\n") == 1
    assert "No space left on device" in ran.stderr and full.is_char_device()
