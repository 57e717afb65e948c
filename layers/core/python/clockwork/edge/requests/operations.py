"""The body of a request that begins an operation on many jobs or dead executions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from clockwork.domain.requests.operations import LEAST_RATE, MOST_RATE, USUAL_RATE, Kind, Meant
from clockwork.edge.http.models import EdgeModel, checks_of
from clockwork.edge.requests.changes import InstantText, ReasonBody, beginning_of_key
from clockwork.edge.requests.schedules import instant_of
from clockwork.flows.operations.begin import Asked

#: The fields that a filter of dead executions may have; of named jobs; and of those that a resume means.
_OF_DEAD, _OF_JOBS = frozenset({"prefix", "from", "to"}), frozenset({"prefix", "tag"})
_OF_PAUSED = _OF_JOBS | {"pausedReason"}
_OF_KIND = {
    Kind.REDRIVE_DEAD: _OF_DEAD,
    Kind.DISCARD_DEAD: _OF_DEAD,
    Kind.PAUSE_JOBS: _OF_JOBS,
    Kind.RESUME_JOBS: _OF_PAUSED,
    Kind.CANCEL_JOBS: _OF_JOBS,
}


class OperationFilterBody(EdgeModel):
    """The filter of an operation."""

    prefix: str | None = Field(None, description="of the jobKey; anonymous jobs have none")
    tag: str | None = Field(None, min_length=1, max_length=600, description="of jobs: `name`, or `name=value`")
    from_: InstantText | None = Field(None, alias="from", description="of dead executions: due then or later")
    to: InstantText | None = Field(
        None, description="of dead executions: due then or earlier; the instant of the request unless given"
    )
    paused_reason: str | None = Field(
        None, max_length=1_024, description="of a resume: leaves alone what was paused for another reason"
    )

    @field_validator("from_", "to")
    @classmethod
    def _is_instant(cls, at: str | None) -> str | None:
        instant_of(at)
        return at

    @field_validator("prefix")
    @classmethod
    def _begins_a_key(cls, prefix: str | None, info: ValidationInfo) -> str | None:
        return beginning_of_key(prefix, info, "/filter/prefix")


class OperationBody(ReasonBody):
    """POST /v1/clients/{clientId}/operations."""

    kind: Literal["redriveDead", "discardDead", "pauseJobs", "resumeJobs", "cancelJobs"]
    filter: OperationFilterBody = Field(
        default_factory=OperationFilterBody.model_construct, description="all that there is, unless it says less"
    )
    waiting: Literal["keep", "cancel"] = Field(
        "keep", description="of a pause or a resume: what was due before and waits goes on, or is cancelled"
    )
    max_per_second: float = Field(
        USUAL_RATE, ge=LEAST_RATE, le=MOST_RATE, description="items; the client's own cap holds as well"
    )

    @model_validator(mode="after")
    def _means_what_its_kind_has(self, info: ValidationInfo) -> OperationBody:
        kind, checks = Kind(self.kind), checks_of(info)
        given = self.filter.model_dump(by_alias=True, exclude_none=True)
        for name in sorted(given.keys() - _OF_KIND[kind]):
            known = ", ".join(sorted(_OF_KIND[kind]))
            checks.report(f"/filter/{name}", f"does not go with {self.kind}: its filter has {known}")
        if kind in (Kind.PAUSE_JOBS, Kind.RESUME_JOBS, Kind.CANCEL_JOBS) and not {"prefix", "tag"} & given.keys():
            checks.report("/filter", "name the jobs: a prefix, a tag, or both")
        if self.waiting == "cancel" and kind not in (Kind.PAUSE_JOBS, Kind.RESUME_JOBS):
            checks.report("/waiting", f"does not go with {self.kind}")
        return self

    def asked(self, by: str) -> Asked:
        """The operation as the flow takes it, asked for by this principal."""
        which = self.filter
        return Asked(
            kind=Kind(self.kind),
            meant=Meant(which.prefix, which.tag, instant_of(which.from_), instant_of(which.to), which.paused_reason),
            by=by,
            max_per_second=self.max_per_second,
            reason=self.reason,
            cancels_waiting=self.waiting == "cancel",
        )
