"""The fault planter: which faults it makes, and that it can tell a killed one from one alive."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CELL = """#| export
def share(
    part: float,  # Numerator
    whole: float = 1,  # Denominator
) -> float | None:  # Share
    "Share of a whole, at most 1."
    if not whole:
        return None
    if part > whole and whole > 0:
        raise ValueError(f"{part} of {whole + 1}")
    return min(1.0, part / whole)
"""


@pytest.fixture
def mutate(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    import mutate

    return mutate


def test_every_kind_of_fault_is_made_and_each_is_one_change(mutate):
    faults = list(mutate.faults_of(3, CELL))
    kinds = {f.kind for f in faults}
    assert {
        "comparison",
        "and/or",
        "dropped sign",
        "operator",
        "constant",
        "guard removed",
        "return value",
    } <= kinds
    assert "function" in kinds
    for fault in faults:
        ast.parse(fault.source)
        assert fault.source != CELL and fault.before != fault.after and fault.cell == 3
    lines = {f.line for f in faults}
    assert not lines & {1, 2, 3, 5, 6, 10}, "docstring, annotations and the words of an error are left alone"


def test_the_sample_is_the_same_each_time_and_another_for_another_seed(mutate):
    page = ROOT / "nbs" / "00_core.ipynb"
    first, n_all = mutate.chosen(page, 10, 0)
    assert mutate.chosen(page, 10, 0) == (first, n_all) and len(first) == 10 < n_all
    assert mutate.chosen(page, 10, 1)[0] != first
    assert len(mutate.chosen(page, 10**9, 0)[0]) == n_all


def test_the_tests_of_a_page_are_those_that_import_its_module(mutate):
    assert mutate.module_of(ROOT / "nbs" / "22_fields.money.ipynb") == "fields.money"
    assert "test_statistics.py" in mutate.tests_of("intervals")
    assert "test_classification.py" in mutate.tests_of("classification"), "by `from package import module`"
    assert "test_frozen.py" in mutate.tests_of("core") and "test_pages.py" not in mutate.tests_of("core")


def test_tests_named_after_the_page_come_first_then_the_quickest(mutate):
    copy = mutate.Copy.__new__(mutate.Copy)
    copy.module = "lists.matching"
    copy.took = {"test_lists.py": 9.0, "test_text.py": 2.0, "test_dates.py": 1.0}
    order = copy.quickest(["test_dates.py", "test_lists.py", "test_text.py"])
    assert order == ["test_lists.py", "test_dates.py", "test_text.py"]


def test_a_run_that_does_not_end_is_ended(tmp_path):
    (tmp_path / "test_loop.py").write_text("def test_it():\n    while True:\n        pass\n")
    (tmp_path / "test_green.py").write_text("def test_it():\n    pass\n")
    orders = '["tests", "test_loop.py", 3]\n["tests", "test_green.py", 120]\n["tests", "none.py", 120]\n'
    command = [sys.executable, ROOT / "tests/forked.py"]
    done = subprocess.run(command, input=orders, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["-9", "0", "4"]


def test_a_planted_fault_turns_its_page_red(mutate, tmp_path):
    page = ROOT / "nbs" / "00_core.ipynb"
    fault = next(f for f in mutate.all_faults(page) if "part / whole" in f.before and f.kind == "operator")
    copy = mutate.Copy(tmp_path, page)
    copy.plant(fault)
    assert copy.exported.read_text() != copy.clean_module and "part * whole" in copy.exported.read_text()
    assert copy.red([], 120) == "page"
    copy.restore()
    assert copy.exported.read_text() == copy.clean_module
    assert copy.red([], 120) == "", "each run imports the package anew"
    copy.check("page", 120)
    with pytest.raises(SystemExit):
        copy.check("test_that_is_not_there.py", 120)
    copy.close()


def test_listing_runs_nothing():
    command = [sys.executable, ROOT / "tests/mutate.py", ROOT / "nbs/00_core.ipynb", "--n", "3", "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "3 of " in done.stdout and done.stdout.count("+ ") >= 3
