"""A document's index holds the words of `text.content_tokens`, for any text, and its offsets are true."""

import threading
from unittest.mock import patch

import numpy as np
import pytest
from growth import assert_near_linear, repeated
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_dojo_scoring import document as page
from llm_dojo_scoring import rewritten_text
from llm_dojo_scoring.document import Document, Window, as_document
from llm_dojo_scoring.text import STOPWORDS, content_tokens, tokens

AWKWARD = (
    "aB9 \t\n\r\x0b\x1c"
    "\x7f.,;-_'\"()$%&/<>|~`^\u00ad\u2010\u2011\u2013\u2014\u2018\u2019\u201c\u201d\u2026\u2022"
    "\u00a0\u2003\u200b\u200d\u2028\ufeff"
    "\u00e9\u00c9\u00df\u00d8\u0142\u00e6\u0130\u0131\u00bd\u00b2\u00aa\u00b4\u00a8"
    "\u2122\u00ae\u00a9\u2120\u00a7\u00b6\ufb01\u0133\u2164\u2116\uff21\uff0d\ufe63\u0301\u0308\u0327\u03a3\u03c3\u03c2"
    "\u0434\u4e2d\u3042\uac00\u1112\u1161\u11ab\u0e01\u0e31\u05d0\u0627\u0651\uf0b7\ud800\U0001f600\u212a\u2126\u01c5"
)
TEXTS = st.text(st.sampled_from(AWKWARD), max_size=60) | st.text(max_size=40)
PIECES = [
    "termin",
    "-",
    "\u00ad",
    "\u2010",
    "\n",
    "\r\n",
    " ",
    "\u00a0",
    "\u2122",
    "ation",
    "\u00e9t\u00e9",
    "\ufb01n",
    "\u00bd",
    "X",
    "9",
    "_",
]


def numbered(words):
    return {page._number(word) for word in words}


@given(TEXTS | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@settings(max_examples=300, deadline=None)
def test_the_index_holds_exactly_the_words(text):
    assert set(Document(text).vocabulary.tolist()) == numbered(tokens(text))
    with (
        patch.object(page, "BLOCK", 3),
        patch.object(rewritten_text, "BLOCK", 3),
    ):  # many blocks, the same index
        assert Document(text).vocabulary.tolist() == sorted(numbered(tokens(text)))
    content = content_tokens(text)
    assert set(Document(text).vocabulary.tolist()) - numbered(STOPWORDS) == numbered(content - STOPWORDS)


@pytest.mark.parametrize(
    "gap", ["", " ", "\t", "\r", " \t\r", "\u2122", "\u2120", "\u00a9", "\u00ae", "\u00a0", "\x0b", "x", "\n"]
)
@pytest.mark.parametrize("hyphen", rewritten_text._HYPHENS)
def test_hyphens_at_line_ends_join_whatever_stands_between(hyphen, gap):
    for behind in "ation", "\u2122ation", "Ation", "9":
        for other in rewritten_text._HYPHENS:
            text = f"termin{other}\nable, termin{hyphen}{gap}\n{behind} of{other}\nfice"
            assert Document(text).vocabulary.tolist() == sorted(numbered(tokens(text))), text


@given(TEXTS, TEXTS)
@settings(max_examples=200, deadline=None)
def test_coverage_is_that_of_the_token_sets(text, item):
    sought = content_tokens(item) - STOPWORDS
    want = len(sought & set(tokens(text))) / len(sought) if sought else None
    assert Document(text).coverage(item) == want
    assert Document(text).coverages(["Delaware", item, text]) == [
        Document(text).coverage(x) for x in ("Delaware", item, text)
    ]


@given(
    st.lists(
        st.sampled_from(
            ["a1", "b2", "c3", "d4", "é5", "the", "中", "—", "termin-\nation", "½", "ß", "x\u0301"]
        ),
        max_size=40,
    ),
    st.integers(1, 12),
)
@settings(max_examples=200, deadline=None)
def test_the_window_is_the_best_one(words, width):
    text, item = " ".join(words), "a1 c3 é5 ß termination"
    document, place = Document(text), tokens(text)
    sought = content_tokens(item)
    best = max(
        (len(sought & set(place[i : i + n])), -n, -i)
        for i in range(max(len(place), 1))
        for n in range(1, width + 1)
        if i + n <= max(len(place), 1)
    )
    window = document.window(item, width)
    if not sought & set(place):
        assert window is None
        return
    assert window.coverage == best[0] / len(sought)
    inside = tokens(text[window.start : window.end])
    assert inside == place[-best[2] : -best[2] - best[1]]


@pytest.mark.parametrize("mark", ["", "é", "“", "½", "中", "…", "\u00ad", "\U0001f600", "д", "ß", "ﬁ"])
def test_offsets_are_those_of_the_given_text(mark):
    text = f"{mark}Alpha{mark} {mark} termi-\n  nation {mark}beta, gam{mark}ma{mark} Delta"
    for word in ("Alpha", "Delta", "termination"):
        window = Document(text).window(word)
        if window is not None:
            stretch = text[window.start : window.end]
            assert tokens(stretch) and set(tokens(word)) <= set(tokens(stretch)), (word, stretch)
            assert len(stretch) <= len(word) + 4 + 2 * len(mark)
    assert Document(text).window("Delta").end == len(text)


def test_numbers_of_short_words_are_their_bytes_and_of_long_ones_depend_on_every_byte():
    assert page._number("a") == ord("a")
    words = (
        {"a" * n for n in range(1, 60)}
        | {"b" * 20 + chr(97 + i) + "b" * 20 for i in range(26)}
        | {"abcdefgh" * 2, "abcdefgh" * 3}
    )
    words |= {"abcdefghijklmnop", "ijklmnopabcdefgh"}
    assert len(numbered(words)) == len(words)
    for word in words:
        assert Document(word).vocabulary.tolist() == [page._number(word)]


def test_the_default_window_is_twice_the_item_and_at_least_twelve_words():
    far = "royalty " + "x " * 10 + "audit"
    assert Document(far).window("royalty audit").coverage == 1.0
    assert Document(far.replace("audit", "x audit")).window("royalty audit").coverage == 0.5
    item = "royalty audit books records place business hours notice"
    spread = item.replace("royalty", "royalty " + "x " * 8)
    assert Document(spread).window(item).coverage == 1.0
    assert Document("x x x royalty").window("royalty royalty royalty", width=1) == Window(1.0, 6, 13)


def test_values_are_read_once_and_agree_with_the_readers():
    text = "On March 3, 2024 Licensee paid $250,000 (two hundred fifty thousand) for a term of two (2) years."
    document = Document(text)
    for kind in ("dates", "amounts", "numbers", "durations"):
        values = getattr(document, kind)
        assert values and getattr(document, kind) is values
        assert all(text[v.start : v.end] == v.text for v in values)


def test_documents_are_kept_by_text_and_the_oldest_go(monkeypatch):
    monkeypatch.setattr(page, "_DOCUMENTS", type(page._DOCUMENTS)())
    monkeypatch.setattr(page, "_KEPT_CHARACTERS", 25)
    a, b, c = (as_document(x * 10) for x in "abc")
    assert list(page._DOCUMENTS) == ["b" * 10, "c" * 10]
    assert as_document("b" * 10) is b
    assert as_document("a" * 10) is not a
    assert list(page._DOCUMENTS) == ["b" * 10, "a" * 10]
    large = as_document("d" * 100)
    assert as_document("d" * 100) is large and list(page._DOCUMENTS) == ["d" * 100]


def test_many_threads_share_one_document(monkeypatch):
    monkeypatch.setattr(page, "_DOCUMENTS", type(page._DOCUMENTS)())
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(as_document("governed by Delaware law")))
        for _ in range(8)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({id(d) for d in seen}) == 1


@pytest.mark.parametrize("wrong", [1, [], b"text", {"text": "x"}, object()])
def test_what_is_no_text_is_refused(wrong):
    with pytest.raises(TypeError, match="document"):
        as_document(wrong)
    with pytest.raises(TypeError, match="text"):
        Document(wrong)


@pytest.mark.parametrize(
    "run",
    [
        "a",
        "a ",
        " ",
        "-\n",
        "x-\n",
        "-",
        "é",
        "é-\n",
        "- \u00a0",
        "-™",
        "中",
        "e\u0301",
        "x-\n\u0301",
        "royalty ",
        "\u00ad",
    ],
)
def test_time_is_linear_in_the_length(run):
    def look(text):
        Document(text).coverage("royalty of five percent")
        Document(text).window("royalty of five percent x")

    assert_near_linear(look, lambda n: repeated(run)(n) + "x")


def test_real_documents_are_read_as_tokens_read_them(pack):
    import csv
    import gzip
    import io

    rows = list(
        csv.reader(io.StringIO(gzip.open(pack / "master_clauses.csv.gz", "rt", encoding="utf-8").read()))
    )
    for row in rows[1::25]:
        text = "\n\n".join(row)
        assert set(Document(text).vocabulary.tolist()) == numbered(tokens(text))
        assert np.all(np.diff(Document(text).vocabulary.astype(object)) > 0)


SOME_WORDS = [
    "the",
    "of",
    "Seller",
    "buyer",
    "indemnification",
    "indemnify",
    "12",
    "fee",
    "Fee,",
    "-",
    "é",
    "termin-\nation",
]


@given(
    st.lists(st.sampled_from(SOME_WORDS)),
    st.lists(st.lists(st.sampled_from(SOME_WORDS), max_size=9), max_size=6),
)
def test_many_items_are_covered_as_each_by_itself(words, items):
    document, items = Document(" ".join(words)), [" ".join(item) for item in items]
    known = content_tokens(document.text) - STOPWORDS
    shares = [(content_tokens(item) - STOPWORDS) for item in items]
    shares = [len(sought & known) / len(sought) if sought else None for sought in shares]
    assert document.coverages(items) == [document.coverage(item) for item in items] == shares


def test_ten_thousand_answers_are_kept():
    document, worked_out = Document("text"), []
    for i in (*range(10_000), 0):
        document.answer(("kind", i), lambda i=i: worked_out.append(i))
    assert len(document.known) == len(worked_out) == 10_000
    document.answer(("kind", 10_000), lambda: None)
    assert list(document.known) == [("kind", 10_000)]
