"""Faults of a cron expression, and the error that carries them."""

from typing import NamedTuple


class Fault(NamedTuple):
    """One fault: the field that has it, its column in the expression (from 1), and a description."""

    field: str
    column: int
    detail: str

    def __str__(self) -> str:
        return f"{self.detail} (column {self.column})"


class InvalidCron(ValueError):
    """The cron expression is refused; `faults` lists every fault of it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = tuple(faults)
