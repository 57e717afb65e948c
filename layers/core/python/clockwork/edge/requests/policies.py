"""Policies that a job may have of its own. A job without one gets its client's."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from clockwork.domain import jobs
from clockwork.domain.targets.webhooks import GONE
from clockwork.edge.http.checks import EdgeModel
from clockwork.edge.http.fields import kept

#: An attempt that ends by callback may take so long (s): a week.
LONGEST_COMPLETION_SECONDS = 604_800
#: Clocks differ by up to 3 s, and a claim counts as ended 4 s after its end: shorter ones would tell little.
SHORTEST_HEARTBEAT_SECONDS = 10
StatusCode = Annotated[int, Field(ge=400, le=599)]
RelevancyWindow = Annotated[float, Field(ge=1, le=31_536_000)]


class RetryPolicyBody(EdgeModel):
    """When a failed attempt is tried again."""

    max_attempts: int = Field(default=5, ge=1, le=100)
    backoff: Literal["none", "fixed", "linear", "exponential"] = "exponential"
    initial_seconds: float = Field(default=5, ge=1, le=86_400)
    max_seconds: float = Field(default=3_600, ge=1, le=86_400)
    jitter: Literal["none", "full"] = "full"
    max_age_seconds: float = Field(default=86_400, ge=0, le=1_209_600)
    retry_status_codes: list[StatusCode] = Field(
        [], max_length=50, description="answers that are tried again beside 408, 425, 429 and 5xx"
    )

    @field_validator("retry_status_codes")
    @classmethod
    def _are_not_final(cls, codes: list[int]) -> list[int]:
        if GONE in codes:
            raise ValueError("holds 410, which says that the target is gone for good")
        return codes

    def to_policy(self) -> jobs.RetryPolicy:
        """The policy as it is kept."""
        return kept(jobs.RetryPolicy, self)


class CompletionBody(EdgeModel):
    """How attempts end that the target only accepts: by a callback of the receiver, under the token of the attempt."""

    mode: Literal["callback"]
    heartbeat_seconds: float = Field(
        300,
        ge=SHORTEST_HEARTBEAT_SECONDS,
        le=LONGEST_COMPLETION_SECONDS,
        description="the receiver reports or sends a heartbeat before so long has passed, or it is taken for lost",
    )
    timeout_seconds: float = Field(
        86_400,
        ge=SHORTEST_HEARTBEAT_SECONDS,
        le=LONGEST_COMPLETION_SECONDS,
        description="the attempt ends so long after its start, heartbeats or not",
    )

    @model_validator(mode="after")
    def _beats_in_time(self) -> Self:
        if self.heartbeat_seconds > self.timeout_seconds:
            raise ValueError("heartbeatSeconds must be at most timeoutSeconds")
        return self

    def to_completion(self) -> jobs.Completion:
        """The completion as it is kept."""
        return kept(jobs.Completion, self)
