"""Parses the `exclude` list of a schedule: dates and cron expressions, as text."""

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from msgspec.structs import replace

from clockwork.domain.cron.compiled import ALL_SECONDS, CompiledCron
from clockwork.domain.cron.exclusion import Exclusion
from clockwork.domain.cron.invalid import InvalidCron
from clockwork.domain.cron.parser import compile_cron, cost_of

MOST_ENTRIES = 100
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH = date(1970, 1, 1)


#: The cost of a date, in the units of `parser.COST_OF_EXPRESSION`.
COST_OF_DATE = 2


class ExcludeFault(NamedTuple):
    """One fault of an entry; `entry` counts from 0."""

    entry: int
    detail: str

    def __str__(self) -> str:
        return f"exclude entry {self.entry}: {self.detail}"


class InvalidExclude(ValueError):
    """The `exclude` list is refused; `faults` lists every fault of it."""

    def __init__(self, faults: list[ExcludeFault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = tuple(faults)


def cost_of_exclude(entries: Sequence[str]) -> int:
    """The work that a list is to a request, told before it is parsed (units as of `parser.cost_of`)."""
    return sum(COST_OF_DATE if _DATE.fullmatch(entry) else cost_of(entry) for entry in entries)


def parse_exclude(entries: Sequence[str]) -> Exclusion:
    """The exclusion of up to 100 entries, each a date ``YYYY-MM-DD`` or a cron expression. Raises `InvalidExclude`."""
    if len(entries) > MOST_ENTRIES:
        detail = f"{len(entries)} entries, at most {MOST_ENTRIES} are allowed"
        raise InvalidExclude([ExcludeFault(MOST_ENTRIES, detail)])
    days: set[int] = set()
    crons: list[CompiledCron] = []
    faults: list[ExcludeFault] = []
    for index, entry in enumerate(entries):
        try:
            if _DATE.fullmatch(entry):
                days.add((date.fromisoformat(entry) - _EPOCH).days)
            else:
                crons.append(_whole_minutes(entry))
        except InvalidCron as invalid:
            faults += [ExcludeFault(index, str(fault)) for fault in invalid.faults]
        except ValueError:
            faults.append(ExcludeFault(index, f"{entry} is not a date of the calendar"))
    if faults:
        raise InvalidExclude(faults)
    return Exclusion(tuple(sorted(days)), tuple(crons))


def _whole_minutes(expression: str) -> CompiledCron:
    cron = compile_cron(expression)
    return cron if len(expression.split()) == 6 else replace(cron, seconds=ALL_SECONDS)
