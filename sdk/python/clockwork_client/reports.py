"""Answers of the API about attempts that end by callback, and the part of a job that asks for callbacks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from clockwork_client.answers import Answer


class Completion(Answer):
    """The end of attempts that the target only accepts: a callback of the receiver, or the word of AWS (`end`)."""

    mode: str
    heartbeat_seconds: float | None
    timeout_seconds: float | None


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
    """The receiver's report on an attempt: SUCCEEDED with its result, or FAILED with its error."""

    state: str
    at: datetime
    result: Any
    error: str | None
