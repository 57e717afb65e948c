"""Describes in an English sentence when a compiled schedule fires: plain, and true for every schedule."""

from collections.abc import Iterable, Sequence

from clockwork.domain.cron.compiled import ALL_DAYS, ALL_HOURS, ALL_MINUTES, ALL_MONTHS, ALL_WEEKDAYS, CompiledCron

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    *("", "January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MOST_TIMES = 6
_EACH_DAY = "every day"


def description(cron: CompiledCron) -> str:
    """One sentence, such as ``At 09:30, on Monday through Friday.`` Zone and daylight saving are not part of it."""
    times, day = _times(cron), _day(cron)
    parts = [times] if times.startswith("every") and day == _EACH_DAY else [times, day]
    if cron.months != ALL_MONTHS:
        parts.append("in " + _names(_values(cron.months), MONTHS))
    sentence = ", ".join(part for part in parts if part)
    return sentence[0].upper() + sentence[1:] + "."


def _times(cron: CompiledCron) -> str:
    hours, minutes, seconds = _values(cron.hours), _values(cron.minutes), _values(cron.seconds)
    if len(hours) * len(minutes) * len(seconds) <= _MOST_TIMES:
        clock = "{:02d}:{:02d}" if seconds == [0] else "{:02d}:{:02d}:{:02d}"
        return "at " + _list(clock.format(h, m, s) for h in hours for m in minutes for s in seconds)
    if cron.hours == ALL_HOURS:
        even = _step(minutes) if seconds == [0] else _step(seconds) if cron.minutes == ALL_MINUTES else 0
        if even:
            noun = "minute" if seconds == [0] else "second"
            return f"every {noun}" if even == 1 else f"every {even} {noun}s"
    minute_phrase = _phrase("minute", minutes, cron.minutes == ALL_MINUTES)
    hour_phrase = _phrase("hour", hours, cron.hours == ALL_HOURS)
    second_phrase = "" if seconds == [0] else _phrase("second", seconds, len(seconds) == 60) + " of "
    return f"at {second_phrase}{minute_phrase} past {hour_phrase}"


def _step(values: list[int]) -> int:
    """The step of values that divide sixty evenly from 0 on, so that they go on across the hour; 0 if none does."""
    step = values[1] - values[0] if len(values) > 1 else 0
    return step if step and 60 % step == 0 and values == list(range(0, 60, step)) else 0


def _phrase(noun: str, values: list[int], all_of_them: bool) -> str:
    if all_of_them:
        return f"every {noun}"
    step = values[1] - values[0] if len(values) > 2 else 0
    if step and values == list(range(values[0], values[-1] + 1, step)):
        every = "every" if step == 1 else f"every {_ordinal(step)}"
        return f"{every} {noun} from {values[0]} through {values[-1]}"
    return f"{noun}{'s' if len(values) > 1 else ''} {_list(map(str, values))}"


def _day(cron: CompiledCron) -> str:
    dates = _date_terms(cron) if cron.either_day or cron.days != ALL_DAYS else []
    weekdays = _weekday_terms(cron) if cron.either_day or cron.weekdays != ALL_WEEKDAYS else []
    if dates and weekdays and not cron.either_day:
        return f"on {' or '.join(dates)}, but only if that is {' or '.join(weekdays)}"
    return "on " + " or ".join(dates + weekdays) if dates or weekdays else _EACH_DAY


def _date_terms(cron: CompiledCron) -> list[str]:
    terms = [_phrase("day", _values(cron.days), cron.days == ALL_DAYS) + " of the month"] if cron.days else []
    if cron.nearest_working_days:
        days = _list(map(str, _values(cron.nearest_working_days)), "or")
        terms.append(f"the working day (Monday through Friday) nearest to day {days} of the month")
    if cron.last_day:
        terms.append("the last day of the month")
    if cron.last_working_day:
        terms.append("the last working day (Monday through Friday) of the month")
    return terms


def _weekday_terms(cron: CompiledCron) -> list[str]:
    terms = [_names(_values(cron.weekdays), WEEKDAYS)] if cron.weekdays else []
    terms += [f"the {_ordinal(bit // 7 + 1)} {WEEKDAYS[bit % 7]} of the month" for bit in _values(cron.nth_weekdays)]
    terms += [f"the last {WEEKDAYS[weekday]} of the month" for weekday in _values(cron.last_weekdays)]
    return terms


def _names(values: list[int], names: Sequence[str]) -> str:
    if len(values) > 2 and values[-1] - values[0] == len(values) - 1:
        return f"{names[values[0]]} through {names[values[-1]]}"
    return _list(names[value] for value in values)


def _list(words: Iterable[str], conjunction: str = "and") -> str:
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number // 10 != 1 else "th"
    return f"{number}{ending}"


def _values(bits: int) -> list[int]:
    return [bit for bit in range(bits.bit_length()) if bits >> bit & 1]
