"""Runs APScheduler: one process, jobs in memory, one thread that wakes for the next of them, a pool that runs them."""

from __future__ import annotations

from datetime import UTC, datetime

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.date import DateTrigger
from protocol import THREADS, deliver, read_jobs, say_ready


def main() -> None:
    """Schedule everything, then run until ended."""
    scheduler = BlockingScheduler(
        executors={"default": ThreadPoolExecutor(THREADS)}, job_defaults={"misfire_grace_time": None}, timezone=UTC
    )
    for url, due_at in read_jobs():
        scheduler.add_job(deliver, DateTrigger(datetime.fromtimestamp(due_at / 1000, UTC)), args=(url,))
    say_ready()
    scheduler.start()


if __name__ == "__main__":
    main()
