"""The bodies of requests by which receivers report on attempts that end by callback."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field, field_validator

from clockwork.domain.executions import State
from clockwork.domain.targets.webhooks import LONGEST_RETRY_AFTER_SECONDS
from clockwork.edge.http.models import EdgeModel
from clockwork.flows.requests.reporting import Reported

#: The most bytes of a result or an error: it is kept in the record of its execution.
LARGEST_REPORT = 32 * 1024
#: Longer than any token, whose executionId has at most 800 characters.
LONGEST_TOKEN = 1_000


class TokenBody(EdgeModel):
    """What every report begins with."""

    token: str = Field(min_length=1, max_length=LONGEST_TOKEN, description="of the attempt, as its delivery brought it")


class CompleteBody(TokenBody):
    """POST /v1/executions/{executionId}/complete."""

    result: Any = Field(None, description=f"kept with the execution; {LARGEST_REPORT:,} bytes encoded")

    @field_validator("result")
    @classmethod
    def _fits(cls, value: Any) -> Any:
        if (size := len(encoded(value))) > LARGEST_REPORT:
            raise ValueError(f"has {size:,} bytes encoded, at most {LARGEST_REPORT:,} are taken")
        return value

    def to_reported(self) -> Reported:
        """What is said of the attempt."""
        return Reported(State.SUCCEEDED, result=None if self.result is None else encoded(self.result))


class FailBody(TokenBody):
    """POST /v1/executions/{executionId}/fail."""

    error: str = Field(min_length=1, description=f"kept with the execution; {LARGEST_REPORT:,} bytes of UTF-8")
    retryable: bool = Field(True, description="false: no retry follows, and the execution is DEAD")
    retry_after_seconds: float | None = Field(
        None, ge=0, le=LONGEST_RETRY_AFTER_SECONDS, description="the least wait before the retry"
    )

    @field_validator("error")
    @classmethod
    def _fits(cls, value: str) -> str:
        if (size := len(value.encode())) > LARGEST_REPORT:
            raise ValueError(f"has {size:,} bytes, at most {LARGEST_REPORT:,} are taken")
        return value

    def to_reported(self) -> Reported:
        """What is said of the attempt."""
        return Reported(
            State.FAILED, error=self.error, retryable=self.retryable, retry_after_seconds=self.retry_after_seconds
        )


class CancelledBody(TokenBody):
    """POST /v1/executions/{executionId}/cancelled."""

    def to_reported(self) -> Reported:
        """What is said of the attempt."""
        return Reported(State.CANCELLED)


class HeartbeatBody(TokenBody):
    """POST /v1/executions/{executionId}/heartbeat."""

    progress: float | None = Field(None, ge=0, le=1, description="how much is done")
    message: str | None = Field(None, max_length=256, description="a few words on what it does now")


def encoded(value: Any) -> bytes:
    """A result as it is kept: compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
