"""The body of the answer about the runs of a client's jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from msgspec import Meta

from clockwork.domain.executions import Execution
from clockwork.domain.ids import key_of
from clockwork.domain.instants import to_text
from clockwork.edge.http.answer import AnswerBody, Instant
from clockwork.edge.responses.executions import Ran
from clockwork.flows.activity.runs import IndexedPage
from clockwork.flows.requests.read import RunPage


class ClientRun(Ran, kw_only=True):
    """A run of one of a client's jobs, in short."""

    job_id: str
    job_key: str | None = None


class ClientRuns(AnswerBody):
    """The latest due first. With a `nextToken` there are other jobs, whose runs may lie between these.

    From the index of the client (`jobs=all`) come the runs of all jobs that have ended, and a `nextToken` leads to the
    runs that were due earlier.
    """

    items: list[ClientRun]
    jobs_read: Annotated[int, Meta(description="named jobs that this page looked at; 0 where the index was asked")]
    complete_from: Annotated[Instant, Meta(description="of those jobs no run due then or later is missing")]
    runs_read: Annotated[int | None, Meta(description="ended runs of the index that this page looked at")] = None
    unreadable: Annotated[list[str] | None, Meta(description="jobKeys of jobs that this version cannot read")] = None
    next_token: str | None = None

    @classmethod
    def of(cls, found: RunPage, next_token: str | None) -> Self:
        """The page as it was read."""
        unreadable = list(found.unreadable) or None
        return cls(_shown(found.runs), found.read, to_text(found.complete_from), None, unreadable, next_token)

    @classmethod
    def indexed(cls, found: IndexedPage, next_token: str | None) -> Self:
        """The page as the index told it."""
        return cls(_shown(found.runs), 0, to_text(found.complete_from), found.read, None, next_token)


def _shown(runs: Iterable[Execution]) -> list[ClientRun]:
    return [ClientRun.of(one, job_id=one.job_id, job_key=key_of(one.job_id)) for one in runs]
