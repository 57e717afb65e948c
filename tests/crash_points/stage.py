"""The simulator's stage on moto: a process may die at each of its calls to AWS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clockwork.aws.invoker import AwsInvoker
from clockwork.settings import Settings
from tests.crash_points.services import Services
from tests.crash_points.stores import AwsStores
from tests.simulation import roles
from tests.simulation.faults import Adversary
from tests.simulation.scenario import OnePoint, play
from tests.simulation.scheduler import Actor, Killed
from tests.simulation.stage import Stage
from tests.simulation.stores import Stores

Moment = Literal["before", "after"]


@dataclass(frozen=True)
class Point:
    """A place at which a process may die: the `number`-th call, before or after its effect."""

    number: int
    moment: Moment
    #: Such as `poller p000 dynamodb.Query`.
    call: str


#: Decides whether the actor ends at a point.
DiesAt = Callable[[Point], bool]
#: Calls without an effect.
READS = frozenset({"dynamodb.GetItem", "dynamodb.BatchGetItem", "dynamodb.Query", "dynamodb.Scan"})


class MotoStage(Stage):
    """A whole run on moto. It is also the witness of the actors' calls to AWS.

    An actor affects the world only by its calls to AWS and by the attempts that it starts. Dying before a call is equal
    to dying after the last effect; dying after a read or a refused write is equal to dying before it. Only one of
    several equal points is tried, unless `every` is set.
    """

    def __init__(
        self, services: Services, dies_at: DiesAt, settings: Settings, adversary: Adversary, *, every: bool
    ) -> None:
        self._services = services
        self._dies_at = dies_at
        self._every = every
        #: How many calls have been made.
        self.calls = 0
        #: By actor: how many attempts had been started when the actor was last at a point.
        self._last_seen: dict[Actor, int] = {}
        super().__init__(0, settings, adversary)
        self.cloud.invoker = AwsInvoker(services.aws, "poller", "sweeper")
        services.invoked = self._invoke_poller
        services.witness = lambda: self if self.stores.acting.actor is not None else None

    def _invoke_poller(self, event: Mapping[str, Any]) -> None:
        if "clientId" in event:
            self.cloud.sweep(event["clientId"])
        elif "partitionIds" in event:
            self.cloud.poll_together(event["partitionIds"])
        else:
            self.cloud.poll(event["partitionId"], succeeds=event.get("succeeds", False))

    def make_stores(self, settings: Settings) -> Stores:
        self._services.now = lambda: self.clock.at
        self._services.start(settings)
        self._aws_stores = AwsStores(self._services, self.clock, settings, self.adversary, self.watcher)
        return self._aws_stores

    def before(self, call: str) -> None:
        self.calls += 1
        if self._every or self._last_seen.get(self._actor) != self._started():
            self._strike(call, "before")

    def after(self, call: str, asked: Mapping[str, Any], answer: Mapping[str, Any], *, done: bool) -> None:
        for table, action in _actions(call, asked):
            roles.require(self._actor.name, table, action)
        if done:
            self._aws_stores.mirror(call, asked, answer)
        if self._every or (done and call not in READS):
            self._strike(call, "after")

    @property
    def _actor(self) -> Actor:
        actor = self.stores.acting.actor
        assert actor is not None
        return actor

    def _strike(self, call: str, moment: Moment) -> None:
        self._last_seen[self._actor] = self._started()
        if self._dies_at(Point(self.calls - 1, moment, f"{self._actor.name} {call}")):
            raise Killed

    def _started(self) -> int:
        return sum(len(seen.starts) for seen in self.watcher.seen.values())


def _actions(call: str, asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The tables of a call, each with the IAM action that the call needs."""
    service, _, action = call.partition(".")
    if service != "dynamodb":
        return []
    if action == "TransactWriteItems":
        changes = [change for one in asked["TransactItems"] for change in one.items()]
        return [(change["TableName"], f"{kind}Item") for kind, change in changes]
    return [(table, action) for table in asked.get("RequestItems") or [asked["TableName"]]]


def play_on_moto(services: Services, scene: str, dies_at: DiesAt, *, every: bool = False) -> Stage:
    """Plays a scene from beginning to end on the shipped adapters; `every`: dies at points equal to others, too."""
    return play(
        OnePoint(), scene, lambda settings, adversary: MotoStage(services, dies_at, settings, adversary, every=every)
    )
