"""The claims that the workers of pools believe they hold, judged beside the records: P1, P4, P6 and P7 of pools.

- P1: no two workers hold one execution at once, each by its own count of what it was told.
- P4: a claim whose worker falls silent is ended soon after its lease, with nobody alive who knows of it.
- P6: no handler starts before its instant by the clock of the environment that answered its worker.
- P7: no attempt follows one whose cancel was noted, and no outcome counts once the execution was cancelled.
"""

from __future__ import annotations

from collections import defaultdict

from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS

#: A claim that is over is ended so soon (ms) when nothing goes wrong: clocks differ, and the watch has to be delivered.
ENDED_WITHIN_MS = CLAIM_GRACE_MS + 15_000


class Labour:
    """The beliefs of all workers of a run. Each objection says what does not hold; None: nothing."""

    def __init__(self) -> None:
        #: Until when (ms, true time) the worker of each attempt believes that it holds it, by execution.
        self._held: defaultdict[str, dict[int, int]] = defaultdict(dict)
        #: The attempt at which a cancel was noted.
        self._noted: dict[str, int] = {}
        #: When (ms) an execution was cancelled that had been running.
        self._cancelled_at: dict[str, int] = {}

    def changed(self, before: Execution | None, after: Execution, now: int) -> None:
        """Notes a record that was stored in place of another."""
        if after.state is State.RUNNING and after.cancel_noted_at is not None:
            self._noted.setdefault(after.execution_id, after.attempt)
        if before is not None and before.state is State.RUNNING and after.state is State.CANCELLED:
            self._cancelled_at.setdefault(after.execution_id, now)

    def begins(self, execution_id: str, attempt: int, until: int, now: int) -> str | None:
        """Notes that a worker begins an attempt, which it believes to hold until then; the objection of P1."""
        held = self._held[execution_id]
        others = {number: end for number, end in held.items() if number != attempt and end > now}
        held[attempt] = until
        return None if not others else f"attempt {attempt} begins while workers hold {others} at {now}"

    def renewed(self, execution_id: str, attempt: int, until: int) -> None:
        """Notes that a worker was told that its claim holds until then."""
        if attempt in self._held[execution_id]:
            self._held[execution_id][attempt] = until

    def give_back(self, execution_id: str, attempt: int) -> None:
        """Notes that a worker has ended its attempt, whether or not anybody was told."""
        self._held[execution_id].pop(attempt, None)

    def early_objection(self, wanted_at: int, by_api: int) -> str | None:
        """The objection of P6 to a handler that starts at `by_api`, by the clock of the environment that answered."""
        return None if by_api >= wanted_at else f"its handler starts {wanted_at - by_api} ms early"

    def start_objection(self, execution_id: str, attempt: int) -> str | None:
        """The objection of P7 to an attempt that begins."""
        noted = self._noted.get(execution_id)
        if noted is None or attempt <= noted:
            return None
        return f"attempt {attempt} begins, and a cancel was noted at attempt {noted}"

    def outcome_objection(self, execution_id: str, record: Execution | None, said: State, sent_at: int) -> str | None:
        """The objection of P7 to an outcome, sent then, that counts. A repeat of the report of before may."""
        cancelled_at = self._cancelled_at.get(execution_id)
        is_repeat = record is not None and record.end.report is not None and record.end.report.state is said
        if cancelled_at is None or sent_at <= cancelled_at or is_repeat:
            return None
        return f"{said} counts, though the execution was cancelled {sent_at - cancelled_at} ms before it was told"

    def silence_objection(self, claimed: Execution, stored: Execution | None) -> str | None:
        """The objection of P4 to a record, at the time by which the claim of a silent worker has to be ended."""
        if stored is None or stored.state is not State.RUNNING or stored.claimant != claimed.claimant:
            return None
        return f"attempt {stored.attempt} is still claimed, {ENDED_WITHIN_MS} ms after its lease"
