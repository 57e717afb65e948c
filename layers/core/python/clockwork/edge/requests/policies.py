"""Policies that a job may have of its own, and otherwise has from its client."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from clockwork.domain import jobs
from clockwork.domain.targets.webhooks import GONE
from clockwork.edge.http.checks import EdgeModel
from clockwork.edge.http.fields import kept

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
