"""What the API answers about many jobs or executions that one call was about."""

from __future__ import annotations

from clockwork_client.answers import Answer


class PassedJob(Answer):
    """A job that was not changed, and why."""

    job_id: str
    job_key: str
    reason: str


class HandledJobs(Answer):
    """How many jobs were meant, and how many this call changed. With a `next_token` there may be more.

    `unreadable`: the keys of jobs that the deployed version cannot read.
    """

    matched: int
    changed: int
    passed: tuple[PassedJob, ...] | None
    unreadable: tuple[str, ...] | None
    next_token: str | None


class HandledDead(Answer):
    """How many dead executions were meant, and how many this call changed. With a `next_token` there are more."""

    matched: int
    changed: int
    next_token: str | None
