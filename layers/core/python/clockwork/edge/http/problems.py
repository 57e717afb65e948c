"""Problem documents (RFC 9457) of errors. An error that is not listed here is our fault: its message is not shown."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Self

from msgspec import Meta

from clockwork.domain.clients import ClientUnreadable
from clockwork.domain.errors import (
    ClientDeleting,
    ClientNotFound,
    ClockworkError,
    ExecutionNotFound,
    InvalidRequest,
    JobNotFound,
    KeyReused,
    NameTaken,
    NotAllowed,
    NotDead,
    NotNamed,
    NotScheduled,
    OperationNotFound,
    OrderedShardsChanged,
    PoolNotFound,
    RevisionConflict,
    StaleToken,
    TooManyOpen,
    TooManyRequests,
    Unavailable,
    UnknownToken,
)
from clockwork.edge.http.answer import AnswerBody
from clockwork.edge.http.body import BodyTooLarge, NotJson

CONTENT_TYPE = "application/problem+json"
_STATUS: dict[type[ClockworkError], HTTPStatus] = {
    NotJson: HTTPStatus.BAD_REQUEST,
    NotScheduled: HTTPStatus.BAD_REQUEST,
    NotAllowed: HTTPStatus.FORBIDDEN,
    ClientNotFound: HTTPStatus.NOT_FOUND,
    PoolNotFound: HTTPStatus.NOT_FOUND,
    JobNotFound: HTTPStatus.NOT_FOUND,
    ExecutionNotFound: HTTPStatus.NOT_FOUND,
    UnknownToken: HTTPStatus.NOT_FOUND,
    OperationNotFound: HTTPStatus.NOT_FOUND,
    KeyReused: HTTPStatus.CONFLICT,
    NameTaken: HTTPStatus.CONFLICT,
    RevisionConflict: HTTPStatus.CONFLICT,
    NotNamed: HTTPStatus.CONFLICT,
    ClientDeleting: HTTPStatus.CONFLICT,
    NotDead: HTTPStatus.CONFLICT,
    StaleToken: HTTPStatus.CONFLICT,
    TooManyOpen: HTTPStatus.CONFLICT,
    BodyTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    InvalidRequest: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    OrderedShardsChanged: HTTPStatus.SERVICE_UNAVAILABLE,
    ClientUnreadable: HTTPStatus.SERVICE_UNAVAILABLE,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
#: The statuses by which a request itself cannot be carried out.
REFUSED = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
_DETAIL: dict[type[ClockworkError], str] = {
    ClientNotFound: "there is no such client",
    JobNotFound: "there is no such job",
    ExecutionNotFound: "there is no such execution",
    OperationNotFound: "there is no such operation",
    UnknownToken: "no attempt runs under this token",
    InvalidRequest: "the request has faults; nothing was written",
    Unavailable: "the answer is not certain; repeat the request, with an Idempotency-Key if it creates jobs",
}
_OF_ELEMENT = "this job has faults and was not created"


class Fault(AnswerBody):
    """One fault of a request."""

    pointer: Annotated[
        str,
        Meta(description="RFC 6901, into the body; `?` and the name of a query parameter; empty for all else"),
    ]
    detail: str


class Problem(AnswerBody, tag="about:blank", tag_field="type"):
    """A problem document, RFC 9457."""

    # Its type is always about:blank: the status says which kind of problem it is.
    title: str
    status: int
    detail: str
    errors: Annotated[
        list[Fault] | None,
        Meta(description="every fault of the request, at 422; where the definitions differ, at 409"),
    ] = None

    @classmethod
    def of(cls, status: HTTPStatus, detail: str, errors: list[Fault] | None = None) -> Self:
        """The document for a status."""
        return cls(status.phrase, int(status), detail, errors)


def problem_of(error: Exception, at: str = "") -> Problem:
    """The problem document of an error, whose pointers start at the pointer `at` of the body.

    With `at` it is about one element of a request, whose others may have been accepted.
    """
    kind = next((kind for kind in _STATUS if isinstance(error, kind)), None)
    if kind is None:
        return Problem.of(HTTPStatus.INTERNAL_SERVER_ERROR, "this is our fault; it has been logged")
    faults = error.problems if isinstance(error, InvalidRequest | NameTaken) else None
    errors = None if faults is None else [Fault(at + fault.pointer, fault.detail) for fault in faults]
    detail = _OF_ELEMENT if at and kind is InvalidRequest else _DETAIL.get(kind) or str(error)
    return Problem.of(_STATUS[kind], detail, errors)


def original_problem_of(error: Exception) -> Problem:
    """The problem document on a route of the original Clockwork, which answers 400 instead of a status of REFUSED."""
    problem = problem_of(error)
    if problem.status in REFUSED:
        return Problem.of(HTTPStatus.BAD_REQUEST, problem.detail, problem.errors)
    return problem
