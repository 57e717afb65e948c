"""Kept connections and TLS sessions: whatever a receiver does on one, no other delivery takes harm, or goes astray."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from typing import Literal, cast

import pytest

from clockwork.aws.targets.http import HttpTransport
from clockwork.aws.targets.wire import pool, sessions
from clockwork.aws.targets.wire.connection import Request as Sent
from clockwork.aws.targets.wire.sessions import LONGEST_SESSION_MS, MOST_SESSIONS, Sessions
from clockwork.aws.targets.wire.sockets import TlsSocket
from clockwork.domain.executions import Outcome, State
from clockwork.targets.http import HttpTarget
from tests.contract.authority import Authority
from tests.contract.receiver import Exchange, Receiver, Script, WallClock, answer, answering, delivery_to

NAME = "hooks.example.com"
OK = answer("200 OK", b"fine")
FORGED = answer("202 Accepted", b"forged")
BUSY = answer("503 Service Unavailable", b"busy")
Method = Literal["POST", "PUT", "PATCH", "DELETE", "GET"]


class NoSecrets:
    def get(self, name: str) -> str:
        raise AssertionError(f"{name} was asked for, though nothing is signed")


class Clock(WallClock):
    """A clock that a test sets forward, as if the environment had been frozen: the monotonic clock stands still."""

    ahead_ms = 0

    def now(self) -> int:
        return super().now() + self.ahead_ms


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), NAME)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def transport(authority: Authority, clock: Clock) -> Iterator[HttpTransport]:
    tls = ssl.create_default_context(cafile=authority.path)
    made = HttpTransport(clock, NoSecrets(), resolver=lambda *_: ["127.0.0.1"], tls=tls)
    yield made
    made.close()


def to(receiver: Receiver, method: Method = "POST", scheme: str = "http", *, private: bool = True) -> HttpTarget:
    url = f"{scheme}://{NAME}:{receiver.port}/"
    return HttpTarget(url, method=method, timeout_seconds=5, private=private)


def send(transport: HttpTransport, target: HttpTarget) -> Outcome:
    # Beyond all that a test sets the clock forward.
    return transport.deliver(delivery_to(target, seconds=3_600))


def breaking_off(*last_words: bytes) -> Script:
    """A receiver whose first connections each answer one request, and break off with these words at the second."""
    left = list(last_words)

    def script(exchange: Exchange) -> None:
        words = left.pop(0) if left else None
        exchange.read_request()
        exchange.send(OK)
        while exchange.read_request() is not None:
            if words is not None:
                exchange.send(words)
                return
            exchange.send(OK)

    return script


# What is lost on a kept connection


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_what_may_have_been_taken_is_never_sent_again(transport: HttpTransport, method: Method) -> None:
    with Receiver(breaking_off(b"")) as receiver:
        first, second = (send(transport, to(receiver, method)) for _ in range(2))
        receiver.wait_for_hang_up()
        assert (len(receiver.requests), receiver.connections) == (2, 1)
    assert (first.state, second.state, second.permanent) == (State.SUCCEEDED, State.FAILED, False)
    assert (second.error or "").endswith("closed the connection without an answer")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_what_means_the_same_twice_is_sent_once_more_on_a_new_connection(
    transport: HttpTransport, method: Method
) -> None:
    with Receiver(breaking_off(b"")) as receiver:
        states = [send(transport, to(receiver, method)).state for _ in range(2)]
        assert (states, len(receiver.requests), receiver.connections) == ([State.SUCCEEDED] * 2, 3, 2)


def test_it_is_sent_once_more_and_not_a_third_time(transport: HttpTransport) -> None:
    served = iter([True, False, False])

    def script(exchange: Exchange) -> None:
        while exchange.read_request() is not None and next(served):
            exchange.send(OK)

    with Receiver(script) as receiver:
        outcomes = [send(transport, to(receiver, "GET")) for _ in range(2)]
        assert (len(receiver.requests), receiver.connections) == (3, 2)
    assert [one.state for one in outcomes] == [State.SUCCEEDED, State.FAILED]


def test_a_new_connection_that_is_lost_is_not_replaced(transport: HttpTransport) -> None:
    with Receiver(lambda exchange: exchange.read_request()) as receiver:
        assert send(transport, to(receiver, "GET")).state is State.FAILED
        assert (len(receiver.requests), receiver.connections) == (1, 1)


@pytest.mark.parametrize("words", [b"H", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\ncontent-le"])
def test_an_answer_that_began_is_the_only_one(transport: HttpTransport, words: bytes) -> None:
    with Receiver(breaking_off(words)) as receiver:
        send(transport, to(receiver, "GET"))
        send(transport, to(receiver, "GET"))
        assert (len(receiver.requests), receiver.connections) == (2, 1)


# What comes unasked


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "extra",
    [FORGED, b"x", b"\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", FORGED * 50],
    ids=["answer", "byte", "line", "interim", "many"],
)
@pytest.mark.parametrize("whole", [True, False], ids=["at once", "later"])
def test_an_answer_that_nobody_asked_for_is_nobodys(
    authority: Authority, transport: HttpTransport, scheme: str, extra: bytes, whole: bool
) -> None:
    """Response splitting: what follows an answer, at once or before the next request, is never the next answer."""
    told = threading.Event()

    def splitting(exchange: Exchange) -> None:
        exchange.read_request()
        exchange.send(OK + extra if whole else OK)
        if not whole:
            exchange.send(extra)
        told.set()
        while exchange.read_request() is not None:
            exchange.send(BUSY)

    def honest(exchange: Exchange) -> None:
        while exchange.read_request() is not None:
            exchange.send(BUSY)

    scripts = iter([splitting, honest])
    tls = authority.server if scheme == "https" else None
    with Receiver(lambda exchange: next(scripts)(exchange), tls) as receiver:
        first = send(transport, to(receiver, scheme=scheme))
        assert told.wait(5)
        second = send(transport, to(receiver, scheme=scheme))
        assert [first.status_code, second.status_code, second.excerpt] == [200, 503, "busy"]
        assert receiver.connections == 2


def test_a_body_that_is_longer_than_its_head_says_leaves_nothing_behind(transport: HttpTransport) -> None:
    lying = answer("200 OK", b"ok") + b"and more"
    with Receiver(answering(lying)) as receiver:
        assert [send(transport, to(receiver)).status_code for _ in range(3)] == [200] * 3
        assert receiver.connections == 3


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "connections"),
    [
        (b"2\r\nok\r\n0\r\n\r\n", 1),
        (b"2;name=value\r\nok\r\n0\r\nx-trailer: 1\r\n\r\n", 1),
        (b"2\r\nok\r\n0\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", 2),
        (b"zz\r\nok\r\n0\r\n\r\n", 2),
    ],
    ids=["whole", "with a trailer", "with an answer behind it", "garbled"],
)
def test_chunks_end_where_they_end(transport: HttpTransport, body: bytes, connections: int) -> None:
    with Receiver(answering(CHUNKED + body)) as receiver:
        assert [send(transport, to(receiver)).status_code for _ in range(2)] == [200, 200]
        assert receiver.connections == connections


def test_100_continue_is_no_answer_and_without_end_it_is_bounded(transport: HttpTransport) -> None:
    go_on = b"HTTP/1.1 100 Continue\r\n\r\n"
    with Receiver(answering(go_on + OK)) as receiver:
        assert [send(transport, to(receiver)).status_code for _ in range(2)] == [200, 200]
        assert receiver.connections == 1
    with Receiver(answering(go_on * 5_000)) as receiver:
        outcome = send(transport, to(receiver))
        assert (outcome.state, outcome.status_code) == (State.FAILED, None)


def test_after_headers_without_end_the_connection_is_gone(transport: HttpTransport) -> None:
    huge = b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 70_000 + b"\r\ncontent-length: 0\r\n\r\n"
    answers = iter([huge, OK])
    with Receiver(lambda exchange: answering(next(answers))(exchange)) as receiver:
        states = [send(transport, to(receiver)).state for _ in range(2)]
        assert (states, receiver.connections) == ([State.FAILED, State.SUCCEEDED], 2)


# Where a kept connection leads, and for how long


def test_after_a_thaw_a_connection_is_a_stranger(transport: HttpTransport, clock: Clock) -> None:
    with Receiver(answering(OK)) as receiver:
        send(transport, to(receiver))
        clock.ahead_ms += round(pool.IDLE_SECONDS * 1000)
        assert send(transport, to(receiver)).state is State.SUCCEEDED
        assert receiver.connections == 2


def test_a_clock_that_goes_back_keeps_no_connection(transport: HttpTransport, clock: Clock) -> None:
    with Receiver(answering(OK)) as receiver:
        clock.ahead_ms = 60_000
        send(transport, to(receiver))
        clock.ahead_ms = 0
        send(transport, to(receiver))
        assert receiver.connections == 2


def test_a_connection_that_is_always_busy_is_renewed_all_the_same(transport: HttpTransport, clock: Clock) -> None:
    step_ms = 3_000
    with Receiver(answering(OK)) as receiver:
        for _ in range(round(pool.LONGEST_LIFE_SECONDS * 1000) // step_ms + 1):
            assert send(transport, to(receiver)).state is State.SUCCEEDED
            clock.ahead_ms += step_ms
        assert receiver.connections == 2


def test_what_may_no_longer_be_reached_is_not_reached_by_an_idle_connection(
    authority: Authority, transport: HttpTransport
) -> None:
    """The private address was allowed to one client. Another one's job has the same URL."""
    with Receiver(answering(OK), authority.server) as receiver:
        assert send(transport, to(receiver, scheme="https")).state is State.SUCCEEDED
        refused = send(transport, to(receiver, scheme="https", private=False))
        assert (refused.state, refused.permanent) == (State.FAILED, True)
        assert len(receiver.requests) == 1


def test_a_name_that_moved_takes_its_deliveries_along(clock: Clock) -> None:
    addresses = iter([["127.0.0.1"], ["127.0.0.2"]])
    transport = HttpTransport(clock, NoSecrets(), resolver=lambda *_: next(addresses))
    with Receiver(answering(OK)) as receiver:
        states = [send(transport, to(receiver)).state for _ in range(2)]
        assert (states, len(receiver.requests)) == ([State.SUCCEEDED, State.FAILED], 1)
    transport.close()


def test_deliveries_of_two_clients_on_one_connection_have_their_own_headers_alone(transport: HttpTransport) -> None:
    with Receiver(answering(OK)) as receiver:
        url = to(receiver).url
        send(transport, HttpTarget(url, headers={"authorization": "of acme"}, private=True))
        send(transport, HttpTarget(url, headers={"x-shop": "7"}, private=True))
        assert receiver.connections == 1
        first, second = (request.headers for request in receiver.requests)
        assert first["authorization"] == "of acme"
        assert "authorization" not in second


@pytest.mark.parametrize("value", ["a\r\nx-forged: 1", "a\nx-forged: 1", "a\r", "a\x00b"])
def test_a_header_is_one_line_or_nothing_is_sent(value: str) -> None:
    for headers in ({"x-shop": value}, {value: "7"}):
        with pytest.raises(ValueError, match="is no line"):
            Sent("POST", "/", headers, b"").to_bytes()


# TLS sessions


def closing_and_telling(resumed: list[bool | None], header: str = "connection: close") -> Script:
    """A receiver that closes after each answer, and notes whether the connection resumed a session."""

    def script(exchange: Exchange) -> None:
        exchange.read_request()
        resumed.append(cast(ssl.SSLSocket, exchange.sock).session_reused)
        exchange.send(answer("200 OK", b"bye", header))

    return script


@pytest.mark.parametrize("header", ["connection: close", "connection: keep-alive", "content-type: text/plain"])
def test_a_receiver_that_closes_is_met_again_by_its_session(
    authority: Authority, transport: HttpTransport, header: str
) -> None:
    resumed: list[bool | None] = []
    with Receiver(closing_and_telling(resumed, header), authority.server) as receiver:
        for _ in range(4):
            assert send(transport, to(receiver, scheme="https")).state is State.SUCCEEDED
            receiver.wait_for_hang_up()
    assert resumed == [False, True, True, True]


def test_a_certificate_is_checked_again_after_ten_minutes_however_often_its_session_was_used(
    authority: Authority, transport: HttpTransport, clock: Clock
) -> None:
    resumed: list[bool | None] = []
    with Receiver(closing_and_telling(resumed), authority.server) as receiver:
        for _ in range(5):
            assert send(transport, to(receiver, scheme="https")).state is State.SUCCEEDED
            receiver.wait_for_hang_up()
            clock.ahead_ms += LONGEST_SESSION_MS // 3
    assert resumed == [False, True, True, False, True]


def test_a_session_of_one_name_opens_no_other(authority: Authority, transport: HttpTransport) -> None:
    with Receiver(closing_and_telling([]), authority.server) as receiver:
        send(transport, to(receiver, scheme="https"))
        other = send(transport, HttpTarget(f"https://other.example.com:{receiver.port}/", private=True))
        assert len(receiver.requests) == 1
    assert (other.error or "").startswith("the certificate of other.example.com is not accepted")


def test_a_receiver_that_gives_no_sessions_is_met_anew(authority: Authority, transport: HttpTransport) -> None:
    resumed: list[bool | None] = []
    authority.server.num_tickets = 0
    try:
        with Receiver(closing_and_telling(resumed), authority.server) as receiver:
            for _ in range(2):
                assert send(transport, to(receiver, scheme="https")).state is State.SUCCEEDED
                receiver.wait_for_hang_up()
    finally:
        authority.server.num_tickets = 2
    assert resumed == [False, False]


def test_a_receiver_with_other_keys_is_checked_before_it_gets_anything(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority, transport: HttpTransport
) -> None:
    """Somebody else took over the address: the session is none to him, and his certificate is not trusted."""
    stranger = Authority(tmp_path_factory.mktemp("stranger"), NAME)
    pairs = iter([authority.server, stranger.server])

    class Taken(Receiver):
        def _serve(self, sock: object) -> None:
            self._tls = next(pairs)
            super()._serve(sock)  # type: ignore[arg-type]

    with Taken(closing_and_telling([]), authority.server) as receiver:
        first = send(transport, to(receiver, scheme="https"))
        receiver.wait_for_hang_up()
        second = send(transport, to(receiver, scheme="https"))
        assert len(receiver.requests) == 1
    assert (first.state, second.state) == (State.SUCCEEDED, State.FAILED)
    assert (second.error or "").startswith(f"the certificate of {NAME} is not accepted")


def test_sessions_are_bounded_and_the_one_unused_for_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 3)

    class Socket:
        session = object()

    kept = Sessions()
    for number in range(3):
        kept.keep(number, cast(TlsSocket, Socket()), 0)
    assert kept.find(0, 1) is not None
    kept.keep(3, cast(TlsSocket, Socket()), 0)
    assert [kept.find(number, 1) is not None for number in range(4)] == [True, False, True, True]
    assert kept.find(0, -1) is None
    assert MOST_SESSIONS == 256
