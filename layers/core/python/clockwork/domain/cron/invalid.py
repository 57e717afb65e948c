"""What is wrong with a schedule as it was written."""

from typing import NamedTuple


class Fault(NamedTuple):
    """One thing that is wrong: in which field, at which column of the expression (from 1), and what."""

    field: str
    column: int
    detail: str

    def __str__(self) -> str:
        return f"{self.detail} (column {self.column})"


class InvalidCron(ValueError):
    """A cron expression that is refused; `faults` lists everything that is wrong with it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = tuple(faults)
