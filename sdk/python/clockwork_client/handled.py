"""Answers of the API to calls about many jobs or executions."""

from __future__ import annotations

from typing import Protocol

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


class InState(Answer):
    """How many jobs are in a state."""

    state: str
    count: int


class Tagged(Answer):
    """How many jobs have a tag, which is `name=value`."""

    tag: str
    count: int


class JobCounts(Answer):
    """How many named jobs a client has, by state and by tag. With `more`, there are others that were not read."""

    client_id: str
    count: int
    states: tuple[InState, ...]
    tags: tuple[Tagged, ...]
    more: bool


class HandledDead(Answer):
    """The number of dead executions that the call selected, and the number that it changed.

    With a `next_token` there are more.
    """

    matched: int
    changed: int
    next_token: str | None


class Handled(Protocol):
    """The result of one call."""

    @property
    def matched(self) -> int:
        """The number that the call selected."""

    @property
    def changed(self) -> int:
        """The number that the call changed."""

    @property
    def next_token(self) -> str | None:
        """The token with which the next call goes on."""
