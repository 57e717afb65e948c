"""Answers of the API about executions over all jobs of a client."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from clockwork_client.answers import Answer
from clockwork_client.results import Ran, Waits


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
    """One page: its items, and their groups, the largest first. With a `next_token` there are more.

    `executions_read`: how many the page looked at.
    """

    items: tuple[AttentionItem, ...]
    groups: tuple[AttentionGroup, ...]
    executions_read: int
    next_token: str | None


class Causes(NamedTuple):
    """The groups of the first `looked_at` executions, the largest first. With a `next_token` there are more of them."""

    groups: tuple[AttentionGroup, ...]
    looked_at: int
    next_token: str | None


def causes_of(pages: Sequence[Attention]) -> Causes:
    """The causes of pages that follow one another, each cause once."""
    found: dict[tuple[str, str | None, str | None], dict[str, Any]] = {}
    for group in (one for page in pages for one in page.groups):
        key = group.kind, group.job_id, group.cause
        if key not in found:
            found[key] = dict(group.raw)
            continue
        other = found[key]
        other["count"] += group.count
        if group.last_due_at > AttentionGroup(other).last_due_at:
            other |= {name: group.raw[name] for name in ("lastDueAt", "executionId")}
        if group.first_due_at < AttentionGroup(other).first_due_at:
            other["firstDueAt"] = group.raw["firstDueAt"]
    groups = sorted(map(AttentionGroup, found.values()), key=lambda one: -one.count)
    looked_at = sum(page.executions_read for page in pages)
    return Causes(tuple(groups), looked_at, pages[-1].next_token if pages else None)


class ClientRun(Ran):
    """A run of one of a client's named jobs, in short."""

    job_id: str
    job_key: str | None


class ClientRuns(Answer):
    """The runs of `jobs_read` named jobs, the latest due first; those of the others follow by `next_token`.

    Of these jobs none that was due at `complete_from` or later is missing. From the client's index come runs that have
    ended, of all jobs: `runs_read` of them were looked at, and those that were due earlier follow.
    """

    items: tuple[ClientRun, ...]
    jobs_read: int
    complete_from: datetime
    runs_read: int | None
    unreadable: tuple[str, ...] | None
    next_token: str | None


class ActivityStep(Answer):
    """The counts of one step. `failed` counts attempts, each other field executions.

    `p50_ms` and `p99_ms`: within so many milliseconds of their instants half, and 99 of 100, of them started.
    """

    at: datetime
    started: int
    succeeded: int
    failed: int
    dead: int
    skipped: int
    expired: int
    cancelled: int
    p50_ms: int | None
    p99_ms: int | None
    waited: Waits | None


class Activity(Answer):
    """The counts of a client by steps of `step` seconds, approximately. Steps without any are left out.

    From `complete_from` on all that was noted was read.
    """

    client_id: str
    step: int
    items: tuple[ActivityStep, ...]
    complete_from: datetime
    unreadable: int | None
