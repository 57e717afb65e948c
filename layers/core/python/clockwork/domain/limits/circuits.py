"""Circuit breakers: a target that keeps failing is left alone for a while, and its occurrences are set aside.

The ratio is kept per environment in memory; only the one that trips writes the circuit.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.domain.jobs import HttpTarget, Target
from clockwork.domain.targets.urls import InvalidUrl, parse

#: Outcomes looked back on.
WINDOW = 50
#: A circuit opens when this share of them were failures of the target's.
FAILING_SHARE = 0.5
LONGEST_COOLDOWN_MS = 600_000
#: How old what an environment knows of circuits may be (ms).
KNOWN_WITHIN_MS = 5_000


class Circuit(msgspec.Struct, frozen=True, rename="camel"):
    """A host that is left alone for one client. After `probe_at` (ms) one occurrence is let through as a probe.

    Closed circuits have no record. Every change raises `revision` by one. `waits`: that occurrence is known, and waits
    for its slot or a permit; one that has its slot sooner may go before it.
    """

    client_id: str
    host: str
    opened_at: int
    probe_at: int
    cooldown_ms: int
    revision: int = 1
    waits: bool = False


class Passage(Enum):
    """What a circuit lets happen to an occurrence."""

    FREE = auto()
    PROBE = auto()  # once the circuit with a later probe has been saved
    PARK = auto()


def host_of(target: Target) -> str | None:
    """The host that a circuit is about, as the Host header names it; None for a target that has no circuit.

    The URL is read by the parser that checked it at create. A URL which an older version stored and `parse` refuses by
    now has no circuit: its attempt fails for good, so that it says nothing of the host.
    """
    if not isinstance(target, HttpTarget):
        return None
    try:
        return parse(target.url).host_header
    except InvalidUrl:
        return None


def plan_passage(circuit: Circuit | None, now: int, *, has_slot: bool = False) -> tuple[Passage, Circuit | None]:
    """What may happen now, and for a probe the circuit to save first: who saves it is the only one to probe.

    `has_slot`: it is asked for an occurrence whose slot under a rate cap is now.
    """
    if circuit is None:
        return Passage.FREE, None
    if now < circuit.probe_at and not (has_slot and circuit.waits):
        return Passage.PARK, None
    cooldown_ms = min(2 * circuit.cooldown_ms, LONGEST_COOLDOWN_MS)
    later = msgspec.structs.replace(
        circuit, probe_at=now + cooldown_ms, cooldown_ms=cooldown_ms, revision=circuit.revision + 1, waits=False
    )
    return Passage.PROBE, later


def unprobed(probing: Circuit, probe_at: int) -> Circuit:
    """The circuit whose probe was not started after all: probed from `probe_at` (ms) on, cooled no longer for it."""
    cooldown_ms = probing.cooldown_ms // 2
    return msgspec.structs.replace(
        probing, probe_at=probe_at, cooldown_ms=cooldown_ms, revision=probing.revision + 1, waits=True
    )


class Ratio:
    """The last outcomes of one client at one host, as one environment saw them."""

    def __init__(self) -> None:
        self._failed: deque[bool] = deque(maxlen=WINDOW)

    def note(self, outcome: Outcome) -> None:
        """Count an outcome. What is wrong with one payload alone is no failure of the target's."""
        self._failed.append(outcome.state is not State.SUCCEEDED and not outcome.permanent)

    def is_failing(self, least: int) -> bool:
        """Whether the circuit should open, if there are at least so many outcomes: fewer say nothing.

        Never because of a success, which may be the first of many.
        """
        enough = len(self._failed) >= least
        return enough and self._failed[-1] and sum(self._failed) >= FAILING_SHARE * len(self._failed)

    def forget(self) -> None:
        """Begin anew."""
        self._failed.clear()
