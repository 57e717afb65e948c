"""The ports of a machine besides tables and queues: clock, random numbers, secrets, starting pollers, delivery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from clockwork.domain.executions import Outcome
from clockwork.domain.releases import Delivery


class Clock(Protocol):
    """The wall clock of one machine. Clocks of two machines differ."""

    def now(self) -> int:
        """The current instant, rounded down to ms."""

    def hold_until(self, at: int) -> None:
        """Return when `now() >= at`, at once if it is already."""


class Random(Protocol):
    """The source of all values that must not be predictable, or must not come twice."""

    def token(self) -> str:
        """22 characters of base64url that nobody can guess and that never come again (128 bits)."""

    def below(self, count: int) -> int:
        """An evenly drawn whole number, 0 <= number < count."""

    def fraction(self) -> float:
        """An evenly drawn number, 0 <= number < 1."""


class SigningSecrets(Protocol):
    """The secrets that sign webhooks, of which nothing is asked but whether they exist."""

    def exists(self, name: str) -> bool:
        """Whether there is a secret of this name, and it is not about to be deleted. It need not be a usable one."""


class Invoker(Protocol):
    """Starts pollers, and the sweeper for one client.

    Pollers release `lookahead_seconds` ahead, or as far as the setting says if it is None.
    """

    def poll(self, partition_id: str, *, succeeds: bool = False, lookahead_seconds: int | None = None) -> None:
        """Ask for a poller of this shard now. It runs later or, rarely, never: then the next tick starts one.

        `succeeds`: the new poller waits for the lease of the poller that makes this call.
        """

    def poll_together(self, partition_ids: Sequence[str], *, lookahead_seconds: int | None = None) -> None:
        """Ask for one poller of several shards, in the same way."""

    def sweep(self, client_id: str) -> None:
        """Ask for a sweep of this client's parked occurrences now. It runs later or never: then the next sweep does."""


class Targets(Protocol):
    """Delivers occurrences to the targets of jobs.

    One object belongs to one deliverer at a time, and lives on with its environment.
    """

    def forget(self) -> None:
        """Give up the attempts under way, as after an invocation that ended with an error.

        None of them is collected any more, and their slots are free. They may still arrive at their targets.
        """

    def begin(self, slot: int, delivery: Delivery) -> None:
        """Start an attempt, or an errand, and return at once. `slot` names it among those under way.

        An errand starts nothing at the target. Its outcome is `told` if the service has said how it goes.

        Nothing is sent at its deadline or later, by the machine's clock, whatever held the process up before: its claim
        may have ended, and a cancel may have been answered. Such an attempt ends TIMED_OUT.
        """

    def collect(self) -> Sequence[tuple[int, Outcome]]:
        """Wait until at least one attempt under way has ended; returns all that have, by slot.

        Returns at once, empty, if none is under way. An attempt ends by its delivery's deadline whatever the target
        does. An attempt that never began, as nothing was free for it here, has an outcome PENDING: nothing was sent.
        Never raises: faults are outcomes.
        """
