"""The notebook number is the layer: a page imports only from pages with smaller numbers."""

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "llm_dojo_scoring"
FACADES = {"field_scoring", "monte_carlo"}  # doors for users; the package uses the rooms
MAX_LINES = 400


def pages():
    "Map each exported module to its notebook: `fields.money` -> `22_fields.money.ipynb`."
    out = {}
    for nb in sorted((ROOT / "nbs").glob("[0-9]*.ipynb")):
        text = "\n".join("".join(c["source"]) for c in json.loads(nb.read_text())["cells"])
        for module in re.findall(r"^#\|\s*default_exp\s+(\S+)", text, re.M):
            assert module not in out, f"{nb.name} and {out[module].name} both export {module}"
            out[module] = nb
    return out


def imported(path):
    "The package modules that an exported file imports, as dotted names without the package."
    here = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = (PACKAGE, *here)[: len(here) + 1 - node.level] if node.level else ()
            parts = (*base, *(node.module or "").split("."))
            names = [(*parts, a.name) for a in node.names] + [parts]
        elif isinstance(node, ast.Import):
            names = [tuple(a.name.split(".")) for a in node.names]
        else:
            continue
        for name in names:
            if name[0] == PACKAGE and ".".join(filter(None, name[1:])) in PAGES:
                yield ".".join(filter(None, name[1:]))


PAGES = pages()


@pytest.mark.parametrize("module", PAGES)
def test_imports_point_down(module):
    path = ROOT / PACKAGE / (module.replace(".", "/") + ".py")
    for lower in imported(path):
        assert PAGES[lower].name < PAGES[module].name, f"{PAGES[module].name} imports {PAGES[lower].name}"
        assert lower not in FACADES, f"{PAGES[module].name} enters by the door {lower}"


@pytest.mark.parametrize("module", PAGES)
def test_page_is_named_after_its_module(module):
    assert re.fullmatch(rf"\d\d[a-z]?_{re.escape(module)}\.ipynb", PAGES[module].name)


@pytest.mark.parametrize("module", PAGES)
def test_module_fits_in_one_reading(module):
    path = ROOT / PACKAGE / (module.replace(".", "/") + ".py")
    assert len(path.read_text().splitlines()) <= MAX_LINES
