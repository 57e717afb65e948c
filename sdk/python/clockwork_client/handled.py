"""Answers of the API to calls about many jobs or executions."""

from __future__ import annotations

from clockwork_client.answers import Answer


class PassedJob(Answer):
    """A job that was not changed, and the reason."""

    job_id: str
    job_key: str
    reason: str


class HandledJobs(Answer):
    """The number of jobs that the call selected, and the number that it changed. With a `next_token` there may be more.

    `unreadable`: the keys of jobs that the deployed version cannot read.
    """

    matched: int
    changed: int
    passed: tuple[PassedJob, ...] | None
    unreadable: tuple[str, ...] | None
    next_token: str | None


class HandledDead(Answer):
    """The number of dead executions that the call selected, and the number that it changed.

    With a `next_token` there are more.
    """

    matched: int
    changed: int
    next_token: str | None
