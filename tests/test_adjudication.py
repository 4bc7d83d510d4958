"""Every line of the specification of adjudicated answers, asserted; the page works a whole run by hand."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import CliRunner

from llm_dojo_scoring.adjudicate_command import app
from llm_dojo_scoring.adjudicated_run import Annotation, Attempt, Charge, Policy, Task
from llm_dojo_scoring.adjudication import (
    AdjudicationError,
    from_cell_verdicts,
    read_adjudicated,
    score_adjudicated,
)
from llm_dojo_scoring.adjudication_lint import lint_adjudicated
from llm_dojo_scoring.adjudication_report import adjudication_html, adjudication_markdown
from llm_dojo_scoring.run_files import BadInput

POLICY = {"version": "1", "min_precision": 0.5, "min_recall": 1.0}
TASK = {
    "task_id": "t",
    "repetitions": 2,
    "gold": [{"item_id": "g", "required": True}, {"item_id": "h", "required": False}],
    "critical_rules": ["r", "s"],
}
SILENT = {"task_id": "u", "answerable": False}


def note(name="c", assessment="supported", **more):
    return {"proposition_id": f"p-{name}", "equivalence_class": name, "assessment": assessment, **more}


CRITICAL = note("x", "unsupported", critical_error=True)


def paid(amount="1.00", currency="USD", state="settled"):
    return {"amount": amount, "currency": currency, "state": state}


def attempt(*notes, **more):
    return {
        "task_id": "t",
        "repetition": 1,
        "status": "completed",
        "annotations": [*notes],
        "charges": [paid()],
        **more,
    }


def scored(*attempts, tasks=(TASK,), policy=POLICY, **more):
    return score_adjudicated({"policy": policy, "tasks": [*tasks], "attempts": [*attempts], **more})


def outputs(*attempts, **more):
    return scored(*attempts, **more).counts.outputs()


GOOD = attempt(note(recovers=["g"]), reported_pass=True)
AGAIN = {**GOOD, "repetition": 2}
ABSTAINED = {
    "task_id": "u",
    "repetition": 1,
    "status": "completed",
    "output_empty": True,
    "charges": [paid()],
}


# ---- inputs

FIELDS = {
    Policy: {"version", "min_precision", "min_recall"},
    Task: {"task_id", "answerable", "repetitions", "gold", "critical_rules"},
    Attempt: {"task_id", "repetition", "status", "reported_pass", "output_empty", "annotations", "charges"},
    Annotation: {
        "proposition_id",
        "equivalence_class",
        "assessment",
        "critical_error",
        "recovers",
        "inverts_rule",
    },
    Charge: {"amount", "currency", "state"},
}


@pytest.mark.parametrize("kind", FIELDS, ids=lambda k: k.__name__)
def test_objects_have_the_specified_fields_and_refuse_others(kind):
    assert set(kind.model_fields) == FIELDS[kind]
    with pytest.raises(ValidationError, match="extra"):
        kind.model_validate({"unknown": 1})


@pytest.mark.parametrize(
    ("kind", "given_", "bad"),
    [
        (Policy, POLICY, {"min_precision": 1.01}),
        (Policy, POLICY, {"min_recall": -0.1}),
        (Task, TASK, {"repetitions": 0}),
        (Task, TASK, {"answerable": "no"}),
        (Attempt, attempt(), {"status": "done"}),
        (Attempt, attempt(), {"reported_pass": "yes"}),
        (Annotation, note(), {"assessment": "true"}),
        (Charge, paid(), {"state": "reserved"}),
        (Charge, paid(), {"amount": 1.0}),
        (Charge, paid(), {"amount": "-1"}),
        (Charge, paid(), {"amount": "NaN"}),
    ],
)
def test_values_outside_their_range_are_refused(kind, given_, bad):
    kind.model_validate(given_)
    with pytest.raises(ValidationError):
        kind.model_validate({**given_, **bad})


def test_the_digest_does_not_depend_on_how_the_policy_was_written():
    one = Policy.model_validate({"min_recall": 1, "version": "é", "min_precision": 0.5})
    two = Policy.model_validate_json('{"version": "\\u00e9", "min_precision": 0.50, "min_recall": 1.0}')
    assert one.digest == two.digest and len(one.digest) == 64
    assert one.digest != Policy.model_validate({**POLICY, "version": "f"}).digest


def test_an_attempt_without_a_record_is_unexecuted_and_stays_assigned():
    report = scored(GOOD)
    assert [(a.status, a.recorded) for a in report.attempts] == [("completed", True), ("unexecuted", False)]
    assert (report.counts.n_assigned, report.counts.n_required, report.counts.n_rules) == (2, 2, 4)
    assert report.counts.outputs()["reported_completion_rate"] == 0.5


# ---- consistency: each line of the list, and all of them at once

CONFLICTS = {
    "a supported proposition is not a critical error": attempt(note(critical_error=True)),
    "... nor through its class": attempt(note(), note(critical_error=True)),
    "one class, one assessment": attempt(note(), note(assessment="unsupported")),
    "one class, one critical_error": attempt(CRITICAL, {**CRITICAL, "critical_error": False}),
    "recovers names gold items of that task": attempt(note(recovers=["z"])),
    "only a supported proposition recovers": attempt(note(assessment="unsupported", recovers=["g"])),
    "inverts_rule is predeclared": attempt({**CRITICAL, "inverts_rule": "z"}),
    "an inversion is a critical error": attempt(note(assessment="unsupported", inverts_rule="r")),
    "repetition in range": attempt(repetition=3),
    "no attempt for an unknown task": attempt(task_id="z"),
    "an empty output has no annotations": attempt(note(), output_empty=True),
    "an unexecuted attempt has none": attempt(note(), status="unexecuted"),
}


@pytest.mark.parametrize("rule", CONFLICTS)
def test_each_contradiction_is_found(rule):
    with pytest.raises(AdjudicationError) as e:
        scored(CONFLICTS[rule])
    assert len(e.value.conflicts) in (1, 2) and all(
        "task" in c and "repetition" in c for c in e.value.conflicts
    )


def test_duplicates_currencies_and_digests_are_conflicts():
    for attempts, more, said in (
        ([GOOD, GOOD], {}, "recorded twice"),
        ([GOOD, {**AGAIN, "charges": [paid(currency="EUR")]}], {}, "never converted"),
        ([GOOD], {"policy_digest": "0" * 64}, "registered was"),
    ):
        with pytest.raises(AdjudicationError, match=said):
            scored(*attempts, **more)
    assert scored(GOOD, policy_digest=Policy.model_validate(POLICY).digest).counts.n_accepted == 1


def test_all_conflicts_are_listed_at_once():
    bad = [
        {**a, "repetition": 1, "task_id": f"t{i}"}
        for i, a in enumerate(CONFLICTS.values())
        if "z" not in a["task_id"]
    ]
    tasks = [{**TASK, "task_id": f"t{i}"} for i in range(len(bad))]
    with pytest.raises(AdjudicationError) as e:
        scored(*bad, tasks=tasks)
    assert {c.split(",")[0] for c in e.value.conflicts} >= {f"task t{i}" for i in range(8)}


# ---- outputs: definition and None of each line


def test_precision():
    got = outputs(attempt(note("a"), note("a"), note("b", "unsupported"), note("n", "unassessed")))
    assert got["scoped_precision"] == 1 / 2
    assert outputs(attempt(note("n", "unassessed")))["scoped_precision"] is None


def test_recall():
    one = {**TASK, "repetitions": 1}
    assert outputs(attempt(note(recovers=["g", "h"])), tasks=[one])["scoped_recall"] == 1.0
    empty = outputs(attempt(output_empty=True), tasks=[one])
    assert (empty["scoped_recall"], empty["scoped_precision"]) == (0.0, None)
    optional = {**one, "gold": [{"item_id": "h", "required": False}]}
    assert outputs(attempt(note(recovers=["h"])), tasks=[optional])["scoped_recall"] is None


def test_critical_errors_and_inversions():
    turned = {**CRITICAL, "inverts_rule": "r"}
    got = outputs(
        attempt(turned, turned, {**turned, "equivalence_class": "y"}), {**attempt(turned), "repetition": 2}
    )
    assert (got["critical_errors"], got["critical_error_occurrences"]) == (3, 4)
    assert got["critical_inversions_per_100_rules"] == 100 * 2 / 4
    ruleless = {**TASK, "critical_rules": []}
    assert outputs(attempt(CRITICAL), tasks=[ruleless])["critical_inversions_per_100_rules"] is None


def test_rates_are_over_all_assigned_attempts():
    got = outputs(GOOD, tasks=[TASK, SILENT])
    assert (got["reported_completion_rate"], got["accepted_task_rate"]) == (1 / 3, 1 / 3)
    none = outputs(tasks=[])
    assert (none["reported_completion_rate"], none["accepted_task_rate"]) == (None, None)


def test_cost():
    failed = {**AGAIN, "status": "failed", "charges": [paid("0.10"), paid("0.20")]}
    assert outputs(GOOD, failed)["cost_per_accepted_task"] == Decimal("1.30")
    for attempts in (
        [GOOD],  # an assigned attempt is missing
        [GOOD, {**AGAIN, "charges": []}],  # no settled charge
        [GOOD, {**AGAIN, "charges": [paid(), paid(state="pending")]}],  # a pending one
        [{**GOOD, "status": "failed"}, failed],  # nothing was accepted
    ):
        report = scored(*attempts)
        assert report.counts.outputs()["cost_per_accepted_task"] is None
        assert report.counts.reasons()["cost_per_accepted_task"]


def test_what_is_never_measured_and_never_said():
    got = scored(GOOD, AGAIN)
    assert got.counts.outputs()["active_human_correction_minutes"] is None
    assert got.counts.outputs()["qualified"] is False is got.to_dict()["qualified"]
    for name in ("score", "composite", "overall_score"):
        with pytest.raises(AdjudicationError, match="no composite score"):
            getattr(got, name)


def test_run_level_precision_and_recall_stand_pooled_and_as_means_with_counts_and_intervals():
    report = scored(
        attempt(note("a", recovers=["g"]), note("b")), {**attempt(note("c", "unsupported")), "repetition": 2}
    )
    assert report.counts.scoped_precision == 2 / 3
    assert report.macro == {"scoped_precision": (0.5, 2), "scoped_recall": (0.5, 2)}
    for name in ("scoped_precision", "scoped_recall", "scoped_precision_macro", "scoped_recall_macro"):
        assert report.intervals[name].unit == "task"
    assert report.intervals["accepted_task_rate_wilson"].method.startswith("wilson")


def test_the_record_of_a_run():
    report = scored(GOOD, {**attempt(note()), "repetition": 2}, ABSTAINED, tasks=[TASK, SILENT], name="run 1")
    got = report.to_dict()
    intervals = got.pop("intervals")
    assert intervals == {k: i.to_dict() for k, i in report.intervals.items()} and len(intervals) == 9
    tasks = got.pop("tasks")
    assert {t: r["counts"]["n_accepted"] for t, r in tasks.items()} == {"t": 1, "u": 1}
    assert got == {
        **{"run": "run 1", "policy": {**POLICY, "digest": report.policy.digest}},
        **{"scoped_precision": 1.0, "scoped_recall": 0.5, "critical_errors": 0},
        **{"critical_error_occurrences": 0, "critical_inversions_per_100_rules": 0.0},
        **{
            "reported_completion_rate": 0.3333,
            "accepted_task_rate": 0.6667,
            "cost_per_accepted_task": "1.500000",
        },
        **{"active_human_correction_minutes": None, "qualified": False},
        "undefined": {"active_human_correction_minutes": "not measured"},
        "counts": {
            **{"n_assigned": 3, "n_missing": 0, "n_completed": 3, "n_supported": 2, "n_assessed": 2},
            **{"n_recovered": 1, "n_required": 2, "n_inverted": 0, "n_rules": 4, "n_reported": 1},
            **{"n_accepted": 2, "n_unsettled": 0, "n_pending": 0, "settled": "3.00"},
        },
        **{"currency": "USD", "zero_coverage": False},
        "macro": {"scoped_precision": {"value": 1.0, "n": 2}, "scoped_recall": {"value": 0.5, "n": 2}},
        "claimed_accepted": {
            **{"reported_accepted": 1, "reported_not_accepted": 0},
            **{"not_reported_accepted": 0, "not_reported_not_accepted": 0},
            **{"silent_accepted": 1, "silent_not_accepted": 1},
        },
    }


def test_a_run_is_shown_as_a_table_of_its_outputs_with_why_one_is_undefined():
    page = scored(GOOD)._repr_html_()
    assert page.startswith("<table><tr><th>output</th>") and page.endswith("</table>")
    for row in (
        ("scoped_precision", "1.0000", ""),
        ("critical_errors", "0", ""),
        ("cost_per_accepted_task", "None", "1 assigned attempts are missing"),
        ("qualified", "False", ""),
    ):
        assert "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" in page


@pytest.mark.parametrize(
    ("tasks", "many", "method"),
    [(14, 5, "t"), (15, 15, "percentile-bootstrap"), (15, 14, "percentile-bootstrap-fast")],
)
def test_the_number_of_tasks_chooses_how_the_cost_is_drawn(monkeypatch, tasks, many, method):
    monkeypatch.setattr("llm_dojo_scoring.adjudication._MANY", many)
    given_ = [{**TASK, "task_id": f"t{i}", "repetitions": 1} for i in range(tasks)]
    made = scored(
        *({**GOOD, "task_id": t["task_id"], "charges": [paid(f"{i + 1}.00")]} for i, t in enumerate(given_)),
        tasks=given_,
    )
    assert made.intervals["cost_per_accepted_task"].method == method


# ---- acceptance


@pytest.mark.parametrize(
    ("given_", "task", "accepted"),
    [
        (GOOD, TASK, True),
        ({**GOOD, "reported_pass": False}, TASK, True),
        ({**GOOD, "reported_pass": None}, TASK, True),
        ({**GOOD, "status": "failed"}, TASK, False),
        (attempt(note(recovers=["g"]), CRITICAL), TASK, False),
        (
            attempt(note(recovers=["g"]), note("d", "unsupported")),
            TASK,
            True,
        ),  # precision 1/2 is the policy's
        (attempt(note(recovers=["g"]), note("d", "unsupported"), note("e", "unsupported")), TASK, False),
        (attempt(note()), TASK, False),  # recall 0
        (attempt(note(assessment="unassessed")), TASK, False),  # precision undefined
        (attempt(note()), {**TASK, "gold": []}, False),  # recall undefined
        (ABSTAINED, SILENT, True),
        ({**ABSTAINED, "status": "failed"}, SILENT, False),
        ({**ABSTAINED, "output_empty": False}, SILENT, False),
        ({**ABSTAINED, "output_empty": False, "annotations": [note()]}, SILENT, False),
    ],
)
def test_acceptance(given_, task, accepted):
    report = scored(given_, tasks=[{**task, "repetitions": 1}])
    assert report.attempts[0].accepted is accepted
    said = given_.get("reported_pass")
    assert report.claimed_accepted[said, accepted] == 1


@pytest.mark.parametrize(
    ("verdict", "critical", "errors"),
    [("accept", True, 0), ("reject", True, 1), ("reject", False, 0), ("reject", None, 0)],
)
def test_a_clicked_value_is_a_critical_error_only_where_it_was_not_accepted(verdict, critical, errors):
    line = {"run": "r", "document": "d", "field": "law", "value": "Texas", "verdict": verdict}
    made = from_cell_verdicts([{**line, "critical": critical}], {"d": {"law": "Texas"}}, POLICY)
    counts = score_adjudicated(made).counts
    assert (counts.critical_errors, counts.n_supported) == (errors, int(verdict == "accept"))


def test_no_inversion_with_no_coverage_is_no_success():
    assert scored(attempt(output_empty=True)).zero_coverage
    assert not scored(GOOD).zero_coverage and not scored(ABSTAINED, tasks=[SILENT]).zero_coverage


# ---- files, command, linter, report


def test_the_command_writes_nothing_for_a_contradiction_and_lists_all(tmp_path, data):
    run = json.loads((data / "adjudicated" / "run.json").read_text())
    run["attempts"].append(run["attempts"][0])
    run["attempts"][1]["repetition"] = 99
    (tmp_path / "run.json").write_text(json.dumps(run))
    result = CliRunner().invoke(app, [str(tmp_path / "run.json"), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2 and not (tmp_path / "out").exists()
    assert "recorded twice" in result.output and "only repetitions" in result.output


def test_the_command_scores_the_sample_and_a_folder_says_the_same(tmp_path, data):
    source = data / "adjudicated" / "run.json"
    run = json.loads(source.read_text())
    (tmp_path / "policy.json").write_text(json.dumps(run["policy"]))
    (tmp_path / "run.json").write_text(json.dumps({"name": run["name"]}))
    for key in ("tasks", "attempts"):
        (tmp_path / f"{key}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in run[key]))
    said = [
        CliRunner().invoke(app, [str(path), "--json", "--out", str(tmp_path / "out")])
        for path in (source, tmp_path)
    ]
    assert [r.exit_code for r in said] == [0, 0]
    assert json.loads(said[0].stdout) == json.loads(said[1].stdout)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"report.html", "report.md", "summary.json"}
    other = tmp_path / "strict.json"
    other.write_text(json.dumps({"version": "2", "min_precision": 1.0, "min_recall": 1.0}))
    strict = CliRunner().invoke(
        app, [str(source), "--policy", str(other), "--json", "--out", str(tmp_path / "out")]
    )
    assert json.loads(strict.stdout)["accepted_task_rate"] < json.loads(said[0].stdout)["accepted_task_rate"]


def test_a_malformed_line_is_named(tmp_path):
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    (tmp_path / "attempts.jsonl").write_text(
        json.dumps(GOOD) + "\n" + json.dumps({**AGAIN, "status": "ok"}) + "\n"
    )
    with pytest.raises(BadInput, match=r"attempts.jsonl:2.*`status`"):
        list(read_adjudicated(tmp_path).attempts())


def test_the_linter_names_each_kind_with_ids():
    run = {
        "policy": POLICY,
        "tasks": [TASK],
        "attempts": [
            attempt(note("Ninety days' notice"), note("ninety days notice"), note("late fee", "supported")),
            {**attempt(note("late fee", "unsupported")), "repetition": 2},
        ],
    }
    found = {(w.kind, w.ids) for w in lint_adjudicated(run)}
    assert ("near duplicate", ("Ninety days' notice", "ninety days notice")) in found
    assert ("disagreement", ("late fee",)) in found
    assert {("rule never exercised", ("r",)), ("rule never exercised", ("s",))} <= found
    assert {("gold never recovered", ("g",)), ("gold never recovered", ("h",))} <= found


def test_the_report_holds_counts_worst_tasks_first_and_each_critical_error():
    fine = {**GOOD, "task_id": "a"}
    bad = {**attempt({**CRITICAL, "inverts_rule": "r"}), "task_id": "b"}
    tasks = [{**TASK, "task_id": name, "repetitions": 1} for name in "ab"]
    report = scored(fine, bad, tasks=tasks)
    page, text = adjudication_html(report), adjudication_markdown(report)
    for said in ("p-x", "1 / 2", "digest"):
        assert said in page and said in text
    assert page.index("<td>b</td>") < page.index("<td>a</td>")
    assert "<script" not in page and "http" not in page.replace("http-equiv", "")


# ---- properties

NOTES = st.lists(
    st.sampled_from(
        [note("a", recovers=["g"]), note("b"), note("c", "unsupported"), note("d", "unassessed"), CRITICAL]
        + [{**CRITICAL, "equivalence_class": "y", "inverts_rule": "r"}]
    ),
    max_size=5,
)
RATES = ("scoped_precision", "scoped_recall", "reported_completion_rate", "accepted_task_rate")


@given(NOTES, NOTES, st.sampled_from([True, False, None]))
def test_properties(one, two, said):
    run = [attempt(*one, reported_pass=said), {**attempt(*two), "repetition": 2}]
    before = scored(*run)
    assert scored(*run[::-1]).counts == before.counts
    renamed = [
        {
            **a,
            "annotations": [
                {**n, "equivalence_class": f"k{n['equivalence_class']}"} for n in a["annotations"]
            ],
        }
        for a in run
    ]
    assert scored(*renamed).counts == before.counts
    wider = scored(*run, tasks=[{**TASK, "repetitions": 3}]).counts
    for rate in RATES:
        old, new = getattr(before.counts, rate), getattr(wider, rate)
        assert old is None and new is None or new <= old
    critical = [n for n in one if n.get("critical_error")]
    if critical:
        after = scored(attempt(*one, critical[0], reported_pass=said), run[1]).counts.outputs()
        same = before.counts.outputs()
        assert after.pop("critical_error_occurrences") == same.pop("critical_error_occurrences") + 1
        assert after == same
    pending = [{**run[0], "charges": [paid(), paid(state="pending")]}, run[1]]
    assert scored(*pending).counts.cost_per_accepted_task is None
