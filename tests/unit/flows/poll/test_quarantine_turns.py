"""The groups of a quarantine take turns: none waits for the rows of another, and one that answers again is drained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import NewerFormat, Unavailable
from clockwork.domain.lifecycle.quarantine import STEP_MS, group_of
from clockwork.flows.poll.looking import LOOKED_FOR_MS
from clockwork.memory.world import MemoryClockwork
from tests.unit.flows.poll.test_quarantine import MINUTE_MS, Silent, kept, pointer_row, ready, visit

CALL_MS = 10


def slow(clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of a table takes CALL_MS from now on."""
    for owner, name in (
        (clockwork.jobs, "get"),
        *((clockwork.timeline, name) for name in ("read", "find", "forget")),
    ):
        inner = getattr(owner, name)

        def slowly(*asked: Any, _inner: Any = inner) -> Any:
            clockwork.clock.advance(CALL_MS)
            return _inner(*asked)

        monkeypatch.setattr(owner, name, slowly)


def refuse(clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch, newer: set[str]) -> None:
    """The jobs of these clients have a format that only a newer version reads."""
    inner = clockwork.jobs.get

    def get(refs: Sequence[tuple[str, str]]) -> Any:
        found = zip(refs, inner(refs), strict=True)
        return [NewerFormat("format 2") if client_id in newer else job for (client_id, _), job in found]

    monkeypatch.setattr(clockwork.jobs, "get", get)


def kept_of(clockwork: MemoryClockwork, client_id: str, *, holds: bool) -> int:
    group = group_of(client_id, "", holds=holds)
    return sum(key.startswith(group) for key in kept(clockwork))


def test_many_rows_that_nobody_can_read_leave_the_others_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    clockwork.timeline.put([pointer_row("rolled", number) for number in range(600)])
    others = [f"other-{number}" for number in range(20)]
    clockwork.timeline.put([pointer_row(one, 2_000 + number) for number, one in enumerate(others)])
    newer = {"rolled", *others}
    refuse(clockwork, monkeypatch, newer)
    slow(clockwork, monkeypatch)
    assert visit(clockwork).quarantined == 620
    newer -= set(others)
    visit(clockwork)
    assert len(kept(clockwork)) == kept_of(clockwork, "rolled", holds=False) == 600


def test_a_flood_that_answers_again_leaves_the_others_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    others = [f"other-{number}" for number in range(8)]
    clockwork.timeline.put([pointer_row("out", number) for number in range(4_500)])
    clockwork.timeline.put([pointer_row(one, 9_000 + number) for number, one in enumerate(others)])
    silent = Silent(clockwork, monkeypatch, "out", *others)
    for _ in range(STEP_MS // MINUTE_MS + 2):
        visit(clockwork)
    assert len(kept(clockwork)) == 4_508
    silent.client_ids.clear()
    slow(clockwork, monkeypatch)
    visit(clockwork)
    assert len(kept(clockwork)) == kept_of(clockwork, "out", holds=True) < 4_500


def test_a_client_that_answers_again_after_hours_is_drained_in_a_few_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    clockwork.timeline.put([pointer_row("out", number) for number in range(2_000)])
    silent = Silent(clockwork, monkeypatch, "out")
    for _ in range(180):
        visit(clockwork)
    silent.client_ids.clear()
    slow(clockwork, monkeypatch)
    took_ms = []
    for _ in range(3):
        began_at = clockwork.clock.at + MINUTE_MS
        visit(clockwork)
        took_ms.append(clockwork.clock.at - began_at)
    assert kept(clockwork) == []
    assert max(took_ms) < LOOKED_FOR_MS + 500


def test_one_job_that_gives_no_answer_keeps_no_other_one_waiting_among_hundreds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = ready()
    clockwork.timeline.put([pointer_row("out", number) for number in range(400)])
    silent = Silent(clockwork, monkeypatch, "out")
    visit(clockwork)

    def answers(refs: Sequence[tuple[str, str]]) -> Any:
        if ("out", "job-7") in refs:
            raise Unavailable("its item is hot")
        return silent._inner(refs)

    monkeypatch.setattr(clockwork.jobs, "get", answers)
    slow(clockwork, monkeypatch)
    assert visit(clockwork).quarantined == 1
    assert [key.split("/")[1] for key in kept(clockwork)] == [pointer_row("out", 7).key]


def test_rows_that_nobody_can_read_keep_no_other_row_of_their_client_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    clockwork.timeline.put([pointer_row("rolled", number) for number in range(60)])
    refuse(clockwork, monkeypatch, {"rolled"})
    visit(clockwork)
    inner = clockwork.jobs.get
    monkeypatch.undo()
    mended = ("rolled", "job-33")
    whole = clockwork.jobs.get
    monkeypatch.setattr(clockwork.jobs, "get", lambda refs: whole(refs) if mended in refs else inner(refs))
    slow(clockwork, monkeypatch)
    visit(clockwork)
    assert (len(kept(clockwork)), kept_of(clockwork, "rolled", holds=False)) == (59, 59)


def test_groups_of_which_nothing_comes_leave_their_time_to_one_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    rolled = [f"rolled-{number}" for number in range(10)]
    for place, one in enumerate(rolled):
        clockwork.timeline.put([pointer_row(one, 10_000 + 100 * place + number) for number in range(50)])
    clockwork.timeline.put([pointer_row("out", number) for number in range(1_000)])
    newer = {*rolled, "out"}
    refuse(clockwork, monkeypatch, newer)
    visit(clockwork)
    newer.remove("out")
    slow(clockwork, monkeypatch)
    visit(clockwork)
    assert kept_of(clockwork, "out", holds=False) == 0


def test_none_of_several_clients_whose_calls_take_seconds_has_the_first_turn_of_every_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = ready()
    clients = [f"out-{number}" for number in range(5)]
    clockwork.timeline.put([pointer_row(one, number) for number, one in enumerate(clients)])
    silent = Silent(clockwork, monkeypatch, *clients)
    visit(clockwork)
    asked: set[str] = set()

    def hangs(refs: Sequence[tuple[str, str]]) -> Any:
        clockwork.clock.advance(LOOKED_FOR_MS)
        asked.update(client_id for client_id, _ in refs)
        return silent(refs)

    monkeypatch.setattr(clockwork.jobs, "get", hangs)
    for _ in range(STEP_MS // MINUTE_MS - 1):
        visit(clockwork)
    assert len(asked) >= 3


def test_a_client_is_met_in_each_look_however_many_rows_of_unknown_clients_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each row of a newer format is a group by itself, as after a version was rolled back."""
    clockwork, clients = ready(), [f"out-{number}" for number in range(8)]
    rows = [pointer_row("newer", number) for number in range(300)]
    clockwork.timeline.put([msgspec.structs.replace(row, blob=b"\xff" + row.blob[1:]) for row in rows])
    clockwork.timeline.put([pointer_row(client, 9_000 + number) for number, client in enumerate(clients)])
    silent = Silent(clockwork, monkeypatch, *clients)
    assert visit(clockwork).quarantined == 308
    for client in clients:
        silent.client_ids.remove(client)
        visit(clockwork)
        assert kept_of(clockwork, client, holds=True) == 0
