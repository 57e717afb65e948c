"""A worker on a machine that has no thread more: what cannot be begun is handed back, and no slot is lost."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clockwork_client.worker import Pool
from clockwork_client.worker.attempt import Attempt
from tests.sdk.fleet import Fleet
from tests.sdk.workshop import ended, told, worker_of, working


@pytest.mark.parametrize(("is_async", "name"), [(False, "clockwork-handler"), (True, "clockwork-loop")])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_thread_that_cannot_be_started_hands_back_and_the_next_one_is_tried(
    pool: Pool, fleet: Fleet, monkeypatch: pytest.MonkeyPatch, is_async: bool, name: str, concurrency: int
) -> None:
    start, faults = threading.Thread.start, [1]

    def may_fail(thread: threading.Thread) -> None:
        if thread.name.startswith(name) and faults:
            faults.pop()
            raise RuntimeError("can't start new thread")
        start(thread)

    async def work_async(*_: Any) -> str:
        return "ok"

    monkeypatch.setattr(threading.Thread, "start", may_fail)
    pool.handler("work")(work_async if is_async else lambda *_: "ok")
    works = [fleet.add(str(number)) for number in range(6)]
    worker = worker_of(pool, fleet, concurrency=concurrency)
    with working(worker):
        fleet.wait_for(ended(*works))
        fleet.wait_for(lambda: worker._slots.free == concurrency)
    assert sorted(told(one)["outcome"] for one in works) == ["complete"] * 5 + ["handback"]


def test_a_machine_without_more_threads_works_with_those_it_has(
    pool: Pool, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, began = threading.Thread.start, list[str]()

    def one_only(thread: threading.Thread) -> None:
        if thread.name.startswith("clockwork-handler"):
            if began:
                raise RuntimeError("can't start new thread")
            began.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", one_only)
    pool.handler("work")(lambda *_: "ok")
    worker = worker_of(pool, fleet, concurrency=5)
    with working(worker):
        for number in range(10):
            work = fleet.add(str(number))
            fleet.wait_for(ended(work))
            fleet.wait_for(lambda: worker._slots.free == 5)
            assert told(work)["outcome"] == "complete"
    assert began == ["clockwork-handler-1"]


def test_a_defect_at_a_start_costs_no_hand(pool: Pool, fleet: Fleet) -> None:
    pool.handler("work")(lambda *_: "ok")
    worker = worker_of(pool, fleet, concurrency=1)
    put, defects = worker._handlers._put, [MemoryError()]

    def defective(attempt: Attempt) -> None:
        if defects:
            raise defects.pop()
        put(attempt)

    worker._handlers._put = defective  # type: ignore[method-assign]
    works = [fleet.add(str(number)) for number in range(2)]
    with working(worker):
        fleet.wait_for(ended(*works))
    assert sorted(told(one)["outcome"] for one in works) == ["complete", "handback"]
