"""Frames in, tidy frames out: pandas and polars say the same, and importing the package loads neither."""

import subprocess
import sys

import pandas as pd
import pytest

from llm_dojo_scoring.accessor import register_accessor, score_frame
from llm_dojo_scoring.run_files import BadInput

ROWS = {"filename": ["a", "b"], "governing_law": ["Delaware", None], "parties": [["X Inc."], []]}
LABELS = {"a": {"governing_law": "Delaware", "parties": ["X Inc.", "Y LLC"]}, "b": {"governing_law": "Ohio"}}


def test_pandas_and_polars_agree():
    pl = pytest.importorskip("polars", reason="no polars: pip install polars")
    assert register_accessor() == ["pandas", "polars"]
    a, b = pd.DataFrame(ROWS).dojo.score(LABELS), pl.DataFrame(ROWS).dojo.score(LABELS)
    assert list(a.columns) == b.columns and a["score"].tolist() == b["score"].to_list()
    assert a["doc_id"].tolist() == b["doc_id"].to_list() and isinstance(b, pl.DataFrame)
    documents = pl.DataFrame(ROWS).dojo.documents(LABELS)
    assert (
        documents["overall_score"].to_list()
        == pd.DataFrame(ROWS).dojo.documents(LABELS)["overall_score"].tolist()
    )


def test_the_frame_is_not_changed_and_errors_are_those_of_a_run():
    frame = pd.DataFrame(ROWS)
    before = frame.copy(deep=True)
    run = frame.dojo.run(LABELS)
    assert run.counts["total"] == 2 and frame.equals(before)
    with pytest.raises(BadInput):
        pd.DataFrame({"filename": ["a"], "colour": ["red"]}).dojo.score(LABELS)
    with pytest.raises(TypeError):
        score_frame(ROWS, LABELS)


def test_importing_the_package_loads_no_frames():
    code = "import sys, llm_dojo_scoring, llm_dojo_scoring.score_run; assert 'pandas' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
