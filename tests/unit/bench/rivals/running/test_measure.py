"""A whole run over systems that are made up: what one of them does wrong is in the report, and no line is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.rivals.judging.load import Load
from bench.rivals.judging.report import as_json, page
from bench.rivals.running.measure import Measurement
from bench.rivals.systems.base import NotToBeHad
from tests.unit.bench.rivals.running.made_up import LOAD, MadeUp, World


def kind(**told: Any) -> type[MadeUp]:
    return type("Told", (MadeUp,), told)


def measured(*kinds: type[MadeUp], load: Load = LOAD) -> dict[str, Any]:
    return as_json(run(*kinds, load=load).results)


def run(*kinds: type[MadeUp], load: Load = LOAD) -> Measurement:
    MadeUp.world = World()
    measurement = Measurement(kinds, MadeUp.world, load, MadeUp.world, lambda _: None, at_once=1)
    measurement.run()
    return measurement


def test_a_system_that_does_all_right() -> None:
    figures = measured(kind(has_own_store=False))["made_up"]
    assert (figures["lost"], figures["early"], figures["duplicated"]) == (0, 0, 0)
    assert (figures["lostAfterKill"], figures["duplicatedAfterKill"]) == (0, 0)
    assert (figures["p50Ms"], figures["p99Ms"], figures["herdP99Ms"]) == (2, 2, 2)
    assert figures["createsPerSecond"] == 100
    assert (figures["memoryMb"], figures["memoryPendingMb"]) == (5, 6)
    assert [(one["jobs"], one["count"]) for one in figures["killed"]] == [("waiting", 12), ("in the middle", 6)]


def test_cpu_is_that_of_the_turn_by_a_thousand_jobs() -> None:
    figures = measured(kind())["made_up"]
    # 0.1 s a second, from the first create over lead, load and pause to the wait for duplicates: 20 + 5 + 3 s.
    assert figures["cpuSecondsPer1000"] == pytest.approx(2.8 * 1_000 / 25, abs=1)


def test_a_system_that_is_late_shows_it_in_both_parts() -> None:
    figures = measured(kind(late_ms=700))["made_up"]
    assert (figures["p50Ms"], figures["p99Ms"], figures["herdP99Ms"]) == (700, 700, 700)


def test_a_system_that_is_early_shows_it() -> None:
    assert measured(kind(late_ms=-30))["made_up"]["early"] == 2 * 25


def test_a_system_that_loses_a_job_though_left_alone_shows_it_in_each_round() -> None:
    assert measured(kind(forgets=1))["made_up"]["lost"] == 2


def test_a_system_that_loses_jobs_in_a_kill_shows_it() -> None:
    figures = measured(kind(forgets_after_kill=4, has_own_store=False))["made_up"]
    assert figures["lostAfterKill"] == 2 * 4
    assert {one["jobs"]: one["lost"] for one in figures["killed"]} == {"in the middle": 6, "waiting": 2}


def test_jobs_that_are_not_due_yet_are_waited_for_however_briefly_a_kill_is_watched() -> None:
    figures = measured(kind(has_own_store=False), load=replace(LOAD, watch_seconds=0))["made_up"]
    assert figures["lostAfterKill"] == 0


def test_a_system_that_doubles_jobs_after_a_kill_shows_it() -> None:
    figures = measured(kind(doubles_after_kill=5, has_own_store=False))["made_up"]
    assert (figures["lostAfterKill"], figures["duplicatedAfterKill"]) == (0, 2 * 5)


def test_workers_killed_alone_stand_apart() -> None:
    class Forgets(MadeUp):
        def restart(self, *, workers_alone: bool) -> None:
            if workers_alone:
                super().restart(workers_alone=True)

    figures = measured(Forgets)["made_up"]
    assert figures["lostAfterKill"] == 2 * 9
    assert {(one["killed"], one["lost"]) for one in figures["killed"]} == {
        ("store and worker", 12), ("store and worker", 6), ("workers alone", 0),
    }  # fmt: skip


def test_a_system_that_needs_all_cores_has_its_kills_behind_those_of_the_others() -> None:
    measurement = run(kind(name="whole", needs_all_cores=True), kind(name="other"))
    killed = {name: len(result.kills) for name, result in measurement.results.items()}
    assert killed == {"whole": 2 * LOAD.rounds, "other": 2 * LOAD.rounds}
    assert MadeUp.world.killed == ["other", "other", "whole", "whole"] * LOAD.rounds


def test_what_is_not_to_be_had_is_said_and_the_others_go_on() -> None:
    class Missing(MadeUp):
        name = "missing"

        @classmethod
        def install(cls) -> None:
            raise NotToBeHad("no | such\npackage")

    measurement = run(Missing, kind(), kind(name="other"))
    printed = as_json(measurement.results)
    assert printed["missing"] == {"notToBeHad": "no | such\npackage"}
    assert printed["other"]["lostAfterKill"] == printed["made_up"]["lostAfterKill"] == 0
    block = page(measurement.results, LOAD, "One machine.")
    assert "| `missing`: not to be had (no / such package) | - |" in block
    assert "| `other` | 100.0 | 2 |" in block


@pytest.mark.parametrize("call", ["start", "create", "usage"])
def test_a_system_that_breaks_down_keeps_its_line_and_says_why(call: str) -> None:
    def gone(*_: object, **__: object) -> None:
        raise RuntimeError("gone")

    broken = type("Broken", (MadeUp,), {"name": "broken", call: gone})
    measurement = run(broken, kind())
    printed = as_json(measurement.results)
    assert set(printed["broken"]["faults"]) == {"RuntimeError: gone"}
    assert printed["broken"]["p50Ms"] is None
    assert printed["broken"]["lostAfterKill"] == (0 if call == "usage" else None)
    assert printed["made_up"]["lostAfterKill"] == 0
    block = page(measurement.results, LOAD, "One machine.")
    assert "`broken`: no turn ended" in block
    assert "A turn failed: RuntimeError: gone." in block


def test_nobody_loses_a_line_in_the_tables() -> None:
    measurement = run(kind(name="loser", forgets=25, late_ms=9_000, forgets_after_kill=9), kind(note="not durable"))
    block = page(measurement.results, LOAD, "One machine.")
    assert block.count("| `loser` |") == 1
    (row,) = (line for line in block.splitlines() if line.startswith("| `loser` |"))
    assert row.endswith("| 18 + 0 | 0 + 0 | - | 18 + 0 | 0 + 0 | - |")
    assert block.count("| `made_up`, not durable |") == 1
    assert "| `loser` | 100.0 | - | - | - |" in block
    assert "One machine." in block
