"""The body of the answer about the runs of all named jobs of a client."""

from __future__ import annotations

from typing import Annotated, Self

from msgspec import Meta

from clockwork.domain.ids import key_of
from clockwork.domain.instants import to_text
from clockwork.edge.http.answer import AnswerBody, Instant
from clockwork.edge.responses.executions import Ran
from clockwork.flows.requests.read import RunPage


class ClientRun(Ran, kw_only=True):
    """A run of one of a client's named jobs, in short."""

    job_id: str
    job_key: str | None = None


class ClientRuns(AnswerBody):
    """The latest due first. With a `nextToken` there are other jobs, whose runs may lie between these."""

    items: list[ClientRun]
    jobs_read: Annotated[int, Meta(description="named jobs that this page looked at; anonymous ones are not in it")]
    complete_from: Annotated[Instant, Meta(description="of those jobs no run due then or later is missing")]
    unreadable: Annotated[list[str] | None, Meta(description="jobKeys of jobs that this version cannot read")] = None
    next_token: str | None = None

    @classmethod
    def of(cls, found: RunPage, next_token: str | None) -> Self:
        """The page as it was read."""
        items = [ClientRun.of(one, job_id=one.job_id, job_key=key_of(one.job_id)) for one in found.runs]
        unreadable = list(found.unreadable) or None
        return cls(items, found.read, to_text(found.complete_from), unreadable, next_token)
