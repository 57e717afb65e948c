"""Answers of the API about the whole: the caller, a client's use and trail, the shards, upcoming jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from clockwork_client.answers import Answer, Target


class WhoAmI(Answer):
    """The caller as Clockwork sees it."""

    principal: str
    admin: bool
    client_ids: tuple[str, ...]


class Counted(Answer):
    """A number, as far as the API counted. With `more`, there are more."""

    count: int
    more: bool


class OpenCircuit(Answer):
    """A host that fails. Its due occurrences are parked; from `tried_at` on, one at a time is tried."""

    host: str
    opened_at: datetime
    tried_at: datetime


class Reads(Answer):
    """The pace of a client's reads (units of 4 KB) in the environment of the API that answers."""

    units_per_second: float
    owed: float
    refused: int


class Usage(Answer):
    """A client's waiting work, and the rest of its caps."""

    client_id: str
    paused: bool
    parked: Counted
    dead: Counted
    open_circuits: tuple[OpenCircuit, ...]
    reads: Reads
    changes: Reads
    released_until: datetime | None
    as_of: datetime | None
    max_rate_per_second: float | None
    max_concurrency: int | None
    creates_per_second: float | None
    jobs_per_day: int | None
    jobs_left_today: int | None


class Shard(Answer):
    """A part of the timeline, with the poller that works on it."""

    partition_id: str
    status: str
    ordered: bool
    leased: bool
    owner: str | None
    lease_until: datetime | None
    cursor_at: datetime | None
    horizon_at: datetime | None
    lag_ms: int | None
    last_released: int | None
    quarantined: int | None


class AuditEntry(Answer):
    """One control call: the change, its author, time and reason. `action` is the operation's name in the API."""

    at: datetime
    principal: str
    action: str
    job_id: str | None
    job_key: str | None
    execution_id: str | None
    reason: str | None
    asked: Mapping[str, str] | None
    changes: tuple[str, ...] | None
    refused: str | None


class UpcomingItem(Answer):
    """A job's next fire, or an execution that waits for its next attempt. `at` is its start."""

    at: datetime
    due_at: datetime
    job_id: str
    target: Target
    job_key: str | None
    recurs: bool | None
    execution_id: str | None
    attempt: int | None
    waits_for: str | None
