"""Answers are frozen, typed values that keep what they do not know."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from clockwork_client import Clockwork, UnexpectedAnswer, callback, http, pool, retry
from clockwork_client.answers import Target, instant, text_of
from clockwork_client.results import Execution, Job
from clockwork_client.targets import HttpTarget
from clockwork_client.transport import Response
from tests.sdk.edge import client_of

RAW: dict[str, Any] = {
    "jobId": "j",
    "clientId": "acme",
    "state": "HIBERNATING",
    "target": {"type": "http", "url": "https://a", "method": "POST", "timeoutSeconds": 15, "newest": 1},
    "dueAt": "2026-05-05T10:00:00.250Z",
    "payload": None,
    "shade": {"of": "blue"},
}


def test_what_is_unknown_is_kept() -> None:
    job = Job(RAW)
    assert job.raw["shade"] == {"of": "blue"}
    assert job.state == "HIBERNATING"
    assert isinstance(job.target, HttpTarget)
    assert job.target.raw["newest"] == 1
    strange = Job({**RAW, "target": {"type": "carrier-pigeon", "loft": 3}}).target
    assert type(strange) is Target
    assert (strange.type, strange.raw["loft"]) == ("carrier-pigeon", 3)


def test_an_answer_is_a_value() -> None:
    job = Job(RAW)
    assert job == Job(dict(RAW)) != Job({**RAW, "jobId": "k"})
    assert job != RAW
    assert hash(job) == hash(Job(copy.deepcopy(RAW)))
    assert pickle.loads(pickle.dumps(job)) == copy.copy(job) == copy.deepcopy(job) == job
    assert "HIBERNATING" in repr(job)
    with pytest.raises(AttributeError, match="frozen"):
        job.state = "X"
    with pytest.raises(AttributeError, match="frozen"):
        del job.state
    with pytest.raises(AttributeError):
        _ = job.colour  # type: ignore[attr-defined]


@pytest.mark.parametrize("change", [{"jobId": None}, {"jobId": 1}, {"jobId": True}, {"dueAt": 5}, {"revision": True},
                                    {"revision": "1"}, {"tags": []}, {"executions": {}}, {"executions": [7]},
                                    {"target": "x"}, {"target": {}}, {"dueAt": "2026-05-05T10:00:00"},
                                    {"dueAt": "2026-99-05T10:00:00.000Z"}])  # fmt: skip
def test_an_answer_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UnexpectedAnswer):
        Job({**RAW, **change})


@pytest.mark.parametrize(
    "make",
    [
        lambda: pool("demo", "work", timeout_seconds=["60"]),  # type: ignore[arg-type]
        lambda: pool("demo", 5),  # type: ignore[arg-type]
        lambda: http(5),  # type: ignore[arg-type]
        lambda: retry(max_attempts="x"),  # type: ignore[arg-type]
        lambda: callback(timeout_seconds=["x"]),  # type: ignore[arg-type]
    ],
)
def test_an_option_of_another_type_is_the_callers_fault_and_not_an_answers(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"an option is of the wrong type: |=\['x'\] is no duration: "):
        make()


@pytest.mark.parametrize("raw", [None, [], "x", {}])
def test_what_is_no_object_is_refused(raw: object) -> None:
    with pytest.raises(UnexpectedAnswer):
        Execution(raw)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-05-05T10:00:00.250Z", 0.25),
        ("2026-05-05t10:00:00z", 0),
        ("2026-05-05T12:00:00.5+02:00", 0.5),
        ("2026-05-05T10:00:00.123456789Z", 0.123456),
        ("2026-05-05T09:59:59-00:01", 59),
    ],
)
def test_instants_are_read_as_rfc_3339_has_them(text: str, seconds: float) -> None:
    assert instant(text) == datetime(2026, 5, 5, 10, tzinfo=UTC) + timedelta(seconds=seconds)


def test_instants_are_written_in_utc_to_the_millisecond() -> None:
    moment = datetime(2026, 5, 5, 12, 0, 0, 250_999, tzinfo=timezone(timedelta(hours=2)))
    assert text_of(moment) == "2026-05-05T10:00:00.250Z"
    with pytest.raises(ValueError, match="time zone"):
        text_of(datetime(2026, 5, 5))  # noqa: DTZ001


@pytest.mark.parametrize("body", [b"[]", b"7", b'"items"', b'{"items":null}', b'{"items":{}}', b'{"items":[7]}'])
@pytest.mark.parametrize(
    "ask", [lambda cw: cw.shards(), lambda cw: cw.pools.running("demo"), lambda cw: list(cw.jobs.list())]
)
def test_a_list_of_another_shape_is_told_to_be_so(body: bytes, ask: Callable[[Clockwork], object]) -> None:
    with pytest.raises(UnexpectedAnswer):
        ask(client_of(lambda _: Response(200, {}, body)))


def test_a_backlog_of_another_shape_is_told_to_be_so() -> None:
    with pytest.raises(UnexpectedAnswer):
        client_of(lambda _: Response(200, {}, b"[]")).backlog()
