"""Requests as people write them: durations and places as texts. A text that cannot be either is refused unsent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from clockwork_client import Clockwork, http, job, kafka, pool, retry, sqs
from clockwork_client.objects import seconds_of
from clockwork_client.places import target_at
from clockwork_client.requests import callback
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
    policy, end = retry(initial_seconds="5s", max_age_seconds="1d"), callback(timeout_seconds="2h")
    times: Any = {"every": "15m", "jitter_seconds": "30s", "relevancy_window_seconds": "1h"}
    made = job(HOOK, key="k", completion=end, retry=policy, **times)
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
