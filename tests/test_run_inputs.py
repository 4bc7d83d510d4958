"""Reading runs, labels and texts: what is cut off or mixed is refused, and nothing is half read."""

import gzip
import json
import random
import sys
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm_dojo_scoring.run_files import read_records
from llm_dojo_scoring.run_inputs import BadInput, parsed_output, read_predictions, run_names
from llm_dojo_scoring.run_labels import Documents, read_labels
from llm_dojo_scoring.score_run import score_run
from llm_dojo_scoring.taxonomy import field_types_for

ROWS = [
    {"filename": "Acme_EX-10.1.pdf", "predicted": {"governing_law": "Delaware — “law”"}},
    {"filename": "b.pdf", "status": "error", "error": "timeout"},
    {"filename": "c.pdf", "predicted": {}},
]
LINES = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in ROWS).encode()
FIELDS = field_types_for("contract")


def docs(source, **options):
    return [p.doc_id for p in read_predictions(source, **options)]


def test_a_cut_file_gives_whole_lines_or_an_error(tmp_path):
    path, ends = tmp_path / "run.jsonl", [0]
    for line in LINES.splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    for cut in range(len(LINES)):
        path.write_bytes(LINES[:cut])
        if cut and (cut in ends or cut + 1 in ends):  # only the line end is missing
            assert len(docs(path)) == sum(end <= cut + 1 for end in ends[1:])
        else:
            with pytest.raises(BadInput, match="expected"):
                docs(path)


def test_every_cut_of_an_archive_is_noticed(tmp_path):
    path, packed = tmp_path / "run.jsonl.gz", gzip.compress(LINES)
    for cut in range(len(packed)):
        path.write_bytes(packed[:cut])
        with pytest.raises(BadInput):
            docs(path)


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.jsonl.gz", "x.csv", "x.parquet"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60) | st.text('{}[]",:0aN\n\r ', max_size=40).map(str.encode))
def test_whatever_the_bytes_it_is_one_class_of_error_in_one_line(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    for read in (docs, read_labels):
        try:
            read(path, fields=FIELDS)
        except BadInput as e:
            assert "\n" not in str(e) and "expected" in str(e) and str(e).startswith(str(path))


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_any_output_of_a_model_is_a_prediction(value):
    (prediction,) = read_predictions([{"filename": "a.pdf", "predicted": value}])
    assert prediction.key == "a" and prediction.failed in (True, False)
    parsed_output(value)


def test_parquet_and_its_missing_extra(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    path = tmp_path / "run.parquet"
    rows = [{"filename": "a.pdf", "parties": ["Acme", "Beta"]}, {"filename": "b.pdf", "parties": None}]
    parquet.write_table(pa.Table.from_pylist(rows), path)
    assert [p.predicted for p in read_predictions(path)] == [{"parties": ["Acme", "Beta"]}, {"parties": None}]
    assert [p.where for p in read_predictions(path)] == [f"{path} row 1", f"{path} row 2"]
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(BadInput, match="a parquet file"):
        docs(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInput, match=r"llm-dojo-scoring\[parquet\]"):
        docs(path)


def test_a_polars_frame_is_read_through_to_dicts():
    class Frame:
        columns = ("filename", "governing_law")

        def to_dicts(self):
            return [{"filename": "a.pdf", "governing_law": "Utah"}]

    assert docs(Frame()) == ["a.pdf"]


def test_small_print():
    class Empty:
        columns = ()

        def to_dict(self, orient):
            return []

    with pytest.raises(BadInput, match="predictions: expected at least one record"):
        docs(Empty())
    rows = [
        {"filename": "a", "status": "error", "overall_score": 0.0},
        {"filename": "b", "error": False, "predicted": {}},
    ]
    assert [(p.failed, p.error) for p in read_predictions(rows)] == [(True, ""), (False, "")]
    with pytest.raises(BadInput, match="the rows hold scores only"):
        docs([{"filename": "a", "status": "completed", "overall_score": 0.9}])
    runs = [
        {"results": [], "run": "1"},
        {"results": [{"filename": "a", "predicted": {}}], "experiment_name": "v31"},
    ]
    assert docs(runs, run="v31") == ["a"]
    assert [p.run for p in read_predictions(runs[1:])] == ["v31"]


def test_memory_does_not_grow_with_the_run(tmp_path):
    path, peaks = tmp_path / "run.jsonl", []
    for copies in (500, 4000, 4000):  # twice: Python's own table of texts may grow in any one of them
        with open(path, "wb") as f:
            f.writelines(LINES for _ in range(copies))
        tracemalloc.start()
        assert sum(1 for _ in read_predictions(path)) == 3 * copies
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert min(peaks[1:]) < 1.5 * peaks[0]


def test_mixed_surfaces_are_refused_wherever_they_begin(tmp_path):
    path = tmp_path / "two.jsonl"
    for at in range(1, 6):
        rows = [
            {"run": "171" if i < at else "172", "filename": f"{i}.pdf", "predicted": {}} for i in range(6)
        ]
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
        with pytest.raises(
            BadInput, match=f"two.jsonl:{at + 1}: expected rows of one run; found 171 and 172"
        ):
            docs(path)
        assert len(docs(path, run="172")) == 6 - at


def test_records_choose_by_run_or_experiment_name(tmp_path):
    path = tmp_path / "log.jsonl"
    records = [
        {"experiment_name": n, "task": "contract_entity_extraction", "results": ROWS[: i + 1]}
        for i, n in enumerate("ab")
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    assert (len(docs(path, run="a")), len(docs(path, run="b"))) == (1, 2)
    with pytest.raises(BadInput, match="found a and b"):
        docs(path)
    with pytest.raises(BadInput, match="it holds a, b"):
        docs(path, run="c")


def test_labels_in_any_order_are_the_same_labels():
    rows = [{"filename": f"{i}.pdf", "expected_fields": {"governing_law": str(i)}} for i in range(20)]
    first = read_labels(rows)
    random.Random(1).shuffle(rows)
    assert {k: v.expected for k, v in read_labels(rows).items()} == {k: v.expected for k, v in first.items()}


def test_texts_are_read_when_asked_for(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.txt").write_text(f"text {i}")
    texts = Documents(tmp_path)
    (tmp_path / "1.txt").unlink()
    assert texts.read("0") == ("text 0", "read")
    assert texts.read("1") == (None, "No such file or directory")


@pytest.mark.parametrize("run, n, failed", [("171", 509, 0), ("081", 509, 292)])
def test_real_runs(pack, run, n, failed):
    labels = read_labels(pack / "expected.jsonl.gz", fields=FIELDS)
    for source in (pack, pack / "rows_extraction.jsonl.gz"):
        rows = list(read_predictions(source, run=run, fields=FIELDS))
        assert (len(rows), sum(p.failed for p in rows)) == (n, failed)
        assert all(p.key in labels for p in rows) and {p.run for p in rows} == {run}


def test_cuads_table_gives_the_truth_of_the_stored_runs(pack):
    stored = read_labels(pack / "expected.jsonl.gz", fields=FIELDS)
    table = read_labels(pack / "master_clauses.csv.gz", fields=FIELDS)
    assert len(table) == 510
    same = sum(label.expected == table[key].expected for key, label in stored.items() if key in table)
    assert same == 469  # the other 39 hold a value that was inferred from another span
    for key, label in stored.items():
        if key in table and label.presence is not None:
            present = {c: e for c, e in table[key].presence.items() if e["expected"]}
            assert label.presence == present


@pytest.mark.parametrize("name", ["runs.jsonl.gz", "rows_labels.jsonl.gz", "published.json", "labels.json"])
def test_real_files_of_another_kind_are_refused(pack, name):
    for read in (docs, read_labels):
        with pytest.raises(BadInput, match=name):
            read(pack / name, fields=FIELDS)


def test_runs_without_predictions_say_so(pack):
    with pytest.raises(BadInput, match="the rows hold scores only"):
        docs(pack, run="001")
    with pytest.raises(BadInput, match="kept as a header only"):
        docs(pack, run="092")
    assert sum(1 for _ in read_records(pack / "runs.jsonl.gz")) == 203


def test_the_runs_of_the_pack_are_named_only_when_all_can_be_read(pack):
    with pytest.raises(BadInput, match="the rows hold scores only"):
        run_names(pack / "rows_extraction.jsonl.gz", fields=FIELDS)
    assert run_names(pack, run="081", fields=FIELDS) == {"081": 509}


def test_a_run_in_parts_on_another_file_system_is_the_run(data):
    upath = pytest.importorskip("upath", reason="needs the extra remote")
    lines = (data / "runs/extractions.jsonl").read_text().splitlines(keepends=True)
    for i in range(0, len(lines), 7):
        part = upath.UPath(f"memory://runs/x/part-{i:03d}.jsonl")
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text("".join(lines[i : i + 7]))
    labels = upath.UPath("memory://labels.jsonl")
    labels.write_bytes((data / "labels/expected.jsonl").read_bytes())
    far = score_run("memory://runs/x", "memory://labels.jsonl", run="careful")
    near = score_run(data / "runs/extractions.jsonl", data / "labels/expected.jsonl", run="careful")
    assert far.to_dict() == near.to_dict() and far.rows == near.rows


def test_a_url_without_its_protocol_is_a_bad_input():
    pytest.importorskip("upath", reason="needs the extra remote")
    with pytest.raises(BadInput, match="nosuch://x/a.jsonl"):
        list(read_records("nosuch://x/a.jsonl"))
