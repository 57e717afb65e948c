"""Runs Celery: ETA tasks through a broker that is a folder; one worker takes all at once and holds them in memory."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from celery import Celery
from protocol import THREADS, deliver, read_jobs, say_ready


def main() -> None:
    """Send everything to the broker, then be its worker until ended."""
    with tempfile.TemporaryDirectory(prefix="clockwork-celery-") as folder:
        queue, control = Path(folder) / "queue", Path(folder) / "control"
        queue.mkdir()
        app = Celery("bench", broker="filesystem://")
        app.conf.update(
            broker_transport_options={
                "data_folder_in": str(queue),
                "data_folder_out": str(queue),
                "control_folder": str(control),
            },
            task_ignore_result=True,
            worker_enable_remote_control=False,
            enable_utc=True,
        )
        task = app.task(name="deliver")(deliver)
        for url, due_at in read_jobs():
            task.apply_async((url,), eta=datetime.fromtimestamp(due_at / 1000, UTC))
        say_ready()
        app.Worker(
            pool="threads", concurrency=THREADS, loglevel="ERROR", without_gossip=True, without_mingle=True
        ).start()


if __name__ == "__main__":
    main()
