"""Retention: the end of a record's life. A record outlives every row and message that may name its execution.

A message or row without a record starts its execution as if for the first time. If a CANCELLED or SUCCEEDED record
expired first, the execution would be delivered after all.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.domain.policies import LONGEST_MAX_AGE_SECONDS

#: Clocks differ, and TTL counts whole seconds: a record is kept for this much longer (ms) than seems necessary.
SPARE_MS = 600_000
#: Nothing stays parked for longer (ms): fourteen days. Then the sweeper ends it as DEAD, and its client may redrive it.
PARKED_MS = 14 * DAY_MS
#: No retry starts later (ms) than this after its execution came due.
RETRIED_MS = LONGEST_MAX_AGE_SECONDS * 1000


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

        Its `expires_at` is the wish of its writer, or later. A record that was parked outlives its row, which lies for
        PARKED_MS at the most: a cancel, or a duplicate that starts the execution, leaves the row in its place.
        A record at level `none` outlives any retry: a duplicate of the first message may send one behind this save.
        """
        last_at = max(now, after.due_at, *(_last_instants(one) for one in (before, after) if one is not None))
        if after.budget.unclaimed:
            last_at = max(last_at, now + RETRIED_MS)
        ends = [after.expires_at, last_at + self.named_ms]
        if before is not None and before.state is State.PARKED:
            ends += [before.expires_at, now + self.records_ms]
        return msgspec.structs.replace(after, expires_at=max(ends))

    def is_to_be_looked_at(self, due_since: int, now: int) -> bool:
        """Whether a message for an occurrence of `due_since` (ms) is so old that its record may expire first.

        A flow that sends the message anew has to read the record first, and to renew it.
        """
        return now > due_since + self.rows_ms

    def may_owe_callback(self, dead_at: int, now: int) -> bool:
        """Whether a message may be left that was to place the callback of a death at `dead_at` (ms).

        A later message is none of that death. By then the record of the callback may have gone, and its row would call
        back once more.
        """
        return now <= dead_at + self.messages_ms + SPARE_MS

    def is_to_be_renewed(self, stored: Execution, now: int) -> bool:
        """Whether a record that waits would go before a message that is sent now. Renewed, it lasts `rows_ms` more."""
        return stored.expires_at < now + self.messages_ms + SPARE_MS


def _last_instants(record: Execution) -> int:
    """The last instant (ms) at which the execution is to run or be unparked, or its claim ends, as its record knows."""
    unparked_at = 0 if record.parking.at is None else record.parking.at + PARKED_MS
    return max(record.waits.next_attempt_at or 0, 0 if record.claim is None else record.claim.until, unparked_at)
