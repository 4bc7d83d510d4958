"""Every result shows itself in a notebook, and whatever a model or a person wrote stays text there."""

import dataclasses
import importlib
import inspect
import pkgutil
import re

import pytest

import llm_dojo_scoring
from llm_dojo_scoring.shown_results import figures_html, html_table, shown_value

EVIL = '</td><script>alert(1)</script><img src=x onerror="alert(1)">&amp;'
#: Results that nobody reads as a table: settings, places of a server, columns of labels as numbers, who works
OTHERS = {"CodedLabels", "LangfuseConfig", "Settings", "Workers"}


def public():
    "Each public class of the package, and the name of what each public function or method returns."
    classes, returned = {}, {}
    for found in pkgutil.walk_packages(llm_dojo_scoring.__path__, "llm_dojo_scoring."):
        if found.name.endswith("_modidx"):
            continue
        module = importlib.import_module(found.name)
        mine = {k: v for k, v in vars(module).items() if getattr(v, "__module__", "") == found.name}
        for name, it in mine.items():
            if name.startswith("_"):
                continue
            if inspect.isclass(it):
                classes[name] = it
                methods = {
                    k: getattr(v, "fget", None) or getattr(v, "__func__", v) for k, v in vars(it).items()
                }
                mine_too = [(f"{name}.{k}", v) for k, v in methods.items() if not k.startswith("_")]
            else:
                mine_too = [(name, it)]
            for called, function in mine_too:
                said = getattr(function, "__annotations__", {}).get("return")
                if isinstance(said, str):
                    returned.setdefault(re.sub(r"\s*\|\s*None", "", said), set()).add(called)
    return classes, returned


def test_every_result_shows_itself():
    classes, returned = public()
    results = {n: c for n, c in classes.items() if n in returned and dataclasses.is_dataclass(c)}
    assert len(results) > 60
    bare = {n: sorted(returned[n]) for n, c in results.items() if not hasattr(c, "_repr_html_")}
    assert set(bare) <= OTHERS, bare


@dataclasses.dataclass
class Hostile:
    name: str = EVIL
    listed: tuple = (EVIL, EVIL)
    counted: dict = dataclasses.field(default_factory=lambda: {EVIL: EVIL})
    deep: dict = dataclasses.field(default_factory=lambda: {EVIL: [EVIL]})
    mixed: list = dataclasses.field(default_factory=lambda: [[EVIL], {EVIL}])
    object: object = dataclasses.field(default_factory=lambda: type("T", (), {"__str__": lambda s: EVIL})())


@pytest.mark.parametrize(
    "shown", [figures_html(Hostile()), html_table([EVIL], [[EVIL]], EVIL), shown_value({EVIL})]
)
def test_foreign_text_stays_text(shown):
    assert "<script" not in shown and "<img" not in shown and "&lt;script&gt;" in shown


def test_results_hold_foreign_text_as_text():
    import pandas as pd

    from llm_dojo_scoring.chunk_merge import merge_chunks
    from llm_dojo_scoring.class_summary import summarize_labels
    from llm_dojo_scoring.io import ResultSet
    from llm_dojo_scoring.label_rows import read_row
    from llm_dojo_scoring.noise_floor import NoiseFloor

    rows = [{"filename": EVIL, "expected": EVIL, "predicted": "x", "reasoning": EVIL}] * 2
    for result in (
        ResultSet(EVIL, pd.DataFrame({EVIL: [EVIL]}), kind=EVIL),
        NoiseFloor(EVIL, 0.01, 0.02, 0.5, 3, 9),
        merge_chunks([{EVIL: EVIL}, {EVIL: [EVIL]}]),
        summarize_labels(rows, task="custom"),
        read_row(rows[0]),
    ):
        shown = result._repr_html_()
        assert "<table" in shown and "<script" not in shown and "<img" not in shown
