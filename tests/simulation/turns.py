"""The judge of turns (I8): a retry probes an open circuit only after it has waited, so that others have their turns."""

from __future__ import annotations

from clockwork.domain.limits.circuits import Circuit, host_of
from clockwork.domain.releases import Deliver, Delivery
from tests.simulation.scheduler import Actor


class Turns:
    """The circuits that invocations have begun to probe, and the attempts that have waited for something."""

    def __init__(self) -> None:
        self._probing: dict[tuple[Actor, str], set[str]] = {}
        self._has_waited: set[tuple[str, int]] = set()

    def sent(self, release: Deliver) -> None:
        """Notes a release that the queue took."""
        if release.waits.held is not None:
            self._has_waited.add((release.execution_id, release.attempt))

    def saved(self, actor: Actor | None, before: Circuit | None, after: Circuit) -> None:
        """Notes a circuit that was saved: who puts off its next probe makes one."""
        if actor is not None and before is not None and after.probe_at > before.probe_at and not after.waits:
            self._probing.setdefault((actor, after.client_id), set()).add(after.host)

    def start_objection(self, actor: Actor, delivery: Delivery) -> str | None:
        """Why an attempt must not begin as a probe, or None. No release tells whether an ordered one has waited."""
        occurrence = delivery.occurrence
        if host_of(occurrence.target) not in self._probing.get((actor, occurrence.client_id), ()):
            return None
        is_retry = delivery.attempt > 1 and occurrence.ordering_key is None
        if not is_retry or (delivery.execution_id, delivery.attempt) in self._has_waited:
            return None
        return f"attempt {delivery.attempt} probes a circuit straight from its backoff"
