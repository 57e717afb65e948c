"""One request as API Gateway hands it over (HTTP API, payload format 2.0), and who sent it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from clockwork.domain import ids
from clockwork.domain.errors import InvalidRequest, NotAllowed, Problem
from clockwork.flows.access import Caller

_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class Request(msgspec.Struct, frozen=True):
    """A request with its caller, path parameters and query."""

    event: dict[str, Any]
    caller: Caller
    path: dict[str, str]
    query: dict[str, str]

    @property
    def idempotency_key(self) -> str | None:
        """The Idempotency-Key header as sent."""
        headers: dict[str, str] = self.event.get("headers") or {}
        return headers.get("idempotency-key")

    def faults(self) -> list[Problem]:
        """What is wrong with the request outside its body."""
        key = self.idempotency_key
        if key is None or _IDEMPOTENCY_KEY.fullmatch(key):
            return []
        return [Problem("", "the Idempotency-Key header must be 1-255 visible ASCII characters")]

    def number(self, name: str, default: int, most: int) -> int:
        """A query parameter from 1 to `most`. Raises InvalidRequest."""
        text = self.query.get(name, str(default))
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
            raise InvalidRequest([Problem("", f"the query parameter {name} must be 1-{most}")])
        return int(text)

    def page_token(self, job_id: str) -> str | None:
        """Where the list of a job's executions goes on: the nextToken of the page before. Raises InvalidRequest."""
        token = self.query.get("nextToken")
        if token is None:
            return None
        try:
            belongs = ids.decode_execution(token).job_id == job_id
        except ids.InvalidId:
            belongs = False
        if not belongs:
            raise InvalidRequest([Problem("", "the query parameter nextToken is not one that this list has given")])
        return token

    def revision(self) -> int | None:
        """The revision that the If-Match header names; None without one, or for `*`. Raises InvalidRequest."""
        headers: dict[str, str] = self.event.get("headers") or {}
        text = headers.get("if-match", "*").strip()
        if text == "*":
            return None
        match = re.fullmatch(r'"?([0-9]{1,9})"?', text)
        if match is None:
            raise InvalidRequest([Problem("", "the If-Match header must be a job's revision, such as 3")])
        return int(match[1])

    def job_token(self) -> str | None:
        """The jobKey behind which a list of jobs goes on. Raises InvalidRequest."""
        token = self.query.get("nextToken")
        if token is None:
            return None
        try:
            job_key = ids.decode_part(token).decode()
        except ValueError:
            job_key = ""
        if not ids.is_job_key(job_key):
            raise InvalidRequest([Problem("", "the query parameter nextToken is not one that this list has given")])
        return job_key

    def prefix(self) -> str | None:
        """What the jobKeys of a list begin with, if with anything. Raises InvalidRequest."""
        prefix = self.query.get("prefix") or None
        if prefix is not None and not ids.is_job_key(prefix):
            raise InvalidRequest([Problem("", "the query parameter prefix must be the beginning of a jobKey")])
        return prefix

    @staticmethod
    def token_of(job_key: str) -> str:
        """The nextToken that `job_token` reads back."""
        return ids.encode_part(job_key.encode())

    def named_client(self, body: Any) -> str | None:
        """The clientId that a body names, as far as it can be read: who may ask comes before what is asked."""
        client_id = body.get("clientId") if isinstance(body, dict) else None
        return client_id if isinstance(client_id, str) else None


def caller_arn(event: dict[str, Any]) -> str:
    """Who signed the request. Raises NotAllowed if API Gateway did not say, as on a route without its authorizer."""
    here: Any = event
    for name in ("requestContext", "authorizer", "iam", "userArn"):
        here = here.get(name) if isinstance(here, dict) else None
    if not isinstance(here, str) or not here:
        raise NotAllowed("the request is not signed")
    return here
