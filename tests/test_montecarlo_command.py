"""The command: files and flags as tabled, one clear line for what is wrong, and nothing half-written."""

import json

import pytest
from typer.testing import CliRunner

from llm_dojo_scoring.mc.collect import build_corpus, copied_runs, read_runs
from llm_dojo_scoring.montecarlo_command import app

TASK = "subtype_classification"
FILES = {
    "ensemble": (
        f"ensemble-voting-{TASK}.md escalation-{TASK}.md escalation_candidates-{TASK}.txt"
        f" ensemble-accuracy-{TASK}.png escalation-pareto-{TASK}.png"
    ),
    "escalation": f"escalation-{TASK}.md escalation_candidates-{TASK}.txt escalation-pareto-{TASK}.png",
    "ablation": f"prompt-ablation-{TASK}.md prompt-ablation-classes-{TASK}.md",
    "failures": "failure-pipeline.md failure-scale-expected.png failure-sweep.png",
    "exemplars": f"exemplars-{TASK}.md exemplar-appendix-{TASK}.md",
    "gepa": f"gepa-champion-contender-{TASK}.md",
    "verify": f"verify-{TASK}.md",
}
QUICK = {
    "ensemble": ["--n-sim", "20", "--k-list", "1,3"],
    "failures": ["--n-sim", "500"],
    "gepa": ["--model", "demo/small", "--n-boot", "200"],
}


def invoke(*args):
    return CliRunner().invoke(app, [str(a) for a in args])


@pytest.fixture
def corpus(data, tmp_path):
    done = invoke("corpus", "--log", data / "corpus/runs.jsonl", "--out-dir", tmp_path / "corpus")
    assert done.exit_code == 0, done.output
    return tmp_path / "corpus/corpus.jsonl"


def test_the_corpus_is_written_with_its_summary(corpus):
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    assert len(rows) == 175 and sum(r["status"] == "error" for r in rows) == 1
    summary = (corpus.parent / "corpus-summary.md").read_text()
    assert "Rows by task" in summary and "2 completed rows are failed calls in disguise" in summary


@pytest.mark.parametrize("name", FILES)
def test_each_question_writes_its_files(name, corpus, tmp_path):
    done = invoke(name, "--corpus", corpus, "--out-dir", tmp_path / "out", *QUICK.get(name, []))
    assert done.exit_code == 0, done.output
    assert {p.name for p in (tmp_path / "out").iterdir()} == set(FILES[name].split())


@pytest.mark.parametrize("name", FILES)
def test_twice_is_the_same(name, corpus, tmp_path):
    flags = [
        *QUICK.get(name, []),
        *(["--no-figures"] if name in ("ensemble", "escalation", "failures") else []),
    ]
    for folder in ("one", "two"):
        assert invoke(name, "--corpus", corpus, "--out-dir", tmp_path / folder, *flags).exit_code == 0
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / f).iterdir()} for f in ("one", "two"))
    assert one == two and not [n for n in one if n.endswith(".png")]


def test_a_sample_is_named_in_the_file(corpus, tmp_path):
    flags = ["--model", "demo/small", "--n-boot", "100", "--sample", "0.5"]
    assert invoke("gepa", "--corpus", corpus, "--out-dir", tmp_path / "o", *flags).exit_code == 0
    assert [p.name for p in (tmp_path / "o").iterdir()] == [f"gepa-champion-contender-{TASK}-sample50%.md"]


def test_published_rules_are_flags(corpus, tmp_path):
    def numbers(*flags):
        done = invoke(
            "escalation", "--corpus", corpus, "--out-dir", tmp_path / "o", "--no-figures", "--json", *flags
        )
        return json.loads(done.stdout)

    kept, dropped = numbers(), numbers("--votes", "drop_invalid")
    assert kept["curve"][0]["accuracy"] < dropped["curve"][0]["accuracy"]
    assert numbers("--gating", "mixed")["curve"] == kept["at_random"]
    assert numbers("--disguised", "as_stored")["curve"] != kept["curve"]


@pytest.mark.parametrize(
    "args, status, words",
    [
        (("ensemble", "--task", "chained_sorter_extractor"), 1, "no closed set of labels"),
        (("ensemble", "--task", "docclass_classification"), 1, "no answer to"),
        (("ablation", "--task", "anything"), 1, "no closed set of labels"),
        (("ensemble", "--k-list", "1;3"), 2, "separated by commas"),
        (("ensemble", "--k-list", "0"), 2, "`k_list` must be"),
        (("escalation", "--escalated-acc", "95"), 2, "`escalated_acc` must be"),
        (("failures", "--max-tries", "0"), 2, "`max_tries` must be"),
        (("exemplars", "--efficacy", "2"), 2, "`efficacy` must be"),
        (("gepa", "--n-boot", "0"), 2, "`n_boot` must be"),
        (("gepa", "--sample", "5"), 2, "`fraction` must be"),
        (("ablation", "--min-shared", "0"), 2, "`min_shared` must be"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(args, status, words, corpus, tmp_path):
    done = invoke(*args, "--corpus", corpus, "--out-dir", tmp_path / "o")
    assert done.exit_code == status, done.output
    assert words in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "o").exists()


def test_a_broken_line_is_named(corpus, tmp_path):
    corpus.write_text(corpus.read_text() + '{"task" 3}\n')
    done = invoke("verify", "--corpus", corpus, "--out-dir", tmp_path / "o")
    assert done.exit_code == 2 and "corpus.jsonl:176" in done.stderr


def test_help_and_version_open():
    assert invoke("--version").stdout.startswith("dojo-montecarlo ")
    for name in ("corpus", *FILES):
        assert invoke(name, "--help").exit_code == 0


def test_an_overwritten_manifest_changes_no_answer(tmp_path, monkeypatch):
    """Two runs that name one manifest: its rows refine only the answers they agree with."""
    monkeypatch.chdir(tmp_path)
    head = {"task": TASK, "experiment_name": "same", "model": "m", "prompt_version": "v"}
    said = {"expected_subtype": "license", "reasoning": "short"}
    runs = [
        head
        | {"run": n, "parameters": {"manifest": "m.jsonl"}}
        | {"results": [{"filename": "f", "sorter": said | {"contract_subtype": a}}]}
        for n, a in ((1, "license"), (2, "supply"))
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
    (tmp_path / "m.jsonl").write_text(
        json.dumps({"filename": "f", "predicted": "supply", "reasoning": "at length"}) + "\n"
    )
    assert invoke("corpus", "--log", "log.jsonl", "--out-dir", "o").exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "o/corpus.jsonl").read_text().splitlines()]
    assert [(r["predicted"], r["reasoning"]) for r in rows] == [("license", "short"), ("supply", "at length")]


def test_the_stored_runs_give_the_published_corpus(pack):
    records = [r for r in read_runs(pack) if r["results"]]
    corpus = build_corpus(records)
    assert len(corpus) == 17_691 and copied_runs(corpus) == {"192": "191", "193": "191"}
    override = json.loads((pack / "labels.json").read_text())["published_corpus_override"]
    published = build_corpus(records, answers_of=override)
    changed = {a["run"] for a, b in zip(corpus, published, strict=True) if a["predicted"] != b["predicted"]}
    assert changed and all(a["expected"] == b["expected"] for a, b in zip(corpus, published, strict=True))
    assert not changed & set(override.values())


@pytest.mark.parametrize("name", ["ablation", "gepa", "failures"])
def test_no_number_depends_on_who_works(name, corpus, tmp_path):
    def files(*options):
        out = tmp_path / "-".join(["out", *options])
        done = invoke(name, "--corpus", corpus, "--out-dir", out, *QUICK.get(name, []), "--json", *options)
        assert done.exit_code == 0, done.output
        return done.stdout, {p.name: p.read_bytes() for p in out.iterdir() if p.suffix != ".png"}

    assert files("--jobs", "2") == files()
    refused = invoke(name, "--corpus", corpus, "--backend", "dask")
    assert refused.exit_code == 2 and "scheduler: expected an address" in refused.stderr
