"""Run pages and test files in forks of one process that has loaded the libraries, and the modules named.

    python tests/forked.py [MODULE ...] < orders > answers

An order is a line `[kind, path, seconds]`, kind "page" or "tests"; its answer is a line with an exit code:
0 green, -9 not done in time. Every other module is imported anew in every fork; the libraries, most of the
time of a short run, once. Runs in the current folder, on POSIX only.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

LIBRARIES = (
    "numpy", "pytest", "hypothesis", "nbdev.test", "IPython.core.completer", "matplotlib.pyplot", "pandas",
    "scipy.stats", "scipy.optimize", "sklearn.metrics", "typer",
)  # fmt: skip
UNTIMED = "not linear and not time_grows and not costs_no_more"  # how time grows says nothing of a score
MEMORY = 8_000_000_000  # bytes: a fault may ask for all there is


def run_page(path: str) -> int:
    "Run a page's cells under the rules of `nbdev_test`."
    from nbdev.config import get_config
    from nbdev.test import test_nb

    skip = get_config().tst_flags.split()
    ok, _ = test_nb(Path(path).resolve(), skip_flags=skip, showerr=False, basepath=Path.cwd())
    return int(not ok)


def run_tests(path: str) -> int:
    "Run a test file up to its first red test."
    import pytest

    code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", UNTIMED, path])
    return 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else int(code)


def child(kind: str, path: str):
    "What a fork does; it never returns."
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        sys.stdin = open(os.devnull, encoding="utf-8")
        sys.argv = [path]
        code = run_page(path) if kind == "page" else run_tests(path)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def forked(kind: str, path: str, seconds: float) -> int:
    "The exit code of one run in a fork; what it started ends with it."
    pid = os.fork()
    if not pid:
        child(kind, path)
    end, done, parent = time.monotonic() + seconds, 0, os.getppid()
    while not done and time.monotonic() < end and os.getppid() == parent:
        done, status = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status if done else os.waitpid(pid, 0)[1])


def main():
    sys.path[0] = ""  # as for `python -m`: the current folder, not this file's
    answers = os.fdopen(os.dup(1), "w")
    for name in (*LIBRARIES, *sys.argv[1:]):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # what is loaded stays shared between the forks
    for order in iter(sys.stdin.readline, ""):
        print(forked(*json.loads(order)), file=answers, flush=True)


if __name__ == "__main__":
    main()
