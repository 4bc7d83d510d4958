"""The published table against the expected side that the stored runs were scored with, and damaged tables."""

import csv
import gzip
import io
import json
import random
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import cuad, master_labels, master_table


@pytest.fixture(scope="module")
def rows(pack):
    return master_labels.read_master_csv(pack / "master_clauses.csv.gz")


@pytest.fixture(scope="module")
def stored(pack):
    with gzip.open(pack / "expected.jsonl.gz", "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def test_the_whole_table_is_read(rows):
    assert len(rows) == 510
    assert len({master_table.join_key(r.filename) for r in rows}) == 510
    # counted with csv and ast alone: categories with at least one labelled clause, and clauses
    assert (
        sum(len(r.spans) for r in rows) == 6702
        and sum(len(s) for r in rows for s in r.spans.values()) == 13101
    )


def test_first_span_rebuilds_the_stored_expectations(rows, stored):
    by_name = {r.filename: r for r in rows}
    n = inferred = 0
    for document in stored:
        if not document["master_filename"]:
            continue
        got = master_labels.expected_from_master(by_name[document["master_filename"]])
        want = document["expected_fields"]
        assert set(got) == set(want), document["filename"]
        for field in want:
            if field in document["inferred_fields"]:
                inferred += 1
            else:
                assert got[field] == want[field], (document["filename"], field)
        n += 1
    assert (n, inferred) == (508, 42)


def test_the_inferred_scalars_are_among_the_alternatives(rows, stored):
    # Where another span fits the stored scores better, `all_spans` holds that span too.
    by_name, held, n = {r.filename: r for r in rows}, 0, 0
    for document in stored:
        for field in document["inferred_fields"]:
            n += 1
            alternatives = master_labels.expected_from_master(
                by_name[document["master_filename"]], "all_spans"
            )[field]
            keys = {
                cuad.clause_key(a)
                for a in ([alternatives] if isinstance(alternatives, str) else alternatives)
            }
            held += any(cuad.clause_key(document["expected_fields"][field]) in key for key in keys)
    assert n == 42 and held >= 30


def test_presence_and_answers_are_those_stored(rows, stored):
    by_name = {r.filename: r for r in rows}
    for document in stored:
        if not document["master_filename"]:
            continue
        row = by_name[document["master_filename"]]
        presence = {
            c: p["answer"] for c, p in master_labels.presence_from_master(row).items() if p["expected"]
        }
        assert presence == document["presence"]
        answers = {c: a for c, a in row.answers.items() if a != "No" or c == "Warranty Duration"}
        assert answers == document["answers"]


def test_all_spans_loses_no_clause(rows):
    for row in rows:
        expected = master_labels.expected_from_master(row, "all_spans")
        for field in cuad.CUAD_LIST_FIELDS:
            parts = [
                p
                for c in cuad.field_categories(field)
                for s in row.spans.get(c, ())
                for p in master_table.span_parts(s)
            ]
            keys = [cuad.clause_key(item) for item in expected.get(field, [])]
            assert len(keys) == len(set(keys)) and set(keys) == set(map(cuad.clause_key, parts))
        first = master_labels.expected_from_master(row)
        assert set(first) <= set(expected)


def test_the_run_s_names_join(rows, stored):
    join = master_labels.join_master([d["filename"] for d in stored], rows)
    assert len(join.found) == 509 and not join.collisions  # one more than stored: its name ends in .PDF'
    assert all(name.startswith("document_") for name in join.unmatched) and len(join.unmatched) == 10
    for document in stored:
        if document["master_filename"]:
            assert join.found[document["filename"]].filename == document["master_filename"]


def test_stored_join_keys_are_ours(stored):
    for document in stored:
        assert master_table.join_key(document["filename"]) == document["join_key"]


def test_load_master_labels_has_every_answer(pack, rows, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        master = master_labels.load_master_labels(pack / "master_clauses.csv.gz")
    assert len(master) == 510
    for row in rows:
        for category, answer in row.answers.items():
            assert master_labels.master_answer(master, row.filename, category) == answer
    assert sum(map(len, master.values())) == sum(len(r.answers) for r in rows)


def test_column_order_does_not_matter(pack, rows, tmp_path):
    with gzip.open(pack / "master_clauses.csv.gz", "rt", encoding="utf-8", newline="") as f:
        table = list(csv.reader(f))[:40]
    order = list(range(len(table[0])))
    random.Random(7).shuffle(order)
    file = tmp_path / "shuffled.csv"
    with file.open("w", encoding="utf-8", newline="") as f:
        csv.writer(f).writerows([[cells[i] for i in order] for cells in table])
    for row, same in zip(rows, master_labels.read_master_csv(file), strict=False):
        for rule in ("first_span", "all_spans"):
            expected = master_labels.expected_from_master(row, rule)
            assert master_labels.expected_from_master(same, rule) == expected


HEADER = ["Filename", "Parties", "Parties-Answer", "Governing Law", "Governing Law-Answer"]
TABLE = [
    HEADER,
    ["a.pdf", "['Acme Inc.']", "Acme", "[]", ""],
    ["b.pdf", "['Globex, LLC', 'Buyer']", "", "['Israel']", "IL"],
]


def as_csv(table):
    out = io.StringIO(newline="")
    csv.writer(out).writerows(table)
    return out.getvalue().encode()


def test_a_table_cut_off_anywhere_is_refused_or_a_whole_prefix(tmp_path):
    whole, file = as_csv(TABLE), tmp_path / "cut.csv"
    file.write_bytes(whole)
    rows = master_labels.read_master_csv(file)
    for cut in range(len(whole)):
        file.write_bytes(whole[:cut])
        try:
            found = master_labels.read_master_csv(file)
        except ValueError as e:
            assert str(e).startswith(str(file)) and "\n" not in str(e)
            continue
        # The last cell of a row may be shortened: nothing in CSV says that it was longer.
        assert found[:-1] == rows[: len(found) - 1] and found[-1].spans == rows[len(found) - 1].spans, whole[
            :cut
        ]


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_rows_or_one_line(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "any.csv"
    for content in (data, as_csv(TABLE) + data):
        file.write_bytes(content)
        for read in (master_labels.read_master_csv, master_labels.load_master_labels):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    read(file)
                except ValueError as e:
                    assert str(e).startswith(str(file)) and "\n" not in str(e)


@given(st.lists(st.text(), max_size=4))
def test_spans_survive_python_and_json(spans):
    kept = tuple(s.strip() for s in spans if s.strip())
    assert master_table.parse_spans(repr(spans)) == kept == master_table.parse_spans(json.dumps(spans))


@given(st.text(max_size=60) | st.none() | st.floats() | st.binary(max_size=5))
def test_join_key_is_idempotent_and_never_raises(name):
    key = master_table.join_key(name)
    assert key == " ".join(key.split()) and all(c.isalnum() or c == " " for c in key)
    assert master_table.join_key(key) == key


def test_join_key_forgets_spelling_and_nothing_else():
    same = [
        "Acme-Corp_EX-10.1.pdf",
        "acme corp ex 10 1",
        "ACME  CORP, EX 10.1.PDF'",
        "Acme Corp (EX) 10.1.txt",
    ]
    assert len(set(map(master_table.join_key, same))) == 1
    other = [
        "acme_ex_10.1",
        "acme_ex_10.2",
        "acme_ex_101",
        "acme_ex_10.1_a",
        "acme.pdf_ex",
        "acme_ex.pdf.pdf",
        "acme",
    ]
    assert len(set(map(master_table.join_key, other))) == len(other)


def test_the_table_in_the_environment_is_read_at_each_call(tmp_path, monkeypatch):
    file = tmp_path / "labels.csv"
    file.write_bytes(as_csv(TABLE))
    monkeypatch.setenv("MASTER_LABELS_CSV", str(file))
    assert master_labels.load_master_labels()["a"] == {"Parties-Answer": "Acme"}
    file.write_bytes(as_csv([HEADER, ["a.pdf", "[]", "Other", "[]", ""]]))
    assert master_labels.load_master_labels()["a"] == {"Parties-Answer": "Other"}
    monkeypatch.delenv("MASTER_LABELS_CSV")
    monkeypatch.chdir(tmp_path)
    assert master_labels.load_master_labels() == {}
    (tmp_path / "data" / "cuad").mkdir(parents=True)
    (tmp_path / "data" / "cuad" / "master_clauses.csv").write_bytes(as_csv(TABLE))
    assert set(master_labels.load_master_labels()) == {"a", "b"}


def test_a_mapping_as_pandas_gives_it_is_read(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(io.BytesIO(as_csv(TABLE)))
    rows = [master_labels.master_row(r) for r in frame.to_dict("records")]
    assert rows[1].spans == {"Parties": ("Globex, LLC", "Buyer"), "Governing Law": ("Israel",)}
    assert rows[0].answers == {"Parties": "Acme"}
