"""Kafka targets in a deployment without Kafka: jobs from a time when the deployment had it."""

from __future__ import annotations

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock


class NoKafka:
    """Fails every attempt and says why.

    The failure is not permanent: retries find Kafka if it is deployed again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def deliver(self, _: Delivery) -> Outcome:
        """The outcome of an attempt that failed because this deployment has no Kafka."""
        now = self._clock.now()
        return Outcome(State.FAILED, now, now, error="Kafka targets are not supported by this deployment any more")
