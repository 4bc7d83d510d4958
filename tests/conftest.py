"""Fixtures: no display, the sample data, and the data pack where there is one."""

import logging
import os
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
# The same examples in every run: a test that fails here fails everywhere.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run what needs the embedding model too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="needs the embedding model: make test EMBED=1")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


def pack_folder():
    "The data pack's folder: DOJO_PACK, else ../shared/data beside the repository; `None` if there is none."
    folder = Path(os.environ.get("DOJO_PACK") or ROOT.parent / "shared" / "data")
    return folder if (folder / "runs.jsonl.gz").is_file() else None


@pytest.fixture(scope="session")
def pack():
    "The folder of real run records; a test that asks for it is skipped where it is absent."
    folder = pack_folder()
    if folder is None:
        pytest.skip("no data pack: set DOJO_PACK to the folder that holds runs.jsonl.gz")
    return folder


@pytest.fixture(autouse=True)
def _heard():
    "The package's loggers speak, whatever a library or a page did to logging in this process before."
    logging.disable(logging.NOTSET)
    logging.root.setLevel(logging.WARNING)
    for name, log in list(logging.root.manager.loggerDict.items()):
        if name.split(".")[0] == "llm_dojo_scoring" and isinstance(log, logging.Logger):
            log.disabled, log.propagate = False, True
            log.setLevel(logging.NOTSET)


@pytest.fixture
def data():
    "The samples that come with the project."
    return ROOT / "data"
