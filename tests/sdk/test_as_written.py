"""Requests as people write them: durations and places as texts. A text that cannot be either is refused unsent."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from clockwork_client import Clockwork, http, job, kafka, pool, retry, sqs
from clockwork_client.objects import seconds_of
from clockwork_client.places import target_at
from clockwork_client.requests import callback, end
from tests.handlers.handlers import Api
from tests.sdk.edge import InMemory, client_of

HOOK = "https://example.com/hook"
QUEUE = "arn:aws:sqs:us-east-1:1:q"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("5m", 300), ("5min", 300), ("1h30m", 5_400), ("2d", 172_800), ("1w", 604_800),
     ("250ms", 0.25), ("1.5s", 1.5), ("0.5", 0.5)],
)  # fmt: skip
def test_a_duration_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 m", "5x", "-5m", "m5", "5m!", "٥m", "1e3", "PT5M"])
def test_a_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration: 90s, 5m, 1h30m, 2d"):
        seconds_of(text)


def test_every_duration_may_be_a_text() -> None:
    policy, ended = retry(initial_seconds="5s", max_age_seconds="1d"), callback(timeout_seconds="2h")
    times: Any = {"every": "15m", "jitter_seconds": "30s", "relevancy_window_seconds": "1h"}
    made = job(HOOK, key="k", completion=ended, retry=policy, **times)
    assert made["schedule"] == {"every": {"seconds": 900}, "jitterSeconds": 30}
    assert (made["relevancyWindowSeconds"], made["completion"]["timeoutSeconds"]) == (3_600, 7_200)
    assert (made["retryPolicy"]["initialSeconds"], made["retryPolicy"]["maxAgeSeconds"]) == (5, 86_400)
    assert job(http(HOOK, timeout_seconds="3s"), in_="5m") == job(
        http(HOOK, timeout_seconds=3), in_=timedelta(minutes=5)
    )


@pytest.mark.parametrize(
    ("place", "target"),
    [(HOOK, http(HOOK)), ("http://localhost:1", http("http://localhost:1")), (QUEUE, sqs(QUEUE)),
     ("kafka:orders", kafka("orders")), ("pool:etl/load", pool("etl", "load")), (http(HOOK), http(HOOK))],
)  # fmt: skip
def test_a_target_may_be_its_place(place: Any, target: Any) -> None:
    assert target_at(place) == target
    assert job(place, in_=5) == job(target, in_=5)
    assert job(HOOK, in_=5, on_failure=place) == job(HOOK, in_=5, on_failure=target)


@pytest.mark.parametrize("place", ["", "example.com/hook", "ftp://x", "kafka:", "pool:", "arn:aws:s3:::b", "tel:1"])
def test_a_text_that_is_no_place_is_refused(place: str) -> None:
    with pytest.raises(ValueError, match="is no target: https://"):
        target_at(place)


def test_a_place_whose_target_needs_more_says_what() -> None:
    with pytest.raises(ValueError, match=r"needs source and detail_type: eventbridge\(...\) takes them"):
        target_at("arn:aws:events:us-east-1:1:event-bus/b")


def test_what_is_refused_is_not_sent() -> None:
    api = Api()
    transport = InMemory(api)
    cw = client_of(transport)
    calls: list[tuple[str, dict[str, Any], type[Exception]]] = [
        (HOOK, {"in_": "soon"}, ValueError),
        ("example.com", {"in_": 5}, ValueError),
        (HOOK, {"in_": 5, "tagz": {}}, TypeError),
        (HOOK, {"in_": 5, "on_failure": "nowhere"}, ValueError),
    ]
    for target, options, error in calls:
        with pytest.raises(error):
            cw.schedule(target, **options)
    assert transport.sent == []
    with pytest.raises(TypeError, match="Did you mean 'tags'"):
        cw.schedule(HOOK, in_=5, tagz={})  # type: ignore[call-arg]


LOOP: list[Any] = []
LOOP.append(LOOP)


@dataclass
class Order:
    number: int


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, ValueError, 'no time is given: give one of in_, at, every, cron, such as in_="5m"'),
        ({"in_": None}, ValueError, "no time is given"),
        ({"in_": 5, "cron": "0 3 * * *"}, ValueError, "in_=5 and cron='0 3 * * *' are 2 times: give one of"),
        ({"in_": True}, TypeError, 'in_=True is no duration: give seconds or a text, such as in_="5m"'),
        ({"in_": [5]}, TypeError, "in_=[5] is no duration"),
        ({"in_": float("nan")}, ValueError, "in_=nan is no duration: give finite seconds"),
        ({"in_": "soon"}, ValueError, "in_='soon' is no duration: 90s, 5m, 1h30m, 2d"),
        (
            {"every": True, "key": "k"},
            TypeError,
            'every=True is no duration: give seconds or a text, such as every="5m"',
        ),
        (
            {"at": "tomorrow"},
            ValueError,
            "at='tomorrow' is no instant: give a datetime with a zone, or RFC 3339, "
            'such as at="2027-01-31T09:00:00Z"',
        ),
        ({"at": "2027-01-31T09:00:00"}, ValueError, "is no instant: give a datetime with a zone"),
        ({"at": 1_800_000_000}, TypeError, "at=1800000000 is no instant"),
        ({"at": datetime(2027, 1, 31, 9)}, ValueError, "at=2027-01-31T09:00:00: a datetime needs a time zone: "),  # noqa: DTZ001
        ({"in_": 5, "end_at": "late"}, ValueError, "end_at='late' is no instant"),
        ({"in_": 5, "retry": 3}, TypeError, "retry=3: give retry=retry(max_attempts=3)"),
        ({"in_": 5, "completion": "callback"}, TypeError, "completion='callback': give completion=callback("),
        ({"in_": 5, "key": UUID(int=1)}, TypeError, "key is of the type UUID: give str(key)"),
        ({"in_": 5, "on_failure": 7}, TypeError, "on_failure is no target, but of the type int: give a place"),
        (
            {"in_": 5, "payload": {"at": {"due": datetime(2027, 1, 1, tzinfo=UTC)}}},
            TypeError,
            "payload['at']['due'] is of the type datetime, which JSON lacks: give payload['at']['due'].isoformat()",
        ),
        (
            {"in_": 5, "payload": [1, {2, 3}]},
            TypeError,
            "payload[1] is of the type set, which JSON lacks: give list(payload[1])",
        ),
        ({"in_": 5, "payload": {"sum": Decimal(1)}}, TypeError, "give str(payload['sum'])"),
        (
            {"in_": 5, "payload": MappingProxyType({})},
            TypeError,
            "payload is of the type mappingproxy, which JSON lacks: give dict(",
        ),
        (
            {"in_": 5, "payload": Order(1)},
            TypeError,
            "payload is of the type Order, which JSON lacks: give dataclasses.asdict(payload)",
        ),
        ({"in_": 5, "payload": object()}, TypeError, "give a dict, a list, a text, a number, a bool or None"),
        (
            {"in_": 5, "payload": {(1, 2): 3}},
            TypeError,
            "payload has a key of the type tuple, (1, 2): give texts as keys",
        ),
        (
            {"in_": 5, "payload": {"n": float("inf")}},
            ValueError,
            "payload['n'] is inf, and JSON has finite numbers alone",
        ),
        ({"in_": 5, "payload": LOOP}, ValueError, "payload[0] contains itself"),
        ({"in_": 5, "payload": ["a\ud800"]}, ValueError, "payload[0] has half a pair of surrogates"),
    ],
)
def test_a_refusal_names_the_argument_the_value_and_the_fix(options: Any, error: type[Exception], words: str) -> None:
    transport = InMemory(Api())
    with pytest.raises(error, match=re.escape(words)):
        client_of(transport).schedule(HOOK, **options)
    assert transport.sent == []


def test_all_faults_of_a_call_are_told_at_once() -> None:
    wrong: Any = {"in_": True, "at": "tomorrow", "retry": 3, "tagz": {}}
    with pytest.raises(TypeError) as caught:
        job("example.com", {1, 2}, **wrong)
    begins = ["target: 'example.com' is no", "payload is of the type set", "in_=True and at='tomorrow' are 2 times",
              "in_=True is no", "at='tomorrow' is no", "retry=3: give", "unknown option 'tagz'"]  # fmt: skip
    lines = str(caught.value).splitlines()
    assert len(lines) == len(begins)
    assert all(line.startswith(one) for line, one in zip(lines, begins, strict=True)), lines


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda given: retry(**given), "Did you mean 'max_attempts'?"),
        (
            lambda given: callback(**given),
            "unknown option 'max_attemps': known are heartbeat_seconds, timeout_seconds.",
        ),
        (lambda given: end(**given), "unknown option 'max_attemps': known are timeout_seconds."),
    ],
)
def test_a_part_of_a_job_refuses_an_option_that_it_does_not_know(make: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        make({"max_attemps": 3})
    with pytest.raises(ValueError, match="initial_seconds='soon' is no duration"):
        retry(initial_seconds="soon")


def test_what_is_right_is_not_refused() -> None:
    told: Any = {"names": ("a", 1, 1.5, None, True), 3: {"x": []}}
    made = job(HOOK, told, at="2027-01-31t09:00:00.123456789+02:00", retry={"maxAttempts": 3}, in_=None)  # type: ignore[arg-type]
    assert (made["payload"], made["retryPolicy"]) == (told, {"maxAttempts": 3})
    assert job(http(HOOK), "text", every=timedelta(hours=1), key="k", exclude={"2027-01-01"})["payload"] == "text"


def test_the_shortest_call_creates_a_job() -> None:
    api = Api()
    cw: Clockwork = client_of(InMemory(api))
    made = cw.schedule(HOOK, {"order": 17}, in_="5m")
    assert cw.jobs.get(made.job_id).payload == {"order": 17}
    named = cw.schedule(HOOK, every="1h", key="k")
    assert cw.jobs.replace(named.job_id, f"{HOOK}/2", every="2h").revision == 2


def test_a_client_shows_what_it_calls_and_no_secret() -> None:
    cw = client_of(InMemory(Api()))
    assert repr(cw) == "Clockwork('https://abc123.execute-api.us-east-1.amazonaws.com', client_id='acme')"
    assert "secret" not in repr(cw).lower() and "AKIA" not in repr(cw)
    found = cw.jobs.list()
    assert repr(found) == "<Pages of Job>"
