"""The results as JSON and as the tables of docs/performance.md. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.arrivals.percentiles import percentile
from bench.reporting.tables import table
from bench.rivals.judging.account import Punctuality, Survival
from bench.rivals.judging.load import Load

if TYPE_CHECKING:
    from bench.rivals.running.turns import Killed, Turn

NOTHING = "-"
EVERYTHING, WORKERS = "store and worker", "workers alone"


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
        "killed": [_kill_as_json(kind, part, some) for kind, part, some, _ in _kills(result)],
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
    """The block in the documentation."""
    heads = ["system", "creates/s", "p50 ms", "p99 ms", "herd p99 ms", "CPU s per 1,000", "MB", f"MB, {load.pending:,}"]
    heads += ["early", "lost", "twice"]
    rows = [_row(name, result) for name, result in results.items()]
    kill_heads = ["system", "killed", "jobs", "of", "lost", "twice", "longest wait s", "restart s"]
    kills = [row for name, result in results.items() for row in _kill_rows(name, result)]
    said = [_wrapped(f"- {_name(name, result)}: {_said(result)}", "  ") for name, result in results.items()]
    return "\n\n".join(
        [_sizes(results, load), table(heads, rows), table(kill_heads, kills), "\n".join(said), _wrapped(machine)]
    )


def _sizes(results: Mapping[str, Result], load: Load) -> str:
    rounds = max((len(result.turns) for result in results.values()), default=0)
    return _wrapped(
        f"Rounds: {rounds}. Each: {load.per_second} jobs a second for {load.seconds} s, then {load.herd} on one "
        f"second, all created {load.lead_seconds} s ahead; kills with {load.killed_running} jobs in the middle and "
        f"{load.killed_pending} waiting, watched for {load.watch_seconds} s."
    )


def _row(name: str, result: Result) -> list[str]:
    head = _name(name, result)
    if not result.turns:
        return [f"{head}: {_why(result)}", *[NOTHING] * 10]
    both = [part for turn in result.turns for part in (turn.steady, turn.herd)]
    counts = [sum(one.early for one in both), sum(one.lost for one in both), sum(one.duplicated for one in both)]
    return [head, *[_text(value) for value in _figures(result).values()], *map(str, counts)]


def _name(name: str, result: Result) -> str:
    return f"`{name}`, {result.note}" if result.note else f"`{name}`"


def _why(result: Result) -> str:
    return f"not to be had ({_line(result.not_to_be_had)})" if result.not_to_be_had else "no turn ended"


def _said(result: Result) -> str:
    return " ".join([result.said, *(f"A turn failed: {_line(fault)}." for fault in result.faults)])


def _kill_rows(name: str, result: Result) -> Iterator[list[str]]:
    for kind, part, some, restart in _kills(result):
        figures = _kill_as_json(kind, part, some)
        counts = [str(figures[key]) for key in ("count", "lost", "duplicated")]
        yield [f"`{name}`", kind, part, *counts, _text(figures["longestWaitSeconds"]), f"{restart:.1f}"]


def _text(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def _wrapped(text: str, indent: str = "") -> str:
    """Prose in lines as long as the documentation's."""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _line(text: str) -> str:
    """Text on one line, short, without what would end a cell."""
    return " ".join(text.split())[:200].replace("|", "/")
