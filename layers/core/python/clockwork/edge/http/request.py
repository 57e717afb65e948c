"""One request as API Gateway hands it over (HTTP API, payload format 2.0), and the ARN of its caller."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Network, ip_address
from typing import Any

import msgspec

from clockwork.domain import ids, instants
from clockwork.domain.errors import InvalidRequest, NotAllowed, Problem
from clockwork.flows.access import Caller

#: Items of a page: at most, and if the query does not say how many.
MOST_LISTED = 1_000
LISTED = 100
#: https://www.w3.org/TR/trace-context/#traceparent-header-field-values
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def in_query(name: str) -> str:
    """The pointer to a query parameter. No pointer into a body looks like it: those begin with a slash."""
    return f"?{name}"


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

    @property
    def traceparent(self) -> str:
        """The trace context of the request; empty if it has none that can be read.

        Every version of the header may be longer than that of today, which alone is passed on:
        https://www.w3.org/TR/trace-context/#versioning-of-traceparent
        """
        headers: dict[str, str] = self.event.get("headers") or {}
        text = headers.get("traceparent", "")
        return text if _TRACEPARENT.fullmatch(text) else ""

    @property
    def source(self) -> str:
        """From where the request came, as API Gateway saw it, never as a header says: an IPv4 address, or an IPv6 /64.

        The owner of one address of IPv6 has all of its /64.
        """
        said = self.event["requestContext"]["http"].get("sourceIp")
        try:
            address = ip_address(str(said))
        except ValueError:
            return "nowhere"
        if isinstance(address, IPv4Address):
            return str(address)
        return str(address.ipv4_mapped or IPv6Network((address, 64), strict=False))

    def faults(self) -> list[Problem]:
        """The faults of the request outside its body."""
        key = self.idempotency_key
        if key is None or _IDEMPOTENCY_KEY.fullmatch(key):
            return []
        return [Problem("", "the Idempotency-Key header must be 1-255 visible ASCII characters")]

    @property
    def is_dry(self) -> bool:
        """Whether the request asks what it would do, and for nothing else. Raises InvalidRequest."""
        text = self.query.get("dryRun", "false")
        if text not in ("true", "false"):
            raise InvalidRequest([Problem(in_query("dryRun"), "the query parameter dryRun must be true or false")])
        return text == "true"

    def limit(self) -> int:
        """How many items a page may have, by the query parameter `limit`. Raises InvalidRequest."""
        text = self.query.get("limit", str(LISTED))
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_LISTED:
            raise InvalidRequest([Problem(in_query("limit"), f"the query parameter limit must be 1-{MOST_LISTED}")])
        return int(text)

    def revision(self) -> int | None:
        """The revision that the If-Match header names; None without one, or for `*`. Raises InvalidRequest."""
        headers: dict[str, str] = self.event.get("headers") or {}
        text = headers.get("if-match", "*").strip()
        if text == "*":
            return None
        match = re.fullmatch(r'"?([0-9]{1,9})"?', text)
        if match is None:
            raise InvalidRequest([Problem("", "the If-Match header must be a revision, such as 3")])
        return int(match[1])

    def prefix(self) -> str | None:
        """The beginning of the jobKeys that a list shows; None for all. Raises InvalidRequest."""
        return self._key("prefix", "the beginning of a jobKey")

    def job_key(self) -> str | None:
        """The jobKey of the one job that a list shows; None for all. Raises InvalidRequest."""
        return self._key("jobKey", "a jobKey")

    def _key(self, name: str, what: str) -> str | None:
        text = self.query.get(name) or None
        if text is not None and not ids.is_job_key(text):
            raise InvalidRequest([Problem(in_query(name), f"the query parameter {name} must be {what}")])
        return text

    def instants(self, *names: str) -> list[int | None]:
        """The instants (ms) of query parameters, None for each that is not given. Raises InvalidRequest for others."""
        found: list[int | None] = []
        faults: list[Problem] = []
        for name in names:
            text = self.query.get(name)
            try:
                found.append(None if text is None else instants.from_text(text))
            except ValueError as fault:
                faults.append(Problem(in_query(name), f"the query parameter {name} {fault}"))
        if faults:
            raise InvalidRequest(faults)
        return found

    def named_client(self, body: Any) -> str | None:
        """The clientId in a body that is not validated yet; None if the body names none.

        The caller's right to act for the client is checked before the rest of the body is. Raises InvalidRequest for a
        body of a shape in which no client can be named.
        """
        if not isinstance(body, dict):
            raise InvalidRequest([Problem("", "must be a JSON object")])
        client_id = body.get("clientId")
        if client_id is not None and not isinstance(client_id, str):
            raise InvalidRequest([Problem("/clientId", "must be a string")])
        return client_id


def caller_arn(event: dict[str, Any]) -> str:
    """The ARN of the principal that signed the request.

    Raises NotAllowed if API Gateway gives none, as on a route without its authorizer.
    """
    here: Any = event
    for name in ("requestContext", "authorizer", "iam", "userArn"):
        here = here.get(name) if isinstance(here, dict) else None
    if not isinstance(here, str) or not here:
        raise NotAllowed("the request is not signed")
    return here
