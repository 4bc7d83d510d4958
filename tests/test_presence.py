"""Category presence: candidates, names, any shape of output, and real rows."""

import gzip
import json

import pytest
from growth import assert_near_linear
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring.config import settings as configured
from llm_dojo_scoring.cuad import CUAD_CATEGORY_TO_FIELD
from llm_dojo_scoring.factuality.presence import find_categories, score_category_presence

CLAUSE = "Licensor may audit the books of Licensee once per year"
AUDIT = {"Audit Rights": {"expected": True, "answer": CLAUSE, "field": "key_obligations"}}
LISTED = {"key_obligations": [CLAUSE]}


def share(predicted, expectations=AUDIT, **options):
    return score_category_presence(predicted, expectations, {}, **options)[0]


@pytest.mark.parametrize(
    "reasoning",
    [
        "free text", ["x"], [], {}, None, 3, True, {"entries": ["x"]}, {"entries": None}, {"entries": "x"},
        {"entries": {}}, {"entries": [None]}, {"entries": [[]]}, {"entries": [{}]}, float("nan"),
        {"entries": [{"field": None, "evidence": None}]}, {"entries": [{"field": {"a": 1}}]},
        {"entries": [{"field": ["Audit Rights"], "evidence": 3}]}, {"entries": [{"field": "Audit Rights"}]},
        {"entries": [{"field": "Audit Rights", "evidence": " "}]},
        {"entries": [{"field": "Audit Rights", "evidence": None, "section_ref": "5.1"}]},
        {"entries": [{"field": "Audit Rights", "evidence": [], "section_ref": {}}]},
        {"entries": [{"field": "Audit Rights", "evidence": {"quote": "unrelated"}}]},
    ],
)  # fmt: skip
def test_reasoning_of_any_shape_leaves_the_list_alone(reasoning):
    assert share({**LISTED, "reasoning": reasoning}) == 1.0
    assert share({"reasoning": reasoning}) == 0.0


@pytest.mark.parametrize(
    "name", ["Audit Rights", "audit rights", "AUDIT-RIGHTS", " Audit_Rights ", "auditrights"]
)
@pytest.mark.parametrize("shape", ["text", "list", "section", "table", "list of entries"])
def test_evidence_counts_under_any_name_of_the_category(name, shape):
    entry = {"field": name, "evidence": CLAUSE}
    reasoning = {
        "text": {"entries": [{}, entry]},
        "list": {"entries": [{"field": name, "evidence": ["see below", CLAUSE]}]},
        "section": {"entries": [{"field": name, "evidence": "", "section_ref": f"5.1 {CLAUSE}"}]},
        "table": {"entries": {name: CLAUSE}},
        "list of entries": [entry],
    }[shape]
    found = find_categories({"reasoning": reasoning}, AUDIT)[0]
    assert (found.matched, found.how) == (True, "routed evidence")
    assert (
        find_categories({"reasoning": reasoning}, {"Exclusivity": AUDIT["Audit Rights"]})[0].matched is False
    )


def test_a_name_outside_the_catalogue_is_compared_as_given():
    unknown = {"House Rule 7": {"expected": True, "answer": CLAUSE}}
    assert share({"reasoning": {"entries": [{"field": "House Rule 7", "evidence": CLAUSE}]}}, unknown) == 1.0
    assert share({"reasoning": {"entries": [{"field": "house rule 7", "evidence": CLAUSE}]}}, unknown) == 0.0


@pytest.mark.parametrize(
    "reference",
    [
        "5.1",
        "Section 5.1",
        "§ 5",
        "Article IV(a)",
        "Sections 4 and 5(b)",
        "Exhibit B, p. 3",
        "Article LXVI",
        "—",
    ],
)
def test_a_bare_reference_is_no_candidate(reference):
    entries = {"reasoning": {"entries": [{"field": "Audit Rights", "section_ref": reference}]}}
    assert find_categories(entries, AUDIT)[0].predicted_items == 0
    entries["reasoning"]["entries"][0]["evidence"] = reference
    assert find_categories(entries, AUDIT)[0].predicted_items == 0
    entries["reasoning"]["entries"][0]["evidence"] = reference + " books"
    assert find_categories(entries, AUDIT)[0].predicted_items == 1


@pytest.mark.parametrize(("n", "hit"), [(4, 0.0), (5, 1.0), (6, 1.0), (7, 1.0)])
def test_the_clause_is_covered_from_seventy_percent(n, hit):
    words = "Licensor may audit books Licensee once per year".split()  # eight content words: 5.6 are 70 %
    assert (
        share({"key_obligations": [" ".join(words[: n + 1])]}) == (1.0 if (n + 1) / 8 >= 0.7 else 0.0) == hit
    )
    with configured(field_scoring__verification_token_coverage=0.5):
        assert share({"key_obligations": [" ".join(words[:4])]}) == 1.0


def test_the_mapped_field_and_its_default():
    moved = {"Audit Rights": {**AUDIT["Audit Rights"], "field": "termination_clauses"}}
    assert share(LISTED, moved) == 0.0
    assert share({"termination_clauses": CLAUSE}, moved) == 1.0
    for none in ({}, {"field": None}, {"field": ""}):
        assert share(LISTED, {"Audit Rights": {"expected": True, "answer": CLAUSE, **none}}) == 1.0


def test_denominator_details_and_rounding():
    wanted = {
        "Z": {"expected": True, "answer": CLAUSE},
        "A": {"expected": True, "answer": "indemnification of the other party"},
        "M": {"expected": False, "answer": CLAUSE, "field": "parties"},
        "N": {"expected": None},
        "E": {"expected": True, "answer": "  "},
        "B": {"expected": True, "answer": "limitation of all liability"},
    }
    score, detail = score_category_presence(LISTED, wanted, {})
    assert score == 0.3333 and list(detail) == ["A", "B", "E", "M", "N", "Z"]
    assert detail["M"] == {"expected": False, "matched": None, "field": "parties"}
    assert detail["Z"] == {
        "expected": True,
        "matched": True,
        "field": "key_obligations",
        "answer": CLAUSE,
        "predicted_items": 1,
    }
    assert detail["E"] == {
        "expected": True,
        "matched": None,
        "field": "key_obligations",
        "answer": "  ",
        "predicted_items": 1,
        "unscorable": True,
    }
    assert "unscorable" not in detail["A"] and detail["N"]["expected"] is False
    assert score_category_presence({}, {"E": wanted["E"]}, {})[0] == 1.0


def test_undivided_items_and_their_limit():
    two = "Licensor may audit the books once per year. Licensee shall keep its records for ten years"
    wanted = {"Audit Rights": {"expected": True, "answer": two}}
    assert (
        find_categories(
            {"key_obligations": [f"Fees are due at once. {two}. Notices are in writing."]}, wanted
        )[0].how
        == "undivided item"
    )
    assert share({"key_obligations": two.split(". ")}, wanted) == 0.0
    words = two.replace(".", "").split()
    blob = ". ".join(f"{w.capitalize()}" + " filler" * 8 for w in words)
    assert share({"key_obligations": [blob]}, wanted) == 0.0
    closest = find_categories({"key_obligations": ["keep the books", "Licensor may audit the books"]}, AUDIT)[
        0
    ]
    assert (closest.matched, closest.candidate, closest.how) == (False, "Licensor may audit the books", "")
    assert closest.coverage == 0.5
    nothing = find_categories({"key_obligations": ["indemnification"]}, AUDIT)[0]
    assert (nothing.coverage, nothing.candidate) == (0.0, None)


class Knows:
    def __init__(self, value):
        self.value = value

    def similarity(self, a, b):
        return self.value


def test_meaning_decides_where_words_do_not():
    other = {"key_obligations": ["Grantor can inspect all ledgers annually"]}
    assert [
        share(other, embedding=m) for m in (False, Knows(0.69), Knows(0.7), Knows(None), Knows(float("nan")))
    ] == [0, 0, 1, 0, 0]
    assert share({"key_obligations": []}, embedding=Knows(1.0)) == 0.0
    assert share({}, {"Audit Rights": {"expected": True, "answer": ""}}, embedding=Knows(1.0)) == 1.0
    found = find_categories(
        other, {**AUDIT, "Exclusivity": {"expected": True, "answer": "sole"}}, embedding=Knows(1.0)
    )
    assert [f.how for f in found] == ["embedding", "embedding"]
    with configured(field_scoring__embedding_rescue_below=0.0):
        assert share(other, embedding=Knows(0.9)) == 1.0


@pytest.mark.parametrize("wrong", [[], "Audit Rights", {"Audit Rights": CLAUSE}, {"Audit Rights": None}, 3])
def test_a_callers_mistake_is_named(wrong):
    if not wrong:
        assert score_category_presence({}, wrong, {}) == (1.0, {})
        return
    with pytest.raises(ValueError, match="presence_expectations"):
        score_category_presence({}, wrong, {})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([CLAUSE, "Audit Rights"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["field", "evidence", "section_ref", "entries", "reasoning", "key_obligations"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(JSON, JSON)
@settings(max_examples=200, deadline=None)
def test_no_output_raises(predicted, answer):
    score, detail = score_category_presence(
        predicted, {**AUDIT, "Exclusivity": {"expected": True, "answer": answer}}, {}, embedding=False
    )
    assert 0 <= score <= 1 and set(detail) == {"Audit Rights", "Exclusivity"}


def test_time_is_linear_in_the_output():
    def score(items):
        score_category_presence({"key_obligations": items}, AUDIT, {}, embedding=False)
        score_category_presence({"key_obligations": [" ".join(items)]}, AUDIT, {}, embedding=False)

    clause = "Party {0} shall pay fee {0}; party {0} may audit {0} books"
    assert_near_linear(score, lambda n: [clause.format(i) for i in range(n)], 2000)


def test_real_rows_agree_with_the_stored_presence(pack):
    expected = {}
    with gzip.open(pack / "expected.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            expected[row["filename"]] = row["presence"]
    pairs = []
    with gzip.open(pack / "rows_extraction.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            if '"run":"171"' in line and len(pairs) < 120:
                row = json.loads(line)
                labelled = expected.get(row["filename"]) or {}
                wanted = {
                    c: {"expected": True, "answer": a, "field": CUAD_CATEGORY_TO_FIELD[c]}
                    for c, a in labelled.items()
                }
                pairs.append((share(row["predicted"], wanted, embedding=False), row["category_presence"]))
    assert len(pairs) == 120
    # The stored rows were scored with an embedding model, which only ever adds: words alone find less.
    assert sum(ours > stored + 1e-3 for ours, stored in pairs) <= 6
    assert sum(ours > 0 for ours, stored in pairs) > 20


def test_a_stretch_with_exactly_the_least_share_of_the_clause_covers_it():
    ten = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
    wanted = {"Audit Rights": {"expected": True, "answer": ten}}
    with configured(field_scoring__verification_token_coverage=0.7):
        for text, how in (
            ("Alpha beta gamma delta; epsilon zeta eta go nowhere.", "undivided item"),
            ("Alpha beta gamma delta; epsilon zeta go nowhere.", ""),
        ):
            assert find_categories({"key_obligations": [text]}, wanted)[0].how == how
