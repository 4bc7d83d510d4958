"""Missed clauses: what is unmatched, what stands inside a longer item, and which family it is."""

import re

import pytest
from growth import assert_near_linear, repeated
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.clause_shapes import CLAUSE_SHAPES, clause_shapes
from llm_dojo_scoring.families import count_families, families, family_decomposition
from llm_dojo_scoring.lists.score import match_list
from llm_dojo_scoring.misses import attribute_misses, plot_misses, recovery_check
from llm_dojo_scoring.run_files import BadInput
from llm_dojo_scoring.span_outcomes import OUTCOMES, document_outcomes
from llm_dojo_scoring.unmatched import containment_test, nearest_items, undecided_texts, unmatched_spans

WORDS = st.sampled_from(
    "buyer seller shall may not pay audit books license grant term notice the of a 30 days".split()
)
CLAUSE = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
LIST = st.lists(CLAUSE, max_size=6)
ANY = (
    st.none()
    | st.integers()
    | st.text(max_size=30)
    | st.lists(st.none() | st.integers() | CLAUSE, max_size=4)
)


@given(LIST, LIST, st.sampled_from(["scorer", "overlap"]))
def test_unmatched_are_the_labels_below_the_threshold(spans, items, string):
    nearest = nearest_items(spans, items, string=string, embedding=False)
    assert [n.span for n in nearest] == spans
    left = unmatched_spans(spans, items, string=string, embedding=False)
    assert left == [n for n in nearest if n.best_similarity < 0.6]
    assert all(0 <= n.string_score <= n.best_similarity <= 1 for n in nearest)
    assert {u.span for u in unmatched_spans(spans, items, embedding=False)} <= {
        u.span for u in unmatched_spans(spans, items, string="overlap", embedding=False)
    }


@given(LIST, LIST)
def test_a_label_that_the_score_pairs_is_never_unmatched(spans, items):
    paired = {
        match.labels[j] for match in [match_list("free_text", items, spans, False)] for _, j in match.pairs
    }
    assert not paired & {u.span for u in unmatched_spans(spans, items, embedding=False)}


@pytest.mark.parametrize(("words", "share"), [(3, 1 / 2), (2, 2 / 3), (5, 1 / 3), (13, 1 / 7), (4, 2 / 5)])
def test_a_label_at_the_threshold_is_matched(words, share):
    label = " ".join(
        "buyer seller shall audit books license grant term notice days paid once here".split()[:words]
    )
    asked = {"threshold": share, "string": "overlap"}
    assert unmatched_spans([label], ["buyer"], **asked, embedding=False) == []
    assert undecided_texts([label], ["buyer"], **asked) == []
    assert nearest_items([label], ["buyer"], **asked, embedding=False)[0].best_similarity == round(share, 4)
    (row,) = document_outcomes(
        {"key_obligations": ["buyer"]}, {"key_obligations": [label]}, threshold=share, embedding=False
    )
    assert row.outcome == "found"
    least = {**asked, "threshold": share + 1e-3}
    assert len(unmatched_spans([label], ["buyer"], **least, embedding=False)) == 1
    assert undecided_texts([label], ["buyer"], **least) == [label, "buyer"]


@pytest.mark.parametrize(("own", "alike"), [(9, False), (10, True)])
def test_meaning_is_asked_below_six_tenths_unless_told_otherwise(own, alike):
    words = (
        "buyer seller shall audit books license grant term notice days paid once here now rent law".split()
    )
    label, item = " ".join(words), " ".join([*words[:own], *("x" * n for n in range(1, 17 - own))])

    class Meaning:
        backend = "example"

        def similarity(self, a, b):
            return 0.1

    (found,) = nearest_items([label], [item], string="overlap", embedding=Meaning())
    assert (found.string_score, found.embedding_score) == (own / 16, None if alike else 0.1)
    asked = {"string": "overlap", "embedding": False}
    assert (unmatched_spans([label], [item], **asked) == []) is alike
    assert (undecided_texts([label], [item], string="overlap") == []) is alike
    longer = " ".join([*words[:own], *"a b c d e f g h i j k l m n o p q r s t".split()])
    (held,) = containment_test([" ".join(words[:14])], [longer])
    assert (held.verdict, held.coverage) == (("boundary", 0.7143) if alike else ("omission", 0.6429))


@pytest.mark.parametrize("share", [0, 0.0, 0.5, 1, 1.0])
def test_shares_from_0_to_1_are_taken(share):
    assert (
        nearest_items(["audit books"], ["audit books"], threshold=share, embedding=False)[0].best_similarity
        == 1
    )
    assert (
        containment_test(["audit books"], ["audit books each year"], coverage=share)[0].verdict == "boundary"
    )


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), True, "0.5", None])
def test_what_is_no_share_is_refused_by_its_name(share):
    with pytest.raises(ValueError, match="`threshold` must be a share"):
        unmatched_spans(["audit"], ["audit"], threshold=share)
    with pytest.raises(ValueError, match="`coverage` must be a share"):
        containment_test(["audit"], ["audit"], coverage=share)


@given(LIST, LIST)
def test_a_forgiving_measure_leaves_no_boundary_to_find(spans, items):
    left = unmatched_spans(spans, items, embedding=False)
    assert all(c.verdict == "omission" for c in containment_test(left, items))


@given(LIST, LIST, st.floats(0, 1))
def test_a_boundary_is_a_longer_item_that_covers_enough(spans, items, coverage):
    for span, found in zip(spans, containment_test(spans, items, coverage=coverage), strict=True):
        if abs(found.coverage - coverage) > 1e-3:
            assert (found.verdict == "boundary") == (found.item is not None and found.coverage > coverage)
        if found.item is not None:
            assert len(found.item.split()) > len(span.split())
        if found.verdict == "boundary":
            assert not found.passage or found.passage in found.item


@given(ANY, ANY)
def test_no_output_of_a_model_makes_it_raise(spans, items):
    left = unmatched_spans(spans, items, embedding=False)
    containment_test(left, items)
    assert sum(family_decomposition(left, predicted=items).values()) == len(left)


def test_order_of_items_changes_nothing():
    spans, items = ["buyer may audit", "seller may sell"], ["seller may sell all", "buyer may audit", "x"]
    assert unmatched_spans(spans, items) == unmatched_spans(spans, items[::-1])
    verdicts = [c[1:4] for c in containment_test(spans, items)]
    assert verdicts == [c[1:4] for c in containment_test(spans, items[::-1])]


def test_meaning_is_asked_only_below_the_threshold():
    class Fake:
        backend, calls = "fake", []

        def similarities(self, items, labels):
            self.calls += labels
            return [[0.7] * len(labels)] * len(items)

    fake = Fake()
    spans = ["buyer may audit the books", "the weather is fine today"]
    left = unmatched_spans(spans, ["buyer may audit the books"], embedding=fake)
    assert left == [] and fake.calls == [spans[1]]


def test_the_published_residual_of_fifty_documents(pack):
    "Run 043: 160 unmatched spans, none inside a longer item; 24 more stand inside one and were credited."
    import gzip
    import json

    def lines(name):
        with gzip.open(pack / name, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    expected = {r["filename"]: r["expected_fields"] or {} for r in lines("expected.jsonl.gz")}
    strict, credited, inside, labels = [], 0, 0, 0
    for row in lines("rows_extraction.jsonl.gz"):
        if row["run"] == "043":
            spans = expected[row["filename"]].get("key_obligations") or []
            items = (row["predicted"] or {}).get("key_obligations")
            labels += len(spans)
            left = unmatched_spans(spans, items, embedding=False)
            strict += [c.verdict for c in containment_test(left, items)]
            wide = unmatched_spans(spans, items, string="overlap", embedding=False)
            credited += len(wide) - len(left)
            inside += sum(c.verdict == "boundary" for c in containment_test(wide, items))
    assert (labels, len(strict), strict.count("boundary"), credited, inside) == (352, 160, 0, 24, 24)


@given(st.lists(st.sampled_from([*CLAUSE_SHAPES, "unclassified", "My own"]), max_size=30))
def test_families_are_counted_most_first_and_the_rest_last(names):
    from llm_dojo_scoring.families import Family

    counts = count_families(Family("x", n, "", "") for n in names)
    assert sum(counts.values()) == len(names)
    known = [n for n in counts if n != "unclassified"]
    assert [counts[n] for n in known] == sorted((counts[n] for n in known), reverse=True)
    assert "unclassified" not in counts or list(counts)[-1] == "unclassified"


def test_labels_speak_before_routing_and_routing_before_words():
    clause = "Buyer may audit the books of Seller at any time."
    routed = {"reasoning": [{"field": "Insurance", "evidence": clause}]}
    assert families([clause])[0].family == "Audit Rights"
    assert families([clause], predicted=routed)[0][1:3] == ("Insurance", "routing")
    assert families([clause], labels={"License Grant": clause}, predicted=routed)[0][1:3] == (
        "License Grant",
        "label",
    )


@pytest.mark.parametrize("category", CLAUSE_SHAPES)
def test_shapes_are_linear(category):
    pattern = re.compile(CLAUSE_SHAPES[category])
    for unit in ("license grant ", "terminat", "not ", "assign consent ", "exclus", "(", "a" * 50 + " "):
        assert_near_linear(lambda text: [*pattern.finditer(text)], repeated(unit), 20_000)


def test_shapes_need_their_words_whole_and_in_one_sentence():
    assert clause_shapes("The minimum. Everything is fine.")[0].category == "Minimum Commitment"
    assert clause_shapes("Auditors like it.")[0].category == "Audit Rights"
    assert clause_shapes("plaudits for everybody") == ()
    assert clause_shapes("AUDIT\nrights")[0].words == "audit"


LABELS = {
    "a.txt": {"key_obligations": ["Buyer may audit the books.", "Seller shall pay the tax."]},
    "b.txt": {
        "key_obligations": ["Seller shall insure the goods."],
        "termination_clauses": ["Either may terminate."],
    },
    "c.txt": {"key_obligations": ["Buyer shall keep secrets."]},
}


def rows(**items):
    "One row a document: its items, or `None` for a call that failed."
    return [
        {
            "filename": f"{k}.txt",
            "status": "error" if v is None else "completed",
            "predicted": v and {"key_obligations": v},
        }
        for k, v in items.items()
    ]


@given(ANY, st.lists(CLAUSE, max_size=4))
def test_every_label_has_one_outcome(predicted, spans):
    found = document_outcomes({"key_obligations": predicted}, {"key_obligations": spans}, embedding=False)
    assert [o.span for o in found] == spans
    assert all(o.outcome in OUTCOMES and o.missed == (o.outcome not in ("found", "inside")) for o in found)
    left = unmatched_spans(spans, predicted, embedding=False)
    assert [o.span for o in found if o.missed] == [u.span for u in left]


def test_counts_add_up_and_failed_calls_blame_no_prompt():
    report = attribute_misses(rows(a=["Buyer may audit the books"], b=None, z=["x"], c=[]), LABELS)
    assert (report.n_documents, report.n_failed, report.n_failed_spans) == (3, 1, 2)
    assert (report.n_spans, report.n_unmatched, report.unlabelled) == (3, 2, ("z.txt",))
    assert sum(r["labelled"] for r in report.by_family()) == report.n_spans
    assert sum(r["missed"] for r in report.by_family()) == report.n_unmatched
    assert report.boundary_share == 0.0 and len(report.frame()) == 5
    assert report.as_dict()["counts"] == {"found": 1, "inside": 0, "boundary": 0, "omission": 2, "failed": 2}


def test_a_repeated_row_is_counted_once():
    twice = rows(a=["Buyer may audit the books"]) + rows(a=[])
    assert attribute_misses(twice, LABELS).counts["found"] == 1
    assert attribute_misses(twice, LABELS).unlabelled == ("a.txt",)


def test_recovery_knows_the_four_states_and_swaps():
    before = rows(a=["Buyer may audit the books"], b=["Seller shall insure the goods"], c=[])
    after = rows(a=["Seller shall pay the tax"], b=["Seller shall insure the goods"], c=[])
    change = recovery_check(before, after, LABELS)
    assert (
        change.counts == {"kept": 1, "recovered": 1, "regressed": 1, "still_missing": 2} and change.net == 0
    )
    back = recovery_check(after, before, LABELS)
    assert back.counts["recovered"] == change.counts["regressed"]
    assert [s for s, *_ in change.spans] == [
        "regressed",
        "recovered",
        "kept",
        "still_missing",
        "still_missing",
    ]
    assert change.difference.interval.n == 3 and change.difference.interval.value == 0


def test_recovery_leaves_out_what_one_run_lacks_and_names_it():
    change = recovery_check(
        rows(a=["x"], b=None, c=[]), rows(a=["x"], b=["Seller shall insure the goods"]), LABELS
    )
    assert change.n_documents == 1 and set(change.left_out) == {"b.txt", "c.txt"}
    assert change.difference is None and "undefined" in change._repr_html_()
    other = {**LABELS, "a.txt": {"key_obligations": ["Another clause."]}}
    with pytest.raises(ValueError, match="same labels"):
        recovery_check(attribute_misses(rows(a=[]), LABELS), attribute_misses(rows(a=[]), other))


class Counting:
    "A matcher with vectors: two texts are alike when they begin with one letter. It counts what it embeds."

    backend = "counting"

    def __init__(self):
        from llm_dojo_scoring.embedding import VectorMatcher

        self.asked, self.calls = [], 0
        self._inner = VectorMatcher(self._encode)

    def _encode(self, texts):
        self.calls += 1
        self.asked += texts
        return [
            [float(t.startswith(c)) for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"]
            for t in texts
        ]

    def vectors(self, texts):
        return self._inner.vectors(texts)

    def similarities(self, items, labels):
        return self._inner.similarities(items, labels)

    def similarity(self, a, b):
        return self._inner.similarity(a, b)


def test_meaning_is_asked_for_what_words_leave_open_each_text_once_in_one_call():
    run = rows(
        a=["Buyer may audit the books", "Sales tax is borne by it"],
        b=["Seller shall insure the goods", "Sales tax is borne by it"],
        c=["Secrets are safe"],
    )
    asked = Counting()
    report = attribute_misses(run, LABELS, embedding=asked)
    assert asked.calls == 1 and len(asked.asked) == len(set(asked.asked))
    # `b` is decided by words; of `a` one label is open, and is held against both items
    assert set(asked.asked) == {
        "Seller shall pay the tax.",
        "Buyer may audit the books",
        "Sales tax is borne by it",
        "Buyer shall keep secrets.",
        "Secrets are safe",
    }
    assert (report.embedding, report.n_by_meaning) == ("counting", 1)
    by = {o.span: o for o in report.outcomes}
    assert by["Seller shall pay the tax."].embedding_score == 1.0
    assert by["Buyer may audit the books."].embedding_score is None
    assert "1 were found by meaning alone" in report._repr_html_()
    assert report.as_dict()["n_by_meaning"] == 1 and report.as_dict()["embedding"] == "counting"


def test_words_alone_say_so():
    report = attribute_misses(rows(a=["Buyer may audit the books"]), LABELS, embedding=False)
    assert (report.embedding, report.n_by_meaning) == ("none", 0)
    assert "meaning" not in report._repr_html_()


def test_asking_ahead_changes_nothing_but_when(monkeypatch):
    import llm_dojo_scoring.misses as M

    run = rows(a=["Buyer may audit the books", "So it is"], b=["Goods are insured", "x"], c=["Books"])
    together = attribute_misses(run, LABELS, embedding=Counting())
    for n in (1, 2):
        monkeypatch.setattr(M, "_AT_ONCE", n)
        assert attribute_misses(run, LABELS, embedding=Counting()) == together
    monkeypatch.setattr(M, "embed_ahead", lambda *a: 0)
    assert attribute_misses(run, LABELS, embedding=Counting()) == together


def test_what_is_shown_is_escaped_and_drawn():
    labels = {"a.txt": {"key_obligations": ["<b>Buyer</b> may audit."]}}
    report = attribute_misses(rows(a=["x"]), labels, rules={"<i>": "audit"})
    assert "&lt;i&gt;" in report._repr_html_() and "<i>" not in report._repr_html_()
    for found in (report, recovery_check(report, report), attribute_misses(rows(a=["x"]), {"a.txt": {}})):
        assert plot_misses(found).axes[0].get_xlabel() == "labelled clauses"


def test_bad_inputs_are_refused():
    for bad in ({"threshold": -1}, {"coverage": 2}, {"fields": ["key_obligations"], "rules": ["x"]}):
        with pytest.raises((ValueError, TypeError)):
            attribute_misses(rows(a=["x"]), LABELS, **bad)
    with pytest.raises(BadInput):
        attribute_misses("no/such.jsonl", LABELS)


def test_seven_words_of_ten_are_enough_for_a_boundary_and_six_are_not():
    span = "one two three four five six seven eight nine ten"
    item = "one two three four five six seven u v w x y z"
    assert containment_test([span], [item])[0].verdict == "boundary"
    assert containment_test([span], [item.replace("seven", "t")])[0].verdict == "omission"


def test_nine_words_of_ten_make_a_clause_the_labelled_one_and_eight_do_not():
    marked = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"
    span = "alpha beta gamma delta epsilon zeta eta theta iota zzz"
    assert families([span], labels={"Insurance": marked})[0].how == "label"
    assert families([span.replace("iota", "yyy")], labels={"Insurance": marked})[0].how == ""
    assert families(["alpha beta gamma"], labels={"Insurance": marked})[0].how == ""
    assert families(["alpha beta gamma delta"], labels={"Insurance": marked})[0].how == "label"
