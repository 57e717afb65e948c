"""A client of the testing kit with the jobs that most tests of pages look at."""

from __future__ import annotations

from typing import Any

from clockwork_client import Clockwork, Job, http, retry
from clockwork_client.testing import Answer, Delivery, VirtualClockwork

OK, DOWN = http("https://example.com/ok"), http("https://down.example.com/hook")
ONCE, TWICE = retry(max_attempts=1), retry(max_attempts=2, initial_seconds=1, jitter="none")


class Shop:
    """The client `shop`: one job that goes well, one whose target is down, one nightly in Berlin, one that is over."""

    def __init__(self, at: str = "2026-03-01T00:00:00Z", **client: Any) -> None:
        self.v = VirtualClockwork(at)
        self.cw: Clockwork = self.v.client("shop", **client)
        self.v.on_deliver(self.answer)
        self.heartbeat = self.make("shop/heartbeat", OK, every=60, tags={"team": "shop"})
        self.sync = self.make("crm/sync", DOWN, every=20, retry=TWICE, tags={"team": "crm"})
        self.nightly = self.make("billing/nightly", OK, cron="30 2 * * *", timezone="Europe/Berlin")

    def make(self, key: str, target: Any, **options: Any) -> Job:
        return self.cw.schedule(target, {"for": key}, key=key, **options)

    @staticmethod
    def answer(delivery: Delivery) -> Answer:
        """The target `down` says so, and all others are well."""
        is_down = "down" in str(delivery.target.raw.get("url"))
        return Answer(503, "<b>upstream</b> connect error") if is_down else Answer(200)

    def dead(self) -> list[str]:
        """The ids of the dead executions, those that were due last first."""
        return [one.execution_id for one in self.cw.dead.list()]
