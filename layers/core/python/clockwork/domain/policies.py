"""Policies: how a client asks for its jobs to be recorded, timed, retried and ended."""

from __future__ import annotations

from typing import Literal

import msgspec

RecordLevel = Literal["none", "full"]
Precision = Literal["millisecond", "second"]
Backoff = Literal["none", "fixed", "linear", "exponential"]
Jitter = Literal["none", "full"]

#: No attempt follows later (s) than this after an execution came due: fourteen days.
LONGEST_MAX_AGE_SECONDS = 1_209_600


class RetryPolicy(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """When a failed attempt is tried again."""

    max_attempts: int = 5
    backoff: Backoff = "exponential"
    initial_seconds: float = 5
    max_seconds: float = 3_600
    jitter: Jitter = "full"
    max_age_seconds: float = 86_400
    #: Status codes of webhooks after which an attempt is tried again, although they would be permanent failures.
    retry_status_codes: tuple[int, ...] = ()


class Budget(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The attempts that do not count against `maxAttempts`: those up to number `start`, which a redrive moves on.

    Of those since then, `handbacks` were handed back. `lost_workers` counts lost deliverers, which have a bound of
    their own.
    """

    start: int = 0
    handbacks: int = 0
    lost_workers: int = 0
    #: Its first attempt left no claim (record level `none`): a duplicate of the first message may yet start it again.
    unclaimed: bool = False
    #: The number of attempts that began something at their target which has ended since, by the completion `end`.
    begun: int = 0

    def after(self, attempt: int) -> Budget:
        """The budget with which no attempt counts up to this number."""
        return Budget(start=attempt, unclaimed=self.unclaimed, begun=self.begun)


NO_BUDGET, UNCLAIMED = Budget(), Budget(unclaimed=True)


class Completion(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The end of attempts that the target only accepts.

    `callback`: the receiver reports under the attempt's token, every `heartbeat_seconds` at least. `end`: the service
    of the target says that what the attempt began has ended. Either way the attempt ends `timeout_seconds` after its
    start.
    """

    mode: Literal["callback", "end"] = "callback"
    heartbeat_seconds: float = 300
    timeout_seconds: float = 86_400
