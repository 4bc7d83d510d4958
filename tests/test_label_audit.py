"""The label audit: what it finds in real labels, what it must not find, and how it takes what it is given."""

import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from llm_dojo_scoring.audit_labels_command import app
from llm_dojo_scoring.label_audit import audit_labels
from llm_dojo_scoring.label_checks import KINDS, check_row
from llm_dojo_scoring.label_effect import label_effect
from llm_dojo_scoring.master_table import MasterRow
from llm_dojo_scoring.run_files import BadInput

DAYS = st.dates(dt.date(1970, 1, 1), dt.date(2049, 12, 31))
CELL = st.text(max_size=40) | st.sampled_from(
    ["[]/[]/2020", "Yes", "No", "March 3, 2024", "3/3/24", "two (2) years", "perpetual", "[" * 30, "_" * 30]
)


def row(category, clause, answer, filename="x.pdf"):
    return MasterRow(filename, {category: (clause,)} if clause else {}, {category: answer} if answer else {})


def kinds(*args):
    return [s.kind for s in check_row(row(*args)).suspects]


def test_the_date_slips_that_are_known_from_reading_are_found(pack):
    found = audit_labels(pack / "master_clauses.csv.gz").of(kind="another date")
    pairs = {(s.answer, s.stated) for s in found}
    assert pairs >= {
        ("11/18/05", "2005-11-11"),
        ("7/7/99", "1999-09-07"),
        ("5/25/08", "2018-05-25"),
        ("6/25/15", "2015-06-26"),
        ("3/14/18", "2018-03-15"),
    }
    assert len(found) <= 8, "a suspicion that is cast on many is worth nothing"
    assert all(s.note.startswith("only the ") for s in found if (s.answer, s.stated) in pairs)


def test_real_contradictions_are_few_and_their_denominators_are_told(pack):
    audit = audit_labels(pack / "master_clauses.csv.gz")
    told = {c["kind"]: (c["found"], c["asked"]) for c in audit.counts()}
    assert told["another date"][1] > 750 and told["does not follow from the term"] == (2, 113)
    assert len(audit.of(weight="contradiction")) <= 25
    assert all(0 <= found <= asked for found, asked in told.values())


@given(DAYS, DAYS)
def test_a_date_is_suspected_exactly_when_it_is_another_one(stated, answered):
    clause = f"{stated:%B} {stated.day}, {stated.year}"
    answer = f"{answered.month}/{answered.day}/{answered.year}"
    assert kinds("Agreement Date", clause, answer) == (["another date"] if stated != answered else [])


@given(DAYS, st.integers(1, 30), st.integers(-1, 1))
def test_a_term_ends_as_long_after_its_start_as_it_says(start, years, shift):
    later = start.replace(year=start.year + years) if (start.month, start.day) != (2, 29) else None
    if later is None:
        return
    end = later + dt.timedelta(days=shift)
    answers = {"Effective Date": start.isoformat(), "Expiration Date": end.isoformat()}
    spans = {"Expiration Date": (f"for a term of {years} years from the Effective Date",)}
    assert "does not follow from the term" not in [
        s.kind for s in check_row(MasterRow("x", spans, answers)).suspects
    ]
    answers["Expiration Date"] = (end + dt.timedelta(days=40)).isoformat()
    assert "does not follow from the term" in [
        s.kind for s in check_row(MasterRow("x", spans, answers)).suspects
    ]


@given(
    st.dictionaries(st.sampled_from(["Agreement Date", "Parties", "Insurance", "Renewal Term"]), CELL), CELL
)
def test_no_cell_makes_it_raise_and_counts_agree(answers, clause):
    spans = dict.fromkeys(answers, (clause,)) if clause.strip() else {}
    one = MasterRow("x.pdf", spans, {k: v for k, v in answers.items() if v.strip()})
    found = check_row(one, clause)
    assert found == check_row(one, clause)
    for kind in KINDS:
        assert sum(s.kind == kind for s in found.suspects) <= found.asked[kind]


def test_short_months_and_the_last_day_are_no_slips():
    spans = {"Expiration Date": ("for one (1) month",)}
    for start, end in (("1/31/19", "2/28/19"), ("1/31/20", "2/29/20"), ("12/31/99", "1/31/00")):
        answers = {"Agreement Date": start, "Expiration Date": end}
        assert check_row(MasterRow("x", spans, answers)).suspects[-1].kind == "answer without a clause"
        assert "does not follow from the term" not in {
            s.kind for s in check_row(MasterRow("x", spans, answers)).suspects
        }


def test_a_template_and_an_open_end_are_no_slips():
    assert kinds("Agreement Date", "this ___ day of ____, 20__", "[]/[]/20[]") == []
    assert kinds("Expiration Date", "shall continue until terminated", "Perpetual") == []
    assert kinds("Expiration Date", "the fifth anniversary", "whenever") == ["unreadable answer"]


def test_texts_are_looked_up_by_words_that_stand_together():
    text = (
        "The Supplier shall insure the goods at its own expense. " * 3
        + "Acme may audit the books twice a year."
    )
    good = row("Audit Rights", "Acme may audit\nthe books twice a year", "Yes")
    bad = row("Audit Rights", "Acme may never audit the ledgers of anybody", "Yes")
    assert check_row(good, text).suspects == () and check_row(good, text).asked["not in the document"] == 1
    assert [s.kind for s in check_row(bad, text).suspects] == ["not in the document"]
    both = row("Audit Rights", "Acme may audit the books<omitted>insure the goods at its own expense", "Yes")
    assert check_row(both, text).asked["not in the document"] == 2 and not check_row(both, text).suspects


def test_sample_labels_stand_in_their_contracts(data):
    audit = audit_labels(data / "labels" / "master_clauses_sample.csv", data / "contracts")
    assert audit.n_documents == 12 and audit.asked["not in the document"] > 60
    assert audit.of(kind="not in the document") == () and audit.of(weight="contradiction") == ()
    assert audit.as_dict()["n_suspects"] == len(audit.frame())


def test_what_is_shown_is_escaped():
    bad = {"Filename": "<b>.pdf", "Insurance": "['<script>']", "Insurance-Answer": "No"}
    html = audit_labels([bad])._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html and "&lt;b&gt;" in html


@pytest.mark.parametrize(
    "bad", ["nowhere.csv", 3, {"Filename": "a"}, [{"Filename": "a", "Parties": "x"}], [1]]
)
def test_a_table_that_is_none_is_refused_in_one_line(bad):
    with pytest.raises(BadInput) as said:
        audit_labels(bad)
    assert "\n" not in str(said.value) and "expected" in str(said.value)


TABLE = [
    MasterRow("a.pdf", {"Agreement Date": ("May 25th, 2018",)}, {"Agreement Date": "5/25/08"}),
    MasterRow("b.pdf", {"Agreement Date": ("March 3, 2024",)}, {"Agreement Date": "3/3/24"}),
]


@given(
    st.dates(dt.date(2000, 1, 1), dt.date(2029, 12, 31)), st.dates(dt.date(2000, 1, 1), dt.date(2029, 12, 31))
)
def test_corrected_is_the_score_against_the_clause(first, second):
    run = [
        {"filename": f"{n}.pdf", "predicted": {"effective_date": d.isoformat()}}
        for n, d in zip("ab", (first, second), strict=True)
    ]
    effect = label_effect(run, TABLE)
    (touched,) = effect.effects
    assert touched.doc_id == "a.pdf" and touched.without is None
    assert (touched.corrected == 1.0) == (first == dt.date(2018, 5, 25))
    assert (touched.labelled == 1.0) == (first == dt.date(2008, 5, 25))
    (field,) = effect.fields()
    assert field["documents"] == 2 and field["documents_without"] == 1
    assert field["without"] == effect.scores["effective_date"]["b.pdf"]


def test_suspects_that_do_not_weigh_enough_touch_nothing():
    run = [{"filename": "a.pdf", "predicted": {"effective_date": "2018-05-25"}}]
    assert label_effect(run, TABLE, weights=("gap",)).effects == ()
    assert len(label_effect(run, TABLE, weights=("gap", "contradiction")).effects) == 1


def test_slips_move_a_real_field_by_little(pack):
    effect = label_effect(pack, pack / "master_clauses.csv.gz", run="046")
    assert {f["field"] for f in effect.fields()} <= {
        "effective_date",
        "parties",
        "governing_law",
        "renewal_terms",
        "key_obligations",
    }
    assert all(abs(f["labelled"] - f["corrected"]) < 0.05 for f in effect.fields())


def test_the_command_lists_the_five_slips(pack, tmp_path):
    out = tmp_path / "suspects.csv"
    ran = CliRunner().invoke(
        app, [str(pack / "master_clauses.csv.gz"), "--json", "--weight", "contradiction", "--out", str(out)]
    )
    told = json.loads(ran.stdout)
    dates = {s["answer"] for s in told["suspects"] if s["kind"] == "another date"}
    assert ran.exit_code == 0 and dates >= {"11/18/05", "7/7/99", "5/25/08", "6/25/15", "3/14/18"}
    assert len(out.read_text(encoding="utf-8-sig").splitlines()) > len(dates)


def test_a_spreadsheet_runs_nothing_of_what_was_found(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("Filename,Insurance,Insurance-Answer\n=1+1.pdf,\"['=cmd()']\",No\n", encoding="utf-8")
    ran = CliRunner().invoke(app, [str(table), "--out", str(tmp_path / "s.csv")])
    assert (
        ran.exit_code == 0
        and "'=1+1.pdf" in (tmp_path / "s.csv").read_text()
        and "'=cmd()" in (tmp_path / "s.csv").read_text()
    )


def test_the_planted_slips_are_found_and_nothing_else_contradicts(data):
    audit = audit_labels(data / "labels" / "master_clauses_doubtful.csv", data / "contracts")
    found = {(s.filename.split("_")[0], s.kind) for s in audit.suspects if s.weight != "gap"}
    assert found == {
        ("BrambleSoft", "another date"),
        ("Larkspur", "another date"),
        ("Kestrel", "another spelling"),
        ("Saltmarsh", "another place"),
        ("Umbra", "another length"),
        ("TallowBridge", "does not follow from the term"),
        ("QuillAndAsh", "not in the document"),
        ("OrchardLine", "no with a clause"),
        ("PeregrineCup", "yes without a clause"),
    }
