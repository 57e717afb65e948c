"""Charts as shapes of an SVG: pure functions that say where each rectangle lies. The templates draw them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from clockwork_client.console import words
from clockwork_client.results import Execution, Ran

_STRIP_HEIGHT, _BAR_STEP, _BAR_WIDTH = 22, 6, 4
#: The river reaches so many minutes to each side of now.
RIVER_MINUTES = 30
_RIVER_WIDTH, _RIVER_HEIGHT, _GAP = 960.0, 132.0, 2.5
#: From the base line up.
_ORDER = ("ok", "skip", "run", "wait", "bad")
_TOLD = {"ok": "succeeded", "bad": "failed", "skip": "skipped", "run": "running", "wait": "waiting"}


#: An instant, a tone, and how many runs of it ended then or are under way.
Ended = tuple[datetime, str, int]
#: An instant, and how many runs start in its minute from then on.
Coming = tuple[datetime, int]


class Bar(NamedTuple):
    """A rectangle, with its tone, and the words that a pointer shows."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    says: str = ""


class Strip(NamedTuple):
    """The last runs of a job, oldest first, and what they are in words."""

    bars: tuple[Bar, ...]
    width: int
    height: int
    says: str


class Column(NamedTuple):
    """One minute of the river."""

    x: float
    width: float
    bars: tuple[Bar, ...]
    says: str


class Tick(NamedTuple):
    """A label under the river."""

    at: datetime
    text: str


class River(NamedTuple):
    """Half an hour to each side of now. `released` is how far the released part reaches beyond `now`, in its units."""

    columns: tuple[Column, ...]
    width: float
    height: float
    now: float
    released: float
    ticks: tuple[Tick, ...]
    past: Counter[str]
    ahead: int
    says: str


def strip(runs: Sequence[Execution | Ran], most: int) -> Strip:
    """Bars of the last runs, the newest first in `runs`: their height tells how long they took, their tone the end."""
    shown = list(reversed(runs[:most]))
    longest = max([words.took(one) or 0.0 for one in shown], default=0.0)
    bars = []
    for number, one in enumerate(shown):
        took = words.took(one)
        share = 0.7 if took is None or longest < 1 else (took / longest) ** 0.5
        height = max(4, round(_STRIP_HEIGHT * (0.25 + 0.75 * share)))
        says = f"{words.instant(one.due_at)}: {words.state(one.state)}, took {words.ms(took)}"
        x = (most - len(shown) + number) * _BAR_STEP
        bars.append(Bar(x, _STRIP_HEIGHT - height, _BAR_WIDTH, height, words.tone(one.state), says))
    good = sum(one.state == "SUCCEEDED" for one in shown)
    says = f"{good} of the last {words.plural(len(shown), 'run')} succeeded"
    return Strip(tuple(bars), most * _BAR_STEP, _STRIP_HEIGHT, says)


def shares(parts: Sequence[tuple[str, float]], width: float = 480.0) -> tuple[Bar, ...]:
    """Parts of a whole as one bar: each with its name and its share of the width."""
    whole = sum(value for _, value in parts)
    bars, x = [], 0.0
    for number, (name, value) in enumerate(parts):
        share = width * value / whole if whole else 0.0
        kind = "own" if name == "Clockwork" else f"cause{number % 5}"
        bars.append(Bar(round(x, 1), 0, round(share, 1), 12, kind, f"{name}: {words.ms(value)}"))
        x += share
    return tuple(bars)


def river(
    past: Iterable[Ended],
    ahead: Iterable[Coming],
    now: datetime,
    released_until: datetime | None,
    late: Mapping[datetime, str] = MappingProxyType({}),
) -> River:
    """Columns of a minute each. `ahead` are starts to come. `late` tells by minute how late runs started."""
    begin = now.replace(second=0, microsecond=0)
    ended: dict[int, Counter[str]] = {}
    for at, tone, count in past:
        ended.setdefault(_minute(at, begin), Counter())[tone] += count
    coming = Counter[int]()
    for at, count in ahead:
        coming[_minute(at, begin)] += count
    minutes = range(-RIVER_MINUTES, RIVER_MINUTES + 1)
    ended = {minute: counts for minute, counts in ended.items() if minute in minutes}
    coming = Counter({minute: count for minute, count in coming.items() if minute in minutes})
    step = _RIVER_WIDTH / len(minutes)
    top = max([sum(one.values()) + coming[minute] for minute, one in ended.items()] + list(coming.values()) + [4])
    told = {_minute(at, begin): says for at, says in late.items()}
    columns = [
        _column(minute, begin, ended.get(minute, Counter()), coming[minute], step, top, told.get(minute, ""))
        for minute in minutes
    ]
    total = sum(ended.values(), Counter[str]())
    offset = (now - begin).total_seconds() / 60
    reach = 0.0 if released_until is None else (released_until - now).total_seconds() / 60
    return River(
        columns=tuple(columns),
        width=_RIVER_WIDTH,
        height=_RIVER_HEIGHT,
        now=round((RIVER_MINUTES + offset) * step, 1),
        released=round(min(max(reach, 0.0), RIVER_MINUTES) * step, 1),
        ticks=tuple(_ticks(begin)),
        past=total,
        ahead=coming.total(),
        says=f"In the last {RIVER_MINUTES} minutes {words.plural(total['ok'], 'run')} succeeded and {total['bad']:,} "
        f"failed; {coming.total():,} are to come in the next {RIVER_MINUTES} minutes.",
    )


def _minute(at: datetime, begin: datetime) -> int:
    return int((at - begin).total_seconds() // 60)


def _ticks(begin: datetime) -> Iterable[Tick]:
    for minute in range(-RIVER_MINUTES, RIVER_MINUTES + 1, 10):
        at = begin + timedelta(minutes=minute)
        yield Tick(at, f"{at:%H:%M}")


def _column(minute: int, begin: datetime, ended: Counter[str], coming: int, step: float, top: int, late: str) -> Column:
    x, y, bars = (minute + RIVER_MINUTES) * step, _RIVER_HEIGHT, []
    for tone, count in [*((tone, ended[tone]) for tone in _ORDER), ("next", coming)]:
        if count:
            height = max(2.0, count / top * (_RIVER_HEIGHT - 12))
            y -= height
            bars.append(Bar(round(x, 1), round(y, 1), round(step - _GAP, 1), round(height, 1), tone))
    told = [f"{count:,} {_TOLD[tone]}" for tone in _ORDER if (count := ended[tone])]
    told += [late] if late and told else []
    told += [f"{coming:,} to come"] if coming else []
    says = f"{begin + timedelta(minutes=minute):%H:%M} UTC: {', '.join(told) or 'nothing'}"
    return Column(round(x, 1), round(step, 1), tuple(bars), says)
