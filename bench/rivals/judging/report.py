"""The results as JSON and as the tables of docs/performance.md. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.arrivals.percentiles import percentile
from bench.reporting.tables import paragraph, table
from bench.rivals.judging.account import Punctuality, Survival
from bench.rivals.judging.load import Load

if TYPE_CHECKING:
    from bench.rivals.running.turns import Killed, Turn

NOTHING = "-"
EVERYTHING, WORKERS = "store and worker", "workers alone"
#: The figures of the page; `--json` has all.
_SHOWN = ("createsPerSecond", "p50Ms", "p99Ms", "herdP99Ms", "cpuSecondsPer1000", "memoryMb")


@dataclass(kw_only=True)
class Result:
    """The measurements of one system, the faults that ended its turns, and, if it is not to be had, the reason."""

    said: str
    note: str = ""
    not_to_be_had: str = ""
    faults: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    kills: list[Killed] = field(default_factory=list)
    memory_pending_bytes: int | None = None


def as_json(results: Mapping[str, Result]) -> dict[str, Any]:
    """The object that is printed. A missing measurement is null; a system without results has the reason."""
    return {name: _as_json(result) for name, result in results.items()}


def _as_json(result: Result) -> dict[str, Any]:
    if result.not_to_be_had:
        return {"notToBeHad": result.not_to_be_had}
    killed = [one for kill in result.kills if not kill.workers_alone for one in (kill.running, kill.waiting)]
    both = [part for turn in result.turns for part in (turn.steady, turn.herd)]
    return {
        **_figures(result),
        "lostAfterKill": sum(one.lost for one in killed) if killed else None,
        "duplicatedAfterKill": sum(one.duplicated for one in killed) if killed else None,
        "note": result.note,
        "early": sum(one.early for one in both),
        "lost": sum(one.lost for one in both),
        "duplicated": sum(one.duplicated for one in both),
        "killed": [
            {**_kill_as_json(kind, part, some), "restartSeconds": restart}
            for kind, part, some, restart in _kills(result)
        ],
        "faults": result.faults,
    }


def _figures(result: Result) -> dict[str, float | None]:
    """The figures of the rounds: medians, and percentiles of all their jobs together."""
    steady = _late(turn.steady for turn in result.turns)
    herd = _late(turn.herd for turn in result.turns)
    pending = [] if result.memory_pending_bytes is None else [result.memory_pending_bytes / 2**20]
    return {
        "createsPerSecond": _median([turn.creates_per_second for turn in result.turns]),
        "p50Ms": _percentile(steady, 0.5),
        "p99Ms": _percentile(steady, 0.99),
        "herdP99Ms": _percentile(herd, 0.99),
        "cpuSecondsPer1000": _median([turn.cpu_seconds_per_1000 for turn in result.turns], 2),
        "memoryMb": _median([turn.memory_bytes / 2**20 for turn in result.turns]),
        "memoryPendingMb": _median(pending),
    }


def _kill_as_json(kind: str, part: str, some: Sequence[Survival]) -> dict[str, Any]:
    waits = [one.longest_wait_seconds for one in some if one.longest_wait_seconds is not None]
    return {
        "killed": kind,
        "jobs": part,
        "count": sum(one.jobs for one in some),
        "lost": sum(one.lost for one in some),
        "duplicated": sum(one.duplicated for one in some),
        "longestWaitSeconds": round(max(waits), 1) if waits else None,
    }


def _kills(result: Result) -> Iterator[tuple[str, str, list[Survival], float]]:
    """By what was killed and by what the jobs did then: all rounds' survivals, and the median of the restarts (s)."""
    for alone, kind in ((False, EVERYTHING), (True, WORKERS)):
        kills = [kill for kill in result.kills if kill.workers_alone == alone]
        if kills:
            restart = median(kill.restart_seconds for kill in kills)
            yield kind, "waiting", [kill.waiting for kill in kills], restart
            yield kind, "in the middle", [kill.running for kill in kills], restart


def _late(some: Iterable[Punctuality]) -> list[float]:
    return sorted(ms for one in some for ms in one.late_ms)


def _percentile(ordered: Sequence[float], share: float) -> float | None:
    return round(percentile(ordered, share), 1) if ordered else None


def _median(values: Sequence[float], digits: int = 1) -> float | None:
    return round(median(values), digits) if values else None


def page(results: Mapping[str, Result], load: Load, machine: str) -> str:
    """The block in the documentation: one row a system, and a line about each."""
    heads = [
        "system",
        "creates/s",
        "p50 ms",
        "p99 ms",
        "herd p99 ms",
        "CPU s per 1,000",
        "MB",
        "early",
        "lost",
        "twice",
    ]
    for kind in ("all killed", WORKERS):
        heads += [f"{kind}: lost", "twice", "longest wait s"]
    rows = [_row(name, result) for name, result in results.items()]
    said = " ".join(f"`{name}`: {_said(result)}" for name, result in results.items())
    return f"{table(heads, rows)}\n\n{paragraph(f'{_sizes(results, load)} {said} {machine}')}"


def _sizes(results: Mapping[str, Result], load: Load) -> str:
    rounds = max((len(result.turns) for result in results.values()), default=0)
    return (
        f"Rounds: {rounds}. Each: {load.per_second} jobs a second for {load.seconds} s, then {load.herd} on one "
        f"second, all created {load.lead_seconds} s ahead; kills with {load.killed_pending} jobs waiting + "
        f"{load.killed_running} in the middle, watched for {load.watch_seconds} s."
    )


def _row(name: str, result: Result) -> list[str]:
    head = _name(name, result)
    kills = [cell for kind in (EVERYTHING, WORKERS) for cell in _kill_cells(result, kind)]
    if not result.turns:
        return [f"{head}: {_why(result)}", *[NOTHING] * (len(_SHOWN) + 3), *kills]
    both = [part for turn in result.turns for part in (turn.steady, turn.herd)]
    counts = [sum(one.early for one in both), sum(one.lost for one in both), sum(one.duplicated for one in both)]
    figures = _figures(result)
    return [head, *[_text(figures[one]) for one in _SHOWN], *map(str, counts), *kills]


def _kill_cells(result: Result, kind: str) -> list[str]:
    """Jobs lost and done twice, those that waited before those in the middle; and the longest wait of any."""
    found = [_kill_as_json(kind, part, some) for killed, part, some, _ in _kills(result) if killed == kind]
    if not found:
        return [NOTHING] * 3
    waits = [one["longestWaitSeconds"] for one in found if one["longestWaitSeconds"] is not None]
    counts = [" + ".join(str(one[key]) for one in found) for key in ("lost", "duplicated")]
    return [*counts, _text(max(waits, default=None))]


def _name(name: str, result: Result) -> str:
    return f"`{name}`, {result.note}" if result.note else f"`{name}`"


def _why(result: Result) -> str:
    return f"not to be had ({_line(result.not_to_be_had)})" if result.not_to_be_had else "no turn ended"


def _said(result: Result) -> str:
    return " ".join([result.said, *(f"A turn failed: {_line(fault)}." for fault in result.faults)])


def _text(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def _line(text: str) -> str:
    """Text on one line, short, without what would end a cell."""
    return " ".join(text.split())[:200].replace("|", "/")
