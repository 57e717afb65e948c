"""The promises of the API and the arrivals at its target: the two sides that an audit compares. Pure values."""

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

    `hopeless`: its target accepts no attempt, so it is to end DEAD. `cancel` is the API's answer to a cancel, empty if
    there was none. `sure` is False for a fire of a recurring job that may have been due before the job was created.
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
        """Only an accepted attempt keeps this promise. After a late cancel, a delivery may come or not."""
        return self.sure and not self.cancel and not self.hopeless


@dataclass(frozen=True)
class Arrival:
    """One attempt as the target saw it; `at` (epoch ms) is when it began, `accepted` whether it answered 200."""

    key: Key
    attempt: int
    at: int
    accepted: bool


def arrival_of(line: dict[str, str | int]) -> Arrival:
    """The arrival that one line of the target's log describes."""
    key = Key(str(line["jobId"]), from_text(str(line["dueAt"])))
    return Arrival(key, int(line["attempt"]), int(line["at"]), line["status"] == 200)
