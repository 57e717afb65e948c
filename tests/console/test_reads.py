"""The cache of reads: what it asks for, what it forgets, and what it keeps after a failure."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from clockwork_client.console.reads import Reads
from clockwork_client.errors import NotFound, NotReached


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reads(clock: Clock) -> Reads:
    return Reads(clock)


def failing(*errors: Exception) -> object:
    raise errors[0]


def test_an_answer_is_asked_for_once_in_its_seconds(reads: Reads, clock: Clock) -> None:
    asked: list[int] = []
    for at, many in ((0, 1), (3.9, 1), (4.0, 2)):
        clock.now = 100 + at
        assert reads.read("jobs", 4, lambda: asked.append(1) or len(asked)).value == many  # type: ignore[func-returns-value]


def test_a_write_forgets_answers_and_failures(reads: Reads) -> None:
    assert reads.read("a", 60, lambda: 1).value == 1
    assert reads.read("b", 60, lambda: failing(NotFound(404, "none"))).problem is not None
    reads.forget()
    assert reads.read("a", 60, lambda: 2).value == 2
    assert reads.read("b", 60, lambda: 2).problem is None


def test_what_no_write_changes_is_not_forgotten(reads: Reads, clock: Clock) -> None:
    assert reads.read("who", 60, lambda: 1, is_lasting=True).value == 1
    reads.forget()
    assert reads.read("who", 60, lambda: 2, is_lasting=True).value == 1
    clock.now += 60
    assert reads.read("who", 60, lambda: 2, is_lasting=True).value == 2


def test_a_call_that_began_before_a_write_is_not_kept(reads: Reads) -> None:
    began, written = Event(), Event()

    def slow() -> str:
        began.set()
        assert written.wait(5)
        return "old"

    with ThreadPoolExecutor() as threads:
        asked = threads.submit(reads.read, "job", 60, slow)
        assert began.wait(5)
        reads.forget()
        written.set()
        assert asked.result().value == "old"
    assert reads.read("job", 60, lambda: "new").value == "new"


def test_threads_that_ask_for_one_key_make_one_call(reads: Reads) -> None:
    together, made = Barrier(8), []

    def ask() -> object:
        together.wait(5)
        return reads.read("jobs", 60, lambda: made.append(1) or "all").value  # type: ignore[func-returns-value]

    with ThreadPoolExecutor(8) as threads:
        assert [one.result() for one in [threads.submit(ask) for _ in range(8)]] == ["all"] * 8
    assert len(made) == 1


def test_a_slow_key_makes_no_other_wait(reads: Reads) -> None:
    began, ended = Event(), Event()

    def slow() -> str:
        began.set()
        assert ended.wait(5)
        return "slow"

    with ThreadPoolExecutor() as threads:
        asked = threads.submit(reads.read, "slow", 60, slow)
        assert began.wait(5)
        assert reads.read("fast", 60, lambda: "fast").value == "fast"
        ended.set()
        assert asked.result().value == "slow"


def test_after_a_failure_the_last_answer_stays_with_its_age(reads: Reads, clock: Clock) -> None:
    reads.read("jobs", 4, lambda: "known")
    clock.now += 10
    seen = reads.read("jobs", 4, lambda: failing(NotFound(404, "gone")))
    assert (seen.value, seen.age) == ("known", 10.0)
    assert seen.problem is not None
    assert seen.problem.kind == "missing"


def test_a_failure_is_asked_about_again_after_seconds(reads: Reads, clock: Clock) -> None:
    reads.read("jobs", 4, lambda: failing(NotFound(404, "gone")))
    assert reads.read("jobs", 4, lambda: "there").value is None
    clock.now += 3
    assert reads.read("jobs", 4, lambda: "there") == ("there", None, 0.0)


def test_while_the_api_is_out_of_reach_no_key_asks(reads: Reads, clock: Clock) -> None:
    reads.read("jobs", 4, lambda: failing(NotReached("no route", 1)))
    other = reads.read("dead", 4, lambda: "there")
    assert other.problem is not None
    assert other.problem.kind == "offline"
    clock.now += 3
    assert reads.read("dead", 4, lambda: "there").value == "there"


def test_the_oldest_answers_are_dropped(reads: Reads) -> None:
    for number in range(3_000):
        reads.read(number, 60, lambda: "x")
    assert len(reads._entries) == 2_000
