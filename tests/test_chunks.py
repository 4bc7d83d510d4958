"""Windows cover the contract in order; merging never raises, never changes its input, and keeps the order."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.chunk_merge import merge_chunks, merge_extractions
from llm_dojo_scoring.chunked_extraction import extract_chunked, normalize_extraction
from llm_dojo_scoring.chunks import chunk_spans, split_chunks
from llm_dojo_scoring.reasoning import merge_traces, read_reasoning

pieces = st.lists(
    st.sampled_from(["\n\n", "\n", " ", ". ", "word", "é", "a" * 30, "\n \n", ";\t", "。"]), max_size=120
)
values = st.recursive(
    st.sampled_from(
        [None, "", " ", "null", "N/A", "Acme", "acme ", 0, 1.5, float("nan"), True, "[* * *]", b"x"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=5,
)
names = st.sampled_from(["parties", "effective_date", "confidence", "reasoning", "_parse_error", "other"])
extractions = st.one_of(st.none(), st.just("prose"), st.dictionaries(names, values, max_size=5))


@given(pieces, st.integers(1, 60), st.integers(0, 59))
def test_windows_cover_the_text_within_the_budget(parts, budget, overlap):
    text, overlap = "".join(parts), min(overlap, budget - 1)
    spans = chunk_spans(text, budget, overlap)
    assert spans[0][0] == 0 and spans[-1][1] == len(text)
    assert all(end - start <= budget for start, end in spans)
    for (start, end), (after, later) in zip(spans, spans[1:], strict=False):
        assert start < after <= end < later and end - after <= overlap
    assert "".join(split_chunks(text, budget, 0)) == text


@given(st.lists(extractions, max_size=5))
def test_merging_never_raises_and_changes_nothing(windows):
    before = copy.deepcopy(windows)
    merged = merge_chunks(windows)
    assert repr(windows) == repr(before)
    assert "_parse_error" not in merged.prediction or merged.prediction == {"_parse_error": True}
    for name, field in merged.fields.items():
        assert field.field == name and set(field.taken) <= set(range(1, len(windows) + 1))
    merged.frame()


@given(st.lists(extractions.filter(lambda e: isinstance(e, dict)), min_size=1, max_size=4))
def test_one_after_the_other_is_all_at_once(windows):
    usable = [w for w in windows if not w.get("_parse_error")]
    together = merge_chunks(usable).prediction if usable else {}
    step = usable[0] if usable else {}
    step = merge_chunks([step]).prediction if usable else {}
    for window in usable[1:]:
        step = merge_extractions(step, window)
    assert repr(step) == repr(together)


@given(st.lists(values, max_size=4))
def test_traces_of_any_shape_are_read(shapes):
    for shape in shapes:
        assert read_reasoning(read_reasoning(shape).as_dict()) == read_reasoning(shape)
    merge_traces(shapes)


@given(values)
def test_every_property_is_present(result):
    schema = {"properties": {"parties": {"type": "array"}, "b": {"type": ["string", "null"]}}}
    assert {"parties", "b"} <= normalize_extraction(result, schema).keys()


def test_the_clause_on_the_cut_counts_once():
    clause = "The Buyer shall pay within thirty days."
    text = "\n\n".join(["A first paragraph of some words.", clause, "A last paragraph of other words."])

    def quote(window):
        return {"key_obligations": [clause] if clause in window else []}

    found = extract_chunked(quote, text, chunk_chars=80, overlap_chars=45)
    assert sum(clause in text[a:b] for a, b in chunk_spans(text, 80, 45)) == 2
    assert found.prediction["key_obligations"] == [clause] and found.chunked
    assert found.merge.fields["key_obligations"].n_repeats == 1


def test_a_giant_paragraph_keeps_its_place():
    text = "first\n\nsecond\n\n" + "giant " * 40 + "\n\nlast"
    joined = "".join(split_chunks(text, 60, 0))
    assert joined == text and split_chunks(text, 60, 0)[0].startswith("first")


def test_the_last_fifth_of_a_window_is_searched_for_an_end_of_a_sentence():
    words = "x" * 48 + ". " + "x" * 39 + " "  # to 90: the sentence ends too early, at 50
    words += "x" * 58 + ". " + "x" * 29 + " "  # to 180: likewise in the second window, at 150
    words += (
        "x" * 83 + ". " + "x" * 9 + " "
    )  # the sentence ends within the last fifth, at 265, before a blank
    words += "x" * 100
    assert chunk_spans(words, 100, 0)[:3] == [(0, 90), (90, 180), (180, 265)]
    assert chunk_spans("abc defgh", 5, 0) == [(0, 5), (5, 9)], "a fifth of five is the last character"
    assert chunk_spans("abcd efgh", 5, 0) == [(0, 5), (5, 9)]


def test_cutting_time_grows_with_the_text():
    for text in ("\n" * 200_000, "\n " * 100_000, ". " * 100_000, " " * 200_000, "x" * 200_000):
        assert len(chunk_spans(text, 20_000, 2_000)) >= 10


def test_a_short_window_is_not_left_backwards():
    text = "a" * 13 + "\n\n" + "b" * 6 + "\n\n" + "c" * 100
    spans = chunk_spans(text, 20, 18)
    starts = [start for start, _ in spans]
    assert starts == sorted(set(starts)) and spans[-1][1] == len(text)
