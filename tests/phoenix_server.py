"""A private Phoenix on a loopback port with its own SQLite file, for tests and for the page that shows one.

The server lives in an environment of its own (`python tests/phoenix_server.py --install`): beside the client
it would make `import phoenix.client` take twenty seconds. `PHOENIX_EXE` names its executable, else it is
`build/phoenix/bin/phoenix`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "build" / "phoenix"
PACKAGE = "arize-phoenix>=20,<21"


def executable() -> Path | None:
    "The server's executable, or `None` where there is none."
    path = Path(os.environ.get("PHOENIX_EXE") or HOME / "bin" / "phoenix")
    return path if path.is_file() else None


def install(home: Path = HOME) -> None:
    "Make the server's environment; a second call finds it there."
    if executable() is not None:
        return
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin" / "python")
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv and not os.environ.get("PIP_NO_INDEX"):
        if subprocess.run([uv, "pip", "install", "-q", "--python", python, PACKAGE]).returncode == 0:
            return
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PACKAGE], check=True)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class PhoenixServer:
    "Context manager: starts the server, waits until it answers, and stops that very process at the end."

    def __init__(self, folder, limit: float = 900.0):
        self.folder, self.limit = Path(folder), limit
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PHOENIX_", "OTEL_", "PYTHON"))}
        settings = {
            "WORKING_DIR": str(self.folder),
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "GRPC_PORT": str(free_port()),
            "TELEMETRY_ENABLED": "false",
            "ALLOW_EXTERNAL_RESOURCES": "false",
            "DISABLE_AGENT_ASSISTANT": "true",
        }
        kept.update({f"PHOENIX_{k}": v for k, v in settings.items()}, DO_NOT_TRACK="true")
        exe = executable()
        if exe is None:
            raise RuntimeError("no Phoenix here: python tests/phoenix_server.py --install")
        self.log = (self.folder / "server.log").open("w")
        self.process = subprocess.Popen(
            [str(exe), "serve"], env=kept, stdout=self.log, stderr=subprocess.STDOUT
        )
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self):
        begun = time.monotonic()
        while time.monotonic() - begun < self.limit:
            if self.process.poll() is not None:
                tail = (self.folder / "server.log").read_text()[-2000:]
                raise RuntimeError(f"phoenix stopped with {self.process.returncode}: {tail}")
            try:
                with urllib.request.urlopen(self.base_url + "/readyz", timeout=2) as reply:
                    if reply.status == 200:
                        self.seconds = time.monotonic() - begun
                        return
            except OSError:
                time.sleep(0.3)
        raise TimeoutError(f"phoenix did not answer within {self.limit:.0f} s")

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)
        self.log.close()


if __name__ == "__main__":
    if sys.argv[1:] != ["--install"]:
        sys.exit("usage: python tests/phoenix_server.py --install")
    install()
    print(executable())
