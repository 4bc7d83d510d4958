"""Row h: the diagnostics of a run, read for the first time and again, and of 320,000 streamed rows."""

from __future__ import annotations

import json
import math
import tempfile
from functools import partial
from pathlib import Path

import baseline
from context import clear_caches
from frame import Result, Row, Side
from rows_startup import child

_COLUMNS = ("precision", "recall", "f1", "matched", "n_predicted", "n_expected")


def stored_rows(context, run="171"):
    "Completed rows of a run with their labels, as a run stores them."
    labels = {r["filename"]: r["expected_fields"] or {} for r in context.lines("expected.jsonl.gz")}
    rows = []
    for row in context.lines("rows_extraction.jsonl.gz"):
        if row["run"] == run and row["status"] == "completed":
            lists = {f: dict(zip(_COLUMNS, v, strict=False)) for f, v in row["entity_list_scores"].items()}
            expected = labels.get(row["filename"], {})
            rows.append(row | {"expected_fields": expected, "entity_list_scores": lists})
    return rows


def _figures(record):
    "What both sides count alike: outcomes, presence and list means."
    return (
        record["n_fields_scored"],
        {f: rates["exact_rate"] for f, rates in record["error_decomposition"].items()},
        record["field_presence_per_field"],
    )


def one_run(context, key):
    "Run 171: every text new (h1), or every text read before (h2)."
    from llm_dojo_scoring.diagnostics import extraction_diagnostics
    from llm_dojo_scoring.master_labels import load_master_labels
    from llm_dojo_scoring.taxonomy import field_types_for

    rows, types = stored_rows(context), field_types_for("contract")
    master = load_master_labels(context.pack / "master_clauses.csv.gz")
    ours = partial(extraction_diagnostics, rows, types, master=master)
    slow = partial(baseline.diagnostics, rows, types, master)
    cold = key == "h1"
    yield Row(
        key=key,
        what=f"extraction_diagnostics, {len(rows)} rows of run 171, "
        + ("new texts" if cold else "texts read before"),
        ours=Side(ours, before=clear_caches if cold else None),
        # One regular expression, one reading per text: about half the cost of the published implementation.
        # Against that one the targets are 2 and 25.
        baseline=Side(slow),
        least_ratio=1 if cold else 9,
        check=lambda: _figures(ours()) == _figures(slow()),
    )


_CODE = """
import json
from llm_dojo_scoring.run_diagnostics import diagnose
from llm_dojo_scoring.taxonomy import field_types_for
rows = [json.loads(line) for line in open({path!r}, encoding="utf-8")]
stream = (row | {{"filename": f"{{i}} {{row['filename']}}"}} for i in range({repeats}) for row in rows)
found = diagnose(stream, field_types_for("contract"))
assert found.n_rows == {repeats} * len(rows) and found.drift.n_docs <= found.n_rows
"""


def streamed(context):
    "Rows of different documents streamed through one process: memory must not follow their number."
    rows = stored_rows(context)
    with tempfile.TemporaryDirectory(prefix="dojo-rows-") as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        (few, _, low), (many, seconds, high) = (
            (n * len(rows), *child(_CODE.format(path=str(path), repeats=n))[:2]) for n in (8, 629)
        )
    yield Result(
        "h3",
        f"diagnose, {many:,} streamed rows (growth is memory's, from {few:,} rows)",
        seconds={"ours": seconds},
        growth=math.log(high / low) / math.log(many / few),
        most_growth=0.2,  # the names of the documents are kept, to count each once
        peak_mb=high,
        most_mb=300,
    )


def rows(context):
    yield "h1", partial(one_run, context, "h1")
    yield "h2", partial(one_run, context, "h2")
    yield "h3", partial(streamed, context)
