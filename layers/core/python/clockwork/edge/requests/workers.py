"""The bodies of requests by which the workers of a pool claim, and tell of their attempts, many at a time."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from clockwork.domain.clients import CLIENT_ID
from clockwork.domain.executions import State
from clockwork.domain.pools.pool import HANDLER
from clockwork.edge.http.models import EdgeModel, checks_of
from clockwork.edge.requests.reports import LARGEST_REPORT, TokenBody, encoded
from clockwork.flows.pools.claim import Asked
from clockwork.flows.pools.reports import Beat, Ended
from clockwork.flows.requests.reporting import Reported
from clockwork.targets.web.webhooks import LONGEST_RETRY_AFTER_SECONDS

#: As many messages as SQS hands out at once.
MOST_CLAIMS = 10
MOST_BEATS = 100
#: The most clients of whom a worker tells, and attempts of each.
MOST_SHARING = 50
MOST_SLOTS = 1_000_000
MOST_OUTCOMES = 10
#: A message of SQS has at most so many bytes.
LARGEST_TICKET = 1_048_576
#: The most bytes of the body of a request to claim, which Lambda takes beside headers and more.
CLAIMS_BYTES = 5_000_000


ClientId = Annotated[str, Field(pattern=f"^{CLIENT_ID.pattern}$")]
Count = Annotated[int, Field(ge=0, le=MOST_SLOTS)]


class SlotsBody(EdgeModel):
    """How many attempts a worker runs at once, and how many it has of each client."""

    count: int = Field(ge=1, le=MOST_SLOTS)
    held: dict[ClientId, Count] = Field(
        max_length=MOST_SHARING,
        description="by clientId, with 0 for clients whose jobs of the priority it started within an hour",
    )


class TicketBody(EdgeModel):
    """A message of the pool's queue that the worker has received."""

    claim_id: str = Field(
        pattern=r"^[A-Za-z0-9_-]{22}$",
        description="128 random bits of the worker's own as base64url: the secret of the attempt's token",
    )
    ticket: str = Field(min_length=1, max_length=LARGEST_TICKET, description="the body of the message")
    receipt_handle: str = Field(min_length=1, max_length=2_048, description="of the message, which Clockwork deletes")

    def to_asked(self) -> Asked:
        """The ticket as the flow takes it."""
        return Asked(self.claim_id, self.ticket, self.receipt_handle)


class ClaimsBody(EdgeModel):
    """POST /v1/pools/{pool}/claims."""

    worker_id: str = Field(
        min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$", description="shown with its attempts"
    )
    slots: SlotsBody | None = Field(
        default=None,
        description="given by a worker that receives from overflow queues, too: no ticket is moved there for any other",
    )
    handlers: list[Annotated[str, Field(pattern=f"^{HANDLER.pattern}$")]] = Field(min_length=1, max_length=200)
    claims: list[TicketBody] = Field(min_length=1, max_length=MOST_CLAIMS)

    @field_validator("claims")
    @classmethod
    def _differ(cls, claims: list[TicketBody]) -> list[TicketBody]:
        """A message that was received twice has two receipts. Its ticket may come twice in a body, as SQS may do so."""
        told = {
            "claimIds": {one.claim_id for one in claims},
            "receiptHandles": {one.receipt_handle for one in claims},
        }
        if faults := [name for name, ones in told.items() if len(ones) < len(claims)]:
            raise ValueError(f"must have {' and '.join(faults)} that differ")
        return claims


class BeatBody(TokenBody):
    """One heartbeat."""

    progress: float | None = Field(None, ge=0, le=1, description="how much is done")
    message: str | None = Field(None, max_length=256, description="a few words on what it does now")

    def to_beat(self) -> Beat:
        """The heartbeat as the flow takes it."""
        return Beat(self.token, self.progress, self.message)


class BeatsBody(EdgeModel):
    """POST /v1/pools/{pool}/heartbeats."""

    heartbeats: list[BeatBody] = Field(min_length=1, max_length=MOST_BEATS)


class CheckpointBody(TokenBody):
    """POST /v1/pools/{pool}/checkpoints."""

    sequence: int = Field(ge=1, le=1_000_000_000, description="rises with each checkpoint of the attempt")
    value: Any = Field(description=f"any JSON; {LARGEST_REPORT:,} bytes encoded")

    @field_validator("value")
    @classmethod
    def _fits(cls, value: Any) -> Any:
        if (size := len(encoded(value))) > LARGEST_REPORT:
            raise ValueError(f"has {size:,} bytes encoded, at most {LARGEST_REPORT:,} are taken")
        return value


class OutcomeBody(TokenBody):
    """How one attempt ended."""

    outcome: Literal["complete", "fail", "handback", "cancelled"]
    result: Any = Field(None, description=f"of `complete`: kept with the execution; {LARGEST_REPORT:,} bytes encoded")
    error: str | None = Field(None, min_length=1, description=f"of `fail`: {LARGEST_REPORT:,} bytes of UTF-8")
    retryable: bool | None = Field(None, description="of `fail`; false: no retry follows, and the execution is DEAD")
    retry_after_seconds: float | None = Field(
        None, ge=0, le=LONGEST_RETRY_AFTER_SECONDS, description="of `fail`: the least wait before the retry"
    )

    @model_validator(mode="after")
    def _fits(self, info: ValidationInfo) -> Self:
        faults = []
        if self.outcome != "complete" and self.result is not None:
            faults.append("has a result, which is for complete alone")
        if len(encoded(self.result)) > LARGEST_REPORT or len((self.error or "").encode()) > LARGEST_REPORT:
            faults.append(f"has a result or an error of more than {LARGEST_REPORT:,} bytes")
        given = (self.error, self.retryable, self.retry_after_seconds)
        if self.outcome != "fail" and any(one is not None for one in given):
            faults.append("has error, retryable or retryAfterSeconds, which are for fail alone")
        if self.outcome == "fail" and self.error is None:
            faults.append("needs an error, as every fail does")
        if faults:
            raise ValueError("; ".join(faults))
        assert checks_of(info) is not None
        return self

    def to_ended(self) -> Ended:
        """The outcome as the flow takes it."""
        if self.outcome == "complete":
            result = None if self.result is None else encoded(self.result)
            return Ended(self.token, Reported(State.SUCCEEDED, result=result))
        if self.outcome == "fail":
            retryable = self.retryable is not False
            said = Reported(
                State.FAILED, error=self.error, retryable=retryable, retry_after_seconds=self.retry_after_seconds
            )
            return Ended(self.token, said)
        return Ended(self.token, Reported(State.HANDED_BACK if self.outcome == "handback" else State.CANCELLED))


class OutcomesBody(EdgeModel):
    """POST /v1/pools/{pool}/outcomes."""

    outcomes: list[OutcomeBody] = Field(min_length=1, max_length=MOST_OUTCOMES)
