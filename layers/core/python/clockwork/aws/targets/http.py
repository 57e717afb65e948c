"""HTTP targets: one signed request to a checked address, and one outcome, whatever the receiver does.

- The status line of the final answer alone decides the outcome, once its head is complete; 1xx are interim. The
  transport reads the body for its first KiB, which it keeps of failures only, and so that the connection can be used
  again. A body that is slow, long or broken off affects only these two.
- The transport follows no redirect and uses no proxy. The retry policy decides on retries.
- It sends no POST and no PATCH twice: a receiver that closes without an answer may have accepted the request. A GET,
  PUT or DELETE that a kept connection has lost before the first byte of an answer is sent once more, on a new one (RFC
  9110, 9.2.2).
"""

from __future__ import annotations

import http.client
import math
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from clockwork.aws.targets.http_faults import FAULTS, Forbidden, OutOfReach, failure_of
from clockwork.aws.targets.wire.connection import Connection, Request
from clockwork.aws.targets.wire.lookups import LOOKUP_SECONDS, Lookups, Resolver
from clockwork.aws.targets.wire.pool import Connections
from clockwork.aws.targets.wire.sockets import seconds_left
from clockwork.domain.executions import Outcome, State
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.domain.runs.results import with_result
from clockwork.ports import Clock
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import LARGEST_RESULT, Message
from clockwork.targets.web import webhooks
from clockwork.targets.web.addresses import check_address
from clockwork.targets.web.urls import Endpoint, parse

#: The most bytes that are read of an answer, headers included.
LONGEST_ANSWER = 65_536
#: The most bytes of an answer's body that are kept.
LONGEST_EXCERPT = 1_024
#: How long the body of an answer may take once its status is known.
BODY_SECONDS = 1.0
#: The most addresses of one name that an attempt tries.
MOST_ADDRESSES = 4
#: Methods whose requests mean the same if they come twice: https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2
REPEATABLE = frozenset({"GET", "PUT", "DELETE"})


class _Lost(Exception):
    """A kept connection ended before the answer began, and the request may be sent once more."""


class SecretSource(Protocol):
    """The store from which a transport reads signing secrets by name."""

    def get(self, name: str) -> str:
        """The secret as text; raises SecretUnreadable."""


class _Answer(msgspec.Struct, frozen=True):
    """The parts of an answer that count: the status, the beginning of the body, and the header Retry-After.

    `is_whole`: that is all of the body.
    """

    status: int
    start: bytes
    is_whole: bool
    retry_after: str | None


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host in the system's order of preference; raises socket.gaierror if it has none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class HttpTransport:
    """Delivers to HttpTargets; safe for many threads.

    `reaches_private`: it is in a network in which private targets are, or on the same machine. `refuses`: says of an
    address why it must not be connected to, whatever the client lists.
    """

    def __init__(
        self,
        clock: Clock,
        secrets: SecretSource,
        *,
        reaches_private: bool = True,
        refuses: Callable[[str], str | None] | None = None,
        resolver: Resolver = resolve,
        tls: ssl.SSLContext | None = None,
        traced: Callable[[Message, str], dict[str, str]] = lambda *_: {},
    ) -> None:
        self._reaches_private = reaches_private
        self._refuses = refuses or (lambda _: None)
        self._clock = clock
        self._traced = traced
        self._secrets = secrets
        self._resolve, self._lookups = resolver, Lookups(resolver)
        self._connections = Connections(clock.now, tls)

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt within the target's timeout and the delivery's deadline; a fault becomes its outcome.

        The store of secrets has no time limit here. The time that it and the resolver take shortens the attempt.
        """
        target = delivery.occurrence.target
        if not isinstance(target, HttpTarget):
            raise TypeError(f"not an HTTP target: {type(target).__name__}")
        began = time.monotonic()
        started_at = self._clock.now()
        seconds = min(target.timeout_seconds, (delivery.deadline_at - started_at) / 1000)
        try:
            secrets = [self._secrets.get(name) for name in delivery.occurrence.signing_secrets]
            endpoint = parse(target.url)
            addresses = self._addresses(endpoint, target, delivery.occurrence.client_id, began + seconds)
            seconds_left(began + seconds)
            started_at = self._clock.now()
            ours = webhooks.headers_for(delivery.message, started_at, secrets)
            ours |= self._traced(delivery.message, target.traceparent)
            headers = _headers(delivery, target, endpoint, ours)
            request = Request(target.method, endpoint.path, headers, delivery.occurrence.payload.body)
            answer = self._exchange(request, endpoint, addresses, began + seconds, delivery.deadline_at)
        except FAULTS as fault:
            return failure_of(fault, target.url, seconds, started_at, self._clock.now())
        outcome = _outcome_of(answer, delivery.occurrence.retry_policy, started_at, self._clock.now())
        return outcome if delivery.node is None else with_result(outcome, answer.start, is_whole=answer.is_whole)

    def close(self) -> None:
        """Close the idle connections."""
        self._connections.close()
        self._lookups.close()

    def _addresses(
        self, endpoint: Endpoint, target: HttpTarget, client_id: str, ends: float = math.inf
    ) -> Sequence[str]:
        """The addresses of the host at this moment; raises Forbidden, LookupTooSlow and NoLookupFree.

        Every address is checked, since the transport may connect to any of them. The address of a target that is not
        private has to be public, and no other may be the machine's own. Outside of a network a private target is tried
        at its public addresses: waiting for others would be in vain.
        """
        if endpoint.scheme != "https" and not target.private:
            raise Forbidden("the URL must start with https://")
        if endpoint.is_literal:
            addresses = self._resolve(endpoint.host, endpoint.port)
        else:
            seconds = min(LOOKUP_SECONDS, seconds_left(ends))
            addresses = self._lookups.find(client_id, endpoint.host, endpoint.port, seconds)
        check = self._refuses if target.private else check_address
        reasons = [reason for ip in addresses if (reason := check(ip))]
        if reasons:
            raise Forbidden(f"{endpoint.host} must not be connected to: {reasons[0]}")
        if not self._reaches_private:
            addresses = [ip for ip in addresses if check_address(ip) is None]
            if not addresses:
                raise OutOfReach(f"{endpoint.authority} is at private addresses: the deployment needs option `network`")
        return addresses[:MOST_ADDRESSES]

    def _exchange(
        self, request: Request, endpoint: Endpoint, addresses: Sequence[str], ends: float, deadline_at: int
    ) -> _Answer:
        sent = request.to_bytes()
        try:
            return self._ask(request.method, sent, endpoint, addresses, ends, deadline_at)
        except _Lost:
            return self._ask(request.method, sent, endpoint, addresses, ends, deadline_at, fresh=True)

    def _ask(
        self,
        method: str,
        request: bytes,
        endpoint: Endpoint,
        addresses: Sequence[str],
        ends: float,
        deadline_at: int,
        *,
        fresh: bool = False,
    ) -> _Answer:
        """Send the request and read the answer. Raises _Lost if it may be sent once more, on a new connection."""
        connection = self._connections.take(endpoint, addresses, ends, LONGEST_ANSWER, fresh=fresh)
        reusable = False
        try:
            # The monotonic clock, which bounds all else, may stand still while the environment does.
            if self._clock.now() >= deadline_at:
                raise TimeoutError("the time is up")
            answer, reusable = _answer_to(connection, request, method)
        except (ConnectionError, ssl.SSLEOFError) as error:
            if method in REPEATABLE and connection.asked > 1 and not connection.has_received:
                raise _Lost from error
            raise
        finally:
            self._connections.give_back(connection, reusable=reusable)
        return answer


def _answer_to(connection: Connection, request: bytes, method: str) -> tuple[_Answer, bool]:
    """The answer to a request, and whether the connection can be used again: it was read to its end."""
    response = connection.ask(request, method)
    connection.sock.ends = min(connection.sock.ends, time.monotonic() + BODY_SECONDS)
    start, is_whole, is_complete = _read(response)
    answer = _Answer(response.status, start, is_whole, response.headers.get("retry-after"))
    return answer, is_complete and not response.will_close


def _read(response: http.client.HTTPResponse) -> tuple[bytes, bool, bool]:
    """The beginning of the body, as long as a result may be; whether that is all, and whether its end was reached."""
    start, length = b"", 0
    try:
        while chunk := response.read1(LONGEST_ANSWER):
            start, length = (start + chunk)[:LARGEST_RESULT], length + len(chunk)
    except (OSError, http.client.HTTPException):  # the status has arrived, and it decides
        return start, False, False
    finally:
        response.close()
    is_complete = not response.length  # of what the head of the answer said is to come
    return start, is_complete and length == len(start), is_complete


def _headers(delivery: Delivery, target: HttpTarget, endpoint: Endpoint, ours: dict[str, str]) -> dict[str, str]:
    """The headers of the request: Clockwork's own override the target's, and these override the defaults."""
    is_text = delivery.occurrence.payload.is_text
    defaults = {
        "content-type": "text/plain; charset=utf-8" if is_text else "application/json",
        "user-agent": "Clockwork",
    }
    theirs = {name.lower(): value for name, value in target.headers.items()}
    return defaults | theirs | ours | {"host": endpoint.host_header}


def _outcome_of(answer: _Answer, policy: RetryPolicy, started_at: int, ended_at: int) -> Outcome:
    if webhooks.is_success(answer.status):
        return Outcome(State.SUCCEEDED, started_at, ended_at, status_code=answer.status)
    is_redirect = 300 <= answer.status < 400
    return Outcome(
        State.FAILED,
        started_at,
        ended_at,
        permanent=webhooks.is_permanent(answer.status, policy.retry_status_codes),
        status_code=answer.status,
        error=f"answered {answer.status}" + (": redirects are not followed" if is_redirect else ""),
        excerpt=answer.start[:LONGEST_EXCERPT].decode("utf-8", "replace") or None,
        retry_after_seconds=webhooks.retry_after_seconds(answer.retry_after, ended_at),
    )
