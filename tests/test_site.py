"""The sidebar is the shelf: every page once, numbered pages in number order, and no link leads nowhere."""

import json
import posixpath
import re
from pathlib import Path

import pytest
import yaml
from nbdev.doclinks import nbglob

ROOT = Path(__file__).parents[1]
NBS = ROOT / "nbs"
PAGES = sorted(p.relative_to(NBS).as_posix() for p in nbglob(NBS, as_path=True))
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)")


def listed(node):
    "The notebook names in a sidebar, in the order a reader meets them."
    if isinstance(node, str):
        return [node] if node.endswith(".ipynb") else []
    if isinstance(node, dict):
        return listed(node.get("contents", [])) + listed(node.get("href", ""))
    return [name for child in node for name in listed(child)]


def test_sidebar_lists_every_page_once_in_order():
    site = yaml.safe_load((ROOT / "_quarto.yml").read_text())
    names = listed(site["website"]["sidebar"]["contents"])
    assert sorted(names) == PAGES
    numbered = [n for n in names if n[0].isdigit()]
    assert numbered == sorted(numbered)


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page):
    for cell in json.loads((NBS / page).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            for link in LINK.findall("".join(cell["source"])):
                target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
                assert (NBS / target).exists(), f"{page} links to {link}"
