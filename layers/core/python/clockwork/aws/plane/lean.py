"""The data plane over plain HTTP: requests of our own, up to ten written, then their answers read, by one thread.

How it fails. A try without an answer may have taken effect, and so may each repeat. Operations with more than one
attempt must therefore be safe to repeat; other callers ask for one attempt. Each try is signed when it is sent, since
the environment may have been frozen before. If the process ends between writing and reading, calls may have taken
effect unnoticed, as with threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from typing import Any

import msgspec

from clockwork.aws.deadlines import refuse_late
from clockwork.aws.plane import answers
from clockwork.aws.plane.credentials import KeySource
from clockwork.aws.plane.plane import WIDTH, Asked, Outcome
from clockwork.aws.plane.retries import Quota, is_worth_another, pause_seconds
from clockwork.aws.plane.shapes import DECODERS
from clockwork.aws.plane.signing import Headers, Signed, Signer
from clockwork.aws.plane.watching import Unwatched, Watcher
from clockwork.aws.plane.wire.connections import Connection, Connections
from clockwork.aws.plane.wire.plain import Answer
from clockwork.ports import Clock

_TARGETS = {"dynamodb": "DynamoDB_20120810", "sqs": "AmazonSQS"}
#: Without it SQS would answer with other error codes.
_MORE = {"dynamodb": (), "sqs": (("x-amzn-query-mode", "true"),)}


class Times(msgspec.Struct, frozen=True):
    """Where time and chance come from. All but the clock is in seconds."""

    clock: Clock
    elapsed: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    fraction: Callable[[], float] = lambda: 1.0


class _Call(msgspec.Struct):
    """A call under way."""

    asked: dict[str, Any]
    body: bytes = b""
    told: Any = None
    connection: Connection | None = None
    outcome: Outcome | None = None
    #: The price of its last repeat, from the quota of repeats.
    price: int = 0
    number: int = 1

    def fails(self, error: Exception) -> None:
        self.outcome = error

    def leave(self) -> None:
        """Close its connection, even if bytes are still to arrive."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Lean(msgspec.Struct, frozen=True, eq=False):
    """`Plane` on its own connections; safe for many threads."""

    service: str
    signer: Signer
    authority: str
    connections: Connections
    keys: KeySource
    #: Tries of one call, the first included.
    attempts: int
    read_seconds: float
    times: Times
    watcher: Watcher = msgspec.field(default_factory=Unwatched)
    quota: Quota = msgspec.field(default_factory=Quota)

    def call(self, operation: str, /, **asked: Any) -> dict[str, Any]:
        (outcome,) = self.call_all(operation, [asked])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def call_all(self, operation: str, many: Iterable[Asked]) -> list[Outcome]:
        waiting, outcomes = iter(many), list[Outcome]()
        while wave := [self._begun(operation, dict(asked)) for asked in islice(waiting, WIDTH)]:
            try:
                self._make(operation, wave)
            finally:
                for call in wave:
                    call.leave()
            outcomes += [call.outcome for call in wave if call.outcome is not None]
        return outcomes

    def close(self) -> None:
        """Close the connections."""
        self.connections.close()

    def _begun(self, operation: str, asked: dict[str, Any]) -> _Call:
        call = _Call(asked)
        try:
            call.told, call.outcome = self.watcher.asked(operation, asked)
            call.body = b"" if call.outcome is not None else msgspec.json.encode(asked)
        except Exception as error:  # noqa: BLE001 - the other calls of the wave go on
            call.fails(error)
        return call

    def _make(self, operation: str, wave: list[_Call]) -> None:
        """Make calls at the same time, and again those for which another try is worth it."""
        waiting = [call for call in wave if call.outcome is None]
        while waiting:
            unreached: Exception | None = None
            for call in waiting:
                unreached = self._send(operation, call, unreached)
            for call in waiting:
                self._receive(operation, call)
            waiting = [call for call in waiting if self._repeats(call)]
            if waiting:
                self.times.sleep(pause_seconds(waiting[0].number, self.times.fraction()))
            for call in waiting:
                call.number, call.outcome = call.number + 1, None

    def _send(self, operation: str, call: _Call, unreached: Exception | None) -> Exception | None:
        """Send a call; returns why no connection comes about in time, if that is so.

        Calls behind it in the round need not wait to learn the same: ten of them would use up an invocation.
        """
        try:
            refuse_late()
            named = _named(self.service, operation)
            signed = self.signer.signed(self.keys(), self.times.clock.now(), self.authority, named, call.body)
            early = self.watcher.sending(call.told, self.authority, signed, call.body)
            if early is not None:
                self._conclude(operation, call, early)
                return unreached
            try:
                call.connection = self.connections.take(self.times.elapsed, unreached)
            except Exception as error:
                unreached = error if isinstance(error.__cause__, TimeoutError) else unreached
                raise
            call.connection.send(_written(self.authority, signed, call.body), self.read_seconds)
        except Exception as error:  # noqa: BLE001 - the other calls of the wave go on
            call.leave()
            call.fails(error)
        return unreached

    def _receive(self, operation: str, call: _Call) -> None:
        if call.outcome is not None or call.connection is None:
            return
        try:
            answer = call.connection.receive()
        except Exception as error:  # noqa: BLE001 - the other calls of the wave go on
            call.leave()
            call.fails(error)
            return
        connection, call.connection = call.connection, None
        self.connections.give(connection)
        self._conclude(operation, call, answer)

    def _conclude(self, operation: str, call: _Call, answer: Answer) -> None:
        """Read an answer. Whether it ends the call is for `_repeats` to say."""
        decoder = DECODERS[self.service, operation]
        try:
            call.outcome = answers.read(
                decoder, answer, answers.Try(self.service, operation, call.number, self.attempts)
            )
            self.quota.give_back(call.price)
        except Exception as error:  # noqa: BLE001 - the other calls of the wave go on
            call.fails(error)
        if not self._is_repeated(call):
            self.watcher.answered(call.told, answer, call.outcome)

    def _is_repeated(self, call: _Call) -> bool:
        return isinstance(call.outcome, Exception) and call.number < self.attempts and is_worth_another(call.outcome)

    def _repeats(self, call: _Call) -> bool:
        if not self._is_repeated(call):
            return False
        assert isinstance(call.outcome, Exception)
        call.price = self.quota.take(call.outcome)
        return call.price > 0


@cache
def _named(service: str, operation: str) -> Headers:
    return (
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amz-target", f"{_TARGETS[service]}.{operation}"),
        *_MORE[service],
    )


def _written(authority: str, signed: Signed, body: bytes) -> bytes:
    """A request in the bytes of the wire. The unsigned headers have no effect on AWS."""
    first = f"POST / HTTP/1.1\r\nhost: {authority}\r\naccept-encoding: identity\r\nuser-agent: clockwork\r\n"
    return f"{first}{signed.lines}content-length: {len(body)}\r\n\r\n".encode("latin-1") + body
