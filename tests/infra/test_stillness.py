"""A stack is brought to rest before it is taken away, and put back as it was if it stays after all."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError, WaiterError

from clockwork.domain.clients import Client, as_gone
from clockwork.domain.errors import Unavailable
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from rollout.destroy import destroy
from rollout.live import Live, Resource
from rollout.stillness import StillBusy, await_rest, stilled
from rollout.template import Template

REASON = "the stack Clockwork is taken away"


@dataclass
class Aws:
    """Lambda and EventBridge of one stack: reserved concurrency by function, and the rules that are disabled."""

    reserved: dict[str, int] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)

    def client(self, service: str) -> Aws:
        return self

    def get_function_concurrency(self, **asked: Any) -> dict[str, int]:
        known = asked["FunctionName"] in self.reserved
        return {"ReservedConcurrentExecutions": self.reserved[asked["FunctionName"]]} if known else {}

    def put_function_concurrency(self, **asked: Any) -> None:
        self.reserved[asked["FunctionName"]] = asked["ReservedConcurrentExecutions"]

    def delete_function_concurrency(self, **asked: Any) -> None:
        del self.reserved[asked["FunctionName"]]

    def disable_rule(self, **asked: Any) -> None:
        self.disabled.add(asked["Name"])

    def enable_rule(self, **asked: Any) -> None:
        self.disabled.discard(asked["Name"])


class Stack(Live):
    """A live stack in memory. `depths` are what its release queue holds, look after look; the last one stays."""

    def __init__(self) -> None:
        self.name = "Clockwork"
        self.account: Any = Aws({"poller-1": 48})
        self.clockwork = MemoryClockwork(Settings.for_local())
        self.depths = [0]
        self.stage = "local"
        self.template = Template({})
        functions = {name: f"{name.lower()}-1" for name in ("Api", "Poller", "Ticker", "Deliverer", "Sweeper")}
        self.resources = [
            *(Resource("AWS::Lambda::Function", f"Functions{name}", one, False) for name, one in functions.items()),
            Resource("AWS::Events::Rule", "TriggersTick", "tick-1", False),
            Resource("AWS::Events::Rule", "TriggersSweep", "sweep-1", False),
        ]
        for client_id in ("acme", "globex"):
            self.clockwork.clients.put(Client(client_id=client_id))
        self.clockwork.clients.put(Client(client_id="resting", paused=True, pause_reason="a migration"))
        self.clockwork.clients.put(Client(client_id="left", paused=True, pause_reason=REASON))

    world: Any = property(lambda self: self.clockwork.world)
    settings: Any = property(lambda self: self.clockwork.world.settings.with_(stage=self.stage))

    def is_going(self) -> bool:
        return False

    def is_protected(self) -> bool:
        return False

    def delete(self) -> None:
        """CloudFormation begins to delete it, and does not come to the end."""

    def await_end(self) -> None:
        raise WaiterError("StackDeleteComplete", "Max attempts exceeded", {})

    def depth(self, queue: str) -> int:
        return self.depths.pop(0) if len(self.depths) > 1 else self.depths[0]

    def paused(self) -> set[str]:
        names = ("acme", "globex", "resting", "left")
        return {name for name in names if (client := self.clockwork.clients.get(name)) and client.paused}


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that have passed: nobody waits for real."""
    passed = [0.0]

    def later(seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: passed[0])
    monkeypatch.setattr(time, "sleep", later)
    return passed


def test_what_accepts_and_releases_stops_and_the_rest_goes_on() -> None:
    stack = Stack()
    with stilled(stack, print) as paused:
        # Whoever was paused by an attempt that died is ours, too; whoever was paused by somebody else is not.
        assert sorted(paused) == ["acme", "globex", "left"]
        assert stack.paused() == {"acme", "globex", "resting", "left"}
        assert stack.account.reserved == {"api-1": 0, "poller-1": 0, "ticker-1": 0}
        assert stack.account.disabled == {"tick-1"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, StillBusy, RuntimeError])
def test_a_stack_that_stays_after_all_is_put_back(error: type[BaseException]) -> None:
    stack = Stack()
    with pytest.raises(error), stilled(stack, print):
        raise error
    assert stack.paused() == {"resting"}
    assert (stack.account.reserved, stack.account.disabled) == ({"poller-1": 48}, set())


def test_what_cannot_be_put_back_is_told_and_the_rest_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    stack, told = Stack(), list[str]()
    put = stack.clockwork.clients.put

    def fail_for_acme(client: Client, *, replaces: int | None = None) -> bool:
        if client.client_id == "acme" and not client.paused:
            raise Unavailable("no answer")
        return put(client, replaces=replaces)

    with pytest.raises(StillBusy), stilled(stack, told.append):
        monkeypatch.setattr(stack.clockwork.clients, "put", fail_for_acme)
        raise StillBusy
    assert told[-1] == "the client acme is still paused: no answer"
    assert stack.paused() == {"acme", "resting"}
    assert not stack.account.disabled


def test_nothing_is_put_back_once_the_deletion_has_begun() -> None:
    stack, told = Stack(), list[str]()
    with pytest.raises(WaiterError):
        destroy(stack, told.append, now=True)
    assert stack.paused() == {"acme", "globex", "resting", "left"}
    assert (stack.account.reserved["api-1"], stack.account.disabled) == (0, {"tick-1"})
    assert told[-1].endswith("Resume them once the new stack runs:\n  acme\n  globex\n  left")


def test_a_deletion_that_cannot_begin_puts_everything_back(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Stack()
    denied = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "DeleteStack")
    monkeypatch.setattr(stack, "delete", Mock(side_effect=denied))
    with pytest.raises(ClientError):
        destroy(stack, print, now=True)
    assert stack.paused() == {"resting"}
    assert not stack.account.disabled


@pytest.mark.parametrize(("stage", "seconds", "looks"), [("account", 90, 45), ("local", 4, 2)])
def test_it_rests_once_all_was_at_rest_for_long_enough(stage: str, seconds: int, looks: int, now: list[float]) -> None:
    stack, told = Stack(), list[str]()
    stack.stage = stage
    # At the last look of the first rest SQS counts a message that was sent a while ago.
    stack.depths = [2, *[0] * (looks - 1), 1, *[0] * looks, 9]
    await_rest(stack, told.append)
    assert stack.depths == [9]
    assert told == ["Waiting: 2 messages in Release", "Waiting: 1 messages in Release"]
    assert now[0] == 2 * seconds


def test_a_shard_that_is_polled_is_waited_for_and_not_for_ever() -> None:
    stack = Stack()
    clock = stack.clockwork.clock
    stack.clockwork.shards.register("p000")
    stack.clockwork.shards.acquire("p000", "poller", clock.now(), clock.now() + 60_000, "1")

    with pytest.raises(StillBusy, match="1 shards are polled after"):
        await_rest(stack, print)


def test_clients_that_are_deleted_or_on_their_way_stay_as_they_are() -> None:
    stack = Stack()
    going = Client(client_id="going", deleting_at=stack.clockwork.clock.at)
    gone = as_gone(Client(client_id="gone"), stack.clockwork.clock.at)
    for client in (going, gone):
        stack.clockwork.clients.put(client)
    with stilled(stack, Mock()) as paused:
        assert set(paused) == {"acme", "globex", "left"}
    assert [stack.clockwork.clients.get(name) for name in ("going", "gone")] == [going, gone]
