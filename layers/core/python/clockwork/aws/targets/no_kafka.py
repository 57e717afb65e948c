"""Kafka targets where no Kafka is: jobs of a time when the deployment had one."""

from __future__ import annotations

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock


class NoKafka:
    """Fails every attempt and says why. Not for good: its retries find Kafka if it is deployed again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def deliver(self, _: Delivery) -> Outcome:
        """The failure."""
        now = self._clock.now()
        return Outcome(State.FAILED, now, now, error="Kafka targets are not supported by this deployment any more")
