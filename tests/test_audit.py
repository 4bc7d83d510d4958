"""Grounding and the factuality audit: rules by type, guards, identities, time, and real rows."""

import gzip
import json

import pytest
from growth import assert_near_linear, repeated
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring.config import settings as configured
from llm_dojo_scoring.document import Document
from llm_dojo_scoring.factuality.audit import audit_items, audit_list_field, audit_scalar_field
from llm_dojo_scoring.factuality.grounding import is_grounded, verify_list_items
from llm_dojo_scoring.lists.score import match_list

CONTRACT = """This License Agreement No. GI-2024/017 is made on the 18t h day of August 2014 between Goosehead
Insurance Agency, LLC and Acme Franchising, Inc. It ends on December 31, 2020. Licensee shall pay a fee of Two
Million Dollars ($2,000,000), EUR 1.500,00 for training, and a royalty of five percent (5%) of net sales each
quarter. Licensee may assign this Agreement without consent. Licensor shall not be liable for indirect
damages. 12,500 shares are issued."""
KEYS = ["n_predicted", "matched_gt", "verified_in_doc", "true_items", "verified_precision", "hallucinated"]
KEYS += ["hallucination_rate", "doc_verification"]


def counts(audit):
    assert list(audit) == KEYS
    assert audit["verified_in_doc"] == audit["true_items"] == audit["n_predicted"] - audit["hallucinated"]
    return audit["n_predicted"], audit["matched_gt"], audit["true_items"]


STATED = """2024-03-03|March 3, 2024|March 3rd, 2024|3 March 2024|3rd day of March, 2024|03/03/2024
3-Mar-2024|03.03.2024|the third day of March 2024|3rd of March 2024|MARCH 3,2024
the 3r d day of March 2024|Mar. 3, 2024"""


@pytest.mark.parametrize("stated", STATED.replace("\n", "|").split("|"))
def test_a_date_is_found_in_any_format(stated):
    text = f"This Agreement is effective as of {stated} between the parties."
    for item in ("2024-03-03", "March 3, 2024", "3 March 2024", "3rd day of March 2024"):
        assert audit_scalar_field("date", item, None, text)["true_items"] == 1, (stated, item)
        assert audit_list_field("date", [item], [], text)["true_items"] == 1
        assert verify_list_items([item], text, field_type="entity_list:date") == [True]
        assert audit_scalar_field("date", item.replace("3", "4", 1), None, text)["true_items"] == 0


@pytest.mark.parametrize(
    ("item", "kind", "how"),
    [
        ("2014-08-18", "date", "same date"),
        ("August 2014", "date", "same date"),
        ("2014", "date", "same date"),
        ("2015", "date", "no such date"),
        ("2014-08-18 to 2020-12-31", "date", "same date"),
        ("2014-08-18 to 2020-12-30", "date", "no such date"),
        ("2014-08-18, that is in 2015", "date", "same date"),
        ("as made between Goosehead and Acme", "date", "token coverage"),
        ("$2 million", "money", "same amount"),
        ("2,000,000.01", "money", "same amount"),
        ("2,000,000.02", "money", "no such amount"),
        ("€1,500.00", "money", "same amount"),
        ("$1,500.00", "money", "no such amount"),
        ("-$2,000,000", "money", "no such amount"),
        ("12500", "money", "same amount"),
        ("$12500", "money", "no such amount"),
        ("12501", "money", "no such amount"),
        ("$2,000,000 and $3", "money", "no such amount"),
        ("a royalty of net sales", "money", "token coverage"),
        ("GI2024017", "id", "same id"),
        ("gi 2024-017", "id", "same id"),
        ("2024/017", "id", "same id"),
        ("GI-2024/01", "id", "no such id"),
        ("GI-2024/018", "id", "no such id"),
        ("I-2024/017", "id", "no such id"),
        ("No", "id", "same id"),
        ("sales each quarter Licensee", "id", "same id"),
        ("net quarter", "id", "no such id"),
        ("Goosehead Agency", "name", "token coverage"),
        ("Goosehead Bank", "name", "too few words"),
        ("Goosehead Agency", "no such type", "token coverage"),
    ],
)
def test_each_type_is_looked_for_as_what_it_is(item, kind, how):
    found = is_grounded(item, CONTRACT, kind)
    assert found.how == how
    assert found.true == (how.startswith("same") or how == "token coverage")
    assert verify_list_items([item], CONTRACT, field_type=kind) == [found.true]
    assert (found.start is None) == (found.evidence == "")
    if found.evidence:
        assert CONTRACT[found.start : found.end] == found.evidence


@pytest.mark.parametrize(
    ("item", "how"),
    [
        ("Licensee shall not assign this Agreement without consent", "negation differs"),
        ("Licensee may assign this Agreement", "token coverage"),
        ("Licensor shall be liable for indirect damages", "negation differs"),
        ("Licensor is never liable for indirect damages", "token coverage"),
        ("Licensor is liable for no indirect damages", "token coverage"),
        ("Licensee may assign this Agreement, including without limitation by consent", "token coverage"),
        ("Licensee shall pay a royalty of 12 percent of net sales each quarter", "number not stated"),
        ("Licensee shall pay a royalty of twelve percent of net sales each quarter", "number not stated"),
        ("Licensee shall pay a royalty of 5 percent of net sales each quarter", "token coverage"),
        ("Licensee shall pay a fee of $2,000,001 and a royalty each quarter", "number not stated"),
        ("Licensee shall pay a fee of $2M for training", "token coverage"),
        ("made on August 18, 2014 between Goosehead Insurance Agency and Acme", "token coverage"),
        ("made on August 19, 2014 between Goosehead Insurance Agency and Acme", "number not stated"),
        ("Goosehead is not liable for sales of shares", "words scattered"),
    ],
)
def test_the_guards(item, how):
    found = is_grounded(item, CONTRACT, grounding="guarded")
    assert (found.how, found.true) == (how, how == "token coverage")
    assert verify_list_items([item], CONTRACT, grounding="guarded") == [found.true]
    assert is_grounded(item, CONTRACT).true, "each of them has the words"
    audited = audit_list_field("free_text", [item], [], CONTRACT, grounding="guarded")
    assert counts(audited) == (1, 0, int(found.true))
    assert audit_scalar_field("free_text", item, None, CONTRACT, grounding="guarded") == audited


@pytest.mark.parametrize(
    ("item", "document", "differs"),
    [
        ("Licensor is not liable for all damages", "Licensor isn't liable for all damages", False),
        ("Licensor is liable for all damages", "Licensor isn’t liable for all damages", True),
        ("Either party may assign this Agreement", "Neither party may assign this Agreement", True),
        ("Neither party may assign this Agreement", "No party may ever assign this Agreement", False),
        (
            "Licensee may assign this Agreement",
            "It is not so. Licensee may assign this Agreement. No more.",
            False,
        ),
        ("Licensee may assign this Agreement", "It is not so; Licensee may assign this Agreement", False),
        ("Licensee may assign this Agreement", "Not so\n\nLicensee may assign this Agreement\n\nNo", False),
        ("Licensee may assign this Agreement", "Never shall Licensee assign this Agreement as he may", True),
        (
            "Licensee may assign this Agreement",
            "Licensee may assign this Agreement to nobody, not ever",
            True,
        ),
        ("Licensee may assign without consent", "Licensee may assign with consent", True),
        ("Licensee pays taxes", "Licensee pays taxes including without limitation VAT", False),
        ("Licensee pays taxes", "Licensee pays taxes, including but not limited to VAT", False),
        ("not never", "never not", False),
    ],
)
def test_denial_is_looked_for_in_the_passage_and_beside_it(item, document, differs):
    assert is_grounded(item, document).negation_differs == differs
    assert is_grounded(item, document, "containment").negation_differs == differs
    assert is_grounded(item, document, "name").negation_differs is False


@pytest.mark.parametrize(
    ("item", "missing"),
    [
        ("17.5. Licensee pays", ()),
        ("17.5 Licensee pays", ()),
        ("7. Licensee pays", ()),
        ("(7) Licensee pays", ()),
        ("7 Licensee pays", ("7",)),
        ("7 days Licensee pays", ("7",)),
        ("7.5 percent Licensee pays", ("7.5",)),
        ("Licensee pays under Section 7", ()),
        ("Licensee pays under § 7 and Exhibit (7)", ()),
        ("Licensee pays under Article 7 for 8 days", ("8",)),
        ("Licensee pays in sections 7 times", ()),
        ("Licensee pays 7 times", ("7",)),
        ("Licensee pays seven (7) times", ("seven (7)",)),
        ("Licensee pays 5 times", ()),
        ("Licensee pays five times", ()),
        ("Licensee pays on May 1, 2020", ("May 1, 2020",)),
        ("Licensee pays on May 1, 2021", ()),
        ("Licensee pays $5 on 2021-05-01", ()),
        ("Licensee pays €5", ("€5",)),
    ],
)
def test_figures_of_an_item_that_the_passage_does_not_state(item, missing):
    document = (
        "Licensee pays five (5) times the sum of $5."
        + " filler" * 20
        + " Signed on the 1st day of May, 2021."
    )
    assert is_grounded(item, document).numbers_missing == missing


def test_a_figure_may_stand_beside_the_passage_and_not_far_from_it():
    for gap, missing in ((8, ()), (20, ("9",))):
        document = "Licensee pays the fee" + " filler" * gap + " 9 times"
        assert (
            is_grounded("Licensee pays the fee, 9", document, token_coverage=0.5).numbers_missing == missing
        )
        before = "9 times " + "filler " * gap + "Licensee pays the fee"
        assert is_grounded("Licensee pays the fee, 9", before, token_coverage=0.5).numbers_missing == missing


def test_doubts_are_told_in_words():
    scattered = "royalty " + "filler " * 30 + "audit of the books each year"
    assert is_grounded("royalty audit books year", scattered).doubts == (
        "only 75% of its words stand together",
    )
    doubts = is_grounded(
        "Licensee shall not pay a royalty of 13 percent of net sales each quarter", CONTRACT
    ).doubts
    assert doubts == (
        "only 78% of its words stand together",
        "'13' is not stated there",
        "one side denies, the other does not",
    )
    assert is_grounded("Goosehead Insurance Agency", CONTRACT).doubts == ()
    assert (
        is_grounded("Licensee assigns without consent", "Licensee assigns with consent").window_coverage
        == 1.0
    )
    assert is_grounded("no Licensee assigns", "Licensee assigns").window_coverage == 1.0
    assert (
        is_grounded("Goosehead", CONTRACT)
        ._repr_html_()
        .startswith("<p>&#10003; Goosehead <i>(token coverage, 100%")
    )
    assert is_grounded("Zeta", CONTRACT)._repr_html_().startswith("<p>&#10007; Zeta <i>(too few words, 0%")
    shown = is_grounded("<b> royalty of 12 percent", CONTRACT)._repr_html_()
    assert "&lt;b&gt;" in shown and "12" in shown and "<blockquote>" in shown


def test_items_that_share_a_label_are_matched_once():
    assert counts(audit_list_field("name", ["Acme Corp", "Acme Corp."], ["Acme Corp"], None)) == (2, 1, 1)
    assert counts(audit_list_field("name", ["Acme Corp"], ["Acme Corp", "ACME Corp"], None)) == (1, 1, 1)
    matched = audit_list_field("name", ["Delta Corp"], ["Delta Corp"], CONTRACT)
    assert counts(matched) == (1, 1, 1) and matched["verified_in_doc"] == 1


def test_a_given_comparison_is_used_and_not_made_again():
    match = match_list("name", ["Acme Corp", "Zeta"], ["Acme Corp"])
    assert counts(audit_list_field("name", "ignored", "ignored", None, match=match)) == (2, 1, 1)
    assert counts(audit_scalar_field("name", "Zeta", "Acme", None, score=0.6)) == (1, 1, 1)
    assert counts(audit_scalar_field("name", "Acme", "Acme", None, score=0.59)) == (1, 0, 0)
    with configured(field_scoring__bipartite_match_threshold=0.7):
        assert counts(audit_scalar_field("date", "August 2014", "2014-08-18", None)) == (1, 0, 0)
    assert counts(audit_scalar_field("date", "August 2014", "2014-08-18", None)) == (1, 1, 1)


@pytest.mark.parametrize("blank", [None, "", [], "  ", float("nan"), {}, [None, ""]])
def test_only_what_is_missing_is_blank(blank):
    zeros = audit_scalar_field("name", blank, "Acme", CONTRACT)
    assert zeros == {
        **dict.fromkeys(KEYS, 0),
        "verified_precision": 0.0,
        "hallucination_rate": 0.0,
        "doc_verification": True,
    }
    assert audit_list_field("name", blank, ["Acme"], CONTRACT) == zeros


@pytest.mark.parametrize("value", [0, 0.0, False, "0", "N/A Holdings"])
def test_zero_is_a_value(value):
    assert audit_scalar_field("name", value, None, CONTRACT)["n_predicted"] == 1
    assert audit_scalar_field("money", 0, None, "nothing ($0.00) is due")["true_items"] == 1


def test_a_coverage_of_its_own_and_the_configured_one():
    item = "Goosehead Insurance Bank"
    assert [
        audit_list_field("name", [item], [], CONTRACT, share)["true_items"]
        for share in (0.6, 2 / 3, 0.67, None)
    ] == [1, 1, 0, 0]
    assert [
        audit_scalar_field("name", item, None, CONTRACT, token_coverage=s)["true_items"] for s in (0.6, 0.67)
    ] == [1, 0]
    with configured(field_scoring__verification_token_coverage=0.6):
        assert audit_scalar_field("name", item, None, CONTRACT)["true_items"] == 1
        assert audit_list_field("name", [item], [], CONTRACT)["true_items"] == 1
        assert is_grounded(item, CONTRACT).true
    assert [a.true for a in audit_items("name", [item], [], CONTRACT, 0.6)] == [True]


def test_a_text_and_its_document_give_the_same():
    items = ["Goosehead", "Zeta", "2014-08-18"]
    for kind in ("name", "date", "money", "id", "free_text"):
        assert audit_list_field(kind, items, [], CONTRACT) == audit_list_field(
            kind, items, [], Document(CONTRACT)
        )


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["2024-03-03", "$5", "Acme"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    JSON,
    JSON,
    st.sampled_from(["name", "date", "money", "id", "free_text", "containment", "other"]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_no_output_raises_and_the_identities_hold(pred, exp, kind, guarded):
    rule = "guarded" if guarded else "coverage"
    for audit in (
        audit_list_field(kind, pred, exp, CONTRACT, grounding=rule),
        audit_scalar_field(kind, pred, exp, CONTRACT, grounding=rule),
    ):
        n, matched, true = counts(audit)
        assert 0 <= matched <= true <= n
        assert 0 <= audit["verified_precision"] <= 1 and 0 <= audit["hallucination_rate"] <= 1
    is_grounded(pred, CONTRACT, kind, grounding=rule)._repr_html_()


@pytest.mark.parametrize(
    "run",
    [
        " ",
        "(",
        "1 day of january",
        "1 day of january  ",
        "a",
        "A-",
        "1.",
        "$",
        "$1 ",
        "no ",
        "\n",
        "GI-",
        "one hundred ",
    ],
)
def test_time_is_linear_in_the_document_and_in_the_item(run):
    def audits(long):
        audit_scalar_field("date", "2024-03-15", None, long)
        audit_scalar_field("id", "GI-GI-GI-X", None, long)
        audit_scalar_field("free_text", long, None, CONTRACT)
        verify_list_items(["x of january"], long, grounding="guarded")

    assert_near_linear(audits, lambda n: "1 day of january" + repeated(run)(n) + "x")


def test_real_lists_keep_the_identities_and_never_match_more_than_there_is(pack):
    expected = {}
    with gzip.open(pack / "expected.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            expected[row["filename"]] = row["expected_fields"]
    n_lists = stored_over = 0
    with gzip.open(pack / "rows_extraction.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            if '"run":"171"' not in line:
                continue
            row = json.loads(line)
            labels = expected.get(row["filename"]) or {}
            text = "\n\n".join(
                label for value in labels.values() for label in ([value] if isinstance(value, str) else value)
            )
            for name, stored in (row.get("entity_list_audit") or {}).items():
                if name not in ("parties", "key_obligations", "termination_clauses"):
                    continue
                items, wanted = row["predicted"].get(name), labels.get(name) or []
                kind = "name" if name == "parties" else "free_text"
                n, matched, true = counts(audit_list_field(kind, items, wanted, text, embedding=False))
                assert matched <= min(n, len(wanted)) and matched <= true <= n
                n_lists += 1
                stored_over += stored[1] > len(wanted)
    assert n_lists > 900
    assert stored_over > 50, "the stored records count an item for every label it resembles"


@pytest.mark.parametrize("share, true", [(0, True), (1, False)])
def test_both_ends_of_the_range_are_shares(share, true):
    item = "Licensee pays nothing"
    assert is_grounded(item, "Licensee pays the fee.", token_coverage=share).true == true
    assert verify_list_items([item], "Licensee pays the fee.", token_coverage=share) == [true]


@pytest.mark.parametrize("together, true", [(7, True), (6, False)])
def test_words_that_stand_together_just_often_enough_are_not_scattered(together, true):
    words = "alpha bravo charlie delta echo foxtrot golf hotel india juliet".split()
    text = f"{' '.join(words[:together])}{' filler words here' * 60} {' '.join(words[together:])}"
    found = is_grounded(" ".join(words), text, grounding="guarded")
    assert (found.true, found.coverage, found.window_coverage) == (true, 1.0, together / 10)


def test_an_audited_item_shows_its_label():
    with_label, without = audit_items("name", ["Acme Corp", "Zenith Ltd"], ["Acme Corp"], "Acme Corp signs.")
    assert "label: Acme Corp" in with_label._repr_html_() and "no label" in without._repr_html_()
