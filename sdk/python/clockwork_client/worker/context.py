"""The context of a handler, beside the payload: its execution, its claim, its progress and its checkpoints."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from datetime import datetime, timedelta, timezone
from functools import partial
from threading import Lock
from typing import Any, Protocol

from clockwork_client.worker.attempt import Attempt, Cancelled, Checkpoint, Lost
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.executor import DaemonThreads

#: The longest message of a heartbeat.
LONGEST_MESSAGE = 256
#: The most checkpoints of `async` handlers that are stored at once. The threads of the loop stay free for the handlers.
_KEPT_AT_ONCE = 16
_keeping = DaemonThreads(_KEPT_AT_ONCE, "clockwork-checkpoint")


class Keeps(Protocol):
    """The store of checkpoints."""

    def keep(self, attempt: Attempt, checkpoint: Checkpoint) -> None:
        """Store it. Raises Lost if the claim is over."""


class Context:
    """One attempt, as its handler sees it. Heartbeats are sent by themselves: a handler need not send any.

    Each call raises Lost once the claim is over, and Cancelled once a cancel was asked for. A handler that does long
    work without a call looks at `lost` and `cancelled` itself.
    """

    def __init__(self, attempt: Attempt, clock: Clock, keeper: Keeps, wall: datetime | None = None) -> None:
        self._attempt = attempt
        self._clock = clock
        self._keeper = keeper
        left = timedelta(seconds=attempt.deadline_at - clock.now())
        self.execution_id = attempt.execution_id
        self.job_id = attempt.job_id
        #: The key of a named job; None for an anonymous one.
        self.job_key = attempt.job_key
        self.client_id = attempt.client_id
        #: Of a workflow's node: the executionId of its run, and its name. None for any other job.
        self.run = attempt.run
        self.node = attempt.node
        self.handler = attempt.handler
        #: The number of the attempt, from 1 on; it rises when work is handed back, too.
        self.attempt = attempt.number
        #: When the attempt ends by its job's `timeoutSeconds`, by this machine's clock, in UTC.
        self.deadline = (wall or datetime.now(timezone.utc)) + left
        #: The last checkpoint of this attempt or an earlier one; None if there is none.
        self.last_checkpoint: Checkpoint | None = attempt.checkpoint
        self._sequence = attempt.checkpoint.sequence if attempt.checkpoint else 0
        self._keeping = Lock()
        #: Whose turn it is among the coroutines of a loop, so that those that wait hold no thread.
        self._turns: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    @property
    def lost(self) -> bool:
        """Whether the claim is over: by the worker's own count, which needs no network, or as the API said."""
        return self._attempt.is_lost(self._clock.now())

    @property
    def cancelled(self) -> bool:
        """Whether somebody has asked for a cancel, by the answer to the last heartbeat."""
        return self._attempt.cancel_requested

    def heartbeat(self, progress: float | None = None, message: str | None = None) -> None:
        """Report the progress of the work, from 0 to 1, and a short message. Both are sent with the next heartbeat.

        Raises TypeError or ValueError for values that the API does not take.
        """
        self._attempt.tell(progress_of(progress), message_of(message))
        self._raise()

    def checkpoint(self, value: Any) -> None:
        """Keep a JSON value of up to 32 KiB, from which the next attempt goes on: see `last_checkpoint`.

        It is kept once this returns. Raises NotCertain if no certain answer came: keep it again, or go on without.
        Those that are kept at once are kept one after the other.
        """
        with self._keeping:
            self._raise()
            # A call without an answer may be done later: the next one has to stand behind it.
            self._sequence += 1
            kept = Checkpoint(self.attempt, self._sequence, value)
            self._keeper.keep(self._attempt, kept)
            self.last_checkpoint = kept

    async def checkpoint_async(self, value: Any) -> None:
        """As `checkpoint`, for handlers that are `async`: the loop goes on meanwhile."""
        async with self._turn():
            keep = partial(copy_context().run, self.checkpoint, value)
            await asyncio.get_running_loop().run_in_executor(_keeping, keep)

    def _turn(self) -> asyncio.Lock:
        """The lock of this loop; a plain handler may run several, one after the other."""
        loop = asyncio.get_running_loop()
        if self._turns is None or self._turns[0] is not loop:
            self._turns = loop, asyncio.Lock()
        return self._turns[1]

    def _raise(self) -> None:
        if self.lost:
            raise Lost(self._attempt.over or "the claim is over")
        if self.cancelled:
            raise Cancelled("a cancel was asked for")


def progress_of(progress: object) -> float | None:
    """Progress as JSON has it. Any kind of number is taken, as a Decimal or numpy's; True is none."""
    if progress is None:
        return None
    if isinstance(progress, (bool, str, bytes)):
        raise TypeError(f"the progress is {progress!r}; it has to be a number from 0 to 1")
    try:
        told = float(progress)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"the progress is {progress!r}; it has to be a number from 0 to 1") from error
    if not 0 <= told <= 1:
        raise ValueError(f"the progress is {progress!r}; it has to be from 0 to 1")
    return told


def message_of(message: object) -> str | None:
    """A message as JSON text.

    A character that is no Unicode, as in a file name of another encoding, becomes a question mark.
    """
    if message is None:
        return None
    if not isinstance(message, str):
        raise TypeError(f"the message is a {type(message).__name__}; it has to be a str")
    return message[:LONGEST_MESSAGE].encode("utf-8", "replace").decode()
