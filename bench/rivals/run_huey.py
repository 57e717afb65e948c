"""Runs Huey: tasks in a SQLite file; its scheduler checks them once a second, the shortest interval that it takes."""

from __future__ import annotations

import logging
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from huey import SqliteHuey
from protocol import deliver, read_jobs, say_ready

#: Every worker polls the file, so more of them only compete for it.
WORKERS = 20
LONGEST_PAUSE_SECONDS = 0.05


def main() -> None:
    """Schedule everything, then consume until ended."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="clockwork-huey-") as folder:
        huey = SqliteHuey("bench", filename=str(Path(folder) / "tasks.db"), results=False)
        task = huey.task()(deliver)
        for url, due_at in read_jobs():
            task.schedule((url,), eta=datetime.fromtimestamp(due_at / 1000, UTC))  # in local time huey drops fractions
        say_ready()
        huey.create_consumer(
            workers=WORKERS,
            worker_type="thread",
            initial_delay=LONGEST_PAUSE_SECONDS,
            max_delay=LONGEST_PAUSE_SECONDS,
            scheduler_interval=1,
            check_worker_health=False,
        ).run()


if __name__ == "__main__":
    main()
