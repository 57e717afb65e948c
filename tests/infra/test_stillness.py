"""A stack is brought to rest before it is taken away, and put back as it was if it stays after all."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from rollout.live import Live, Resource
from rollout.stillness import StillBusy, await_rest, stilled

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
    settings: Any = property(lambda self: self.clockwork.world.settings)

    def depth(self, queue: str) -> int:
        return self.depths.pop(0) if len(self.depths) > 1 else self.depths[0]

    def paused(self) -> set[str]:
        names = ("acme", "globex", "resting", "left")
        return {name for name in names if (client := self.clockwork.clients.get(name)) and client.paused}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for real."""
    monkeypatch.setattr(time, "sleep", lambda _: None)


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


def test_it_rests_once_the_queue_was_seen_empty_three_times_in_a_row() -> None:
    stack, told = Stack(), list[str]()
    stack.depths = [2, 0, 0, 1, 0, 0, 0, 9]
    await_rest(stack, told.append)
    assert stack.depths == [9]
    assert told == ["Waiting: 2 messages in Release", "Waiting: 1 messages in Release"]


def test_a_shard_that_is_polled_is_waited_for_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    stack, now = Stack(), [0.0]
    clock = stack.clockwork.clock
    stack.clockwork.shards.register("p000")
    stack.clockwork.shards.acquire("p000", "poller", clock.now(), clock.now() + 60_000, "1")

    def later(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", later)
    with pytest.raises(StillBusy, match="1 shards are polled after"):
        await_rest(stack, print)
