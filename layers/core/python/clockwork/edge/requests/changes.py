"""The bodies of requests that preview a schedule and that change jobs and clients, and texts of rare bodies."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, RootModel, ValidationInfo, field_validator, model_validator

from clockwork.domain import ids, instants
from clockwork.edge.http.models import AsForm, EdgeModel, bounded, checks_of
from clockwork.edge.requests.jobs import CLIENT_ID_TEXT, is_job_key
from clockwork.edge.requests.schedules import ScheduleBody

ClientId = Annotated[str, bounded(CLIENT_ID_TEXT)]
JobKey = Annotated[str, AfterValidator(is_job_key)]
InstantText = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def beginning_of_key(prefix: str | None, info: ValidationInfo, pointer: str = "/prefix") -> str | None:
    """The prefix of jobKeys in a filter. Reports one with which no key begins, beside the other faults."""
    if prefix is not None and not ids.is_job_key(prefix):
        checks_of(info).report(pointer, "must be the beginning of a jobKey")
    return prefix


class PreviewBody(EdgeModel):
    """POST /v1/schedules/preview."""

    schedule: Annotated[ScheduleBody, AsForm()]
    count: int = Field(10, ge=1, le=1_000)


class ReasonBody(EdgeModel):
    """POST /v1/clients/{clientId}/pause and /resume."""

    reason: str | None = Field(None, max_length=1_024)


class PauseBody(ReasonBody):
    """POST /v1/jobs/{jobId}/pause and /resume."""

    waiting: Literal["keep", "cancel"] = Field(
        "keep", description="what was due before the pause and waits: it goes on, or is cancelled"
    )


class EmptyBody(EdgeModel):
    """POST /v1/jobs/{jobId}/run."""


class BackfillBody(EdgeModel):
    """POST /v1/jobs/{jobId}/backfill: every fire of the schedule in a range, again, at a bounded rate."""

    from_: InstantText = Field(alias="from", description="the first instant of the range")
    to: InstantText = Field(description="the last instant of the range; not later than now")
    max_per_second: float = Field(ge=0.001, le=100)

    @field_validator("from_", "to")
    @classmethod
    def _is_past(cls, at: str, info: ValidationInfo) -> str:
        instant = instants.from_text(at)
        if instant < 0:
            raise ValueError("is before 1970")
        if instant > checks_of(info).now:
            raise ValueError("is not past: what is to come fires by itself")
        return at

    @model_validator(mode="after")
    def _in_order(self, info: ValidationInfo) -> BackfillBody:
        if instants.from_text(self.from_) > instants.from_text(self.to):
            checks_of(info).report("/to", "is before from")
        return self


class PatchBody(RootModel[dict[str, Any]]):
    """PATCH /v1/jobs/{jobId}: a given field replaces the field as it was sent, null leaves it out."""
