"""Outputs in parts, on a disk or at a URL: the rows of the whole files, readable by what reads those."""

import json
import shutil
import sys

import pytest
from typer.testing import CliRunner

from llm_dojo_scoring.check_command import app as check
from llm_dojo_scoring.classify_command import app as classify
from llm_dojo_scoring.compare_command import app as compare
from llm_dojo_scoring.compared_runs import read_run
from llm_dojo_scoring.contracteval_command import app as contracteval
from llm_dojo_scoring.explain_command import app as explain
from llm_dojo_scoring.explorer import explorer_page
from llm_dojo_scoring.gate_command import app as gate
from llm_dojo_scoring.leaderboard_command import app as leaderboard
from llm_dojo_scoring.output_files import replace_whole
from llm_dojo_scoring.part_files import json_lines, parquet_rows, stored_rows
from llm_dojo_scoring.plan_command import app as plan
from llm_dojo_scoring.rescore_command import app as rescore
from llm_dojo_scoring.run_files import file_at, read_records
from llm_dojo_scoring.score_command import app as score


def done(app, *arguments):
    said = CliRunner().invoke(app, [str(a) for a in arguments])
    assert said.exit_code == 0, said.output
    return said.stdout


def records(folder, name):
    return [row for _, row in read_records(str(stored_rows(folder, name)))]


@pytest.fixture
def asked(data):
    return [data / "runs/extractions.jsonl", "--labels", data / "labels/expected.jsonl", "--run", "careful"]


@pytest.fixture
def whole(asked, tmp_path):
    done(score, *asked, "--out", tmp_path / "whole", "--parquet")
    return tmp_path / "whole"


@pytest.mark.parametrize("place", ["{}/parts", "file://{}/far", "memory://{}/far"])
def test_rows_in_parts_are_the_rows_of_the_whole_files(place, asked, whole, tmp_path, monkeypatch):
    if place.startswith("memory"):
        pytest.importorskip("upath", reason="needs the extra remote")
    monkeypatch.chdir(tmp_path)
    out = place.format(tmp_path)
    done(score, *asked, "--out", out, "--rows-per-part", 5)
    for name in ("rows", "fields"):
        assert records(out, name) == records(whole, name)
    assert [p.name for p in sorted((file_at(out) / "rows").iterdir(), key=lambda p: p.name)] == [
        "part-00000.jsonl",
        "part-00001.jsonl",
        "part-00002.jsonl",
    ]
    for name in ("summary.json", "report.html", "report.md"):
        assert (file_at(out) / name).read_bytes() == (whole / name).read_bytes()
    assert not list(tmp_path.glob(".work-*")) and not list((tmp_path / "parts").glob(".work-*"))


def test_parts_and_whole_files_replace_each_other(asked, whole, tmp_path):
    right = {p.name: p.read_bytes() for p in whole.iterdir()}
    done(score, *asked, "--out", whole, "--rows-per-part", 2, "--parquet")
    assert len(list((whole / "rows").iterdir())) == 6 and not (whole / "rows.jsonl").exists()
    parts = sorted((whole / "fields.parquet").iterdir())
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    assert len(parts) == 6
    (tmp_path / "table.parquet").write_bytes(right["fields.parquet"])
    assert len(pandas.read_parquet(whole / "fields.parquet")) == len(
        pandas.read_parquet(tmp_path / "table.parquet")
    )
    done(score, *asked, "--out", whole, "--rows-per-part", 9)
    assert sorted(p.name for p in (whole / "rows").iterdir()) == ["part-00000.jsonl", "part-00001.jsonl"]
    done(score, *asked, "--out", whole, "--parquet")
    assert {p.name: p.read_bytes() for p in whole.iterdir() if p.is_file()} == right
    assert not list((whole / "rows").iterdir())


def test_an_interrupted_run_in_parts_is_taken_up(asked, whole, tmp_path, monkeypatch):
    module, out = sys.modules["llm_dojo_scoring.score_command"], tmp_path / "parts"

    def broken(*_):
        raise OSError("no space left")

    monkeypatch.setattr(module, "write_parts", broken)
    assert CliRunner().invoke(score, [*map(str, asked), "--out", str(out), "--rows-per-part", "5"]).exit_code
    assert not (out / "rows").exists() and not (out / "summary.json").exists() and list(out.glob(".work-*"))
    monkeypatch.undo()
    monkeypatch.setattr("llm_dojo_scoring.score_run._scored", broken)  # all of it is there already
    done(score, *asked, "--out", out, "--rows-per-part", 5)
    assert records(out, "rows") == records(whole, "rows")


def test_a_run_in_parts_is_compared_like_any_other(asked, whole, tmp_path):
    done(score, *asked, "--out", tmp_path / "parts", "--rows-per-part", 5)
    one, two = read_run(whole), read_run(tmp_path / "parts")
    assert one.documents == two.documents and one.scorer == two.scorer
    three = read_run(str(tmp_path / "parts" / "rows"))  # the parts by themselves
    for other in (two, three):
        assert one.frame().equals(other.frame())


def _said(app, *arguments):
    said = CliRunner().invoke(app, [str(a) for a in arguments])
    return said.exit_code, said.output


@pytest.mark.parametrize("place", ["{}/parts", "file://{}/parts", "memory://{}/parts"])
def test_whoever_reads_a_scored_run_reads_it_in_parts(place, asked, data, whole, tmp_path):
    if place.startswith("memory"):
        pytest.importorskip("upath", reason="needs the extra remote")
    place = place.format(tmp_path)
    done(score, *asked, "--out", place, "--rows-per-part", 5)
    hasty = tmp_path / "hasty"
    done(score, *asked[:-1], "hasty", "--out", hasty)
    document, field = (records(whole, "fields")[20][k] for k in ("doc_id", "field"))
    for ask in (
        lambda run: explorer_page(str(run), data / "contracts"),
        lambda run: done(explain, document, field, "--scored", run, "--json"),
        lambda run: done(check, run, "--json").replace(str(file_at(run)), "RUN"),
        lambda run: _said(gate, hasty, run, "--shared", "--json"),
        lambda run: done(leaderboard, hasty, run, "--shared", "--json").replace(str(file_at(run)), "RUN"),
        lambda run: done(plan, run, hasty, "--shared", "--json"),
    ):
        assert ask(place) == ask(whole)
    kinds = [json.loads(done(check, run, "--json"))[0]["kind"] for run in (place, whole)]
    assert kinds == ["scored run"] * 2


def test_documents_without_a_field_make_no_empty_part(tmp_path):
    answers, labels = tmp_path / "answers.jsonl", tmp_path / "labels.jsonl"
    answers.write_text("".join(json.dumps({"doc_id": f"{c}.txt", "predicted": {}}) + "\n" for c in "abc"))
    labels.write_text(json.dumps({"doc_id": "b.txt", "expected_fields": {"parties": ["Acme"]}}) + "\n")
    done(score, answers, "--labels", labels, "--out", tmp_path / "out", "--rows-per-part", 1)
    assert [row["doc_id"] for row in records(tmp_path / "out", "rows")] == ["a.txt", "b.txt", "c.txt"]
    assert {row["doc_id"] for row in records(tmp_path / "out", "fields")} == {"b.txt"}
    assert read_run(tmp_path / "out").documents


def cut(rows, folder, kind):
    "The rows in three parts, as other programs write them."
    folder.mkdir()
    for i in range(3):
        part = rows[i * len(rows) // 3 : (i + 1) * len(rows) // 3]
        if kind == "parquet":
            parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
            table = [{k: json.dumps(v) if isinstance(v, dict) else v for k, v in r.items()} for r in part]
            parquet.write_table(
                sys.modules["pyarrow"].Table.from_pylist(table), folder / f"part.{i + 8}.parquet"
            )
        else:
            text = "".join(json.dumps(r) + "\n" for r in part)
            (folder / f"part.{i + 8}.jsonl").write_text(text)
    return folder


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("command", ["score", "rescore", "classify", "contracteval"])
def test_every_command_reads_a_run_in_parts(command, kind, data, tmp_path):
    name, app, options = {
        "score": ("runs/extractions.jsonl", score, ["--labels", data / "labels/expected.jsonl"]),
        "rescore": ("runs/extractions.jsonl", rescore, ["--labels", data / "labels/expected.jsonl"]),
        "classify": ("labels_runs/hearsay.jsonl", classify, ["--task", "hearsay"]),
        "contracteval": (
            "contracteval/answers.jsonl",
            contracteval,
            ["--labels", data / "labels/master_clauses_sample.csv"],
        ),
    }[command]
    if command == "classify":
        rows = [
            {"expected": "Yes", "predicted": "Yes" if i % 3 else "No", "id": f"{i}.txt"} for i in range(30)
        ]
    else:
        rows = [json.loads(line) for line in (data / name).open()]
        rows = [r for r in rows if r["run"] == "careful"]
    (tmp_path / "whole.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    out = [] if command == "rescore" else ["--out", tmp_path / "out"]
    folder = cut(rows, tmp_path / "run", kind)
    found = []
    for source in (tmp_path / "whole.jsonl", folder, f"file://{folder}"):
        said = json.loads(done(app, source, *options, *out, "--json"))
        found.append(list(said.values()) if command == "rescore" else said)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("place", ["{}/out", "file://{}/far", "memory://{}/far"])
@pytest.mark.parametrize("command", ["classify", "contracteval"])
def test_outputs_at_a_url_are_those_of_a_folder(command, place, data, tmp_path, monkeypatch):
    if place.startswith("memory"):
        pytest.importorskip("upath", reason="needs the extra remote")
    monkeypatch.chdir(tmp_path)
    app, asked = {
        "classify": (classify, [data / "labels_runs/families.jsonl", "--task", "subtype"]),
        "contracteval": (
            contracteval,
            [
                data / "contracteval/answers.jsonl",
                "--labels",
                data / "labels/master_clauses_sample.csv",
                "--table-iii",
            ],
        ),
    }[command]
    done(app, *asked, "--out", tmp_path / "whole")
    out = place.format(tmp_path)
    done(app, *asked, "--out", out)
    runs = sorted(p.name for p in (tmp_path / "whole").iterdir())
    assert len(runs) == 2 == len(list(file_at(out).iterdir()))
    for run in runs:
        for file in (tmp_path / "whole" / run).iterdir():
            assert (file_at(out) / run / file.name).read_bytes() == file.read_bytes()
    assert {p.name for p in tmp_path.iterdir()} <= {"whole", "out", "far"}
    if command == "classify":
        mistakes = records(tmp_path / "whole" / "hasty", "mistakes")
        for per_part in (5, None):
            done(app, *asked, "--out", out, *(["--rows-per-part", per_part] if per_part else []))
            assert records(file_at(out) / "hasty", "mistakes") == mistakes
            assert (file_at(out) / "hasty" / "mistakes.jsonl").exists() == (per_part is None)
            if per_part:
                parts = list((file_at(out) / "hasty" / "mistakes").iterdir())
                assert len(parts) == -(-len(mistakes) // per_part) > 1


@pytest.mark.parametrize("place", ["{}/far", "file://{}/far", "memory://{}/far"])
def test_moved_scores_in_parts_and_at_a_url(place, data, tmp_path, monkeypatch):
    if place.startswith("memory"):
        pytest.importorskip("upath", reason="needs the extra remote")
    monkeypatch.chdir(tmp_path)
    labels = ["--labels", data / "labels/expected.jsonl", "--run", "hasty"]
    rows = [json.loads(line) for line in (data / "runs/extractions.jsonl").open()]
    old = tmp_path / "old.jsonl"
    rows = [{**r, "field_scores": {"parties": 0.123}, "overall_score": 0.123} for r in rows]
    old.write_text("".join(json.dumps(r) + "\n" for r in rows))
    place = place.format(tmp_path)

    def moved(*options):
        said = CliRunner().invoke(rescore, [str(a) for a in (old, *labels, "--against", old, *options)])
        assert said.exit_code == 1, said.output
        return said.stdout

    said = moved("--out", tmp_path / "means.json", "--moves", tmp_path / "moves.jsonl")
    right = [json.loads(line) for line in (tmp_path / "moves.jsonl").open()]
    assert len(right) > 7
    for per_part in (None, 7, 3):
        parted = ["--rows-per-part", per_part] if per_part else []
        assert moved("--out", f"{place}/means.json", "--moves", f"{place}/moves.jsonl", *parted) == said
        assert (file_at(place) / "means.json").read_bytes() == (tmp_path / "means.json").read_bytes()
        assert records(place, "moves") == right
        assert (file_at(place) / "moves.jsonl").exists() == (per_part is None)
    assert len(list((file_at(place) / "moves").iterdir())) == -(-len(right) // 3)
    assert {p.name for p in tmp_path.iterdir()} <= {"old.jsonl", "means.json", "moves.jsonl", "far"}


@pytest.mark.parametrize("command", [compare, gate, leaderboard, plan])
def test_reports_may_lie_at_a_url_and_do_not_depend_on_who_works(command, asked, data, tmp_path):
    pytest.importorskip("upath", reason="needs the extra remote")
    runs = [tmp_path / "careful", tmp_path / "hasty"]
    for run in runs:
        done(score, *asked[:-1], run.name, "--out", run)
    option, name = ("--figure", "plan.svg") if command is plan else ("--markdown", "report.md")
    here = _said(command, *runs, "--shared", option, tmp_path / name)
    jobs = [] if command is plan else ["--jobs", 2]
    far = _said(command, *runs, "--shared", option, f"memory:/{tmp_path}/{name}", *jobs)
    assert here == far and here[0] < 3
    assert file_at(f"memory:/{tmp_path}/{name}").read_bytes() == (tmp_path / name).read_bytes()


def hive(rows, folder, kind, with_run):
    "Rows of several runs as others partition them: a folder a run, two parts in each."
    for run in dict.fromkeys(r["run"] for r in rows):
        own = [r if with_run else {k: v for k, v in r.items() if k != "run"} for r in rows if r["run"] == run]
        place = file_at(folder) / f"run={run}"
        for number, part in enumerate((own[:5], own[5:])):
            write = parquet_rows(part, ["predicted"]) if kind == "parquet" else json_lines(part)
            replace_whole(place / f"part-{number}.{kind}", write)
    return folder


@pytest.mark.parametrize("place", ["{}/night", "file://{}/night", "memory://{}/night"])
@pytest.mark.parametrize("kind, with_run", [("jsonl", False), ("jsonl", True), ("parquet", False)])
def test_a_folder_of_partitions_is_a_run_each(place, kind, with_run, data, whole, asked, tmp_path):
    pytest.importorskip("upath" if "memory" in place else "json", reason="needs the extra remote")
    pytest.importorskip("pyarrow" if kind == "parquet" else "json", reason="needs the extra parquet")
    rows = [json.loads(line) for line in (data / "runs/extractions.jsonl").open()]
    night = hive(rows, place.format(tmp_path), kind, with_run)
    done(score, night, *asked[1:], "--out", tmp_path / "out", "--parquet")
    for file in whole.iterdir():
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()
    done(score, night, *asked[1:3], "--out", tmp_path / "both")
    assert sorted(p.name for p in (tmp_path / "both").iterdir()) == ["careful", "hasty"]
    assert records(tmp_path / "both" / "careful", "rows") == records(whole, "rows")
    means = [json.loads(done(rescore, source, *asked[1:], "--json")) for source in (night, asked[0])]
    assert list(means[0].values()) == list(means[1].values())


def test_columns_of_folders_are_those_that_pyarrow_reads(tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset", reason="needs the extra parquet")
    for run, day in (("a b", "2026-11-29"), ("055", "2026-11-30"), ("171", "2026-11-30")):
        folder = tmp_path / f"run={run.replace(' ', '%20')}" / f"day={day}"
        replace_whole(folder / "part-0.parquet", parquet_rows([{"filename": f"{run} {i}"} for i in range(3)]))
    text = dataset.partitioning(flavor="hive", schema=pyarrow_texts("run", "day"))
    table = dataset.dataset(tmp_path, format="parquet", partitioning=text).to_table().to_pylist()
    read = [row for _, row in read_records(tmp_path)]
    order = lambda row: row["filename"]  # noqa: E731
    assert sorted(read, key=order) == sorted(table, key=order) and len(read) == 9


def pyarrow_texts(*names):
    import pyarrow

    return pyarrow.schema([(name, pyarrow.string()) for name in names])


def test_only_the_partition_that_is_asked_for_is_read(data, asked, tmp_path):
    rows = [json.loads(line) for line in (data / "runs/extractions.jsonl").open()]
    night = hive(rows, tmp_path / "night", "jsonl", False)
    (night / "run=hasty" / "part-9.jsonl").write_text("not JSON")
    done(score, night, *asked[1:], "--out", tmp_path / "out")
    refused, said = _said(score, night, *asked[1:3], "--run", "hasty", "--out", tmp_path / "other")
    assert refused == 2 and "run=hasty/part-9.jsonl:1" in said and not (tmp_path / "other").exists()


def test_a_row_in_the_folder_of_another_run_is_one_clear_error(data, asked, tmp_path):
    row = json.loads((data / "runs/extractions.jsonl").open().readline())
    (tmp_path / "run=careful").mkdir()
    (tmp_path / "run=careful" / "part-0.jsonl").write_text(json.dumps({**row, "run": "hasty"}))
    refused, said = _said(score, tmp_path, *asked[1:3], "--out", tmp_path / "out")
    assert refused == 2 and "part-0.jsonl:1: expected `run` 'careful' as its folder says" in said
    assert said.count("\n") == 1
