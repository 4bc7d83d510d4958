"""What every page keeps, so that the site shows all of it."""

import ast
import json
import re
import textwrap
from pathlib import Path

import pytest

NBS = Path(__file__).parents[1] / "nbs"
PAGES = sorted(NBS.glob("[0-9]*.ipynb"))
LONGEST_FUNCTION = 40  # code lines, docstrings and comments aside
LONGEST_CELL = 120  # a class with its properties, or a few functions that belong together


def cells(page, kind):
    return ["".join(c["source"]) for c in json.loads(page.read_text())["cells"] if c["cell_type"] == kind]


def code_lines(cell):
    "Lines of `cell` that hold statements: no docstrings, comments, blanks, and no tables of constants."
    tree, left_out = ast.parse(cell), set()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            left_out |= set(range(node.lineno, node.end_lineno + 1))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            left_out |= set(range(node.lineno, node.end_lineno + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and i not in left_out
        for i, line in enumerate(cell.splitlines(), 1)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_title_cell_stands_alone(page):
    # nbdev turns this cell into front matter and drops whatever else it holds.
    title = next(c for c in cells(page, "markdown") if c.startswith("# "))
    assert re.fullmatch(r"# .+\n\n> .+(\n\n(- \w[\w-]*: .+\n?)+)?", title.strip()), title


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_import_cells_only_import(page):
    # The docs build runs every cell that imports; work in such a cell would run there too.
    for cell in cells(page, "code"):
        body = ast.parse(cell).body
        if any(isinstance(n, (ast.Import, ast.ImportFrom)) for n in body):
            assert all(isinstance(n, (ast.Import, ast.ImportFrom)) for n in body), cell


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_exported_cells_and_functions_are_short(page):
    for cell in cells(page, "code"):
        if cell.startswith("#| export"):
            assert code_lines(cell) <= LONGEST_CELL, cell
            for node in ast.walk(ast.parse(cell)):
                if isinstance(node, ast.FunctionDef):
                    source = "\n".join(cell.splitlines()[node.body[0].lineno - 1 : node.end_lineno])
                    assert code_lines(textwrap.dedent(source)) <= LONGEST_FUNCTION, node.name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_public_functions_are_shown_at_work(page):
    shown = "\n".join(c for c in cells(page, "code") if not c.startswith("#| export"))
    for cell in cells(page, "code"):
        if cell.startswith("#| export\n"):
            for node in ast.parse(cell).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    assert re.search(rf"\b{node.name}\(", shown), f"{node.name} has no example"


@pytest.mark.parametrize("page", sorted(NBS.rglob("*.ipynb")), ids=lambda p: p.stem)
def test_saved_outputs_come_from_the_data(page):
    # A page executed without the data pack saves what it says instead of its tables.
    saved = json.dumps([c.get("outputs") for c in json.loads(page.read_text())["cells"]])
    assert "no data pack" not in saved.lower(), "execute the page with DOJO_PACK set, or restore its outputs"
