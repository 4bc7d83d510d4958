"""What a command says of an input that is not one: a line or two on stderr, its status, nothing written."""

import pytest
from typer.testing import CliRunner

from llm_dojo_scoring.dojo_command import app

BAD = {
    "nowhere.jsonl": None,
    "noise.jsonl": b"\x80\x81\xfe\xff",
    "torn.jsonl": b'{"run": "a", "filename": "a.txt", "predicted": {"par',
    "empty.jsonl": b"",
    "scalars.json": b'{"results": [1, 2]}',
    "wide.jsonl": b"[" * 100_000,
}
COMMANDS = {  # command: (its arguments around the bad input, the status of a usage or data error)
    "score": ("{} --labels expected.jsonl", 2),
    "classify": ("{} --task subtype", 2),
    "contracteval": ("{}", 2),
    "compare": ("{0} {0}", 2),
    "leaderboard": ("{}", 2),
    "gate": ("{0} {0}", 4),
    "plan": ("{}", 2),
    "audit-labels": ("{}", 2),
    "rescore": ("{}", 2),
    "adjudicate": ("{}", 2),
    "check": ("{}", 2),
}


def spoken(arguments, status):
    "The words on stderr of a command that must end with this status and write nothing to stdout."
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == status and isinstance(result.exception, SystemExit), result.exception
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_bad_input_is_named_in_a_line_and_nothing_is_written(command, name, tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "expected.jsonl").write_bytes((data / "labels" / "expected.jsonl").read_bytes())
    if BAD[name] is not None:
        (tmp_path / name).write_bytes(BAD[name])
    before = sorted(tmp_path.rglob("*"))
    arguments, status = COMMANDS[command]
    said = spoken([command, *arguments.format(name).split()], status)
    assert name in said and said.startswith(f"dojo-{command}: ") and len(said.splitlines()) <= 2, said
    assert len(said) < 1000
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "option, place", [("--docs", "nowhere"), ("--out", "taken"), ("--taxonomy", "taken")]
)
def test_a_run_is_not_scored_where_a_place_is_wrong(option, place, tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("contract: {rent: money}\n")
    run, labels = data / "runs" / "extractions.jsonl", data / "labels" / "expected.jsonl"
    said = spoken(["score", str(run), "--labels", str(labels), "--run", "hasty", option, place], 2)
    assert place in said and len(said.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def one_answer(tmp_path, data, predicted):
    "A file with one document's answer, and the arguments that score it."
    import json

    first = json.loads((data / "runs" / "extractions.jsonl").read_text().splitlines()[0])
    name = json.dumps(first["filename"])
    (tmp_path / "one.jsonl").write_text(f'{{"run": "one", "filename": {name}, "predicted": {predicted}}}\n')
    labels = data / "labels" / "expected.jsonl"
    return ["score", str(tmp_path / "one.jsonl"), "--labels", str(labels), "--out", str(tmp_path / "out")]


def test_one_document_has_a_score_and_no_interval(tmp_path, data):
    result = CliRunner().invoke(app, one_answer(tmp_path, data, '{"governing_law": "Delaware"}'))
    assert result.exit_code == 0, result.exception
    assert "completed only" in result.stdout and "no interval" in result.stdout


@pytest.mark.parametrize("depth, jobs", [(200, "1"), (240, "1"), (600, "2"), (1000, "1")])
def test_an_answer_may_be_nested_as_deep_as_json_goes(depth, jobs, tmp_path, data):
    deep = '{"governing_law": ' + "[" * depth + '"Delaware"' + "]" * depth + "}"
    result = CliRunner().invoke(app, [*one_answer(tmp_path, data, deep), "--jobs", jobs])
    assert result.exit_code == 0, result.exception
    assert (tmp_path / "out" / "report.html").exists()
