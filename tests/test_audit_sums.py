"""Sums of stored audits: which counts can be used, and what is shown of them."""

import pytest

from llm_dojo_scoring.audit_sums import AuditSums, sum_all_audits, sum_audits


def row(n, matched, verified, true, items=None, **more):
    audit = {"n_predicted": n, "matched_gt": matched, "verified_in_doc": verified, "true_items": true, **more}
    return {"entity_list_audit": {"key_obligations": audit}, "predicted": {"key_obligations": items}}


def test_nothing_added_is_nothing_counted():
    counts = dict.fromkeys(AuditSums.__slots__[1:-1], 0)
    figures = dict.fromkeys(
        ("alignment_precision", "verified_precision", "hallucination_rate", "median_words"), None
    )
    assert AuditSums("f").as_dict() == sum_audits([], "f").as_dict() == {"field": "f", **counts, **figures}
    assert AuditSums("f").words == ()


@pytest.mark.parametrize(
    ("counts", "usable"),
    [
        ((4, 2, 3, 3), True),
        ((4, 0, 0, 0), True),
        ((0, 0, 0, 0), True),
        ((4.0, 2.0, 3.0, 3.0), True),
        ((4, 4, 4, 4), True),
        ((4, 5, 3, 3), False),
        ((4, 2, 3, 5), False),
        ((-1, -1, -1, -1), False),
        ((4, -1, 3, 3), False),
        ((4, 1.5, 3, 3), False),
        ((4, True, 3, 3), False),
        ((4, "2", 3, 3), False),
        ((4, None, 3, 3), False),
        ((float("inf"), 2, 3, 3), False),
        ((float("nan"), 2, 3, 3), False),
    ],
)
def test_counts_are_whole_and_none_is_above_the_items(counts, usable):
    got = sum_audits([row(*counts)])
    assert (got.n_docs, got.n_unusable) == ((1, 0) if usable else (0, 1))
    if usable:
        assert (got.n_predicted, got.matched_gt, got.verified_in_doc, got.true_items) == counts


@pytest.mark.parametrize(("said", "without"), [(True, 0), (False, 1), (None, 0)])
def test_only_a_stated_no_says_that_the_document_was_not_read(said, without):
    assert sum_audits([row(1, 1, 1, 1, doc_verification=said)]).n_without_document == without


def test_sums_of_parts_are_the_sums_of_all():
    rows = [
        row(3, 1, 2, 2, ["pay the rent", "repair"]),
        row(1, 1, 1, 1, ["keep it dry now"]),
        row(2, 3, 1, 1),
    ]
    one, two, whole = (sum_audits(part) for part in (rows[:1], rows[1:], rows))
    assert one + two == whole and whole.words == (2.0, 4.0)
    assert whole.as_dict() == {
        **{"field": "key_obligations", "n_docs": 2, "n_predicted": 4, "matched_gt": 2, "verified_in_doc": 3},
        **{"true_items": 3, "n_without_document": 0, "n_unusable": 1, "alignment_precision": 0.5},
        **{"verified_precision": 0.75, "hallucination_rate": 0.25, "median_words": 3.0},
    }
    assert sum_all_audits(rows) == {"key_obligations": whole}
    assert sum_all_audits(rows, ["parties"]) == {"parties": AuditSums("parties")}


def test_what_is_shown_are_the_figures_and_not_the_words_of_each_document():
    page = sum_audits([row(1, 1, 1, 1, ["one two three"])])._repr_html_()
    assert "median_words" in page.replace(" ", "_") and ">words<" not in page
