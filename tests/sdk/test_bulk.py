"""Many jobs: batches of 500, a result for each, bounded parallelism, and a second start that creates nothing twice."""

from __future__ import annotations

import gc
import itertools
import json
import pickle
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from clockwork.edge.http.body import BATCH_BYTES
from clockwork_client import Clockwork, Conflict, Invalid, NotAllowed, NotCertain, TooManyRequests, http, job
from clockwork_client.bulk import MOST_BYTES, Created, Stopped, batches
from clockwork_client.transport import NoAnswer, Request, Response
from tests.handlers.handlers import Api
from tests.sdk.edge import Hands, InMemory, client_of, on

HOOK = http("https://example.com/hook")


def jobs(count: int, **changes: Any) -> Iterator[dict[str, Any]]:
    return (job(HOOK, {"n": number}, in_=3600, **changes) for number in range(count))


def accepted(request: Request) -> Response:
    """The answer of the API when it takes every job of a batch."""
    asked = json.loads(request.body or b"")["jobs"]
    results = [
        {"index": place, "status": 201, "jobId": f"j{one['payload']['n']}", "clientId": "acme", "state": "SCHEDULED",
         "dueAt": "2027-01-31T09:00:00.000Z"}
        for place, one in enumerate(asked)
    ]  # fmt: skip
    return Response(200, {}, json.dumps({"results": results}).encode())


def test_each_job_has_its_result_on_the_shipped_edge() -> None:
    transport = InMemory(Api())
    results = list(client_of(transport).schedule_many(jobs(1_203)))
    assert [one.position for one in results] == list(range(1_203))
    ids = {one.job.job_id for one in results if one.job is not None}
    assert len(ids) == 1_203
    sizes = sorted(len(json.loads(request.body or b"")["jobs"]) for request in transport.sent)
    assert sizes == [203, 500, 500]


def test_a_refused_job_does_not_stop_the_others() -> None:
    cw = on(Api())
    bad = {**job(HOOK, 1, in_=5), "schedule": {"at": "soon"}}
    good = job(HOOK, 1, in_=5)
    results = list(cw.schedule_many([good] * 501 + [bad, good]))
    assert [one.position for one in results if one.job is None] == [501]
    error = results[501].error
    assert isinstance(error, Invalid)
    assert error.pointers == ("/schedule/at",)
    taken = [{**good, "jobKey": "k"}, {**good, "jobKey": "k", "payload": 2}]
    assert isinstance(list(cw.schedule_many(taken))[1].error, Conflict)


def test_a_second_start_under_the_key_creates_nothing_twice() -> None:
    api = Api()
    lost = itertools.count()
    inner = InMemory(api)

    def dies(request: Request) -> Response:
        answer = inner(request)
        if next(lost) == 1:
            raise NoAnswer("the answer of the second batch is lost")
        return answer

    cut_short = client_of(dies).schedule_many(jobs(1_100), key="import-7", deadline=0.05, parallel=1)
    with pytest.raises(Stopped) as stopped:
        list(cut_short)
    assert (stopped.value.key, stopped.value.done) == ("import-7", 500)
    assert isinstance(stopped.value.__cause__, NotCertain)
    assert "key='import-7'" in str(stopped.value)
    results = list(on(api).schedule_many(jobs(1_100), key="import-7"))
    assert all(one.job is not None for one in results)
    again = list(on(api).schedule_many(jobs(1_100), key="import-7"))
    assert [one.job for one in again] == [one.job for one in results]
    api.clockwork.run_until(api.clockwork.clock.at + 4_000_000)
    assert len(api.clockwork.targets.delivered) == 1_100


def test_no_more_requests_are_under_way_than_asked_for() -> None:
    lock, under_way, most = threading.Lock(), [0], [0]
    taken = [0]

    def watch(request: Request) -> Response:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        time.sleep(0.02)
        with lock:
            under_way[0] -= 1
        return accepted(request)

    def counted() -> Iterator[dict[str, Any]]:
        for one in jobs(500 * 12):
            taken[0] += 1
            yield one

    results = iter(client_of(watch).schedule_many(counted(), parallel=3))
    next(results)
    assert taken[0] <= 500 * 3 + 1  # the jobs are taken as they are sent, not all at once
    rest = [one.position for one in results]
    assert rest == list(range(1, 6_000))
    assert 2 <= most[0] <= 3


def test_batches_keep_to_the_bytes_of_a_request_and_depend_on_the_jobs_alone() -> None:
    large = [job(HOOK, "ü" * 120_000, in_=5) for _ in range(40)]
    found = list(batches(iter(large)))
    assert [one.jobs for one in found] == [one.jobs for one in batches(large)]
    assert [one.first for one in found] == [0, *itertools.accumulate(len(one.jobs) for one in found[:-1])]
    assert all(len(json.dumps({"jobs": one.jobs}, ensure_ascii=False).encode()) <= MOST_BYTES + 4096 for one in found)
    assert len(found) == 4
    assert len(list(on(Api()).schedule_many(large))) == 40


def test_a_batch_has_room_in_what_the_api_takes() -> None:
    assert MOST_BYTES + 4096 == BATCH_BYTES


def test_a_job_that_fits_no_request_is_refused_alone() -> None:
    giant = job(HOOK, "x" * 5_000_000, in_=5)
    good = job(HOOK, 1, in_=5)
    results = list(on(Api()).schedule_many([good, giant, good]))
    assert [one.error.status if one.error else None for one in results] == [None, 413, None]


@pytest.mark.parametrize(
    ("status", "kind"), [(403, NotAllowed), (429, TooManyRequests), (422, Invalid), (503, NotCertain)]
)
def test_a_batch_that_fails_whole_ends_the_run(status: int, kind: type[Exception]) -> None:
    sent: list[Request] = []

    def refuse(request: Request) -> Response:
        sent.append(request)
        return Response(status, {"retry-after": "9000"}, b'{"detail": "no"}')

    with pytest.raises(Stopped) as stopped:
        list(client_of(refuse, Hands()).schedule_many(jobs(500 * 40), parallel=2))
    assert isinstance(stopped.value.__cause__, kind)
    assert stopped.value.done == 0
    assert len(sent) == 2
    again = pickle.loads(pickle.dumps(stopped.value))
    assert (again.key, again.done, str(again)) == (stopped.value.key, 0, str(stopped.value))


@pytest.mark.parametrize("results", [None, [], [{"index": 1, "status": 201}], [{"index": 0, "status": 422}], ["x"]])
def test_an_answer_that_does_not_match_the_jobs_ends_the_run(results: object) -> None:
    answer = Response(200, {}, json.dumps({"results": results}).encode())
    with pytest.raises(Stopped):
        list(client_of(lambda _: answer).schedule_many(jobs(1)))


def test_it_says_so_when_nobody_looks_at_the_results() -> None:
    bulk = client_of(accepted).schedule_many(jobs(1))
    with pytest.warns(RuntimeWarning, match="no job was sent"):
        del bulk
        gc.collect()


def test_results_are_read_once() -> None:
    bulk = client_of(accepted).schedule_many(jobs(1))
    assert [type(one) for one in bulk] == [Created]
    with pytest.raises(RuntimeError, match="sent already"):
        iter(bulk)


def test_no_jobs_are_no_request() -> None:
    cw: Clockwork = client_of(accepted)
    assert list(cw.schedule_many([])) == []
    with pytest.raises(ValueError, match="parallel"):
        cw.schedule_many([], parallel=0)
