"""Faults of a request on its way: lost, late, throttled and more, injected at botocore's last step before the wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ReadTimeoutError
from botocore.httpsession import URLLib3Session

Fault = Callable[[AWSPreparedRequest], AWSResponse | None]


class Wire:
    """Stands between a client and the network for one operation. `sent` counts what the client sent.

    The first fault meets the first request, the second fault the second one, and all later requests go through.
    """

    def __init__(self, client: Any, operation: str, faults: Sequence[Fault] = ()) -> None:
        self.sent = 0
        self.bodies: list[Any] = []
        self._faults = list(faults)
        service = client.meta.service_model.service_id.hyphenize()
        client.meta.events.register_first(f"before-send.{service}.{operation}", self._meet)

    def _meet(self, request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
        self.sent += 1
        self.bodies.append(body_of(request))
        return self._faults.pop(0)(request) if self._faults else None


def body_of(request: AWSPreparedRequest) -> Any:
    """The JSON value in the body of a request."""
    assert isinstance(request.body, bytes)
    return json.loads(request.body)


def goes_through(_: AWSPreparedRequest) -> None:
    """No fault."""


def lost_answer(request: AWSPreparedRequest) -> AWSResponse:
    """The request arrives and is carried out; its answer does not come back."""
    deliver(request)
    raise ReadTimeoutError(endpoint_url=request.url)


def lost_request(request: AWSPreparedRequest) -> AWSResponse:
    """The request does not arrive."""
    raise ReadTimeoutError(endpoint_url=request.url)


def late_copy(kept: list[AWSPreparedRequest]) -> Fault:
    """The request hangs on its way, so that the client gives up; `deliver` the request in `kept` to let it arrive."""

    def fault(request: AWSPreparedRequest) -> AWSResponse:
        kept.append(request)
        raise ReadTimeoutError(endpoint_url=request.url)

    return fault


def deliver(request: AWSPreparedRequest) -> int:
    """Let a request arrive. Returns the status of the answer, which the client never gets."""
    session = URLLib3Session()
    status: int = session.send(request).status_code
    session.close()
    return status


def answer(status: int, body: Any) -> Fault:
    """A fault that answers with this status and body (JSON) in place of the service."""
    return lambda request: _response(request, status, body)


def throttled(request: AWSPreparedRequest) -> AWSResponse:
    """DynamoDB's refusal of a table or partition under too much load."""
    kind = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
    return _response(request, 400, {"__type": kind, "message": "The level of configured throughput was exceeded."})


def broken(request: AWSPreparedRequest) -> AWSResponse:
    """An internal error of the service, after which the effect of the request is unknown."""
    return _response(request, 500, {"__type": "InternalServerError", "message": "An error occurred."})


def unprocessed(request: AWSPreparedRequest) -> AWSResponse:
    """The answer of a BatchWriteItem that wrote nothing."""
    return _response(request, 200, {"UnprocessedItems": body_of(request)["RequestItems"]})


def unanswered(request: AWSPreparedRequest) -> AWSResponse:
    """The answer of a BatchGetItem that read nothing."""
    return _response(request, 200, {"Responses": {}, "UnprocessedKeys": body_of(request)["RequestItems"]})


class _Stream:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, *_: object, **__: object) -> Sequence[bytes]:
        return [self._content]


def _response(request: AWSPreparedRequest, status: int, body: Any) -> AWSResponse:
    headers = HTTPHeaders()
    headers["content-type"] = "application/x-amz-json-1.0"
    return AWSResponse(request.url, status, headers, _Stream(json.dumps(body).encode()))
