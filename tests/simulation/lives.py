"""Watches the lives of records: none goes before the last thing that names its execution, or that would start anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from clockwork.domain.executions import Execution, State

Require = Callable[[bool, str, str, str], None]


class Lives:
    """Judges each record that TTL takes, and each that is made."""

    def __init__(self, require: Require) -> None:
        self._require = require

    def ends(self, record: Execution, named: Iterable[str]) -> None:
        """Judges a record that TTL takes while rows and messages name the executions `named`."""
        told = f"a record that says {record.state} goes before what names its execution"
        self._require(record.execution_id not in named, "I5", told, record.job_id)
        self._require(record.is_final, "I1", f"a record that says {record.state} goes", record.job_id)

    def begins(self, expired: Execution | None, made: Execution, *, is_recorded: bool = True) -> None:
        """Judges a record that is made of an execution that has none; `expired` is the one that TTL took, if any.

        `is_recorded`: it is at level `full`. At level `none` nobody looks at a record: of two copies of a message each
        comes to its own end, however long after the other. At any level two copies may both come too late. And the
        audit tells once more of the fires that a schedule has skipped.
        """
        if expired is None or not is_recorded or (expired.state, made.state) == (State.EXPIRED, State.EXPIRED):
            return
        is_told_again = expired.state is State.SKIPPED and made.end.skipped is not None
        self._require(is_told_again, "I4", f"it was {expired.state}, and is {made.state} anew", expired.job_id)
