"""Hands a request to the api Lambda as API Gateway does, without a network."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from clockwork.routes import ROUTES
from clockwork_client.testing.sides import Lock
from clockwork_client.transport import Request, Response

#: An address that the client takes for an API of AWS, so that it knows its region. Nothing is ever sent there.
URL = "https://virtual.execute-api.us-east-1.amazonaws.com"
ACCOUNT = "111111111111"
_NO_ROUTE = "$default"
_PATTERNS = [
    (route, re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(route.path))))
    for route in sorted(ROUTES, key=lambda one: one.path.count("{"))
]


def principal(name: str) -> str:
    """The ARN of the IAM user with this name, in the account of the kit."""
    return f"arn:aws:iam::{ACCOUNT}:user/{name}"


@dataclass(frozen=True)
class _Context:
    """The context of an invocation, as far as the api Lambda reads it."""

    function_name: str = "Api"
    aws_request_id: str = "00000000-0000-0000-0000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 29_000


@dataclass(frozen=True)
class Gateway:
    """A transport: each request reaches `handle`, the api Lambda, as an event by `caller`, one at a time."""

    handle: Callable[[dict[str, Any], Any], dict[str, Any]]
    caller: str
    lock: Lock

    def __call__(self, request: Request) -> Response:
        """Answer as the deployed API does."""
        event = _event(request, self.caller)
        with self.lock:
            answer = self.handle(event, _Context())
        headers = {name.lower(): str(value) for name, value in answer["headers"].items()}
        return Response(answer["statusCode"], headers, answer["body"].encode())


def _event(request: Request, caller: str) -> dict[str, Any]:
    """The event of an HTTP API, payload format 2.0."""
    parts = urlsplit(request.url)
    path = unquote(parts.path)
    route_key, parameters = _matched(request.method, path)
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": path,
        "rawQueryString": parts.query,
        "headers": {"host": parts.netloc, **{name.lower(): value for name, value in request.headers.items()}},
        "requestContext": {
            "accountId": ACCOUNT,
            "authorizer": {"iam": {"accountId": ACCOUNT, "userArn": caller}},
            "http": {"method": request.method, "path": path, "protocol": "HTTP/1.1"},
            "routeKey": route_key,
            "stage": "$default",
        },
        "isBase64Encoded": False,
    }
    if parameters:
        event["pathParameters"] = parameters
    if query := _query(parts.query):
        event["queryStringParameters"] = query
    if request.body is not None:
        event |= _body(request.body)
    return event


def _body(sent: bytes) -> dict[str, Any]:
    """The body as the event has it: text, or base64 if it is none."""
    try:
        return {"body": sent.decode()}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(sent).decode(), "isBase64Encoded": True}


def _query(text: str) -> dict[str, str]:
    """The query; a name that comes more than once has its values joined by commas."""
    found: dict[str, str] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _matched(method: str, path: str) -> tuple[str, Mapping[str, str]]:
    for route, pattern in _PATTERNS:
        match = pattern.fullmatch(path)
        if route.method == method and match is not None:
            return route.key, match.groupdict()
    return _NO_ROUTE, {}
