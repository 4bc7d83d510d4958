"""A headless Chromium for tests, spoken to over its own protocol; no driver, no network."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-sync"
    " --disable-background-networking --disable-component-update --disable-extensions --hide-scrollbars"
    " --remote-debugging-port=0 --remote-allow-origins=*"
).split()


def browser_path():
    "The browser: DOJO_BROWSER, else the first of the usual names; `None` if there is none."
    return os.environ.get("DOJO_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def need_browser():
    "Skip the test, and say why, where there is no browser or no library to speak to it."
    pytest.importorskip("websocket", reason="no websocket-client: pip install websocket-client")
    if browser_path() is None:
        pytest.skip(f"no browser: install chromium, or set DOJO_BROWSER (looked for {', '.join(NAMES)})")


class Page:
    "One open page."

    def __init__(self, address):
        import websocket

        self.socket = websocket.create_connection(address, timeout=300)
        self.number, self.trouble = 0, []
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        "Send a command and wait for its answer; what the console says meanwhile is kept."
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self.socket.recv())
            self._hear(told)
            if told.get("id") == self.number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                return told["result"]

    def _hear(self, told):
        method, what = told.get("method"), told.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.trouble.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "assert"):
            self.trouble.append(" ".join(str(a.get("value", a.get("description"))) for a in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] == "error":
            self.trouble.append(f"{what['entry']['text']} {what['entry'].get('url', '')}")

    def run(self, code):
        "The value of an expression, promises awaited. Raises for an exception in the page."
        got = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"].get("exception", {}).get("description"))
        return got["result"].get("value")

    def wait(self, code, seconds=180):
        "Wait until an expression is true."
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(RuntimeError):
                if self.run(f"Boolean({code})"):
                    return
            if time.monotonic() > end:
                raise AssertionError(f"not so after {seconds} s: {code}\n{self.trouble}")
            time.sleep(0.1)

    def go(self, address):
        "Open an address and wait until it is loaded."
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def keys(self, *names):
        "Press keys."
        codes = {
            "Enter": 13,
            "ArrowDown": 40,
            "ArrowUp": 38,
            "ArrowLeft": 37,
            "ArrowRight": 39,
            "PageDown": 34,
            "End": 35,
            "Home": 36,
            "Tab": 9,
        }
        for name in names:
            text = {"text": "\r"} if name == "Enter" else {}
            for kind in ("keyDown", "keyUp"):
                more = text if kind == "keyDown" else {}
                self.call(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=name,
                    code=name,
                    windowsVirtualKeyCode=codes[name],
                    **more,
                )

    def size(self, width, height, dark=False):
        "Set the window's size and the reader's preference."
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        value = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def shot(self, path):
        "A picture of what is in sight."
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


def end(process, seconds):
    "End a process: asked first, and after some seconds not asked."
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def open_browser():
    "A page of a fresh browser, which ends with the block."
    need_browser()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser_path(), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            told = Path(profile) / "DevToolsActivePort"
            until = time.monotonic() + 180
            while not (told.exists() and told.read_text().strip()):
                assert process.poll() is None and time.monotonic() < until, "the browser did not start"
                time.sleep(0.1)
            port = told.read_text().split()[0]
            listed = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
            yield Page(next(t["webSocketDebuggerUrl"] for t in listed if t["type"] == "page"))
        finally:
            end(process, 20)
