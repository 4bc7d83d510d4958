"""Costs against the stored runs, and on anything that a provider might send."""

import gzip
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import cost
from llm_dojo_scoring.config import settings

QWEN = "qwen/qwen3.7-flash"


@pytest.fixture(scope="module")
def runs(pack):
    with gzip.open(pack / "runs.jsonl.gz", "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def blocks(tokens):
    if isinstance(tokens, dict):
        if "prompt_tokens" in tokens:
            yield tokens
        else:
            for stage in tokens.values():
                yield from blocks(stage)


def test_every_stored_estimate_is_reproduced(runs, pack):
    n = 0
    for run in runs:
        for block in blocks(run.get("tokens")):
            stored = block["cost_estimated_usd"]
            found = cost.estimate_cost(block["prompt_tokens"], block["completion_tokens"], run["model"])
            if stored is None:  # an unknown price, or a run that was never estimated
                assert found is None or cost.price_for(run["model"]), run["run"]
                continue
            assert found == stored, run["run"]
            n += 1
    published = {
        p["name"]: p["published"] for p in json.loads((pack / "published.json").read_text()) if "name" in p
    }
    assert n == published["cost.token_blocks_with_identical_estimate"] == 257
    by_run = {run["run"]: cost.estimate_for_record(run)["cost_estimated_usd"] for run in runs}
    assert by_run["012"] == published["cost.run012"] and by_run["187"] == published["cost.run187"]


def test_stages_add_up_to_the_stored_total(runs):
    n = 0
    for run in runs:
        tokens = run.get("tokens") or {}
        if "total" in tokens:
            stages = {k: v for k, v in tokens.items() if k != "total"}
            whole, parts = (cost.estimate_for_record({**run, "tokens": t}) for t in (tokens, stages))
            assert whole == parts
            n += 1
    assert n == 84


def test_rows_add_up_to_the_stored_block(pack, runs):
    by_run = {}
    for name in ("rows_extraction.jsonl.gz", "rows_labels.jsonl.gz"):
        with gzip.open(pack / name, "rt", encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                by_run.setdefault(row["run"], []).append(row.get("tokens"))
    n = 0
    for run in runs:
        rows = [
            dict(zip(cost._COUNTS, t, strict=True))
            for t in by_run.get(run["run"], ())
            if t and t[0] is not None
        ]
        block = next(blocks(run.get("tokens")), None)
        if rows and block and block["rows_with_usage"] == len(rows):
            found = cost.tokens_summary(iter(rows), run["model"])
            n += all(found[k] == block[k] for k in (*cost._COUNTS, "cost_estimated_usd", "rows_with_usage"))
    assert n >= 100


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["12", "0.5", "-1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
USAGE = st.dictionaries(st.sampled_from([*cost._COUNTS, "cost", "model"]), ANY, max_size=5)


@given(st.lists(USAGE | ANY, max_size=6))
def test_whatever_a_provider_sends_the_sums_hold(rows):
    found = cost.tokens_summary(rows, QWEN)
    assert found["total_tokens"] >= found["prompt_tokens"] + found["completion_tokens"] >= 0
    assert 0 <= found["rows_with_cost"] <= found["rows_with_usage"] <= len(rows)
    assert (found["cost_usd"] is None) == (found["cost_total_usd"] is None) == (found["rows_with_cost"] == 0)
    shuffled = random.Random(1).sample(rows, len(rows))
    assert cost.tokens_summary(iter(shuffled), QWEN) == found


@given(
    st.dictionaries(
        st.sampled_from(["tokens", "model", "n_rows"]), ANY | st.dictionaries(st.text(max_size=9), USAGE)
    )
)
def test_any_record_is_estimated_or_unknown(record):
    found = cost.estimate_for_record(record)
    assert (
        list(found)
        == "cost_estimated_usd per_doc_usd prompt_tokens completion_tokens model price_source".split()
    )
    assert found["cost_estimated_usd"] is None or found["cost_estimated_usd"] >= 0


@given(ANY, ANY)
def test_counts_and_models_never_raise(value, model):
    assert cost.estimate_cost(value, 1, QWEN) is None or cost._count(value) is not None
    assert cost.price_for(model) is None


@given(
    st.sampled_from("abcdefghijklmnopqrstuvwxyz/+~ ")
    | st.just("-lite")
    | st.just(":thinking")
    | st.just("-1x"),
    st.text(max_size=9),
)
def test_no_price_for_another_product(separator, rest):
    if (separator + rest).strip():
        assert cost.price_for(QWEN + separator + rest) is None


def test_equal_cost_however_the_counts_are_written():
    for tokens in (0, 1, 999, 10**9):
        spelled = {
            cost.estimate_cost(t, 5, QWEN) for t in (tokens, str(tokens), float(tokens), f"{tokens}.0")
        }
        assert len(spelled) == 1


def test_the_table_in_force_is_asked_each_time():
    assert cost.price_for("acme/model") is None
    with settings(cost_models={"acme/model": {"input_per_million": 1, "output_per_million": 2}}):
        assert cost.price_for("acme/model-20260101") == (1.0, 2.0)
        assert cost.price_for(QWEN) is None  # an override replaces the table, a file merges into it
    assert cost.price_for("acme/model") is None


def test_a_long_name_is_looked_up_at_once():
    for tail in ("-" * 100_000, "-2026" * 20_000, ":free" * 3, "9" * 100_000):
        assert cost.price_for(QWEN + tail) is None or tail == ":free" * 3


def test_a_stream_is_summed_without_being_kept():
    seen = []

    def rows():
        for i in range(1000):
            seen.append(i)
            yield {"prompt_tokens": 1, "completion_tokens": 1, "cost": 1e-6}

    found = cost.tokens_summary(rows(), QWEN)
    assert len(seen) == 1000 and found["total_tokens"] == 2000 and found["cost_total_usd"] == 0.001
