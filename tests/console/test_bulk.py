"""Redrives and discards of many, which go on without the page that began them."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Event
from typing import NamedTuple

import pytest

from clockwork_client.console.bulk import MOST_AT_ONCE, BulkRuns, Run, TooMany
from clockwork_client.errors import NotCertain
from clockwork_client.handled import Handled, HandledDead
from clockwork_client.testing import Answer
from tests.console.scenes import Shop
from tests.console.visitor import Visitor


class Did(NamedTuple):
    matched: int
    changed: int
    next_token: str | None


@pytest.fixture
def runs() -> BulkRuns:
    return BulkRuns(lambda: datetime(2026, 3, 1, tzinfo=UTC), lambda: None)


class Steps:
    """A call that waits until the test lets it end, and answers with a token until the last one."""

    def __init__(self, many: int) -> None:
        self.tokens: list[str | None] = []
        self.left = many
        self.may_end, self.has_begun = Event(), Event()
        self.fails = False

    def __call__(self, token: str | None) -> Handled:
        self.tokens.append(token)
        self.has_begun.set()
        assert self.may_end.wait(5)
        if self.fails:
            raise NotCertain("no certain answer")
        self.left -= 1
        return Did(100, 90, f"after {self.left}" if self.left else None)


def ended(runs: BulkRuns, run: Run) -> str:
    runs.wait(run, 5)
    return run.state


def test_it_calls_until_there_is_no_token(runs: BulkRuns) -> None:
    steps = Steps(3)
    steps.may_end.set()
    run = runs.start("redrive", "shop", {}, steps)
    assert ended(runs, run) == "done"
    assert (run.matched, run.changed, run.calls, steps.tokens) == (300, 270, 3, [None, "after 2", "after 1"])


def test_it_stops_after_the_call_under_way_and_goes_on_from_there(runs: BulkRuns) -> None:
    steps = Steps(3)
    run = runs.start("redrive", "shop", {}, steps)
    assert steps.has_begun.wait(5)
    runs.stop(run)
    assert run.state == "stopping"
    steps.may_end.set()
    assert ended(runs, run) == "stopped"
    assert run.next_token == "after 2"
    runs.go_on(run)
    assert ended(runs, run) == "done"
    assert steps.tokens == [None, "after 2", "after 1"]
    assert run.changed == 270


def test_a_call_without_a_certain_answer_is_repeated_with_its_token(runs: BulkRuns) -> None:
    steps = Steps(2)
    steps.may_end.set()
    steps.fails = True
    run = runs.start("redrive", "shop", {}, steps)
    assert ended(runs, run) == "failed"
    assert run.problem is not None
    steps.fails = False
    runs.go_on(run)
    assert ended(runs, run) == "done"
    assert steps.tokens == [None, None, "after 1"]


def test_the_same_is_not_begun_twice_and_only_so_many_run_at_once(runs: BulkRuns) -> None:
    steps = Steps(1)
    first = runs.start("redrive", "shop", {"prefix": "a"}, steps)
    assert runs.start("redrive", "shop", {"prefix": "a"}, steps) is first
    for number in range(MOST_AT_ONCE - 1):
        runs.start("redrive", "shop", {"prefix": str(number)}, steps)
    with pytest.raises(TooMany):
        runs.start("discard", "shop", {}, steps)
    steps.left = 100
    steps.may_end.set()
    for run in runs.all():
        runs.stop(run)
        assert not ended(runs, run).endswith("ing")


def test_old_runs_are_forgotten_and_those_under_way_are_not(runs: BulkRuns) -> None:
    waiting, quick = Steps(1), Steps(1_000)
    quick.may_end.set()
    kept = runs.start("redrive", "shop", {"prefix": "kept"}, waiting)
    for number in range(80):
        run = runs.start("discard", "shop", {"prefix": str(number)}, lambda _: Did(1, 1, None))
        assert ended(runs, run) == "done"
    assert runs.find(kept.run_id) is kept
    assert len(runs.all()) <= 52
    waiting.may_end.set()
    assert ended(runs, kept) == "done"


def test_a_fault_of_the_program_ends_it_as_failed(runs: BulkRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr("threading.excepthook", told.append)
    run = runs.start("redrive", "shop", {}, lambda _: 1 / 0)  # type: ignore[arg-type,return-value]
    assert ended(runs, run) == "failed"
    assert len(told) == 1


def test_all_dead_runs_of_a_filter_are_redriven_from_the_page(shop: Shop, reader: Visitor) -> None:
    before = shop.dead()
    shop.make("crm/sync-later", shop.cw.jobs.get(shop.heartbeat.job_id).target, every=3_600)
    shop.v.on_deliver(lambda _: Answer(200))
    asked = reader.look("/dead/redrive?prefix=crm%2F")
    assert "Redrive 9 dead runs?" in asked.words
    assert "clockwork dead redrive --prefix 'crm/'" in asked.words
    answer = reader.submit("/dead/redrive?prefix=crm%2F", "/dead/redrive")
    (run,) = reader.context.bulk.all()
    reader.context.bulk.wait(run, 5)
    page = reader.look(f"/bulk/{run.run_id}").words
    assert answer.status == 200
    assert f"Done. {len(before)} changed of {len(before)} found so far." in page
    assert "It goes on if you close this page, and stops if you end the console." in page
    shop.v.advance(minutes=1)
    assert shop.dead() == []
    assert "Redrive of shop 9 changed done" in reader.look("/dead").words


def test_five_thousand_are_redriven_call_by_call(shop: Shop, reader: Visitor) -> None:
    left, tokens = 5_000, list[str | None]()

    def redrive(*, client_id: str, next_token: str | None, **_: object) -> HandledDead:
        nonlocal left
        tokens.append(next_token)
        left -= 100
        return HandledDead({"matched": 100, "changed": 100, **({"nextToken": str(left)} if left else {})})

    shop.cw.dead.redrive = redrive  # type: ignore[assignment]
    reader.submit("/dead/redrive", "/dead/redrive")
    (run,) = reader.context.bulk.all()
    reader.context.bulk.wait(run, 10)
    assert "Done. 5,000 changed of 5,000 found so far." in reader.get(f"/bulk/{run.run_id}").words
    assert len(tokens) == 50


def test_a_run_is_stopped_and_goes_on_by_its_buttons(shop: Shop, reader: Visitor) -> None:
    steps = Steps(2)
    shop.cw.dead.discard = lambda *, client_id, next_token, **_: steps(next_token)  # type: ignore[assignment]
    page = reader.submit("/dead/discard", "/dead/discard")
    assert "Running." in page.words
    (run,) = reader.context.bulk.all()
    assert "It stops after the call that is under way." in reader.submit("/bulk/1", "/bulk/1/stop").words
    steps.may_end.set()
    reader.context.bulk.wait(run, 5)
    stopped = reader.get("/bulk/1").words
    assert "Stopped. 90 changed of 100 found so far." in stopped
    assert "clockwork dead discard --next-token after 1" in stopped
    assert "It goes on." in reader.submit("/bulk/1", "/bulk/1/go-on").words
    reader.context.bulk.wait(run, 5)
    assert "Done. 180 changed of 200 found so far." in reader.get("/bulk/1").words
