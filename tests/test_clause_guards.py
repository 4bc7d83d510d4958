"""Words, stems and quantities by which a clause is held for another one (26a, 26c, 26d)."""

from __future__ import annotations

import pytest

from llm_dojo_scoring.fields.clause_words import CriticalFlag, plain_words, stem, telling
from llm_dojo_scoring.fields.quantities import quantity_flags
from llm_dojo_scoring.fields.role_swap import role_flag


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("shan't", ["shall", "not"]),
        ("won’t", ["will", "not"]),
        ("can't", ["can", "not"]),
        ("cannot", ["can", "not"]),
        ("hadn't", ["had", "not"]),
    ],
)
def test_a_contraction_is_its_verb_and_a_negation(text, words):
    assert plain_words(text) == words


@pytest.mark.parametrize("word", ["x", "5", "2024", "shall", "party"])
def test_small_words_figures_and_letters_say_nothing_by_themselves(word):
    assert not telling(word)


def test_a_word_of_two_letters_may_tell():
    assert telling("ip")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("planned", "plan"),  # the doubled letter of a form goes
        ("doxxed", "dox"),
        ("billed", "bill"),  # a double l or s is the word's own
        ("passed", "pass"),
        ("adding", "add"),  # and so is all of a word of three letters
        ("eggs", "egg"),
        ("taxes", "tax"),
        ("relied", "rel"),
    ],
)
def test_stems(word, expected):
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("an annual fee", "a yearly fee"),
        ("a fee paid annually", "an annual fee"),
        ("5% per annum", "5% per year"),
        ("a monthly fee", "a fee per month"),
        ("pays 10 monthly", "pays 10"),  # a period on one side only
        ("10 dollars of Section 9.2", "10 dollars of Section 7.1"),
    ],
)
def test_the_same_rate_is_no_flag(one, two):
    assert quantity_flags(one, two) == quantity_flags(two, one) == []


@pytest.mark.parametrize(
    ("one", "two", "flag"),
    [
        ("an annual fee", "a monthly fee", ("unit", "per year", "per month")),
        ("paid on January 5, 2020", "paid on January 5, 2021", ("number", "2020-01-05", "2021-01-05")),
        ("10 apples and 20 pears", "20 apples and 10 pears", ("number", "10", "20")),
        # the number of a section is left out, whichever side names it
        ("Section 7 10 apples and 20 pears", "20 apples and 10 pears", ("number", "10", "20")),
        ("on the first call", "on the second call", ("number", "place 1", "place 2")),
    ],
)
def test_flags_say_what_differs(one, two, flag):
    assert quantity_flags(one, two) == [CriticalFlag(*flag)]


@pytest.mark.parametrize(
    ("one", "two", "flag"),
    [
        ("Seller is paid", "Buyer is paid", ("seller", "buyer")),  # the same words: the parties are said
        ("Customer is paid", "Provider shall be held harmless", ("customer", "provider")),  # both undergo
        ("Buyer is paid", "Provider grants Seller", ("buyer", "seller")),
        (
            "notice to Licensor or the Receiving Party",
            "The fee shall be paid by Beta to Licensee",
            ("licensor", "licensee"),
        ),
    ],
)
def test_a_role_on_the_other_side_is_flagged(one, two, flag):
    assert role_flag(one, two) == CriticalFlag("role", *flag)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Beta LLC is paid", "Buyer LLC is paid"),  # a company that has the name of a role
        ("Customer has granted Acme rights", "Provider is paid"),  # one does, the other undergoes
        ("property of Seller", "Buyer is paid"),  # whose a thing is, and who is paid
        ("Seller is paid", "Seller is paid"),
        (
            "Buyer is not permitted to sell the report to the Company and Acme Inc.",
            "the report is delivered by Acme Inc. to Buyer",
        ),
    ],
)
def test_other_parts_are_no_exchange_of_roles(one, two):
    assert role_flag(one, two) is None
