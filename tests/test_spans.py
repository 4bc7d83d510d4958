"""Clause spans: what is cut, what never is, and how long it may take."""

import pytest
from growth import assert_near_linear, repeated
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring.factuality.spans import disaggregate_clause_spans
from llm_dojo_scoring.text import tokens

WORDS = "Licensee shall pay the royalty each quarter"


@pytest.mark.parametrize(
    "stop",
    "Mr. Mrs. Ms. Dr. Messrs. Hon. Inc. Ltd. Corp. Co. L.P. L.L.C. N.A. S.A. U.S. U.K. e.g. i.e. Sec. Art. "
    "Exh. Nos. vs. cf. Jan. Sept. St. Ave. J. Ph.D. Jr. Esq. Bros. Vol. Para.".split(),
)
@pytest.mark.parametrize("after", ["The Licensor", "Acme", "(the", '"Marks', "12"])
def test_a_stop_that_is_part_of_a_word_cuts_nothing(stop, after):
    clause = f"{WORDS} to {stop} {after} without any delay"
    assert disaggregate_clause_spans([clause]) == [clause]


@pytest.mark.parametrize("mark", [".", "!", "?", ").", ")?"])
@pytest.mark.parametrize("after", ["The Licensor", "Acme", "(the", '"Marks', "12", "“Marks", "Élan"])
def test_the_end_of_a_sentence_cuts(mark, after):
    second = f"{after} may audit the books"
    assert disaggregate_clause_spans([f"{WORDS}{mark} {second}"]) == [WORDS + mark, second]


@pytest.mark.parametrize(
    "joined", [". the Licensor", ".The Licensor", " 5. The Licensor", ", The Licensor", ": The Licensor"]
)
def test_other_stops_do_not(joined):
    clause = f"{WORDS}{joined} may audit the books"
    assert disaggregate_clause_spans([clause]) == [clause]


def test_no_before_a_number_and_no_as_an_answer():
    numbered = f"{WORDS} under Order No. 5 of the year"
    assert disaggregate_clause_spans([numbered]) == [numbered]
    assert disaggregate_clause_spans([f"{WORDS} or No. The books stay with the Licensor"]) == [
        f"{WORDS} or No.",
        "The books stay with the Licensor",
    ]
    assert len(disaggregate_clause_spans([f"{WORDS}, fees, etc. The books stay with the Licensor"])) == 2


@pytest.mark.parametrize(
    "point",
    [
        "(a)",
        "(ii)",
        "(12)",
        "b)",
        "A)",
        "c.",
        "iv.",
        "2.",
        "3)",
        "5.1.",
        "(5.1)",
        "•",
        "-",
        "*",
        "–",
        "5.1 P:",
    ],
)
def test_a_list_point_begins_a_span(point):
    second = f"{point} Payment is due on receipt"
    assert disaggregate_clause_spans([f"{WORDS}\n{second}"]) == [WORDS, second]
    if point != "iv.":  # in running text a word before a stop and a capital is the end of a sentence
        assert disaggregate_clause_spans([f"{WORDS} {second}"]) == [f"{WORDS} {second}"]


WRAPPED = """Section 5 hereof and of that
Article IV of the other agreement
§ 5 of the other agreement
5 percent of all the net sales
1.5 percent of all net sales
A. Smith and to the others
LLC. and to all the others
Licensor at its own address"""
HEADINGS = """Section 5 applies in any case
ARTICLE IV applies in any case
§ 5 applies in any case too
5.1 payment is due on receipt
A. payment is due on receipt"""


@pytest.mark.parametrize("line", WRAPPED.splitlines())
def test_a_wrapped_line_goes_on(line):
    assert disaggregate_clause_spans([f"{WORDS} under\n{line}"]) == [f"{WORDS} under {line}"]


@pytest.mark.parametrize("line", HEADINGS.splitlines())
@pytest.mark.parametrize("end", ".;:!?")
def test_a_heading_after_a_closed_line_begins_a_span(line, end):
    assert disaggregate_clause_spans([f"{WORDS}{end}\n{line}"])[-1] == line


def test_blank_lines_cut_and_hyphens_join():
    assert disaggregate_clause_spans([f"{WORDS}\r\n \r\n{WORDS} too"]) == [WORDS, f"{WORDS} too"]
    assert disaggregate_clause_spans(["neither may termi-\nnate this"]) == ["neither may terminate this"]
    assert disaggregate_clause_spans(["neither may compete Non-\nCompete is void"]) == [
        "neither may compete Non- Compete is void"
    ]
    assert (
        disaggregate_clause_spans(["this goes to page termi-\n\nnate is on the next"])[0]
        == "this goes to page termi-"
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_a_piece_of_exactly_the_least_length_stands_alone(n):
    short = " ".join("pay the fees due at once".split()[:n])
    spans = disaggregate_clause_spans([f"{WORDS}; {short}"], min_span_tokens=4)
    assert spans == ([WORDS, short] if n >= 4 else [f"{WORDS}; {short}"])
    spans = disaggregate_clause_spans([f"{short}; {WORDS}"], min_span_tokens=4)
    assert spans == ([short, WORDS] if n >= 4 else [f"{short}; {WORDS}"])


def test_short_pieces_stay_in_their_item():
    assert disaggregate_clause_spans([WORDS, "no refunds"]) == [WORDS, "no refunds"]


def test_order_is_kept_and_repeats_go():
    items = [f"{WORDS} B", f"{WORDS} A", f"{WORDS.upper()}, B!"]
    assert disaggregate_clause_spans(items) == items[:2]


@pytest.mark.parametrize(
    "odd",
    [
        None,
        0,
        3.5,
        True,
        {},
        {"a": "pay the fees at once"},
        [[["pay"]]],
        b"pay",
        object,
        float("nan"),
        {1, 2},
    ],
)
def test_any_shape_gives_a_list_of_texts(odd):
    for items in (odd, [odd], (odd, "one clause that stands here")):
        assert all(isinstance(span, str) and span for span in disaggregate_clause_spans(items))


@given(st.lists(st.text(st.sampled_from("aB1.;!?() \n-•&\"'") | st.characters(), max_size=60), max_size=4))
def test_no_word_is_lost_and_cutting_again_cuts_nothing_new(items):
    spans = disaggregate_clause_spans(items, min_span_tokens=0)
    assert len({tuple(tokens(s)) for s in spans}) == len(spans)
    assert all(s == s.strip() for s in spans)


@given(
    st.lists(
        st.sampled_from(
            [
                WORDS,
                "no refunds",
                "Acme Inc. The buyer",
                "pay at once!",
                "(a) keep the books",
                "\n\n",
                "; ",
                ". ",
            ]
        )
    )
)
def test_the_words_of_one_item_come_back_in_order(parts):
    item = " ".join(parts)
    kept = [w for s in disaggregate_clause_spans([item]) for w in tokens(s)]
    rest = iter(tokens(item))
    assert all(w in rest for w in kept), (item, kept)


RUNS = [
    " ",
    "\n",
    "x\n",
    "a. ",
    "Ab; ",
    "a. B",
    "(",
    ".",
    "1.",
    "1. \n",
    "&",
    "&a; ",
    "a-\n",
    "word. Word ",
    "-\n",
    "; ",
    "A.",
    "No. ",
    "\t \n",
    '["a",',
    "(a) ",
]


@pytest.mark.parametrize("run", RUNS)
def test_time_is_linear_in_the_length(run):
    assert_near_linear(lambda item: disaggregate_clause_spans([item]), lambda n: "x" + repeated(run)(n) + "x")


@pytest.mark.parametrize("mark", ["; ", ";", " ", "", ";; "])
@pytest.mark.parametrize("first", "aAxXzZ")
def test_only_marks_are_taken_off_the_start_of_a_span(mark, first):
    clause = f"{first}enon shall be kept by the lessee"
    assert disaggregate_clause_spans([mark + clause]) == [clause]
    assert disaggregate_clause_spans([f"{WORDS}; {clause}"])[-1] == clause
