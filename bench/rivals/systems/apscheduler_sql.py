"""APScheduler with an SQL job store."""

from __future__ import annotations

from bench.rivals.running.children import PROGRAMS
from bench.rivals.systems.base import WORKER, System
from bench.rivals.systems.installing import python_environment


class ApschedulerSql(System):
    """One process creates, keeps, wakes and runs; only the file outlives it."""

    name = "apscheduler"
    said = (
        "APScheduler 3.11, one process with 100 threads, on SQLite with `synchronous` FULL. `misfire_grace_time` is "
        "None."
    )
    has_own_store = False

    @classmethod
    def install(cls) -> None:
        """Its environment."""
        python_environment("apscheduler")

    def start(self, receiver_port: int) -> None:  # noqa: ARG002 - it needs no leave to post there
        """The one process."""
        python = python_environment("apscheduler") / "python"
        self._run(WORKER, [str(python), str(PROGRAMS / "apscheduler_sql.py"), str(self.folder / "jobs.sqlite")])

    def restart(self, *, workers_alone: bool) -> None:  # noqa: ARG002 - there is one process
        """The same on the same file."""
        self.start(0)
