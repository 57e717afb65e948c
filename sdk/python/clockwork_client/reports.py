"""What the API answers about attempts that end by callback, and how a job says that its attempts do."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from clockwork_client.answers import Answer, Target


class Completion(Answer):
    """How attempts end that the target only accepts: by a callback of the receiver, under the token of the attempt."""

    mode: str
    heartbeat_seconds: float | None
    timeout_seconds: float | None


class PoolTarget(Target):
    """A handler of a pool, whose workers pull: its attempts end by their reports."""

    pool: str
    handler: str
    timeout_seconds: float | None
    priority: str | None


class AtWork(Answer):
    """An attempt under way that ends by callback. By `lease_until` its receiver must report or send a heartbeat."""

    attempt: int
    accepted_at: datetime | None
    lease_until: datetime
    deadline_at: datetime
    cancel_requested: bool | None
    progress: float | None
    message: str | None
    pool: str | None
    worker_id: str | None


class Report(Answer):
    """What the receiver told of an attempt: SUCCEEDED with its result, or FAILED with its error."""

    state: str
    at: datetime
    result: Any
    error: str | None
