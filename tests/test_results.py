"""Names of runs, columns, recounts and tables of runs; on the stored records where they are at hand."""

import gzip
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import io, run_columns
from llm_dojo_scoring.recount import recount
from llm_dojo_scoring.run_files import BadInput
from llm_dojo_scoring.run_names import parse_experiment_name


def stored_records(pack):
    with gzip.open(pack / "runs.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


@given(st.text(max_size=60))
def test_names_never_raise_and_keep_what_they_are(name):
    found = parse_experiment_name(name)
    assert found["raw"] == name.strip() and set(found) == {
        *("raw", "model_slug", "prompt_kind", "prompt_version", "dimension", "suffix", "friendly_model")
    }


NAME_PARTS = st.tuples(
    st.sampled_from(["qwen3.7-flash", "GPT-5", "a.b-c"]),
    st.sampled_from(["sorter", "contracts_specialist", "legalbench_task", "sorter_docclass_vision", "judge"]),
    st.integers(0, 99),
    st.sampled_from(["subtype", "extraction"]),
    st.sampled_from(["langfuse_510_full", "50b", "rerun"]),
)


@given(NAME_PARTS)
def test_names_give_back_their_parts(parts):
    model, kind, version, dimension, suffix = parts
    found = parse_experiment_name(f"{model}_{kind}_v{version}_{dimension}_{suffix}")
    assert found["model_slug"] == model and found["prompt_kind"] == kind
    assert (found["prompt_version"], found["dimension"], found["suffix"]) == (
        f"v{version}",
        dimension,
        suffix,
    )


@pytest.mark.parametrize("letter", ["a", "1", "_", "v1_", "sorter_", "v1+", "+"])
def test_long_names_are_read_in_a_moment(letter):
    parse_experiment_name(letter * 100_000)
    parse_experiment_name("qwen_" + letter * 100_000 + "!")


def test_versions_of_stored_runs_are_read(pack):
    for record in stored_records(pack):
        found = parse_experiment_name(record["experiment_name"])
        version = record["prompt_version"]
        if isinstance(version, str) and found["prompt_version"] and "+" not in found["prompt_version"]:
            assert f"_{found['prompt_version']}" in version or record["task"].startswith("chained"), version


@pytest.mark.parametrize("junk", [None, 1, "x", [1], {"sorter": 3}, {"sorter": {"per_subtype": 3}}])
@pytest.mark.parametrize("layout", [run_columns.sorter_columns, run_columns.extraction_columns])
def test_columns_take_any_record(layout, junk):
    for record in (
        {},
        {"scores": junk, "tokens": junk, "parameters": junk, "model": junk, "timestamp": junk},
    ):
        row = run_columns.project([record], layout())[0]
        assert len(row) == len(layout())


def test_the_filed_sweep_comes_out_of_the_records(pack):
    "All 22 rows and 114 columns of a workbook that was filed when the runs were made."
    filed = io.read_workbook(pack / "artifacts" / "Sorter_Model_Sweep_Results.xlsx")
    assert (filed.kind, filed.n_runs, filed.codebook.shape[1]) == ("sweep", 22, 5)
    records = [r for r in stored_records(pack) if r["task"] == "subtype_classification"]
    records = [r for r in records if (r["prompt_versions"] or {}).get("sorter") == "sorter_v13"]
    mine = run_columns.project(records, run_columns.sorter_columns())
    headers = list(mine[0])
    assert headers == list(filed.frame.columns[:-1]) and filed.frame.columns[-1] == "Notes"

    def key(row):
        return [
            str(row[k])
            for k in ("Experiment Name", "MODEL", "SAMPLE (n)", "Max Concurrency", "Rows with Usage")
        ]

    theirs = filed.frame.astype(object).where(filed.frame.notna(), None).to_dict("records")
    floats = [{k: float(v) if isinstance(v, (int, float)) else v for k, v in row.items()} for row in mine]
    for a, b in zip(sorted(floats, key=key), sorted(theirs, key=key), strict=True):
        for header in headers[1:]:
            left, right = a[header], b[header]
            if isinstance(right, str) and not isinstance(left, str):
                right = float(right)
            assert left == right, (a["Experiment Name"], header)
        assert a["DATE"].date() == b["DATE"]


def test_stored_runs_are_counted_again(pack):
    rows = [pack / f"rows_{name}.jsonl.gz" for name in ("labels", "extraction", "chained")]
    found = io.load_log(pack / "runs.jsonl.gz", rows=rows)
    table = io.normalize_results_frame(found.frame).set_index("run")
    assert found.n_runs == 203 and (table["counted"] == "rows").sum() == 187
    assert table.loc["102", "Subtype Accuracy"] == 0.8389 and table.loc["102", "n_scored"] == 467
    assert table.loc["081", "Overall Extraction"] == 0.3648 and table.loc["081", "n_scored"] == 217
    assert table.loc["081", "n"] == 509 and table.loc["102", "Rows Failed"] == 42
    assert table["n"].notna().all() and table["date"].notna().sum() == 202
    assert (table["n_scored"].dropna() <= table["n"][table["n_scored"].notna()]).all()
    one = table[table["task"] == "subtype_classification"]["surface"]
    assert one.nunique() > 3  # runs of several sizes and samples are several surfaces


CHANGED = [  # change to a record: is its surface the same?
    ({}, True),
    ({"model": "other"}, True),
    ({"n_rows": 50}, False),
    ({"task": "docclass_classification"}, False),
    ({"data_source": {"dataset_fingerprint": "d", "seed": 0}}, False),
    ({"data_source": {"dataset_fingerprint": "c", "seed": 1}}, False),
]
RUN = {
    "task": "subtype_classification",
    "n_rows": 509,
    "data_source": {"dataset_fingerprint": "c", "seed": 0},
}


@pytest.mark.parametrize("change, same", CHANGED)
def test_a_surface_is_task_data_seed_and_size(change, same):
    surfaces = io.log_frame([RUN, {**RUN, **change}])["surface"]
    assert (surfaces[0] == surfaces[1]) == same


@pytest.mark.parametrize("missing", ["task", "n_rows", "data_source"])
def test_runs_without_a_part_share_no_surface(missing):
    frame = io.log_frame([{k: v for k, v in RUN.items() if k != missing}] * 2)
    assert frame["surface"].isna().all()


def test_damaged_lines_are_left_out_and_named(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"task": "a"}\n{"task":\n[1]\n{"task": "b"}\n')
    with pytest.warns(UserWarning):
        assert io.load_log(log).frame["task"].tolist() == ["a", "b"]
    with pytest.raises(ValueError):
        io.load_log(log, strict=True)


def test_a_log_cut_off_in_its_zip_is_one_error(tmp_path):
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"task": "a"}\n' * 100)[:30])
    with pytest.raises(BadInput):
        io.load_log(packed)


def test_a_table_is_never_changed_in_place():
    table = pd.DataFrame({"Experiment Name": ["a_sorter_v1"], "Subtype Accuracy": ["90%"]})
    before = table.copy(deep=True)
    io.normalize_results_frame(table)
    pd.testing.assert_frame_equal(table, before)


JUNK = st.none() | st.text(max_size=5) | st.integers() | st.floats(allow_nan=True)
ROW = st.dictionaries(st.sampled_from(["status", "predicted", "sorter", "overall_score"]), JUNK)


@given(st.lists(ROW))
def test_any_rows_can_be_counted(rows):
    for task in ("subtype_classification", "contract_entity_extraction", "task_classification", None):
        found = recount({"task": task}, rows)
        assert found["recounted"] is None or found["recounted"]["scored"] <= found["recounted"]["total"]
