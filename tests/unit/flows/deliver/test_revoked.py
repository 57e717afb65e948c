"""A target that its client may not name any more receives nothing from jobs made before: they end DEAD, visibly."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client
from clockwork.domain.executions import State
from clockwork.domain.limits.circuits import Circuit
from clockwork.targets.eventbridge import EventBridgeTarget
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.lambda_function import LambdaTarget
from clockwork.targets.registry import Target
from clockwork.targets.sns import SnsTarget
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ACME
from tests.support.regulated import Regulated

QUEUE = "arn:aws:sqs:us-east-1:123456789012:orders"
FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:bill"
BUS = "arn:aws:events:us-east-1:123456789012:event-bus/orders"
TOPIC = "arn:aws:sns:us-east-1:123456789012:orders"
ROLE = "arn:aws:iam::123456789012:role/theirs"
#: Each kind of target, the lists by which a client may name it, and the list whose loss revokes it.
REVOKED: list[tuple[Target, dict[str, tuple[str, ...]], str]] = [
    (HttpTarget("https://hooks.example.com/x"), {"allowed_target_hosts": ("*.example.com",)}, "allowedTargetHosts"),
    (
        HttpTarget("http://10.0.0.7:8080/x", private=True),
        {"allowed_private_targets": ("10.0.0.7:8080",)},
        "allowedPrivateTargets",
    ),
    (SqsTarget(QUEUE), {"allowed_queue_arns": (QUEUE,)}, "allowedQueueArns"),
    (KafkaTarget("orders"), {"allowed_topics": ("ord*",)}, "allowedTopics"),
    (LambdaTarget(FUNCTION), {"allowed_target_arns": (FUNCTION,)}, "allowedTargetArns"),
    (EventBridgeTarget(BUS, "shop", "due"), {"allowed_target_arns": (BUS,)}, "allowedTargetArns"),
    (SnsTarget(TOPIC), {"allowed_target_arns": ("arn:aws:sns:*",)}, "allowedTargetArns"),
    (SnsTarget(TOPIC, role_arn=ROLE), {"allowed_target_arns": (TOPIC, ROLE)}, "allowedTargetArns"),
]
KINDS = [type(target).__name__ + " in a role" * (ROLE in str(lists)) for target, lists, _ in REVOKED]


def narrowed(lists: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The lists without their last entry; a list of hosts that is empty would allow all of them."""
    return {
        name: ("else.example.org",) if name == "allowed_target_hosts" else listed[:-1] for name, listed in lists.items()
    }


@pytest.mark.parametrize("record", ["full", "none"])
@pytest.mark.parametrize(("target", "lists", "named"), REVOKED, ids=KINDS)
def test_an_attempt_at_a_revoked_target_fails_for_good_and_is_seen(
    target: Target, lists: dict[str, tuple[str, ...]], named: str, record: str
) -> None:
    regulated = Regulated(**lists)
    regulated.create(1, target=target, record=record)
    regulated.create(1, target=target, record=record, delay_ms=60_000)
    assert len(regulated.run(10)) == 1
    regulated.set_client(**narrowed(lists))
    assert regulated.run(600) == []
    (dead,) = [one for one in regulated.clockwork.executions.all() if one.state is State.DEAD]
    assert len(dead.attempts) == 1
    assert named in (dead.attempts[0].error or "")
    assert named in (dead.reason or "")
    assert "permanent" in (dead.reason or "")
    assert dead.needs_attention, "it can be redriven once its target is allowed again"
    assert not regulated.clockwork.queue.messages


@pytest.mark.parametrize(("target", "lists", "named"), REVOKED, ids=KINDS)
def test_a_client_that_is_gone_may_name_no_listed_target(
    target: Target, lists: dict[str, tuple[str, ...]], named: str
) -> None:
    assert target.against(msgspec.structs.replace(ACME, **lists)) is None
    assert named in str(target.against(msgspec.structs.replace(ACME, **narrowed(lists))))
    is_public = isinstance(target, HttpTarget) and not target.private
    assert (target.against(None) is None) is is_public


def test_a_revoked_head_does_not_block_its_followers() -> None:
    regulated = Regulated(allowed_queue_arns=(QUEUE,))
    regulated.create(1, target=SqsTarget(QUEUE), ordering_key="a")
    regulated.create(2, delay_ms=5_001, ordering_key="a")
    regulated.set_client()
    assert len(regulated.run(30)) == 2
    assert sorted(one.state for one in regulated.clockwork.executions.all()) == [
        State.DEAD,
        State.SUCCEEDED,
        State.SUCCEEDED,
    ]


def test_a_target_that_was_allowed_a_moment_ago_is_not_refused_by_what_is_cached() -> None:
    """A deliverer may know the client as it was before its admin listed the target and a job was made."""
    regulated = Regulated(allowed_queue_arns=(QUEUE,))
    clients, asked = regulated.clockwork.clients, []
    get = clients.get

    def cached(client_id: str, *, fresh: bool = False) -> Client | None:
        asked.append(fresh)
        return get(client_id) if fresh else ACME

    clients.get = cached  # type: ignore[method-assign]
    regulated.create(1, target=SqsTarget(QUEUE))
    assert len(regulated.run(10)) == 1
    assert asked.count(True) == 1


def test_an_allowed_target_costs_no_further_read(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(allowed_queue_arns=(QUEUE,))
    get, asked = regulated.clockwork.clients.get, []

    def counted(*args: Any, **given: Any) -> Client | None:
        asked.append(given)
        return get(*args, **given)

    regulated.create(5, target=SqsTarget(QUEUE))
    monkeypatch.setattr(regulated.clockwork.clients, "get", counted)
    assert len(regulated.run(10)) == 5
    assert asked == [{}, {}], "once for the batch, and once for where its ends are listed: environments keep clients"


def test_a_refused_job_takes_neither_slot_nor_permit_nor_probe() -> None:
    regulated = Regulated(max_rate_per_second=1.0, max_concurrency=1)
    regulated.set_client(max_rate_per_second=1.0, max_concurrency=1, allowed_target_hosts=("else.example.org",))
    now = regulated.start
    circuit = Circuit("acme", "example.com", now, now, 60_000)
    regulated.clockwork.regulation.save_circuit(None, circuit)
    regulated.create(5)
    assert regulated.run(10) == []
    assert regulated.states() == {State.DEAD}
    assert not regulated.clockwork.regulation._next_slot_us
    assert not regulated.clockwork.regulation._blocks
    assert regulated.clockwork.regulation.circuits("acme") == {"example.com": circuit}


def test_what_a_paused_client_holds_back_is_refused_only_when_it_goes_on() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1, target=SqsTarget(QUEUE))
    regulated.run(10)
    assert regulated.states() == {State.PARKED}
    regulated.set_client()
    regulated.sweep()
    assert regulated.run(10) == []
    assert regulated.states() == {State.DEAD}


def test_a_client_that_may_name_a_target_by_now_is_not_refused_by_what_a_cache_knows_of_it() -> None:
    regulated = Regulated(allowed_queue_arns=())
    clients, get = regulated.clockwork.clients, regulated.clockwork.clients.get
    before = get("acme")
    regulated.set_client(allowed_queue_arns=(QUEUE,))
    clients.get = lambda client_id, *, fresh=False: get(client_id, fresh=True) if fresh else before  # type: ignore[method-assign]
    regulated.create(1, target=SqsTarget(QUEUE))
    assert len(regulated.run(20)) == 1
    assert regulated.states() == {State.SUCCEEDED}


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_deliverer_that_was_frozen_refuses_nothing_by_what_its_client_was_minutes_ago(
    record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal is permanent. The client may send there again by now, and others deliver what was not begun in time."""
    regulated = Regulated(allowed_target_hosts=("else.example.org",))
    regulated.create(1, record=record)
    clock = regulated.clockwork.clock
    hold_until, frozen_ms = clock.hold_until, [400_000]

    def frozen(at: int) -> None:
        hold_until(at)
        if frozen_ms:
            clock.advance(frozen_ms.pop())
            regulated.set_client()

    monkeypatch.setattr(clock, "hold_until", frozen)
    assert len(regulated.run(900)) == 1
    assert not frozen_ms
    assert regulated.states() == ({State.SUCCEEDED} if record == "full" else set())
    assert not regulated.clockwork.queue.messages
