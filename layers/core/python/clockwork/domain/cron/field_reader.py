"""Reads the fields of a cron expression into bitmasks and notes every fault with its column."""

import re
from collections import defaultdict
from typing import Any, NamedTuple

from clockwork.domain.cron.invalid import Fault

SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY = "second", "minute", "hour", "day of month", "month", "day of week"
FIELDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


class _Field(NamedTuple):
    mask: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()

    @property
    def span(self) -> int:
        """How many different values there are. Sunday's two numbers, 0 and 7, count as one."""
        return self.highest - self.lowest + (0 if self.names and self.lowest == 0 else 1)

    @property
    def spelled(self) -> str:
        names = f" or {self.names[0]}-{self.names[-1]}" if self.names else ""
        return f"{self.lowest}-{self.highest}{names}"


_FIELDS = {
    SECOND: _Field("seconds", 0, 59),
    MINUTE: _Field("minutes", 0, 59),
    HOUR: _Field("hours", 0, 23),
    DAY: _Field("days", 1, 31),
    MONTH: _Field(
        "months", 1, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
    ),
    WEEKDAY: _Field("weekdays", 0, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")),
}
_RANDOM = re.compile(r"[RH](\(.*\)?)?")
_NEAREST = re.compile(r"(\w+)W")
_LAST_WEEKDAY = re.compile(r"L(\w+)|(\w+)L")


class FieldReader:
    """Reads fields (in capitals) one by one and collects `masks` and `faults`. A field with faults lacks some masks.

    `masks` holds bitmasks and flags under the names of `CompiledCron`: of each field its plain values, and each kind of
    special item in a mask or flag of its own.
    """

    def __init__(self) -> None:
        self.masks: defaultdict[str, Any] = defaultdict(int)
        self.faults: list[Fault] = []

    def read(self, name: str, text: str, column: int) -> None:
        """Read the field `name`, whose text begins at `column` of the expression."""
        values = 0
        if text == "?" and name in (DAY, WEEKDAY):
            text = "*"
        for item in text.split(","):
            values |= self._read_item(name, item, column)
            column += len(item) + 1
        self.masks[_FIELDS[name].mask] = (values | values >> 7) & 127 if name == WEEKDAY else values

    def _read_item(self, name: str, item: str, column: int) -> int:
        """Bits of a plain item; 0 for a special one, which has a mask of its own."""
        special = {DAY: self._special_day, WEEKDAY: self._special_weekday}.get(name)
        return 0 if special is not None and special(item, column) else self._plain(name, item, column)

    def _special_day(self, item: str, column: int) -> bool:
        """Reads ``L``, ``LW`` and ``15W``; False if the item is none of these."""
        nearest = _NEAREST.fullmatch(item)
        if item == "L":
            self.masks["last_day"] = True
        elif item == "LW":
            self.masks["last_working_day"] = True
        elif nearest:
            self.masks["nearest_working_days"] |= 1 << self._value(DAY, nearest[1], column)
        elif re.fullmatch(r"L-\d+.*", item):
            self._fault(DAY, column, f"{item!r} is not supported: days before the last cannot be counted")
        else:
            return False
        return True

    def _special_weekday(self, item: str, column: int) -> bool:
        """Reads ``5L``, ``L5`` and ``MON#2``; False if the item is none of these."""
        last = _LAST_WEEKDAY.fullmatch(item)
        if "#" in item:
            weekday, _, week = item.partition("#")
            value = self._value(WEEKDAY, weekday, column) % 7
            if re.fullmatch(r"[1-5]", week):
                self.masks["nth_weekdays"] |= 1 << (7 * (int(week) - 1) + value)
            else:
                self._fault(WEEKDAY, column + len(weekday) + 1, f"week {week!r} after # is out of 1-5")
        elif last:
            position = column + (1 if last[1] else 0)
            self.masks["last_weekdays"] |= 1 << self._value(WEEKDAY, last[1] or last[2], position) % 7
        elif item == "L":
            self._fault(WEEKDAY, column, "L needs a weekday here, such as 5L; write SAT for Saturdays")
        else:
            return False
        return True

    def _plain(self, name: str, item: str, column: int) -> int:
        """Bits of ``*``, ``5``, ``1-5`` and any of these with ``/step``."""
        field = _FIELDS[name]
        base, slash, step_text = item.partition("/")
        first, dash, last = base.partition("-")
        if base == "*":
            low, high = field.lowest, field.highest
        elif dash and not _RANDOM.fullmatch(base):
            known = len(self.faults)
            low, high = self._value(name, first, column), self._value(name, last, column + len(first) + 1)
            if low > high and len(self.faults) == known:
                self._fault(name, column, f"range {base} of {name} runs backwards: write two ranges with a comma")
        else:
            low = self._value(name, base, column)
            high = field.highest if slash else low
        step = self._step(name, step_text, column + len(base) + 1) if slash else 1
        return sum(1 << value for value in range(low, high + 1, step))

    def _step(self, name: str, text: str, column: int) -> int:
        span = _FIELDS[name].span
        if not re.fullmatch(r"[0-9]+", text):
            self._fault(name, column, f"step {text!r} of {name} is not a number")
        elif not 1 <= int(text) <= span:
            self._fault(name, column, f"step {text} of {name} is out of 1-{span}")
        else:
            return int(text)
        return 1

    def _value(self, name: str, text: str, column: int) -> int:
        """The value of a number or a name. A text that is neither, or out of range, is a fault: the field's lowest."""
        field = _FIELDS[name]
        if text in field.names:
            return field.lowest + field.names.index(text)
        if _RANDOM.fullmatch(text):
            self._fault(
                name, column, f"{text!r} in {name} is refused: random parts (R, H) fire at another time each time"
            )
        elif not re.fullmatch(r"[0-9]+", text):
            self._fault(name, column, f"{name} {text!r} is not one of {field.spelled}")
        elif not field.lowest <= int(text) <= field.highest:
            self._fault(name, column, f"{name} {text} is out of {field.lowest}-{field.highest}")
        else:
            return int(text)
        return field.lowest

    def _fault(self, name: str, column: int, detail: str) -> None:
        self.faults.append(Fault(name, column, detail))
