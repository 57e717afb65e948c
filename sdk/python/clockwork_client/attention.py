"""Answers of the API about executions over all jobs of a client."""

from __future__ import annotations

from datetime import datetime

from clockwork_client.answers import Answer
from clockwork_client.results import Ran


class AttentionItem(Answer):
    """One execution that is dead, or that has failed and is tried again. `attempts` is their number."""

    kind: str
    execution_id: str
    job_id: str
    job_key: str | None
    due_at: datetime
    state: str
    attempts: int
    last_error: str | None
    reason: str | None
    next_attempt_at: datetime | None


class AttentionGroup(Answer):
    """The executions of a page that have one cause. `execution_id` is the one that was due last."""

    kind: str
    job_id: str | None
    job_key: str | None
    cause: str | None
    count: int
    first_due_at: datetime
    last_due_at: datetime
    execution_id: str


class Attention(Answer):
    """One page: its items, and their groups, the largest first. With a `next_token` there are more."""

    items: tuple[AttentionItem, ...]
    groups: tuple[AttentionGroup, ...]
    next_token: str | None


class ClientRun(Ran):
    """A run of one of a client's named jobs, in short."""

    job_id: str
    job_key: str | None


class ClientRuns(Answer):
    """The runs of `jobs_read` named jobs, the latest due first; those of the others follow by `next_token`.

    Of these jobs none that was due at `complete_from` or later is missing.
    """

    items: tuple[ClientRun, ...]
    jobs_read: int
    complete_from: datetime
    unreadable: tuple[str, ...] | None
    next_token: str | None
