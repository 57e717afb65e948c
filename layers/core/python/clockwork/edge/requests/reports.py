"""The bodies of requests by which receivers report on attempts that end by callback."""

from __future__ import annotations

import json
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from clockwork.domain.executions import State
from clockwork.domain.lifecycle.reports import Heartbeat
from clockwork.domain.lifecycle.tokens import LONGEST_TOKEN
from clockwork.edge.http.models import EdgeModel
from clockwork.flows.requests.reporting import Reported
from clockwork.targets.web.webhooks import LONGEST_RETRY_AFTER_SECONDS

#: The most bytes of a result or an error: it is kept in the record of its execution.
LARGEST_REPORT = 32 * 1024

_FIELDS_OF = {
    "complete": ("result",),
    "fail": ("error", "retryable", "retry_after_seconds"),
    "cancelled": (),
    "heartbeat": ("progress", "message"),
}


class TokenBody(EdgeModel):
    """The fields of every report."""

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
        """The report on the attempt."""
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
        """The report on the attempt."""
        return Reported(
            State.FAILED, error=self.error, retryable=self.retryable, retry_after_seconds=self.retry_after_seconds
        )


class CancelledBody(TokenBody):
    """POST /v1/executions/{executionId}/cancelled."""

    def to_reported(self) -> Reported:
        """The report on the attempt."""
        return Reported(State.CANCELLED)


class HeartbeatBody(TokenBody):
    """POST /v1/executions/{executionId}/heartbeat."""

    progress: float | None = Field(None, ge=0, le=1, description="how much is done")
    message: str | None = Field(None, max_length=256, description="a few words on what it does now")


class UnsignedBody(EdgeModel):
    """POST /v1/completions/{token}."""

    outcome: Literal["complete", "fail", "cancelled", "heartbeat"]
    result: Any = Field(None, description=f"of `complete`: kept with the execution; {LARGEST_REPORT:,} bytes encoded")
    error: str | None = Field(None, min_length=1, description=f"of `fail`: {LARGEST_REPORT:,} bytes of UTF-8")
    retryable: bool | None = Field(None, description="of `fail`; false: no retry follows, and the execution is DEAD")
    retry_after_seconds: float | None = Field(
        None, ge=0, le=LONGEST_RETRY_AFTER_SECONDS, description="of `fail`: the least wait before the retry"
    )
    progress: float | None = Field(None, ge=0, le=1, description="of `heartbeat`: how much is done")
    message: str | None = Field(None, max_length=256, description="of `heartbeat`: a few words on what it does now")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        given = {name for name in self.model_fields_set - {"outcome"} if getattr(self, name) is not None}
        if alien := sorted(given - set(_FIELDS_OF[self.outcome])):
            raise ValueError(f"has {', '.join(map(to_camel, alien))}, which is not for {self.outcome}")
        if len(encoded(self.result)) > LARGEST_REPORT or len((self.error or "").encode()) > LARGEST_REPORT:
            raise ValueError(f"has a result or an error of more than {LARGEST_REPORT:,} bytes")
        if self.outcome == "fail" and self.error is None:
            raise ValueError("needs an error, as every fail does")
        return self

    def to_said(self, now: int) -> Reported | Heartbeat:
        """The report on the attempt, at `now` (ms)."""
        if self.outcome == "heartbeat":
            return Heartbeat(now, self.progress, self.message)
        if self.outcome == "complete":
            return Reported(State.SUCCEEDED, result=None if self.result is None else encoded(self.result))
        if self.outcome == "cancelled":
            return Reported(State.CANCELLED)
        wait = self.retry_after_seconds
        return Reported(State.FAILED, error=self.error, retryable=self.retryable is not False, retry_after_seconds=wait)


def encoded(value: Any) -> bytes:
    """A result as it is kept: compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
