"""The bodies of answers about a client's trail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from msgspec import Meta

from clockwork.domain.requests.trail import Entry
from clockwork.edge.http.answer import AnswerBody, Instant, instant


class AuditEntry(AnswerBody):
    """One control call that changed something, or that was let through to do so."""

    at: Instant
    principal: Annotated[str, Meta(description="the caller as Clockwork sees it: a role, not its session")]
    action: Annotated[str, Meta(description="the operation, by its operationId")]
    job_id: str | None = None
    job_key: str | None = None
    execution_id: str | None = None
    reason: Annotated[str | None, Meta(description="as the caller gave it")] = None
    asked: Annotated[Mapping[str, str] | None, Meta(description="further fields of the request, as text")] = None
    changes: Annotated[
        list[str] | None, Meta(description="what it changed in a definition: JSON pointers, the first 20")
    ] = None
    refused: Annotated[str | None, Meta(description="why it was refused after all")] = None

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """The entry as it is kept."""
        asked, changes = dict(entry.asked) or None, list(entry.changes) or None
        return cls.like(entry, at=instant(entry.at), asked=asked, changes=changes)


class AuditPage(AnswerBody):
    """The newest first. No `nextToken`: this is the last page."""

    items: list[AuditEntry]
    unreadable: Annotated[int, Meta(description="entries of this page that this version cannot read")] = 0
    next_token: str | None = None
