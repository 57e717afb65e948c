"""Retention: the end of a record's life. A record outlives every row and message that may name its execution.

A message or row without a record starts its execution as if for the first time. If a CANCELLED or SUCCEEDED record
expired first, the execution would be delivered after all.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import Execution, State
from clockwork.domain.timeline import NEVER

#: Clocks differ, and TTL counts whole seconds: a record is kept for this much longer (ms) than seems necessary.
SPARE_MS = 600_000


class Retention(msgspec.Struct, frozen=True):
    """How long a deployment keeps things (ms).

    `records_ms`: a record, once its execution has ended. `rows_ms`: a timeline row, past the instant at which it is to
    run. `messages_ms`: a message in a queue or in its dead-letter queue, since it was sent; with pools, the check that
    is put beside it.
    """

    records_ms: int
    rows_ms: int
    messages_ms: int

    @property
    def named_ms(self) -> int:
        """How long (ms) after it was to run for the last time an execution may still be named by a row or message.

        The row may wait for its poller until its own end, and the message that the poller then sends for as long as its
        queue keeps it. A message that is sent anew later than `rows_ms` after its occurrence came due is sent by a
        deliverer that has looked at the record before (`is_to_be_looked_at`).
        """
        return self.rows_ms + self.messages_ms + SPARE_MS

    def kept(self, before: Execution | None, after: Execution, now: int) -> Execution:
        """The record `after`, which replaces `before` at `now` (ms), kept while any row or message may name it.

        Its `expires_at` is the writer's wish, or later. It is NEVER while a parked row names the record, since a
        client's pause has no bound. A cancel leaves that row in its place. The flow that deletes the row, or meets the
        message that it became, gives the record its end (`ending`).
        """
        if after.state is State.PARKED or _is_cancelled_in_its_row(before, after):
            return msgspec.structs.replace(after, expires_at=NEVER)
        last_at = max(now, after.due_at, *(_last_instants(one) for one in (before, after) if one is not None))
        wished_at = now + self.records_ms if after.expires_at == NEVER else after.expires_at
        return msgspec.structs.replace(after, expires_at=max(wished_at, last_at + self.named_ms))

    def is_to_be_looked_at(self, due_since: int, now: int) -> bool:
        """Whether a message for an occurrence of `due_since` (ms) is so old that its record may expire first.

        A flow that sends the message anew has to read the record first, and to renew it.
        """
        return now > due_since + self.rows_ms

    def is_to_be_renewed(self, stored: Execution, now: int) -> bool:
        """Whether a record that waits would go before a message that is sent now. Renewed, it lasts `rows_ms` more."""
        return stored.expires_at != NEVER and stored.expires_at < now + self.messages_ms + SPARE_MS


def ending(stored: Execution, expires_at: int) -> Execution | None:
    """The record of an execution that was cancelled while it was parked, from now on with an end: `expires_at` (ms).

    None if it needs no change: it has an end already, or has not ended.
    """
    return stored.changed(expires_at=expires_at) if stored.is_final and stored.expires_at == NEVER else None


def _is_cancelled_in_its_row(before: Execution | None, after: Execution) -> bool:
    return before is not None and before.state is State.PARKED and after.state is State.CANCELLED


def _last_instants(record: Execution) -> int:
    """The last instant (ms) at which the execution is to run, or its claim ends, as far as its record knows."""
    return max(record.next_attempt_at or 0, record.claim_until or 0)
