"""The explorer in JupyterLab: filter, open, decide, and one line is written."""

import json
import os
import subprocess
import sys
import time
import urllib.request

import orjson
import pytest
from browser import end, need_browser, open_browser
from test_explorer import cell, choose

from llm_dojo_scoring.cell_verdicts import read_verdicts

#: Seconds for what a machine under load may be slow at; nothing is asserted about the time that was taken
PATIENCE = 300

NOTEBOOK = """
from llm_dojo_scoring.explorer import explore
from llm_dojo_scoring.score_run import score_run
run = score_run({runs!r}, {labels!r}, documents={texts!r}, run="hasty")
explore(run, {texts!r}, who="tester")
"""

FLAGS = (
    "--no-browser --allow-root --port=0 --ServerApp.port_retries=0 --IdentityProvider.token="
    " --ServerApp.disable_check_xsrf=True --LabApp.expose_app_in_browser=True --LabApp.news_url="
    " --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"
).split()


def write_notebook(path, source):
    "A notebook with one cell that was never run."
    code = {"cell_type": "code", "id": "one", "execution_count": None, "metadata": {}, "outputs": []}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": [{**code, "source": source}], "metadata": {"kernelspec": kernel}}
    path.write_bytes(orjson.dumps({**book, "nbformat": 4, "nbformat_minor": 5}))


def ask(address, body=None):
    "A question to the server, as JSON."
    data = None if body is None else orjson.dumps(body)
    asked = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        return json.load(answer)


def until(told, server, log):
    "Wait until the server has written where it is; its log says why when it ends before."
    end = time.monotonic() + PATIENCE
    while True:
        for file in told.glob("jpserver-*.json"):
            if (text := file.read_text()).endswith("}"):
                return json.loads(text)["url"]
        assert server.poll() is None and time.monotonic() < end, log.read_text()[-2000:]
        time.sleep(0.2)


@pytest.fixture
def lab(tmp_path, data):
    "A notebook in JupyterLab, its kernel started; the address of the server and the folder of the notebook."
    pytest.importorskip("jupyterlab", reason="no JupyterLab: pip install jupyterlab")
    pytest.importorskip("ipykernel", reason="no kernel: pip install ipykernel")
    pytest.importorskip("anywidget", reason="no anywidget: pip install 'llm-dojo-scoring[widgets]'")
    need_browser()
    paths = {"runs": "runs/extractions.jsonl", "labels": "labels/expected.jsonl", "texts": "contracts"}
    folder, log = tmp_path / "books", tmp_path / "lab.log"
    folder.mkdir()
    source = NOTEBOOK.format(**{k: str(data / p) for k, p in paths.items()}).strip()
    write_notebook(folder / "explore.ipynb", source)
    private = {f"JUPYTER_{k}_DIR": str(tmp_path / k) for k in ("CONFIG", "DATA", "RUNTIME")}
    command = [sys.executable, "-m", "jupyterlab", *FLAGS, f"--ServerApp.root_dir={folder}"]
    with open(log, "w") as told:
        server = subprocess.Popen(command, env={**os.environ, **private}, stdout=told, stderr=told)
        try:
            address = until(tmp_path / "RUNTIME", server, log)
            # A kernel that runs already: Lab takes it, and has nothing to ask before it runs a cell.
            wanted = {"path": "explore.ipynb", "name": "explore.ipynb", "type": "notebook"}
            ask(address + "api/sessions", {**wanted, "kernel": {"name": "python3"}})
            yield address, folder
        finally:
            end(server, 60)


PANEL = "[...window.jupyterapp.shell.widgets('main')].find((w) => w.sessionContext)"


def test_in_jupyterlab_a_click_writes_one_line(lab):
    address, folder = lab
    with open_browser() as page:
        page.size(1400, 1000)
        page.go(address + "lab/tree/explore.ipynb?reset")
        page.wait("window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell')", PATIENCE)
        page.wait(f"{PANEL}?.sessionContext.session?.kernel?.status === 'idle'", PATIENCE)
        assert not page.run("document.querySelector('.jp-Dialog')?.innerText"), "Lab asks before it runs"
        page.run(f"window.jupyterapp.shell.activateById({PANEL}.id)")
        page.run("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
        page.wait(
            "document.querySelector('.dojo-x [role=gridcell], .jp-RenderedText[data-mime-type*=err]')",
            PATIENCE,
        )
        assert not page.run("document.querySelector('[data-mime-type*=stderr]')?.innerText")
        choose(page, ".dojo-x input[type=search]", "bramble")
        assert page.run("document.querySelector('.dojo-x .count').textContent") == "1 of 12 documents"
        page.run(f"{cell(0, 2)}.click()")
        heading = "(document.querySelector('.dojo-x .pane h4')?.textContent || '')"
        page.wait(f"{heading}.startsWith('effective_date: 0.6700, partial')", PATIENCE)
        assert page.run("document.querySelector('.dojo-x .passage mark').textContent") == "March 3, 2021"
        assert not (folder / "cell_verdicts.jsonl").exists()
        page.run("document.querySelector('.dojo-x .decide button').click()")
        page.wait(
            "document.querySelector('.dojo-x .told').textContent === 'saved: accept (cell_verdicts.jsonl)'",
            PATIENCE,
        )
        if shown := os.environ.get("DOJO_SHOTS"):
            page.shot(f"{shown}/lab.png")
    (line,) = read_verdicts(folder / "cell_verdicts.jsonl", every=True)
    assert {k: v for k, v in line.items() if k != "time"} == {
        "run": "hasty",
        "document": "BrambleSoft_HostingAgreement.txt",
        "field": "effective_date",
        "verdict": "accept",
        "critical": False,
        "note": "",
        "who": "tester",
    }
