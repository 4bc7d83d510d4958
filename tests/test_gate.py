"""The gate: what it says of a score and of a run, and the forms in which it says it."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from llm_dojo_scoring.gate import GateCheck, GateResult, gate, refusal_junit
from llm_dojo_scoring.intervals import Interval
from llm_dojo_scoring.run_comparison import compare_runs

GIVEN = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0] * 6


def run(name, law, **more):
    rows = [
        {"filename": f"d{i}", "overall_score": x, "field_scores": {"law": x}, **more}
        for i, x in enumerate(law)
    ]
    return {"experiment_name": name, "results": rows}


def check(verdict, value=-0.02, half=0.03, margin=0.01, score="law"):
    "A check by hand."
    bounds = (None, None) if half is None else (value - half, value + half)
    made = Interval(value, *bounds, "paired-percentile-bootstrap", 0.95, "document", 60)
    return GateCheck(score, margin, 0.8, 0.8 + value, made, 0.2, 3, 5, verdict)


def result(*verdicts):
    "A result of two runs that hold the same, with the verdicts given."
    made = gate(run("old", GIVEN), run("new", GIVEN), n_boot=10)
    checks = tuple(check(v, score=f"s{i}") for i, v in enumerate(verdicts))
    return GateResult(made.baseline, made.candidate, checks, 60)


@pytest.mark.parametrize(
    ("verdict", "value", "half", "needed"),
    [
        ("inconclusive", 0.0, 0.02, 240),  # half the width is twice the room: four times the documents
        ("inconclusive", 0.01, 0.02, 60),
        ("inconclusive", -0.01, 0.02, None),  # as much as the margin: no number would decide
        ("inconclusive", -0.02, 0.03, None),
        ("inconclusive", 0.0, None, None),
        ("passed", 0.0, 0.02, None),
        ("regressed", -0.01, 0.02, None),
    ],
)
def test_documents_that_would_decide(verdict, value, half, needed):
    assert check(verdict, value, half).documents_needed == needed


def test_the_record_of_a_check():
    got = check("inconclusive", 0.0, 0.02).to_dict()
    assert got == {
        **{"score": "law", "verdict": "inconclusive", "margin": 0.01, "baseline": 0.8, "candidate": 0.8},
        **check("inconclusive", 0.0, 0.02).interval.to_dict(),
        **{"p_worse": 0.2, "better": 3, "worse": 5, "documents_needed": 240},
        "reason": "a loss beyond 0.01 is neither shown nor ruled out on 60 documents: "
        "95% interval -0.0200 to +0.0200; about 240 documents would tell",
    }


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (check("passed", 0.0, 0.005), "the loss is at most 0.01: 95% interval -0.0050 to +0.0050"),
        (check("regressed"), "worse by 0.0200: 95% interval -0.0500 to +0.0100, p 0.2"),
        (
            check("inconclusive", -0.02, None),
            "a loss beyond 0.01 is neither shown nor ruled out on 60 documents: no bounds",
        ),
    ],
)
def test_the_verdict_on_a_score_in_a_sentence(made, said):
    assert made.reason == said


@pytest.mark.parametrize(
    ("verdicts", "code", "said"),
    [
        (("passed", "passed"), 0, "passed: no score lost more than its margin on 60 documents"),
        (("passed", "regressed", "inconclusive"), 1, "regressed: s1"),
        (("inconclusive", "passed", "inconclusive"), 2, "inconclusive: 60 documents do not decide s0, s2"),
    ],
)
def test_the_verdict_on_a_run(verdicts, code, said):
    got = result(*verdicts)
    assert (got.exit_code, got.sentence()) == (code, said)
    assert got.text().endswith("\n\n" + said) and f"# Gate {said}\n" in got.markdown()
    assert got.to_dict()["verdict"] == got.verdict == said.split(":")[0]


class _Cells(HTMLParser):
    "Text by tag."

    def __init__(self):
        super().__init__()
        self.inside, self.found = None, []

    def handle_starttag(self, tag, attrs):
        self.inside = tag

    def handle_data(self, data):
        self.found.append((self.inside, data))


HEAD = "score verdict baseline candidate difference interval margin better worse needs".split()
CELLS = ["s0", "inconclusive", "0.8000", "0.7800", "-0.0200", "[-0.0500, +0.0100]", "0.01", "3", "5", "–"]


def test_the_tables_hold_the_same_cells():
    got = result("inconclusive")
    page = _Cells()
    page.feed(got._repr_html_())
    assert page.found == [
        ("caption", got.sentence()), *(("th", h) for h in HEAD), *(("td", c) for c in CELLS)
    ]  # fmt: skip
    lines = [line for line in got.markdown().splitlines() if line.startswith("|")]
    assert [lines[0], lines[2]] == ["| " + " | ".join(cells) + " |" for cells in (HEAD, CELLS)]


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb", "<a & 'b' \"c\">"])
def test_a_name_comes_out_of_the_build_servers_file_as_it_went_in(name):
    made = gate(run(name, GIVEN), run("new", GIVEN), n_boot=10).junit()
    names = {p.get("name"): p.get("value") for p in ElementTree.fromstring(made).iter("property")}
    assert (names["baseline"], names["verdict"]) == (name, "passed")


def test_a_refusal_is_one_error_of_its_own_kind():
    tree = ElementTree.fromstring(refusal_junit(["another seed", "another size"]))
    (error,) = tree.iter("error")
    assert error.attrib == {"type": "refused", "message": "another seed; another size"}
    assert (tree[0].get("tests"), tree[0].get("errors"), tree[0].get("failures")) == ("1", "1", "0")


def test_one_score_alone_has_half_of_the_two_sided_p_on_the_side_of_a_loss():
    worse = [0.0 if i % 9 == 0 else x for i, x in enumerate(GIVEN)]
    for old, new in ((GIVEN, worse), (worse, GIVEN)):
        (got,) = gate(run("a", old), run("b", new), scores=["law"], n_boot=10).checks
        p = compare_runs(run("a", old), run("b", new), scores=["law"], n_boot=10).changes["law"].p
        assert 0 < p < 0.1 and got.p_worse == pytest.approx(p / 2 if new is worse else 1 - p / 2)


def test_a_score_with_a_margin_of_its_own_is_gated_although_it_is_no_field():
    pair = [run(n, GIVEN, field_presence=1.0) for n in ("a", "b")]
    names = [c.score for c in gate(*pair, n_boot=10).checks]
    assert names == ["overall_score", "law"]
    own = gate(*pair, margins={"field_presence": 0.2}, n_boot=10).checks
    assert [(c.score, c.margin) for c in own] == [
        ("overall_score", 0.01), ("law", 0.01), ("field_presence", 0.2)
    ]  # fmt: skip
    asked = gate(*pair, scores=["law"], margins={"field_presence": 0.2}, n_boot=10).checks
    assert [c.score for c in asked] == ["law"], "names that are asked for are all there are"


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), True, "0.1", None])
def test_a_margin_that_is_no_share_is_named(value):
    pair = run("a", GIVEN), run("b", GIVEN)
    with pytest.raises(ValueError, match="^`margin` must be"):
        gate(*pair, margin=value)
    with pytest.raises(ValueError, match="^`margin of law` must be"):
        gate(*pair, margins={"law": value})
    for margin in (0, 1):
        assert gate(*pair, margin=margin, margins={"law": margin}, n_boot=10).verdict == "passed"


def test_a_candidate_one_document_short_is_refused_unless_shared_ones_are_enough():
    old, new = run("a", GIVEN), run("b", GIVEN[:-1])
    with pytest.raises(ValueError, match="not in the second run"):
        gate(old, new)
    got = gate(old, new, shared=True, n_boot=10)
    assert got.n_documents == 59 and np.isfinite(got.checks[0].interval.half)
