"""What the API promised and what its target saw: the two sides that an audit compares. Pure values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from clockwork.domain.instants import from_text

CANCELLED = "cancelled"


class Key(NamedTuple):
    """One occurrence, as both sides know it: its job and its due instant (epoch ms)."""

    job_id: str
    due_at: int


@dataclass(frozen=True, kw_only=True)
class Promise:
    """An occurrence that the API acknowledged; instants are epoch ms.

    `hopeless`: its target accepts no attempt, so it is to end DEAD. `cancel` is the answer to a cancel. Not `sure` are
    those fires of a recurring job of which nobody can say whether it had been created in time for them.
    """

    key: Key
    acknowledged_at: int
    record: str = "full"
    cancel: str = ""
    hopeless: bool = False
    sure: bool = True
    ordering_key: str = ""

    @property
    def expects_delivery(self) -> bool:
        """Nothing but an accepted attempt keeps it. What a cancel came too late for may or may not be delivered."""
        return self.sure and not self.cancel and not self.hopeless


@dataclass(frozen=True)
class Arrival:
    """One attempt as the target saw it; `at` (epoch ms) is its beginning, `accepted` what it was answered."""

    key: Key
    attempt: int
    at: int
    accepted: bool


def arrival_of(line: dict[str, str | int]) -> Arrival:
    """From what the target's process wrote down."""
    key = Key(str(line["jobId"]), from_text(str(line["dueAt"])))
    return Arrival(key, int(line["attempt"]), int(line["at"]), line["status"] == 200)
