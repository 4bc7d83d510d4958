"""`dojo-sync` against local servers: read, push, verify, and nothing secret on any stream."""

import importlib.util
import json
import logging
import os
import subprocess
import sys

import pytest
from score_servers import LangfuseServer, PhoenixStandIn
from typer.testing import CliRunner

from llm_dojo_scoring.phoenix_sink import phoenix_place
from llm_dojo_scoring.score_record import ScoreRecord
from llm_dojo_scoring.sinks import LocalManifestSink
from llm_dojo_scoring.sync_command import app

needs_sdk = pytest.mark.skipif(
    importlib.util.find_spec("langfuse") is None, reason="needs the extra: langfuse"
)


def run(*args):
    return CliRunner().invoke(app, [str(a) for a in args])


@pytest.fixture
def manifest(tmp_path, monkeypatch):
    for name in [n for n in os.environ if n.startswith(("LANGFUSE_", "PHOENIX_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    local = LocalManifestSink(tmp_path / "scores.jsonl")
    local.emit_many(
        ScoreRecord("sorter", "accuracy", i / 10, f"d{i}", "run-7", timestamp=1e9) for i in range(10)
    )
    return local


@needs_sdk
def test_push_and_verify_on_langfuse(manifest, tmp_path):
    with LangfuseServer() as server:
        keys = tmp_path / "keys.env"
        keys.write_text(
            f"LANGFUSE_HOST={server.base_url}\nLANGFUSE_PUBLIC_KEY={server.public_key}\n"
            f"LANGFUSE_SECRET_KEY={server.secret_key}\n"
        )
        to = ("scores.jsonl", "--to", "langfuse", "--env-file", keys)
        assert run("verify", *to).exit_code == 1
        done = run("push", *to)
        assert (done.exit_code, "10 sent" in done.output) == (0, True)
        assert json.loads(run("push", *to, "--json").stdout)["sent"] == 0
        assert json.loads(run("verify", *to, "--json").stdout)["equal"] == 10
        server.secret = "another"
        keys.write_text(keys.read_text().replace(server.secret_key, "sk-lf-wrong-99999999"))
        manifest.emit(ScoreRecord("sorter", "accuracy", 1.0, "new", "run-7", timestamp=1e9))
        refused = run("push", *to, "--deadline", "2")
        assert refused.exit_code == 1 and "401" in refused.output and "wrong-9999" not in refused.output


def test_push_leaves_the_log_as_it_was(manifest, caplog):
    log = logging.getLogger("llm_dojo_scoring")
    before = log.level
    with PhoenixStandIn() as server:
        run("push", "scores.jsonl", "--to", "phoenix", "--url", server.base_url)
    assert log.level == before
    log.warning("still heard")
    assert "still heard" in caplog.text


def test_push_reports_what_waits(manifest):
    with PhoenixStandIn() as server:
        places = [phoenix_place(r)[1] for r in manifest.read_all()]
        server.known["span"] |= set(places[:4])
        to = ("scores.jsonl", "--to", "phoenix", "--url", server.base_url)
        done = run("push", *to, "--deadline", "5")
        assert (done.exit_code, "4 sent" in done.output, "6 pending" in done.output) == (1, True, True)
        server.known["span"] |= set(places)
        assert run("push", *to).exit_code == 0
        assert run("verify", *to).exit_code == 0
        next(iter(server.notes.values()))["result"]["score"] = 0.123
        assert run("verify", *to).exit_code == 1


def test_reading_writes_a_workbook_and_a_table(manifest, tmp_path):
    with LangfuseServer() as server:
        output = {
            "doc_type": "contract",
            "expected_subtype": "license",
            "subtype_ok": True,
            "doc_type_ok": True,
        }
        for i in range(3):
            server.observations[str(i)] = dict.fromkeys(" ".join(server.GROUPS.values()).split()) | {
                "id": str(i),
                "traceId": f"t{i}",
                "name": "subtype_classification",
                "traceName": "subtype_classification",
                "isRootObservation": True,
                "sessionId": "run-7",
                "startTime": f"2026-08-15T05:00:0{i}Z",
                "input": json.dumps({"filename": f"{i}.txt"}),
                "output": json.dumps({"sorter": output}),
            }
        keys = tmp_path / "keys.env"
        keys.write_text(
            f"LANGFUSE_HOST={server.base_url}\nLANGFUSE_PUBLIC_KEY={server.public_key}\n"
            f"LANGFUSE_SECRET_KEY={server.secret_key}\n"
        )
        done = run("--env-file", keys, "--outdir", tmp_path / "out")
        assert done.exit_code == 0 and "1 runs" in done.output and "run-7" in done.output
        assert (tmp_path / "out/Sorter_Experiment_Results.xlsx").is_file()
        (row,) = json.loads(run("--env-file", keys, "--no-workbook", "--json").stdout)
        assert (row["SAMPLE (n)"], row["Subtype Accuracy"]) == (3, 1.0)
        assert run("--env-file", keys, "--session", "nobody", "--no-workbook").exit_code == 1


def test_a_server_that_lost_its_data_gets_everything_again(manifest):
    with PhoenixStandIn() as server:
        server.known["span"] |= {phoenix_place(r)[1] for r in manifest.read_all()}
        to = ("scores.jsonl", "--to", "phoenix", "--url", server.base_url)
        assert run("push", *to).exit_code == 0
        server.notes.clear()
        lost = run("verify", *to)
        assert (lost.exit_code, "10 missing" in lost.stdout, "--again" in lost.stderr) == (1, True, True)
        assert "0 sent" in run("push", *to).stdout
        assert "10 sent" in run("push", *to, "--again").stdout
        assert run("verify", *to).exit_code == 0 and "0 sent" in run("push", *to).stdout


def test_what_goes_wrong_is_one_line_with_a_status_and_without_a_key(manifest, tmp_path, monkeypatch):
    key = "sk-lf-0123456789abcdef"
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-0123456789")
    with LangfuseServer() as server:
        server.secret = "another"
        for where, env, args, status in (
            ("no secret key", {}, (), 1),
            (
                "refused",
                {"LANGFUSE_SECRET_KEY": key, "LANGFUSE_HOST": server.base_url},
                ("--no-workbook",),
                1,
            ),
            ("a bad address", {"LANGFUSE_SECRET_KEY": key, "LANGFUSE_HOST": f"ftp://u:{key}@x"}, (), 1),
            ("no such file", {}, ("--env-file", "none.env"), 2),
            ("no trace", {}, ("--task", "fax"), 1),
            ("no folder", {"LANGFUSE_SECRET_KEY": key}, ("--outdir", "scores.jsonl/x", "--task", "fax"), 1),
            ("not a manifest", {}, ("push", tmp_path, "--to", "phoenix"), 2),
            ("no server", {}, ("push", "scores.jsonl", "--to", "mlflow"), 2),
            ("no address", {}, ("push", "scores.jsonl", "--to", "phoenix", "--url", "localhost:6006"), 2),
        ):
            with monkeypatch.context() as m:
                for name, value in env.items():
                    m.setenv(name, value)
                done = run(*args)
            assert (done.exit_code, done.stdout) == (status, ""), where
            assert done.stderr.startswith("dojo-sync: ") and done.stderr.count("\n") == 1, (
                where,
                done.stderr,
            )
            assert "Traceback" not in done.stderr and key not in done.stderr, where


def test_help_is_instant_and_light():
    code = (
        "import sys\nfrom llm_dojo_scoring.sync_command import app\n"
        "try: app(['push', '--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('pandas', 'langfuse', 'numpy', 'httpx', 'opentelemetry') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "[]"
