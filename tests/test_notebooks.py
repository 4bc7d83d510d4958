"""The pages run, and package, pages and README in the tree are what the tools make of them."""

import filecmp
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from nbdev.config import get_config
from nbdev.doclinks import nbglob
from nbdev.test import test_nb as run_nb  # an alias: pytest would collect `test_nb`

from llm_dojo_scoring.docs import readme_text

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(nbglob(ROOT / "nbs", as_path=True))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT / "nbs").with_suffix("").as_posix())
def test_notebook(page, request, monkeypatch):
    "Run a page's cells under the rules of `nbdev_test`."
    monkeypatch.chdir(ROOT)  # nbdev looks for settings.ini from here up
    monkeypatch.setenv("IN_TEST", "1")  # nbdev sets it and leaves it set: nbdev_export then does nothing
    skip = get_config().tst_flags.split()
    if request.config.getoption("--slow"):
        skip.remove("slow")
    ok, _ = run_nb(page, skip_flags=skip, basepath=ROOT)
    assert ok, f"{page.name} failed: its traceback is in the captured stderr"


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    "A copy of the tree in which nbdev has exported and cleaned everything anew."
    new = tmp_path_factory.mktemp("rebuilt")
    for name in ("settings.ini", "pyproject.toml"):
        shutil.copy(ROOT / name, new)
    ignore = shutil.ignore_patterns(".ipynb_checkpoints", "nbdev.yml")
    shutil.copytree(ROOT / "nbs", new / "nbs", symlinks=True, ignore=ignore)
    (new / "llm_dojo_scoring").mkdir()
    shutil.copy(
        ROOT / "llm_dojo_scoring/__init__.py", new / "llm_dojo_scoring"
    )  # written by hand, kept by nbdev
    env = {k: v for k, v in os.environ.items() if k != "IN_TEST"}
    for command in ("nbdev_export", "nbdev_clean"):
        subprocess.run([command], cwd=new, check=True, timeout=300, env=env)
    return new


def differences(a, b, pattern):
    "The paths under `a` and `b` that match `pattern` and differ or are on one side only."
    names = {
        p.relative_to(d) for d in (a, b) for p in d.rglob(pattern) if ".ipynb_checkpoints" not in p.parts
    }
    return sorted(
        str(n)
        for n in names
        if not (a / n).exists() or not (b / n).exists() or not filecmp.cmp(a / n, b / n, shallow=False)
    )


def test_package_is_what_the_pages_export(rebuilt):
    package = "llm_dojo_scoring"
    assert not differences(ROOT / package, rebuilt / package, "*.py"), "run make sync"
    assert filecmp.cmp(ROOT / "pyproject.toml", rebuilt / "pyproject.toml", shallow=False), "run make sync"


def test_pages_are_clean(rebuilt):
    assert not differences(ROOT / "nbs", rebuilt / "nbs", "*.ipynb"), "run make sync"


def test_readme_is_the_first_page():
    assert (ROOT / "README.md").read_text(encoding="utf-8") == readme_text(ROOT / "nbs/index.ipynb"), (
        "run make sync"
    )
