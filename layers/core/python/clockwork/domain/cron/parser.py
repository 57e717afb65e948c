"""Parses cron expressions. The edge does so once per schedule; the compiled value is stored and needs no parser."""

import re
from functools import lru_cache
from typing import get_args

from clockwork.domain.cron.compiled import CompiledCron, DayMatch, DstGap, DstOverlap
from clockwork.domain.cron.days import matching_days
from clockwork.domain.cron.field_reader import DAY, FIELDS, HOUR, MINUTE, SECOND, WEEKDAY, FieldReader
from clockwork.domain.cron.invalid import Fault, InvalidCron

LONGEST_EXPRESSION = 256
#: The cost of an expression in a request, in units of about a microsecond: to compile it, and to work out its seconds.
COST_OF_EXPRESSION, COST_OF_CHARACTER = 100, 5
#: The size of the cache of compiled expressions. A request reads each of its expressions several times.
EXPRESSIONS_KEPT = 256
WHOLE = "expression"
ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
#: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
_OF_EVENTBRIDGE = re.compile(r"[ \t]*(cron|rate)[ \t]*\(", re.IGNORECASE)
_RATE = re.compile(r"[ \t]*rate[ \t]*\([ \t]*([0-9]{1,9})[ \t]+(minute|hour|day)s?[ \t]*\)[ \t]*$", re.IGNORECASE)
_SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}
_LENGTHS = {2: (28, 29), 4: (30,), 6: (30,), 9: (30,), 11: (30,)}


def cost_of(expression: str) -> int:
    """The work that an expression is to a request, told before it is compiled."""
    return COST_OF_EXPRESSION + COST_OF_CHARACTER * min(len(expression), LONGEST_EXPRESSION)


def compile_cron(
    expression: str,
    *,
    dst_gap: DstGap = "run_at_gap_end",
    dst_overlap: DstOverlap = "first",
    day_match: DayMatch = "cron",
) -> CompiledCron:
    """The compiled form of an expression of five fields, of six with seconds first, or of an alias such as @daily.

    Raises `InvalidCron` with every fault, and no other error, whatever the text. It also refuses an expression that
    could not fire within 28 years. The full grammar is in docs/cron.md.
    """
    return compiled(expression, dst_gap, dst_overlap, day_match)


@lru_cache(EXPRESSIONS_KEPT)
def compiled(expression: str, dst_gap: DstGap, dst_overlap: DstOverlap, day_match: DayMatch) -> CompiledCron:
    """As `compile_cron`, with the last expressions in a cache."""
    _check_options(dst_gap=(dst_gap, DstGap), dst_overlap=(dst_overlap, DstOverlap), day_match=(day_match, DayMatch))
    words = _split(expression)
    names = (SECOND, *FIELDS) if len(words) == 6 else FIELDS
    texts = dict(zip(names, (text for _, text in words), strict=True))
    reader = FieldReader()
    for name, (column, text) in zip(names, words, strict=True):
        reader.read(name, text, column)
    if reader.faults:
        raise InvalidCron(reader.faults)
    cron = CompiledCron(
        **reader.masks,
        either_day=_either_day(texts[DAY], texts[WEEKDAY], day_match),
        follows_clock=texts[MINUTE].startswith("*") or texts[HOUR].startswith("*"),
        dst_gap=dst_gap,
        dst_overlap=dst_overlap,
    )
    if not _has_a_day(cron):
        column = words[-3][0]
        raise InvalidCron([Fault(DAY, column, "never fires: there is no such day within 28 years")])
    return cron


def _check_options(**options: tuple[str, object]) -> None:
    faults = [
        Fault(name, 1, f"{name} {value!r} is not one of {', '.join(get_args(choices))}")
        for name, (value, choices) in options.items()
        if value not in get_args(choices)
    ]
    if faults:
        raise InvalidCron(faults)


def _split(expression: str) -> list[tuple[int, str]]:
    """The fields with their columns (from 1), five or six of them. An alias becomes the fields that it stands for."""
    if len(expression) > LONGEST_EXPRESSION:
        detail = f"the expression has {len(expression)} characters, at most {LONGEST_EXPRESSION} are allowed"
        raise InvalidCron([Fault(WHOLE, LONGEST_EXPRESSION + 1, detail)])
    strange = [
        Fault(WHOLE, column, f"character U+{ord(character):04X} is not allowed: use printable ASCII")
        for column, character in enumerate(expression, 1)
        if not (" " <= character <= "~" or character == "\t")
    ]
    if strange:
        raise InvalidCron(strange)
    if _OF_EVENTBRIDGE.match(expression):
        raise InvalidCron([Fault(WHOLE, 1, _instead_of(expression))])
    words = [(match.start() + 1, match.group().upper()) for match in re.finditer(r"[^ \t]+", expression)]
    if words and words[0][1].startswith("@"):
        return _alias(words)
    if len(words) not in (5, 6):
        detail = f"expected 5 fields (minute hour day month weekday) or 6 (with seconds first), found {len(words)}"
        raise InvalidCron([Fault(WHOLE, words[5][0] if len(words) > 6 else 1, detail)])
    return words


def _instead_of(expression: str) -> str:
    """The replacement for an expression of EventBridge."""
    rate = _RATE.match(expression)
    if rate is not None:
        seconds = int(rate[1]) * _SECONDS[rate[2].lower()]
        return f'this is a rate of EventBridge: write "every": {{"seconds": {seconds}}} instead of "cron"'
    return (
        "this is an expression of EventBridge: write its fields without the word and the parentheses, and without the "
        "year; weekdays count from 0 (Sunday) to 6 here, not from 1 to 7, so rather write SUN to SAT"
    )


def _alias(words: list[tuple[int, str]]) -> list[tuple[int, str]]:
    column, name = words[0]
    fields = ALIASES.get(name.lower())
    if fields is None or len(words) > 1:
        spelled = "an alias stands alone" if fields else f"{name.lower()} is not known"
        detail = f"{spelled}: use one of {', '.join(ALIASES)}, or five or six fields"
        raise InvalidCron([Fault(WHOLE, column, detail)])
    return [(column, text) for text in fields.split()]


def _either_day(day: str, weekday: str, day_match: DayMatch) -> bool:
    """Whether one matching day field is enough. Never if a field is just ``*`` or ``?``: it restricts nothing."""
    if day_match == "and" or day in ("*", "?") or weekday in ("*", "?"):
        return False
    return day_match == "or" or not (day.startswith("*") or weekday.startswith("*"))


def _has_a_day(cron: CompiledCron) -> bool:
    """Whether any month of 28 years has a matching day: in that time each month starts on each weekday."""
    return any(
        matching_days(cron, first_weekday, length)
        for month in range(1, 13)
        if cron.months >> month & 1
        for length in _LENGTHS.get(month, (31,))
        for first_weekday in range(7)
    )
