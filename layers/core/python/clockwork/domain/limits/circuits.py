"""Circuit breakers: Clockwork stops calling a target that keeps failing for a while, and parks its occurrences.

Each environment keeps the ratio of failures in its memory. Only the environment whose ratio trips writes the circuit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from enum import Enum, auto

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Deliver
from clockwork.targets.target import StoredTarget

#: The failure ratio covers this many of the last outcomes.
WINDOW = 50
#: A circuit opens when this share of these outcomes, or more, were failures of the target.
FAILING_SHARE = 0.5
LONGEST_COOLDOWN_MS = 600_000
#: An environment may act on circuits that it read this long ago (ms).
KNOWN_WITHIN_MS = 5_000
#: A circuit counts as closed so long (ms) after its next probe may come: nothing for its host has come since.
KEPT_MS = 86_400_000
#: About so many circuits are kept for a client: a deliverer reads all of them.
MOST_CIRCUITS = 100


class Circuit(msgspec.Struct, frozen=True, rename="camel"):
    """An open circuit breaker: Clockwork does not call `host` for this client, apart from probes.

    From `probe_at` (ms) on the deliverer lets one occurrence through as a probe. A closed circuit has no record. Every
    change raises `revision` by one. `waits`: the next probe is chosen, and waits for its slot under the rate limit or
    for a permit; an occurrence that has its slot sooner may go before it.
    """

    client_id: str
    host: str
    opened_at: int
    probe_at: int
    cooldown_ms: int
    revision: int = 1
    waits: bool = False

    @property
    def ends_at(self) -> int:
        """When it counts as closed (ms), if it is neither probed nor closed before."""
        return self.probe_at + KEPT_MS


class Passage(Enum):
    """The answer of a circuit to one occurrence: go, go as the probe, or be parked."""

    FREE = auto()
    PROBE = auto()  # goes once the deliverer has saved the circuit with a later `probe_at`
    PARK = auto()


def host_of(target: StoredTarget) -> str | None:
    """The host that a circuit is about, as the Host header names it; None for a target that has no circuit."""
    return target.host


def has_turn(release: Deliver) -> bool:
    """Whether a release may probe a circuit; otherwise it is parked, until the sweeper gives it a turn.

    A probe that fails uses up an attempt. If a retry that comes straight from its backoff were let through, a few
    occurrences would make all probes, and the others that wait behind the circuit none.
    """
    return release.attempt == 1 or release.waits.held is not None


def plan_passage(
    circuit: Circuit | None, now: int, *, has_slot: bool = False, may_probe: bool = True
) -> tuple[Passage, Circuit | None]:
    """Whether an occurrence may go now, and for a probe the circuit to save first.

    The save is a compare-and-set: only the deliverer whose save succeeds sends the probe. `has_slot`: the occurrence
    has a slot under a rate limit, and the slot is now. `may_probe`: see `has_turn`.
    """
    if circuit is None:
        return Passage.FREE, None
    if not may_probe or (now < circuit.probe_at and not (has_slot and circuit.waits)):
        return Passage.PARK, None
    cooldown_ms = min(2 * circuit.cooldown_ms, LONGEST_COOLDOWN_MS)
    later = msgspec.structs.replace(
        circuit, probe_at=now + cooldown_ms, cooldown_ms=cooldown_ms, revision=circuit.revision + 1, waits=False
    )
    return Passage.PROBE, later


def unprobed(probing: Circuit, probe_at: int) -> Circuit:
    """The circuit after its probe was not started: open to another from `probe_at` (ms) on, its cooldown halved again.

    The cooldown had been doubled for the probe.
    """
    cooldown_ms = probing.cooldown_ms // 2
    return msgspec.structs.replace(
        probing, probe_at=probe_at, cooldown_ms=cooldown_ms, revision=probing.revision + 1, waits=True
    )


def in_excess(circuits: Collection[Circuit], now: int) -> Sequence[Circuit] | None:
    """The circuits that go before a client may have one more: those whose probes may come for longest.

    None if it gets no other one, since it is not time yet to probe them.
    """
    oldest = sorted(circuits, key=lambda circuit: circuit.probe_at)[: max(0, len(circuits) + 1 - MOST_CIRCUITS)]
    return None if any(circuit.probe_at > now for circuit in oldest) else oldest


class Ratio:
    """The last outcomes of one client's attempts at one host, as one environment saw them."""

    def __init__(self) -> None:
        self._failed: deque[bool] = deque(maxlen=WINDOW)

    def note(self, outcome: Outcome) -> None:
        """Count an outcome. A permanent failure is the fault of one payload, and counts as no failure of the target."""
        self._failed.append(outcome.state is not State.SUCCEEDED and not outcome.permanent)

    def is_failing(self, least: int) -> bool:
        """Whether the circuit should open. Fewer than `least` outcomes are too few to tell: then False.

        A success never opens the circuit: it may be the first of many.
        """
        enough = len(self._failed) >= least
        return enough and self._failed[-1] and sum(self._failed) >= FAILING_SHARE * len(self._failed)

    def forget(self) -> None:
        """Drop all outcomes, so that the ratio starts anew."""
        self._failed.clear()
