"""Many calls at once: written together, read one by one, and each with an outcome of its own."""

from __future__ import annotations

import gc
import json
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier, Event
from typing import Any

import botocore.session
import pytest
from botocore.credentials import RefreshableCredentials

from clockwork.aws.deadlines import OutOfTime, calls_until
from clockwork.aws.plane.plane import WIDTH, Plane
from clockwork.aws.plane.wire import connections
from clockwork.aws.plane.wire.connections import Connection
from clockwork.aws.plane.wire.plain import Answer
from clockwork.aws.session import Aws
from clockwork.memory.clock import MemoryClock
from tests.contract.plane.hostile import (
    Behaviour,
    Request,
    closes,
    half,
    refusal,
    serving,
    written,
)
from tests.contract.plane.planes import BOTH, LEAN, PATIENT, PUT, connected, outcome, session_of, told

THROTTLED = refusal("ThrottlingException")


def numbered(count: int) -> list[dict[str, Any]]:
    """Calls that can be told apart."""
    return [{"TableName": "t", "Key": {"id": {"S": f"{n}"}}, "ConsistentRead": True} for n in range(count)]


def echo(request: Request) -> bytes:
    """The item that was asked for."""
    return written(200, {"Item": json.loads(request.body)["Key"]})


def numbers(outcomes: list[Any]) -> list[Any]:
    """The number of each call that has an answer, and the name of the exception of each that has not."""
    return [type(one).__name__ if isinstance(one, Exception) else int(one["Item"]["id"]["S"]) for one in outcomes]


@pytest.fixture(params=BOTH)
def kind(request: pytest.FixtureRequest, no_pauses_of_botocore: None) -> str:
    return str(request.param)


def test_ten_calls_are_on_their_way_before_one_is_answered(kind: str) -> None:
    meet = Barrier(WIDTH)

    def all_there(request: Request) -> bytes:
        meet.wait(PATIENT)
        return echo(request)

    with serving(rest=all_there) as service, connected(kind, service.url) as aws:
        outcomes = aws.plane("dynamodb", 1, PATIENT).call_all("GetItem", numbered(WIDTH))
        assert numbers(outcomes) == list(range(WIDTH))


def test_what_is_asked_next_is_only_looked_at_when_it_is_sent(kind: str) -> None:
    with serving(rest=echo) as service, connected(kind, service.url) as aws:
        looked: list[int] = []

        def asked() -> Iterator[dict[str, Any]]:
            for one in numbered(25):
                looked.append(len(service.requests))
                yield one

        assert numbers(aws.plane("dynamodb", 1, PATIENT).call_all("GetItem", asked())) == list(range(25))
        assert looked == [0] * 10 + [10] * 10 + [20] * 5


@pytest.mark.parametrize("fault", [closes, half(echo, 0.9)])
def test_a_connection_that_ends_takes_only_its_own_call_with_it(kind: str, fault: Behaviour) -> None:
    def third_ends(request: Request) -> Any:
        return fault(request) if b'"2"' in request.body else echo(request)

    with serving(rest=third_ends) as service, connected(kind, service.url) as aws:
        outcomes = aws.plane("dynamodb", 1, PATIENT).call_all("GetItem", numbered(5))
        assert numbers(outcomes) == [0, 1, "ConnectionClosedError", 3, 4]
        assert len(service.requests) == 5
        service.rest = echo
        assert numbers(aws.plane("dynamodb", 1, PATIENT).call_all("GetItem", numbered(10))) == list(range(10))


def test_only_the_calls_that_failed_are_made_again(kind: str) -> None:
    failing = {b'"1"': 1, b'"3"': 2, b'"4"': 3}

    def some_fail(request: Request) -> Any:
        for name, times in failing.items():
            if name in request.body and times:
                failing[name] -= 1
                return THROTTLED(request)
        return echo(request)

    pauses: list[float] = []
    with serving(rest=some_fail) as service, connected(kind, service.url, pauses) as aws:
        outcomes = aws.plane("dynamodb", 3, PATIENT).call_all("GetItem", numbered(6))
        assert numbers(outcomes) == [0, 1, 2, 3, "ClientError" if kind == LEAN else "ThrottlingException", 5]
        assert len(service.requests) == 6 + 3 + 2
    assert kind != LEAN or pauses == [1.0, 2.0]


def test_one_slow_answer_costs_the_others_theirs_no_time(kind: str) -> None:
    with serving() as service, connected(kind, service.url) as aws:

        def third_is_silent(request: Request) -> Any:
            return (service.over.wait(PATIENT) and None) if b'"2"' in request.body else echo(request)

        service.rest = third_is_silent
        outcomes = aws.plane("dynamodb", 1, 3.0).call_all("GetItem", numbered(5))
        assert numbers(outcomes) == [0, 1, "ReadTimeoutError", 3, 4]


def test_an_answer_that_has_begun_is_read_though_another_took_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REST_SECONDS", PATIENT)
    given_up, close = Event(), Connection.close

    def closing(connection: Connection) -> None:
        close(connection)
        given_up.set()

    monkeypatch.setattr(Connection, "close", closing)
    with serving() as service, connected(LEAN, service.url) as aws:

        def in_two_parts(request: Request) -> Iterator[bytes]:
            if b'"0"' in request.body:
                service.over.wait(PATIENT)
            else:
                yield echo(request)[:20]
                given_up.wait(PATIENT)
                yield echo(request)[20:]

        service.rest = in_two_parts
        outcomes = aws.plane("dynamodb", 1, 1.0).call_all("GetItem", numbered(2))
        assert numbers(outcomes) == ["ReadTimeoutError", 1]


def test_an_answer_that_comes_drop_by_drop_is_over_when_its_time_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore waits anew for every byte; the lean plane's time is that of the whole answer."""
    monkeypatch.setattr(connections, "REST_SECONDS", 0.1)
    with serving() as service, connected(LEAN, service.url) as aws:

        def drips(_: Request) -> Iterator[bytes]:
            for byte in written(200, {"Item": {"id": {"S": "x" * 3_000}}}):
                service.over.wait(0.02)
                yield bytes([byte])

        service.rest = drips
        assert told(outcome(aws.plane("dynamodb", 1, 0.5), "GetItem")) == "ReadTimeoutError"


def test_many_threads_share_a_plane(kind: str) -> None:
    with serving(rest=echo) as service, connected(kind, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)

        def some(first: int) -> list[Any]:
            return numbers([plane.call("GetItem", **one) for one in numbered(first + 5)[first:]]) + numbers(
                plane.call_all("GetItem", numbered(12))
            )

        with ThreadPoolExecutor(6) as threads:
            for first, found in zip(range(6), threads.map(some, range(6)), strict=True):
                assert found == [*range(first, first + 5), *range(12)]


def test_connections_are_used_again() -> None:
    with serving(rest=echo) as service, connected(LEAN, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        for _ in range(3):
            plane.call_all("GetItem", numbered(25))
        assert service.connections == WIDTH


def test_connections_that_nobody_closed_end_with_their_plane() -> None:
    with serving(rest=echo) as service:
        aws = Aws(session_of(), endpoint_url=service.url, announced=False)
        aws.plane("dynamodb", 1, PATIENT).call_all("GetItem", numbered(3))
        assert not service.idle_closed.is_set()
        with warnings.catch_warnings(record=True) as told_of:
            warnings.simplefilter("always")
            del aws
            gc.collect()
        assert [one for one in told_of if one.category is ResourceWarning] == []
        assert service.idle_closed.wait(PATIENT)


def test_bytes_that_nobody_asked_for_are_no_answer_to_the_next_call(kind: str) -> None:
    def twice(request: Request) -> bytes:
        return echo(request) + written(200, {"Item": {"id": {"S": "99"}}})

    with serving(twice, rest=echo) as service, connected(kind, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        assert [plane.call("GetItem", **one)["Item"]["id"]["S"] for one in numbered(3)] == ["0", "1", "2"]


class Dies(BaseException):
    """The process dies."""


def test_whoever_dies_between_writing_and_reading_leaves_no_answer_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    receive, read = Connection.receive, []

    def third_read_dies(connection: Connection) -> Answer:
        read.append(connection)
        if len(read) == 3:
            raise Dies
        return receive(connection)

    with serving(rest=echo) as service, connected(LEAN, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        monkeypatch.setattr(Connection, "receive", third_read_dies)
        with pytest.raises(Dies):
            plane.call_all("GetItem", numbered(5))
        again = [{**one, "Key": {"id": {"S": f"{n + 50}"}}} for n, one in enumerate(numbered(10))]
        assert numbers(plane.call_all("GetItem", again)) == list(range(50, 60))


def test_what_cannot_be_written_is_the_fault_of_its_own_call(kind: str) -> None:
    asked = numbered(3)
    asked[1]["Key"] = {"id": {"S": object()}}
    with serving(rest=echo) as service, connected(kind, service.url) as aws:
        outcomes = aws.plane("dynamodb", 1, PATIENT).call_all("GetItem", asked)
        assert [isinstance(one, Exception) for one in outcomes] == [False, True, False]
        assert len(service.requests) == 2


def test_nothing_is_sent_after_a_deadline(kind: str) -> None:
    clock = MemoryClock(1_000)
    with serving(rest=echo) as service, connected(kind, service.url) as aws:
        plane = aws.plane("dynamodb", 3, PATIENT)
        with calls_until(clock, 1_000), pytest.raises(OutOfTime):
            plane.call("GetItem", **numbered(1)[0])
        assert service.requests == []
        with calls_until(clock, 1_001):
            assert plane.call("GetItem", **numbered(1)[0])


def test_each_attempt_is_signed_when_it_is_sent() -> None:
    clock = MemoryClock(1_800_000_000_000)
    with serving() as service, connected(LEAN, service.url, clock=clock) as aws:

        def an_hour_later(request: Request) -> Any:
            clock.at += 3_600_000
            return THROTTLED(request)

        service.behaviours.append(an_hour_later)
        aws.plane("dynamodb", 3, PATIENT).call("PutItem", **PUT)
        dates = [request.headers["x-amz-date"] for request in service.requests]
        assert dates == ["20270115T080000Z", "20270115T090000Z"]


def expiring(renewed: list[int]) -> botocore.session.Session:
    """A session whose keys are about to end whenever they are looked at."""

    def renew() -> dict[str, str]:
        renewed.append(1)
        ends = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
        number = len(renewed)
        return {"access_key": f"AKID{number}", "secret_key": "s", "token": f"t{number}", "expiry_time": ends}

    session = session_of()
    session._credentials = RefreshableCredentials.create_from_metadata(renew(), renew, "a test")  # type: ignore[attr-defined]
    return session


def test_credentials_that_end_are_renewed(kind: str) -> None:
    renewed: list[int] = []
    with serving() as service, connected(kind, service.url, session=expiring(renewed)) as aws:
        plane: Plane = aws.plane("dynamodb", 3, PATIENT)
        for _ in range(2):
            plane.call("PutItem", **PUT)
        tokens = [request.headers["x-amz-security-token"] for request in service.requests]
        assert len(set(tokens)) == 2
        assert tokens[-1] == f"t{len(renewed)}"


def test_calls_do_not_wait_one_after_the_other_for_a_server_that_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Any] = []

    def never(address: Any, _: float) -> Any:
        tried.append(address)
        raise TimeoutError("timed out")

    monkeypatch.setattr("socket.create_connection", never)
    with connected(LEAN, "http://127.0.0.1:9") as aws:
        outcomes = aws.plane("dynamodb", 1, PATIENT).call_all("GetItem", numbered(WIDTH))
    assert {type(one).__name__ for one in outcomes} == {"ConnectTimeoutError"}
    # One wait for each round of tries, and not one for each call.
    assert 1 <= len(tried) <= 3
