"""Runs APScheduler on SQLAlchemy's job store: one process creates, keeps, wakes and runs.

python apscheduler_sql.py DATABASE_FILE
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger
from protocol import THREADS, deliver
from talk import Job, serve


def main() -> None:
    """Go on with what the file holds, and create what is asked for."""
    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=f"sqlite:///{sys.argv[1]}")},
        executors={"default": ThreadPoolExecutor(THREADS)},
        job_defaults={"misfire_grace_time": None},  # by default it drops what is a second late
        timezone=UTC,
    )
    scheduler.start()

    def create(jobs: Sequence[Job], _together: bool) -> None:
        # One after the other: it creates under a lock, and has no call for many.
        for url, due_at in jobs:
            scheduler.add_job(deliver, DateTrigger(datetime.fromtimestamp(due_at / 1000, UTC)), args=(url,))

    serve(create)


if __name__ == "__main__":
    main()
