"""What was computed stays as it was: every dataclass is frozen, save those that older programs fill in."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "llm_dojo_scoring"
OPEN = {  # records that a program for 0.7.0 fills in or changes, settings, and a running sum
    "EntityListScore", "EvalRun", "ExtractionScoreResult", "FieldScoringSettings", "Interpretation",
    "InterpretationNote", "LocalEvalResult", "LocalEvalRun", "ResultSet", "Settings", "_FieldTally",
}  # fmt: skip


def dataclasses():
    "(class, the options of its decorator)"
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for mark in node.decorator_list if isinstance(node, ast.ClassDef) else ():
                call = mark if isinstance(mark, ast.Call) else ast.Call(mark, [], [])
                if getattr(call.func, "id", getattr(call.func, "attr", "")) == "dataclass":
                    options = {k.arg: getattr(k.value, "value", None) for k in call.keywords}
                    yield node.name, options


def test_every_dataclass_is_frozen_unless_it_is_known_to_be_open():
    found = list(dataclasses())
    assert {name for name, options in found if not options.get("frozen")} == OPEN and len(found) > 90


def test_slots_are_named_to_be_had():
    assert all(options.get("slots", True) is True for _, options in dataclasses())
