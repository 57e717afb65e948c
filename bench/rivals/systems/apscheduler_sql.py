"""APScheduler with an SQL job store."""

from __future__ import annotations

from bench.rivals.running.children import PROGRAMS
from bench.rivals.systems.base import WORKER, System
from bench.rivals.systems.installing import python_environment


class ApschedulerSql(System):
    """One process creates, keeps, wakes and runs; only the file outlives it."""

    name = "apscheduler"
    said = (
        "APScheduler 3.11 with SQLAlchemy's job store in a SQLite file, which syncs each commit (`synchronous` is "
        "FULL). One process, 100 threads; `misfire_grace_time` is None, since it drops late jobs otherwise. Creates "
        "come one after the other: it has no others."
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
