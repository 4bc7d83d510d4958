"""Diagnostics of a run: junk never raises, parts add up, currencies and NaN stay where they belong."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.diagnostics import extraction_diagnostics, pool_diagnostics
from llm_dojo_scoring.master_table import join_key
from llm_dojo_scoring.metrics import extraction_diagnostics as with_master
from llm_dojo_scoring.pairs import date_pair, duration_pair, money_pair
from llm_dojo_scoring.regression import mean_absolute_error, median_absolute_error, r2
from llm_dojo_scoring.run_diagnostics import RunDiagnostics, diagnose
from llm_dojo_scoring.tallies import Tally
from llm_dojo_scoring.value_errors import ErrorSums

TYPES = {
    "effective_date": "date",
    "term_length": "free_text",
    "renewal_terms": "free_text",
    "contract_value": "money",
    "parties": "entity_list:name",
    "key_obligations": "entity_list:free_text",
}
scalars = st.sampled_from(
    [
        None,
        "",
        "null",
        "2024-03-03",
        "March 2024",
        "3/10/24",
        "2 years",
        "18 months",
        "$5",
        "€7",
        "1,000",
        5,
        0.5,
    ]
    + [float("nan"), True, [], {}, ["2024-01-01", "2024-02-02"]]
)
numbers = st.sampled_from([0, 0.0, 0.3333, 0.5, 1, 1.0, None, float("nan"), float("inf"), True, "x"])
counts = st.sampled_from([0, 1, 2, 7, None, float("nan"), -1, True, "2"])
lists = st.dictionaries(
    st.sampled_from(["parties", "key_obligations"]),
    st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {n: numbers for n in ("precision", "recall", "f1")}
            | {n: counts for n in ("matched", "n_predicted", "n_expected")}
        ),
    ),
)
row = st.one_of(
    st.none(),
    st.text(max_size=3),
    st.fixed_dictionaries(
        {},
        optional={
            "filename": st.sampled_from(["a.pdf", "b", "", None, 3]),
            "predicted": st.one_of(
                st.none(), st.text(max_size=3), st.dictionaries(st.sampled_from(list(TYPES)), scalars)
            ),
            "expected_fields": st.one_of(st.none(), st.dictionaries(st.sampled_from(list(TYPES)), scalars)),
            "field_scores": st.one_of(st.none(), st.dictionaries(st.sampled_from(list(TYPES)), numbers)),
            "entity_list_scores": st.one_of(st.none(), lists),
        },
    ),
)


@given(st.lists(row, max_size=8), st.integers(0, 8))
def test_never_raises_and_parts_add_up(rows, cut):
    whole = diagnose(rows, TYPES)
    parts = diagnose(rows[:cut], TYPES) + diagnose(rows[cut:], TYPES)
    same_documents = {r.get("filename") for r in rows[:cut] if isinstance(r, dict)} & {
        r.get("filename") for r in rows[cut:] if isinstance(r, dict)
    }
    if not same_documents:
        assert parts == whole
    assert parts.errors == whole.errors and parts.outcomes == whole.outcomes and parts.lists == whole.lists
    record = extraction_diagnostics(rows, TYPES)
    text = json.dumps(record, allow_nan=False)  # nothing in it is NaN
    assert pool_diagnostics([json.loads(text)]) == record
    assert with_master(rows, TYPES) == record


@given(st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6)), max_size=30))
def test_sums_are_the_formulas(pairs):
    sums = ErrorSums.of(pairs)
    assert sums.n == len(pairs)
    for ours, formula in (
        (sums.mae, mean_absolute_error(pairs)),
        (sums.median_ae, median_absolute_error(pairs)),
        (sums.r2, r2(pairs)),
    ):
        assert ours == formula or math.isclose(ours, formula, rel_tol=1e-9, abs_tol=1e-9)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True)))
def test_tallies_keep_finite_numbers_only(values):
    tally = Tally.of(values)
    assert tally.n == sum(map(math.isfinite, values))
    assert Tally.from_pairs(tally.as_pairs()) == tally


def dates(*pairs):
    "Rows with predicted and expected effective dates."
    return [{"predicted": {"effective_date": p}, "expected_fields": {"effective_date": e}} for p, e in pairs]


def test_dates_seven_days_and_none_off():
    record = extraction_diagnostics(dates(("2024-03-10", "2024-03-03"), ("2020-01-01", "1/1/2020")), TYPES)
    assert (record["date_mae_days"], record["date_median_ae_days"], record["date_n_pairs"]) == (3.5, 3.5, 2)
    assert record["date_r2"] == 1.0  # seven days of four years
    assert extraction_diagnostics(dates(("2024-03-10", "2024-03-03")), TYPES)["date_r2"] is None


@pytest.mark.parametrize(
    "predicted, expected, days",
    [
        ("12 months", "1 year", 0.0),
        ("24 months", "two (2) years", 0.0),
        ("52 weeks", "1 year", 1.0),
        ("one (1) year and six (6) months", "545 days", 0.0),
        ("5 years, renewable for successive 1 year terms", "five years", 0.0),
    ],
)
def test_equal_terms_have_no_error(predicted, expected, days):
    row = {"predicted": {"term_length": predicted}, "expected_fields": {"term_length": expected}}
    assert extraction_diagnostics([row], TYPES)["duration_mae_days"] == days


def test_other_currencies_never_enter_dollars():
    def row(predicted, expected):
        return {"predicted": {"contract_value": predicted}, "expected_fields": {"contract_value": expected}}

    euros = extraction_diagnostics([row("€100", "€90"), row("€100", "$90"), row("GBP 5", "£7")], TYPES)
    assert "money_mae_usd" not in euros and euros["money_n_pairs"] == 0
    assert {u: (s["n_pairs"], s["mae"]) for u, s in euros["money_other_currencies"].items()} == {
        "EUR": (1, 10.0),
        "GBP": (1, 2.0),
    }
    mixed = extraction_diagnostics([row("€100", "€90"), row("$100", "US$ 99.50"), row("7", "8")], TYPES)
    assert (mixed["money_mae_usd"], mixed["money_median_ae_usd"], mixed["money_n_pairs"]) == (0.75, 0.75, 2)
    assert mixed["money_mae_per_field"] == {"contract_value": 0.75}


def test_nan_enters_no_mean_and_no_rate():
    nan = float("nan")
    rows = [
        {
            "field_scores": {"parties": nan},
            "entity_list_scores": {"parties": {"precision": nan, "recall": nan, "f1": nan}},
        },
        {
            "field_scores": {"parties": 1.0},
            "entity_list_scores": {"parties": {"precision": 0.5, "recall": 1.0, "f1": 0.6}},
        },
    ]
    record = extraction_diagnostics(rows, TYPES)
    assert (record["n_fields_scored"], record["field_exact_rate"]) == (1, 1.0)
    assert record["entity_list_precision"] == {"parties": 0.5}


def test_documents_are_counted_not_lists():
    both = {"n_predicted": 3, "n_expected": 2, "matched": 2}
    rows = [{"filename": n, "entity_list_scores": {"parties": both, "key_obligations": both}} for n in "aab"]
    record = extraction_diagnostics(rows, TYPES)
    assert (record["span_count_n_docs"], record["span_count_signed_mean"]) == (2, 1.0)


def test_a_row_without_a_prediction_stays_in_the_denominator():
    rows = [{"predicted": {"effective_date": "2024-01-01"}}, {"status": "error", "predicted": None}]
    assert extraction_diagnostics(rows, TYPES)["field_presence_per_field"]["effective_date"] == 0.5


def test_memory_of_a_reading_changes_nothing():
    for pair, values in (
        (date_pair, ("until March 10, 2024", "3/3/24", "effective_date")),
        (duration_pair, ("2 years, renewing for 1 year", "1 year", "renewal_terms")),
        (duration_pair, ("2 years, renewing for 1 year", "2 years", "term_length")),
        (money_pair, ("$5", "$6", "contract_value")),
    ):
        assert pair(*values) == pair(*values)
    long = "x " * 3000 + "two (2) years"
    assert duration_pair(long, "2 years", "term_length").error == 0


def test_stored_counts_are_checked():
    with pytest.raises(ValueError, match="`stored` must be counts"):
        RunDiagnostics.from_dict({"n_rows": 1})
    with pytest.raises(ValueError, match="a finite number and a count"):
        Tally.from_pairs([[1.0, 0.5]])


def test_a_stored_record_is_read_by_any_reader_of_json():
    import orjson

    rows = dates(("2024-03-10", "2024-03-03"), ("2024-03-03", "1999-12-31"))
    record = extraction_diagnostics(rows, TYPES)
    assert orjson.loads(orjson.dumps(record)) == record  # 64 bits at most

    def numbers(value):
        if isinstance(value, dict | list):
            for part in value.values() if isinstance(value, dict) else value:
                yield from numbers(part)
        elif isinstance(value, int):
            yield value

    assert max(numbers(record["counts"])) <= 2**53
    again = pool_diagnostics([orjson.loads(orjson.dumps(record))])
    assert again == record and again["date_r2"] is not None
    stored = orjson.loads(orjson.dumps(record["counts"]))
    stored["errors"][0]["expected_squares"] = "many"
    with pytest.raises(ValueError, match="`stored` must be counts"):
        RunDiagnostics.from_dict(stored)


@given(st.lists(st.integers(-(10**40), 10**40)))
def test_tallies_of_large_numbers_survive_a_file(values):
    import orjson

    tally = Tally.of(values)
    assert Tally.from_pairs(orjson.loads(orjson.dumps(tally.as_pairs()))) == tally


def test_the_reasoning_trace_is_no_part_of_any_figure():
    row = dates(("2024-03-10", "2024-03-03"))[0]
    trace = {"summary": "May 1, 2001", "entries": [{"field": "effective_date", "evidence": "May 1, 2001"}]}
    told = {**row, "predicted": row["predicted"] | {"reasoning": trace, "confidence": 0.1}}
    assert extraction_diagnostics([told], TYPES) == extraction_diagnostics([row], TYPES)


def test_labels_of_the_table_go_before_the_clause():
    row = {
        "filename": "Acme Corp.pdf",
        "predicted": {"effective_date": "2014-05-08", "term_length": "2 years", "renewal_terms": "1 year"},
        "expected_fields": {"effective_date": "May 9, 2014", "term_length": "3 years", "renewal_terms": ""},
    }
    master = {
        "acmecorp": {
            "Agreement Date-Answer": "5/8/14",
            "Expiration Date-Answer": "24 months",
            "Notice Period To Terminate Renewal-Answer": "30 days",
        }
    }
    for record in (with_master([row], TYPES, master), extraction_diagnostics([row], TYPES, master=master)):
        assert (record["date_mae_days"], record["duration_mae_days"], record["duration_n_pairs"]) == (
            0.0,
            0.0,
            1,
        )
    bare = with_master([row], TYPES)
    assert (bare["date_mae_days"], bare["duration_mae_days"]) == (1.0, 365.0)


def test_stored_diagnostics_of_real_runs(pack):
    import gzip

    def lines(name):
        with gzip.open(pack / name, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    from llm_dojo_scoring.taxonomy import field_types_for

    columns = ("precision", "recall", "f1", "matched", "n_predicted", "n_expected")
    stored = {
        r["run"]: r["scores"]["diagnostics"] for r in lines("runs.jsonl.gz") if r["scores"].get("diagnostics")
    }
    rows = {run: [] for run in stored}
    for r in lines("rows_extraction.jsonl.gz"):
        if r["run"] in rows and r["status"] == "completed":
            lists = {
                f: dict(zip(columns, v, strict=False)) for f, v in (r.get("entity_list_scores") or {}).items()
            }
            rows[r["run"]].append(r | {"entity_list_scores": lists})
    assert len(stored) == 24
    for run, record in stored.items():
        ours = extraction_diagnostics(rows[run], field_types_for("contract"))
        same = [
            k for k in record if not k.startswith(("date", "duration", "money")) and k != "span_count_n_docs"
        ]
        assert {k: ours[k] for k in same} == {k: record[k] for k in same}, run


@pytest.mark.parametrize("labels", ["expected.jsonl", "master_clauses_sample.csv"])
def test_a_scored_run_keeps_the_diagnostics_of_its_rows(data, tmp_path, labels):
    from typer.testing import CliRunner

    from llm_dojo_scoring.master_labels import load_master_labels
    from llm_dojo_scoring.run_labels import read_labels
    from llm_dojo_scoring.score_command import app
    from llm_dojo_scoring.score_run import checked_field_types

    path, types = data / "labels" / labels, checked_field_types()
    asked = [data / "runs/extractions.jsonl", "--labels", path, "--run", "hasty", "--out", tmp_path / "out"]
    said = CliRunner().invoke(app, list(map(str, asked)))
    assert said.exit_code == 0, said.output
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    truth = read_labels(path)
    rows = []
    for line in (tmp_path / "out/rows.jsonl").read_text().splitlines():
        row = json.loads(line)
        label = truth.get(join_key(row["doc_id"]))
        if label and not row["duplicate"]:
            scores = {"field_scores": {}, "entity_list_scores": {}} if row["failed"] else {}
            rows.append({**row, "filename": label.doc_id, "expected_fields": label.expected, **scores})
    assert len(rows) == 11
    master = load_master_labels(path) if path.suffix == ".csv" else None
    assert summary["diagnostics"] == extraction_diagnostics(rows, types, master=master)
    assert pool_diagnostics([summary["diagnostics"]]) == summary["diagnostics"]
    report = (tmp_path / "out/report.html").read_text()
    assert "How far off values are" in report and "items too many" in report
    assert "fields.jsonl report.html report.md rows.jsonl summary.json".split() == sorted(
        p.name for p in (tmp_path / "out").iterdir()
    )


def test_answers_beside_clauses_are_those_of_the_table(pack):
    from llm_dojo_scoring.expected_values import first_answer
    from llm_dojo_scoring.master_labels import load_master_labels
    from llm_dojo_scoring.run_labels import read_labels
    from llm_dojo_scoring.scored_diagnostics import labelled_rows

    master = load_master_labels(pack / "master_clauses.csv.gz")
    empty = {"predicted": {}, "field_scores": {}, "entity_list_scores": {}}
    for name in ("expected.jsonl.gz", "master_clauses.csv.gz"):
        labels = read_labels(pack / name)
        assert sum(bool(label.answers) for label in labels.values()) >= 508
        told = [
            label for label in labels.values() if label.answers
        ]  # one contract has another name in the table
        for row in labelled_rows(({"doc_id": label.doc_id, **empty} for label in told), labels):
            answers = master.get(join_key(row["filename"]).replace(" ", ""), {})
            for field in ("effective_date", "term_length", "renewal_terms"):
                own = labels[join_key(row["filename"])].expected.get(field)
                assert row["expected_fields"].get(field) == (first_answer(answers, field) or own)
