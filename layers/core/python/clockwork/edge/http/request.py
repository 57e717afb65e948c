"""One request as API Gateway hands it over (HTTP API, payload format 2.0), and the ARN of its caller."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Network, ip_address
from typing import Any

import msgspec

from clockwork.domain import instants
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
    """A request with its caller, path parameters and query, whose values are as they are described."""

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
        """Whether the request asks what it would do, and for nothing else."""
        return self.query.get("dryRun") == "true"

    def limit(self) -> int:
        """How many items a page may have, by the query parameter `limit`."""
        return self.number("limit", LISTED)

    def number(self, name: str, default: int) -> int:
        """A number of the query, whose bounds its description has (`description.queries`)."""
        return int(self.query.get(name, default))

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

    def instants(self, *names: str) -> list[int | None]:
        """The instants (ms) of query parameters, None for each that is not given."""
        texts = [self.query.get(name) for name in names]
        return [None if text is None else instants.from_text(text) for text in texts]

    def key(self, name: str) -> str | None:
        """A jobKey of the query, or the beginning of one; None if it is not given, or empty."""
        return self.query.get(name) or None

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
