"""A copy of this checkout in which commands run, such as development servers, so that tests may change its code."""

from __future__ import annotations

import os
import pty
import random
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from infra import ROOT
from local.dev.address import INBOX_OFFSET
from local.dev.console import CONSOLE_OFFSET
from local.dev.server import BROKER_OFFSET
from tests.e2e.waiting import await_value

#: A server is made of these, besides the files at the root. The others are shared with this checkout since nothing
#: changes them.
_COPIED = ("infra", "layers", "lambdas", "local", "rollout", "sdk", "examples")
_SHARED = (".venv", ".venv-stack", "node_modules", "build")
_UP = "What arrives in the inbox shows here"
#: A first start synthesizes, which takes minutes on a machine that is busy with other tests.
START_SECONDS = 300


class Running:
    """A server that runs on a terminal of its own. `folder` is the checkout's."""

    def __init__(self, folder: Path, pid: int, terminal: int) -> None:
        self.folder = folder
        self._pid = pid
        self._terminal = terminal
        self._said = bytearray()
        self._status: int | None = None
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def said(self) -> str:
        """The output so far, without what moves a cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._said.decode(errors="replace")).replace("\r\n", "\n")

    def await_said(self, text: str, seconds: float = START_SECONDS) -> str:
        """Waits until it has printed a text, and returns all that it printed."""

        def printed() -> str | None:
            said = self.said
            assert text in said or self._reader.is_alive(), f"it ended and said: {said}"
            return said if text in said else None

        return await_value(printed, f"{text!r} is printed", seconds)

    def press_ctrl_c(self, seconds: float = 30) -> int:
        """Presses Ctrl-C on its terminal, and returns the status with which it ended (-2: by that very signal)."""
        os.write(self._terminal, b"\x03")
        self._reader.join(seconds)
        assert not self._reader.is_alive(), self.said
        return self.ended()

    def ended(self) -> int:
        """Waits for the process, and returns its status."""
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._status

    def close(self) -> None:
        """End it, however far it has come."""
        if self._status is None and self._reader.is_alive():
            os.killpg(self._pid, signal.SIGTERM)
            self._reader.join(30)
        self.ended()
        # What is opened next gets the number of a terminal that is closed: who still read it would take the other's.
        self._over.set()
        self._reader.join()
        os.close(self._terminal)

    def _read(self) -> None:
        while True:
            try:
                ready = select.select([self._terminal], [], [], 0.2)[0]
                if not ready and self._over.is_set():
                    return  # what the process started may hold the terminal open for long
                if ready:
                    chunk = os.read(self._terminal, 65_536)
                    if not chunk:
                        return
                    self._said += chunk
            except OSError:  # the other side of a terminal has been closed
                return


class Checkout:
    """A folder in which `make dev` works."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for path in (*map(ROOT.joinpath, _COPIED), *(path for path in ROOT.iterdir() if path.is_file())):
            copy = shutil.copytree if path.is_dir() else shutil.copy2
            copy(path, folder / path.name)
        # Older than what is installed, so that make installs nothing: the environments are those of this checkout.
        for path in (*folder.rglob("requirements*.lock"), *folder.glob("package*.json")):
            os.utime(path, (0, 0))
        (ROOT / "build").mkdir(exist_ok=True)
        for name in _SHARED:
            (folder / name).symlink_to(ROOT / name)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a shell in the folder: this copy's packages, and no AWS settings of whoever runs tests."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CLOCKWORK_"))}
        packages = [self.folder, self.folder / "layers/core/python", self.folder / "sdk/python"]
        path = f"{ROOT / '.venv/bin'}:{kept.get('PATH', os.defpath)}"
        return {**kept, "PATH": path, "PYTHONPATH": os.pathsep.join(map(str, packages)), "COLUMNS": "200"}

    @contextmanager
    def started(self, *command: str) -> Iterator[Running]:
        """Runs a command in the folder, on a terminal of its own; at the end of the block it has ended."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            # A shell starts what runs in its background deaf to Ctrl-C, and its children would be so, too.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execvpe(command[0], command, self.environment)
        running = Running(self.folder, pid, terminal)
        try:
            yield running
        finally:
            running.close()

    @contextmanager
    def server(self, *more: str, port: int) -> Iterator[Running]:
        """A server that is up."""
        with self.started(sys.executable, "-m", "local.dev", f"--port={port}", *more) as running:
            running.await_said(_UP)
            yield running

    def make(self, *words: str, environment: Mapping[str, str]) -> tuple[int, str]:
        """Runs `make` with further variables of the environment; returns its exit status and all that it said."""
        variables = (f"{name}={value}" for name, value in environment.items())
        done = self.shell(shlex.join(["env", *variables, "make", *words]), seconds=240)
        return done.returncode, done.stdout + done.stderr

    def shell(self, script: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs a script of bash in the folder, as somebody in another terminal would."""
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.folder,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )


class Dev:
    """A development server that is up, and how another terminal uses it."""

    def __init__(self, checkout: Checkout, running: Running, port: int) -> None:
        self.checkout = checkout
        self.running = running
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def shell(self, script: str) -> str:
        """The output of a script, with the server's environment sourced. Fails the test if the script fails."""
        done = self.checkout.shell(f"source .clockwork/dev.env\n{script}")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def environment(self) -> dict[str, str]:
        """The variables that `dev.env` exports."""
        printed = self.shell("env -0")
        lines = printed.split("\0")
        found = {name: value for name, _, value in (line.partition("=") for line in lines) if _ours(name)}
        assert "INBOX" in found, printed
        return found


def _ours(name: str) -> bool:
    return name.startswith(("AWS_", "CLOCKWORK_")) or name == "INBOX"


def free_port() -> int:
    """A port for a server: free with those of console, inbox and broker behind it.

    The system gives ports from 32,768 on to whoever asks for any. Other tests might get one of these four meanwhile.
    """
    while True:
        port = random.randrange(10_000, 32_000)
        if all(_is_free(port + offset) for offset in (0, CONSOLE_OFFSET, INBOX_OFFSET, BROKER_OFFSET)):
            return port


def _is_free(port: int) -> bool:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False
