"""From errors to problem documents (RFC 9457). What is not listed here is our own fault and says nothing of itself."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from clockwork.domain.errors import (
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
    OrderedShardsChanged,
    RevisionConflict,
    TooManyRequests,
    Unavailable,
)
from clockwork.edge.http.body import BodyTooLarge, NotJson

CONTENT_TYPE = "application/problem+json"
_STATUS: dict[type[ClockworkError], HTTPStatus] = {
    NotJson: HTTPStatus.BAD_REQUEST,
    NotScheduled: HTTPStatus.BAD_REQUEST,
    NotAllowed: HTTPStatus.FORBIDDEN,
    JobNotFound: HTTPStatus.NOT_FOUND,
    ExecutionNotFound: HTTPStatus.NOT_FOUND,
    KeyReused: HTTPStatus.CONFLICT,
    NameTaken: HTTPStatus.CONFLICT,
    RevisionConflict: HTTPStatus.CONFLICT,
    NotNamed: HTTPStatus.CONFLICT,
    NotDead: HTTPStatus.CONFLICT,
    BodyTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    InvalidRequest: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    OrderedShardsChanged: HTTPStatus.SERVICE_UNAVAILABLE,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
#: What says that the request itself cannot be carried out.
REFUSED = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
_DETAIL: dict[type[ClockworkError], str] = {
    JobNotFound: "there is no such job",
    ExecutionNotFound: "there is no such execution",
    InvalidRequest: "the request has faults; nothing was written",
    Unavailable: "the answer is not certain; repeat the request, with an Idempotency-Key if it creates jobs",
}


def problem_of(error: Exception, at: str = "") -> dict[str, Any]:
    """The problem document of an error; what its pointers point into lies at the pointer `at` of the body."""
    kind = next((kind for kind in _STATUS if isinstance(error, kind)), None)
    if kind is None:
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "this is our fault; it has been logged")
    document = problem(_STATUS[kind], _DETAIL.get(kind) or str(error))
    if isinstance(error, (InvalidRequest, NameTaken)):
        document["errors"] = [{"pointer": at + fault.pointer, "detail": fault.detail} for fault in error.problems]
    return document


def original_problem_of(error: Exception) -> dict[str, Any]:
    """The same for a route of the original Clockwork, to which whatever is wrong with a request is 400."""
    document = problem_of(error)
    if document["status"] in REFUSED:
        document |= {"title": HTTPStatus.BAD_REQUEST.phrase, "status": int(HTTPStatus.BAD_REQUEST)}
    return document


def problem(status: HTTPStatus, detail: str) -> dict[str, Any]:
    """A problem document without a type of its own: the status says what kind it is."""
    return {"type": "about:blank", "title": status.phrase, "status": int(status), "detail": detail}
