"""Whole runs: every document accounted for, the same bytes whatever the workers, real runs end to end."""

import json
import pickle
import random
import tracemalloc

import pytest

from llm_dojo_scoring.config import settings
from llm_dojo_scoring.embedding import DEFAULT, use_matcher
from llm_dojo_scoring.run_inputs import BadInput, read_predictions
from llm_dojo_scoring.run_labels import read_labels
from llm_dojo_scoring.score_run import score_rows, score_run
from llm_dojo_scoring.taxonomy import field_types_for

TYPES = field_types_for("contract")


def made_up(n, seed=1):
    "A run with failures, repeats, strangers and silences, its labels and texts."
    rng, run, labels, texts = random.Random(seed), [], {}, {}
    for i in range(n):
        name, law, amount = f"doc {i}", rng.choice(["Utah", "Ohio", "Texas"]), rng.randint(1, 9) * 1000
        if rng.random() < 0.9:
            labels[f"{name}.pdf"] = {"governing_law": law, "parties": ["Acme Corp", f"Beta {i} LLC"]}
        row = {"filename": name.upper()}
        if rng.random() < 0.2:
            row |= {"status": "error", "error": "timeout"}
        else:
            said = rng.choice([law, "Maine", None])
            row["predicted"] = {
                "governing_law": said,
                "parties": [f"Beta {i} LLC", "Nobody Inc"],
                "contract_value": f"${amount}",
            }
        run += [row] * rng.choice([1, 1, 1, 2])
        texts[name] = f"Acme Corp and Beta {i} LLC agree under the laws of {law} on ${amount}."
    return run, labels, texts


def as_bytes(scored):
    return json.dumps([scored.rows, scored.fields, scored.to_dict()], sort_keys=True, default=str).encode()


def test_nothing_is_dropped():
    run, labels, texts = made_up(120)
    scored = score_run(run, labels, documents=texts)
    assert [r["doc_id"] for r in scored.rows] == [r["filename"] for r in run]
    counts, names = scored.counts, {r["filename"] for r in run}
    matched = {n for n in names if f"{n.lower()}.pdf" in labels}
    assert counts["total"] == len(run) and counts["counted"] == len(matched)
    assert counts["duplicates"] == len(run) - len(names)
    assert set(scored.unmatched) == names - matched
    assert counts["failed"] == sum("error" in r for r in run)
    firsts = {r["filename"]: r for r in reversed(run)}
    failed = sum("error" in firsts[n] for n in matched)
    assert counts["completed"] == len(matched) - failed
    mean, done = scored.mean("overall_score"), scored.mean("overall_score", completed=True)
    assert mean == pytest.approx(done * (len(matched) - failed) / len(matched))


def test_fields_and_documents_agree_on_what_a_failure_costs():
    run, labels, _ = made_up(60)
    scored = score_run(run, labels)
    by_doc = {}
    for f in scored.fields:
        if not f["duplicate"] and f["score"] is not None:
            by_doc.setdefault(f["doc_id"], []).append(f["score"])
    for row in scored.counted:
        assert row["overall_score"] == round(sum(by_doc[row["doc_id"]]) / len(by_doc[row["doc_id"]]), 4)


@pytest.mark.parametrize("jobs", [2, 3])
def test_the_bytes_do_not_depend_on_the_workers(jobs):
    run, labels, texts = made_up(90)
    with settings(field_scoring__bipartite_match_threshold=0.7):
        one = score_run(run, labels, documents=texts)
        assert as_bytes(score_run(run, labels, documents=texts, jobs=jobs)) == as_bytes(one)
    assert as_bytes(score_run(run, labels, documents=texts)) != as_bytes(one)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_bad_row_far_in_stops_all(jobs, tmp_path):
    path = tmp_path / "run.jsonl"
    run, labels, _ = made_up(100)
    path.write_text("".join(json.dumps(r) + "\n" for r in run) + '{"filename": "x", "predi')
    with pytest.raises(BadInput, match=f"run.jsonl:{len(run) + 1}: expected a whole JSON value"):
        score_run(path, labels, jobs=jobs)
    assert pickle.loads(pickle.dumps(BadInput("a:1", "b", "c"))).fix == "c"


def test_a_streamed_run_needs_no_more_memory_when_it_is_longer():
    run, labels, _ = made_up(20)
    labels = read_labels(labels)
    peaks = []
    for copies in (5, 30):
        rows = (dict(row) for _ in range(copies) for row in run)
        tracemalloc.start()
        for _ in score_rows(rows, labels):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 500_000, "600 rows more would take some two megabytes if they were kept"


class Oracle:
    "A matcher to which all texts are alike."

    def similarity(self, a, b):
        return 0.9


def test_the_second_opinion_is_asked_only_when_asked_for():
    run = [{"filename": "a", "predicted": {"document_name": "Lease"}}] * 20
    labels = {"a": {"document_name": "Contrat de bail"}}
    plain = score_run(run, labels)
    use_matcher(Oracle())
    try:
        assert as_bytes(score_run(run, labels)) == as_bytes(plain)
        asked = score_run(run, labels, embeddings=True, jobs=2)
    finally:
        use_matcher(DEFAULT)
    assert {r["overall_score"] for r in asked.rows} == {0.9}
    assert (plain.scorer["embeddings"], asked.scorer["embeddings"]) == ("not asked", "custom")
    assert plain.scorer["settings_hash"] != asked.scorer["settings_hash"]


def test_progress_is_told(capsys):
    run, labels, _ = made_up(40)
    done = []
    score_run(run, labels, progress=done.append, jobs=2)
    assert done == list(range(1, len(run) + 1))
    score_run(run, labels, progress=True)
    told = capsys.readouterr()
    assert told.out == "" and f"{len(run)} documents" in told.err
    score_run(run, labels)
    assert capsys.readouterr().err == ""


def test_text_problems_are_named(tmp_path):
    run = [{"filename": n, "predicted": {"governing_law": "Utah"}} for n in "abcd"]
    (tmp_path / "a.txt").write_text("Utah")
    (tmp_path / "b.txt").write_bytes("Québec".encode("latin-1"))
    (tmp_path / "c.txt").write_text(" ")
    scored = score_run(run, {n: {"governing_law": "Utah"} for n in "abcd"}, documents=tmp_path)
    assert (scored.unreadable, scored.without_text) == ({"b": "not UTF-8 at byte 3", "c": "empty"}, ["d"])
    assert [bool(r["entity_list_audit"]) for r in scored.rows] == [True, False, False, False]
    assert scored.mean("overall_score") == 1.0


@pytest.fixture(scope="module")
def labels(pack):
    return read_labels(pack / "expected.jsonl.gz", fields=TYPES)


@pytest.fixture(scope="module")
def run_171(pack, labels):
    return score_run(pack, labels, run="171")


def test_run_171(run_171):
    """509 contracts, all answered; the stored mean is .6968, by other string metrics and date rules."""
    assert run_171.counts["counted"] == run_171.counts["completed"] == 508
    assert run_171.run == "171" and run_171.failed == run_171.unmatched == run_171.duplicates == []
    assert run_171.mean("overall_score") == pytest.approx(0.6968, abs=0.05)
    assert run_171.headline["schema_valid"]["mean"] == 1.0


def test_run_081_counts_its_failures(pack, labels):
    """217 of 509 contracts were answered; the stored .8558 is the mean over those."""
    scored = score_run(pack, labels, run="081")
    assert (scored.counts["total"], scored.counts["failed"]) == (509, 292)
    assert scored.mean("overall_score", completed=True) == pytest.approx(0.8558, abs=0.05)
    ratio = scored.mean("overall_score") / scored.mean("overall_score", completed=True)
    assert ratio == pytest.approx(scored.counts["completed"] / scored.counts["counted"])


def test_stored_counts_of_lists_agree_with_ours(pack, run_171):
    """Every list has as many items as the model returned, but two that hold a redaction such as "[***]"."""
    stored = {p.doc_id: p for p in read_predictions(pack, run="171")}
    lists = [f for f in run_171.fields if f["type"].startswith("entity_list") and f["score"] is not None]
    other = [f for f in lists if f["n_predicted"] != len(stored[f["doc_id"]].predicted[f["field"]])]
    assert len(lists) > 1100 and len(other) <= 2
