"""The simulator's stage on moto: each call to AWS is a point at which its process may die."""

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
    """Where a process may die: at this call of all, before or after its effect."""

    number: int
    moment: Moment
    #: Such as `poller p000 dynamodb.Query`.
    call: str


#: Whether the actor ends here.
DiesAt = Callable[[Point], bool]
#: Calls without an effect.
READS = frozenset({"dynamodb.GetItem", "dynamodb.BatchGetItem", "dynamodb.Query", "dynamodb.Scan"})


class MotoStage(Stage):
    """Everything of one run, on moto. It is also the witness of the calls that actors make.

    All that an actor does to the world are its calls to AWS and the attempts that it starts. Who dies before a call
    might as well have died after its last effect, and after a read or a refused write as well as before it: such points
    are equal, and only one of them is tried, unless `every` is.
    """

    def __init__(
        self, services: Services, dies_at: DiesAt, settings: Settings, adversary: Adversary, *, every: bool
    ) -> None:
        self._services = services
        self._dies_at = dies_at
        self._every = every
        #: How many calls have been made.
        self.calls = 0
        #: By actor, how many attempts had been started when it was last at a point.
        self._last_seen: dict[Actor, int] = {}
        super().__init__(0, settings, adversary)
        self.cloud.invoker = AwsInvoker(services.aws, "poller")
        services.invoked = self._invoke_poller
        services.witness = lambda: self if self.stores.acting.actor is not None else None

    def _invoke_poller(self, event: Mapping[str, Any]) -> None:
        if "partitionIds" in event:
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
    """The tables that a call is about, each with the action that IAM asks for."""
    service, _, action = call.partition(".")
    if service != "dynamodb":
        return []
    if action == "TransactWriteItems":
        changes = [change for one in asked["TransactItems"] for change in one.items()]
        return [(change["TableName"], f"{kind}Item") for kind, change in changes]
    return [(table, action) for table in asked.get("RequestItems") or [asked["TableName"]]]


def play_on_moto(services: Services, scene: str, dies_at: DiesAt, *, every: bool = False) -> Stage:
    """A scene from beginning to end on the shipped adapters. `every`: also points that are equal to others."""
    return play(
        OnePoint(), scene, lambda settings, adversary: MotoStage(services, dies_at, settings, adversary, every=every)
    )
