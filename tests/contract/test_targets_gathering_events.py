"""Gathering: attempts at one event bus that begin together share few calls; a bad event fails alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from moto import mock_aws

from clockwork.aws.targets.gathering import Gathering
from clockwork.aws.targets.service_attempts import ServiceTransport
from clockwork.aws.targets.threads import ThreadedTargets
from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.targets.eventbridge import EventBridgeTarget
from clockwork.targets.message import Payload
from clockwork.targets.service import LARGEST_CALL
from local.emulator import Credentials, Emulator
from tests.contract.one_client import OneClient
from tests.contract.receiver import WallClock, delivery_to

ARN = "arn:aws:events:us-east-1:123456789012:event-bus/orders"
BUS = EventBridgeTarget(ARN, "shop", "order due")
POISON = Payload(b"{broken")
Answer = Callable[[list[dict[str, str]]], Any]


class Bus:
    """A client of EventBridge that remembers the payloads of its calls, and may refuse."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.meta = botocore.session.Session().create_client("events", region_name="us-east-1").meta
        self.calls: list[list[Any]] = []
        self.sizes: list[int] = []
        self._answer = answer or _take

    def put_events(self, Entries: list[dict[str, str]]) -> Any:  # noqa: N803 - as botocore names it
        self.calls.append([entry["Detail"].split('"payload":')[1][:-1] for entry in Entries])
        self.sizes.append(sum(len(entry["Detail"]) for entry in Entries))
        return self._answer(Entries)


def _take(entries: list[dict[str, str]]) -> Any:
    return {"FailedEntryCount": 0, "Entries": [{"EventId": "e"} for _ in entries]}


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "because"}}, "PutEvents")


def to_bus(*bodies: bytes) -> list[Delivery]:
    return [delivery_to(BUS, Payload(body)) for body in bodies]


def put(bus: Any, deliveries: list[Delivery]) -> list[tuple[State, bool]]:
    outcomes = ServiceTransport(EventBridgeTarget, OneClient(bus), WallClock()).deliver_all(deliveries)
    return [(outcome.state, outcome.permanent) for outcome in outcomes]


OK, RETRIED, ENDED = (State.SUCCEEDED, False), (State.FAILED, False), (State.FAILED, True)


def test_a_herd_at_one_bus_takes_few_calls_and_another_bus_has_its_own() -> None:
    bus = Bus()
    other = EventBridgeTarget(f"{ARN}-2", "shop", "order due")
    deliveries = [*to_bus(*(b"%d" % n for n in range(40))), *(delivery_to(other, Payload(b"100")) for _ in range(3))]
    transport = Gathering(ServiceTransport(EventBridgeTarget, OneClient(bus), WallClock()), gathering_seconds=1)
    targets = ThreadedTargets({EventBridgeTarget: transport}, WallClock())
    for slot, delivery in enumerate(deliveries):
        targets.begin(slot, delivery)
    ended: dict[int, Outcome] = {}
    while some := targets.collect():
        ended |= dict(some)
    targets.close()
    assert {outcome.state for outcome in ended.values()} == {State.SUCCEEDED}
    assert len(bus.calls) <= 9 and max(map(len, bus.calls)) == 10
    assert sorted(int(one) for call in bus.calls for one in call) == [*range(40), 100, 100, 100]
    assert [set(call) for call in bus.calls if "100" in call] == [{"100"}]


def test_sources_and_types_share_a_call_and_clients_and_roles_do_not() -> None:
    transport = ServiceTransport(EventBridgeTarget, OneClient(Bus()), WallClock())
    shop, other = (delivery_to(EventBridgeTarget(ARN, source, "t")) for source in ("shop", "other"))
    assert transport.fellows(shop) == transport.fellows(other)
    assert transport.fellows(shop) != transport.fellows(delivery_to(EventBridgeTarget(ARN, "shop", "t", "role")))


def test_what_is_too_large_for_one_call_goes_in_several() -> None:
    bus = Bus()
    assert put(bus, to_bus(*(b'"%s"' % (b"x" * 250_000) for _ in range(7)))) == [OK] * 7
    assert [len(call) for call in bus.calls] == [3, 3, 1]
    assert max(bus.sizes) <= LARGEST_CALL


def test_an_entry_that_the_bus_does_not_take_fails_alone() -> None:
    codes = {1: "ThrottlingException", 3: "MalformedDetail"}

    def answer(entries: list[dict[str, str]]) -> Any:
        told = [{"ErrorCode": codes[n]} if n in codes else {"EventId": "e"} for n in range(len(entries))]
        return {"FailedEntryCount": len(codes), "Entries": told}

    bus = Bus(answer)
    assert put(bus, to_bus(b"0", b"1", b"2", b"3", b"4")) == [OK, RETRIED, OK, ENDED, OK]
    assert len(bus.calls) == 1


def test_a_call_refused_for_what_one_event_holds_ends_that_event_alone() -> None:
    def answer(entries: list[dict[str, str]]) -> Any:
        if any("broken" in entry["Detail"] for entry in entries):
            raise refusal("ValidationException")
        return _take(entries)

    bus = Bus(answer)
    deliveries = [*to_bus(b"0", b"1"), delivery_to(BUS, POISON), *to_bus(b"3")]
    assert put(bus, deliveries) == [OK, OK, ENDED, OK]
    assert [len(call) for call in bus.calls] == [4, 1, 1, 1, 1]


@pytest.mark.parametrize("fault", [refusal("ThrottlingException"), refusal("AccessDeniedException")])
def test_a_call_refused_for_other_reasons_is_retried_whole_and_later(fault: ClientError) -> None:
    def answer(_: list[dict[str, str]]) -> Any:
        raise fault

    bus = Bus(answer)
    assert put(bus, to_bus(b"0", b"1", b"2")) == [RETRIED] * 3
    assert len(bus.calls) == 1


def test_a_call_without_an_answer_is_the_outcome_of_all_of_it() -> None:
    def answer(_: list[dict[str, str]]) -> Any:
        raise ReadTimeoutError(endpoint_url="x")

    assert put(Bus(answer), to_bus(b"0", b"1")) == [(State.TIMED_OUT, False)] * 2


def test_a_bus_that_is_out_of_reach_is_told_to_all() -> None:
    elsewhere = EventBridgeTarget(ARN.replace("us-east-1", "eu-west-1"), "shop", "order due")
    assert put(Bus(), [delivery_to(elsewhere) for _ in range(3)]) == [ENDED] * 3


def test_every_event_of_a_call_reaches_the_rules_of_its_bus(emulator: Emulator, account: Credentials) -> None:
    client, sqs = emulator.client("events", account), emulator.client("sqs", account)
    bus = client.create_event_bus(Name="orders")["EventBusArn"]
    url = sqs.create_queue(QueueName="heard")["QueueUrl"]
    queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    client.put_rule(Name="all", EventBusName="orders", EventPattern=json.dumps({"source": ["shop"]}))
    client.put_targets(Rule="all", EventBusName="orders", Targets=[{"Id": "q", "Arn": queue}])
    target = EventBridgeTarget(bus, "shop", "order due")
    assert put(client, [delivery_to(target, Payload(b"%d" % n)) for n in range(10)]) == [OK] * 10
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=2)["Messages"]
    heard = [json.loads(one["Body"])["detail"]["payload"] for one in received]
    assert sorted(heard) == list(range(10))


def test_a_bad_detail_among_good_ones_ends_alone_by_the_answer_of_the_service() -> None:
    with mock_aws():
        client: Any = botocore.session.Session().create_client(
            "events", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        bus = client.create_event_bus(Name="orders")["EventBusArn"]
        target = EventBridgeTarget(bus, "shop", "order due")
        deliveries = [delivery_to(target, payload) for payload in (Payload(b"0"), POISON, Payload(b"2"))]
        assert put(client, deliveries) == [OK, ENDED, OK]
        client.close()
