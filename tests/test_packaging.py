"""The installed package says what settings.ini says, and the tree holds what packaging needs."""

import re
from importlib.metadata import entry_points, metadata, requires, version
from pathlib import Path

from nbdev.config import get_config
from packaging.requirements import Requirement

import llm_dojo_scoring

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = {"embeddings", "embed", "parquet", "langfuse", "phoenix", "mlflow", "dev", "docs", "all"}


def test_metadata_is_settings_ini(monkeypatch):
    monkeypatch.chdir(ROOT)
    cfg = get_config()
    assert version("llm-dojo-scoring") == llm_dojo_scoring.__version__ == cfg.version
    assert metadata("llm-dojo-scoring")["Summary"] == cfg.description
    have = {Requirement(r).name for r in requires("llm-dojo-scoring") if "extra ==" not in r}
    assert have == {Requirement(r).name for r in cfg.requirements.split()}
    assert set(metadata("llm-dojo-scoring").get_all("Provides-Extra")) >= EXTRAS


def test_every_command_opens(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {c.split("=")[0] for c in get_config().console_scripts.split()}
    installed = {
        e.name: e for e in entry_points(group="console_scripts") if e.value.startswith("llm_dojo_scoring")
    }
    assert names == set(installed)
    for entry in installed.values():
        assert callable(entry.load())


def test_quarto_yml_is_the_top_level_one():
    link = ROOT / "nbs/_quarto.yml"
    assert link.is_symlink() and link.resolve() == ROOT / "_quarto.yml"


def test_the_changelog_knows_this_version():
    assert re.search(
        rf"^## {re.escape(llm_dojo_scoring.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
