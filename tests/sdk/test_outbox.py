"""The outbox: a job exists if and only if the order does, whatever dies, comes twice, is refused or does not answer."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from mypy_boto3_dynamodb import DynamoDBClient

from clockwork_client import Clockwork, http, job, outbox
from clockwork_client.transport import NoAnswer, Request, Response, Transport
from tests.handlers.handlers import Api
from tests.sdk.edge import Hands, InMemory, client_of
from tests.sdk.streams import Context, Stream, client, make_tables

HOOK = http("https://example.com/hook")
HOUR = 3600


class Died(BaseException):
    """The process ended here."""


class Shop:
    """Orders and an outbox on moto, beside a Clockwork in memory. A relay's steps are counted, each may be its last."""

    def __init__(self) -> None:
        self.dynamodb: DynamoDBClient = client()
        self.stream: Stream = make_tables(self.dynamodb)
        self.api = Api()
        self.edge = InMemory(self.api)
        self.steps = itertools.count()
        self.dies_at: int | None = None
        self.late = 0.0
        self.hands = Hands()

    def order(self, number: int, request: dict[str, Any] | None = None) -> None:
        """One transaction: the order, unless it exists, and the item."""
        asked = job(HOOK, {"order": number}, in_=60) if request is None else request
        new: Any = {
            "TableName": "orders",
            "Item": {"order": {"S": str(number)}},
            "ConditionExpression": "attribute_not_exists(#order)",
            "ExpressionAttributeNames": {"#order": "order"},
        }
        asking: Any = {"TableName": "outbox", "Item": outbox.item(asked, f"reminder-of-{number}")}
        self.dynamodb.transact_write_items(TransactItems=[{"Put": new}, {"Put": asking}])

    def _step(self) -> None:
        if next(self.steps) == self.dies_at:
            raise Died

    def _send(self, request: Request) -> Response:
        self._step()  # before the request leaves
        answer = self.edge(request)
        self._step()  # the API has done it, and nobody heard
        return answer

    def _end(self, ended: outbox.Ended) -> None:
        self._step()  # refused, and not written down
        outbox.mark(self.dynamodb)(ended)
        self._step()  # written down

    def relay(self, transport: Transport | None = None, **options: Any) -> Any:
        """A new relay, as after a cold start."""
        cw: Clockwork = client_of(transport or self._send, self.hands)
        return outbox.relay(cw, self._end, now=lambda: time.time() + self.late, **options)

    def run(self) -> None:
        """Lambda's loop until all records are done; a relay that dies is started again."""
        for _ in range(20):
            try:
                self.stream.deliver(self.relay())
                self._step()  # the answer to Lambda is lost: nothing moves on
            except Died:
                self.stream.position = 0
            if self.stream.position == len(self.stream.records()):
                return
        raise AssertionError("the stream never came to its end")

    def delivered(self) -> list[str]:
        """The bodies that arrive."""
        self.api.clockwork.run_until(self.api.clockwork.clock.at + 120_000)
        return sorted(one.occurrence.payload.body.decode() for one in self.api.clockwork.targets.delivered)

    def item(self, number: int) -> dict[str, Any]:
        """The item of an order."""
        return dict(
            self.dynamodb.get_item(TableName="outbox", Key={"clockworkKey": {"S": f"reminder-of-{number}"}})["Item"]
        )

    def reason(self, number: int) -> str | None:
        """The mark on the item of an order."""
        found = self.item(number).get("clockworkRefused")
        return found and found["S"]


@pytest.fixture
def shop() -> Iterator[Shop]:
    with mock_aws():
        yield Shop()


BAD = {**job(HOOK, "bad", in_=60), "schedule": {"at": "soon"}}


def fill(shop: Shop) -> None:
    shop.order(1)
    shop.order(2, BAD)
    shop.order(3)


def test_an_order_that_is_not_made_asks_for_no_job(shop: Shop) -> None:
    shop.order(1)
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        shop.order(1, job(HOOK, "a second one", in_=60))
    shop.run()
    assert shop.delivered() == ['{"order":1}']


#: Three records: each send has two steps, the end of the bad one two, and each of two answers to Lambda one: the mark
#: is a record, too.
STEPS = 3 * 2 + 2 + 1 + 1


def test_the_steps_that_a_relay_may_die_at_are_all_of_them(shop: Shop) -> None:
    fill(shop)
    shop.run()
    assert next(shop.steps) == STEPS


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dies_at", range(STEPS))
def test_a_relay_that_dies_loses_nothing_and_creates_nothing_twice(shop: Shop, dies_at: int) -> None:
    fill(shop)
    shop.dies_at = dies_at
    shop.run()
    assert next(shop.steps) > STEPS  # it did die, and came again
    assert shop.delivered() == ['{"order":1}', '{"order":3}']
    assert [shop.reason(number) is None for number in (1, 2, 3)] == [True, False, True]
    assert "/schedule/at" in str(shop.reason(2))


def test_events_that_come_twice_and_in_another_order_are_the_same_jobs(shop: Shop) -> None:
    fill(shop)
    records = shop.stream.records()
    for event in (records, records[::-1], records[1:] + records[:1]):
        assert shop.relay()({"Records": event}, Context()) == {"batchItemFailures": []}
    assert shop.delivered() == ['{"order":1}', '{"order":3}']


@pytest.mark.sampled(3)
@pytest.mark.parametrize("failure", ["no answer", "503", "429", "gateway's 403", "its client's 403", "no JSON"])
def test_while_the_api_is_away_the_stream_waits_and_then_goes_on(shop: Shop, failure: str) -> None:
    shop.order(1)
    shop.order(2)
    sent: list[Request] = []

    def away(request: Request) -> Response:
        sent.append(request)
        if len(sent) == 1:
            return shop.edge(request)
        if failure == "no answer":
            raise NoAnswer("no route", was_sent=False)
        if failure == "its client's 403":
            # Somebody replaced the client, and forgot the relay's role.
            return Response(403, {}, b'{"status": 403, "detail": "the caller may not act for this client"}')
        status = {"503": 503, "429": 429, "gateway's 403": 403, "no JSON": 200}[failure]
        said = {403: b'{"message": "Forbidden"}', 429: b'{"status": 429, "detail": "createsPerSecond"}'}
        return Response(status, {"retry-after": "60"} if status == 429 else {}, said.get(status, b"<html>"))

    relay = shop.relay(away)
    second = shop.stream.records()[1]["dynamodb"]["SequenceNumber"]
    assert shop.stream.deliver(relay) == {"batchItemFailures": [{"itemIdentifier": second}]}
    for minutes in range(1, 31):
        shop.late = minutes * 60
        shop.stream.deliver(relay)
        assert shop.stream.position == 1
    assert shop.reason(2) is None
    shop.run()
    assert shop.delivered() == ['{"order":1}', '{"order":2}']


def test_what_stays_uncertain_for_longer_than_its_patience_ends_visibly(shop: Shop) -> None:
    shop.order(1)
    relay = shop.relay(lambda _: Response(503, {}, b""), patience_seconds=HOUR)
    shop.late = HOUR - 60
    shop.stream.deliver(relay)
    assert (shop.stream.position, shop.reason(1)) == (0, None)
    shop.late = HOUR + 60
    shop.stream.deliver(relay)
    assert shop.stream.position == 1
    assert str(shop.reason(1)).startswith("not certain, for 36")


def test_what_is_late_is_tried_once_more_and_what_is_too_old_is_not_sent(shop: Shop) -> None:
    shop.order(1)
    shop.late = 22.9 * HOUR
    shop.run()
    shop.order(2)
    shop.late = 23.1 * HOUR
    shop.run()
    assert len(shop.edge.sent) == 1
    assert str(shop.reason(2)).startswith("not certain: 83")
    assert shop.delivered() == ['{"order":1}']


def test_an_end_that_cannot_be_written_down_comes_again(shop: Shop) -> None:
    fill(shop)
    calls = itertools.count()

    def fails_once(ended: outbox.Ended) -> None:
        if next(calls) == 0:
            raise RuntimeError("DynamoDB is away")
        outbox.mark(shop.dynamodb)(ended)

    relay = outbox.relay(client_of(shop.edge), fails_once)
    shop.stream.deliver(relay)
    assert (shop.stream.position, shop.reason(2)) == (1, None)
    shop.stream.deliver(relay)
    assert shop.stream.position == 3
    assert shop.reason(2)
    assert shop.delivered() == ['{"order":1}', '{"order":3}']


def test_a_mended_item_is_sent_and_other_changes_are_not(shop: Shop) -> None:
    fill(shop)
    shop.run()
    before = len(shop.edge.sent)

    def update(number: int, expression: str, **values: dict[str, str]) -> None:
        more: Any = {"ExpressionAttributeValues": {f":{name}": one for name, one in values.items()}}
        key = {"clockworkKey": {"S": f"reminder-of-{number}"}}
        shop.dynamodb.update_item(TableName="outbox", Key=key, UpdateExpression=expression, **more)

    update(1, "SET note = :note", note={"S": "looked at"})
    shop.dynamodb.delete_item(TableName="outbox", Key={"clockworkKey": {"S": "reminder-of-3"}})
    shop.dynamodb.put_item(TableName="outbox", Item={"clockworkKey": {"S": "x"}, "clockworkRefused": {"S": "born so"}})
    shop.run()
    assert len(shop.edge.sent) == before
    mended = outbox.item(job(HOOK, "mended", in_=60), "reminder-of-2")["clockworkRequest"]
    update(2, "SET clockworkRequest = :r REMOVE clockworkRefused", r=mended)
    shop.run()
    assert len(shop.edge.sent) == before + 1
    assert shop.delivered() == ["mended", '{"order":1}', '{"order":3}']


def test_an_item_that_was_mended_before_its_end_is_written_is_not_marked(shop: Shop) -> None:
    shop.order(1, BAD)
    event = {"Records": shop.stream.records()}
    good = outbox.item(job(HOOK, "mended", in_=60), "reminder-of-1")
    shop.dynamodb.put_item(TableName="outbox", Item=good)
    assert shop.relay()(event, Context()) == {"batchItemFailures": []}
    assert shop.reason(1) is None
    shop.dynamodb.delete_item(TableName="outbox", Key={"clockworkKey": {"S": "reminder-of-1"}})
    assert shop.relay()(event, Context()) == {"batchItemFailures": []}
    assert "Item" not in shop.dynamodb.get_item(TableName="outbox", Key={"clockworkKey": {"S": "reminder-of-1"}})


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (None, "KeyError"),
        ({"N": "1"}, "KeyError"),
        ({"S": "{"}, "JSONDecodeError"),
        ({"S": "[]"}, "no JSON object"),
        ({"S": "[" * 100_000}, "RecursionError"),
        ({"S": '{"payload": "\\ud800"}'}, "UnicodeEncodeError"),
        ({"S": '{"payload": NaN}'}, "ValueError"),
        ({"S": "{}"}, "422"),
    ],
    ids=["none", "number", "cut off", "array", "deep", "half a character", "no number", "empty"],
)
def test_what_holds_no_request_ends_alone(shop: Shop, request_: dict[str, str] | None, why: str) -> None:
    written: dict[str, Any] = {"clockworkKey": {"S": "reminder-of-1"}}
    if request_ is not None:
        written["clockworkRequest"] = request_
    shop.dynamodb.put_item(TableName="outbox", Item=written)
    shop.dynamodb.put_item(
        TableName="outbox", Item={**outbox.item({}, "k"), "clockworkKey": {"S": "a key with spaces"}}
    )
    shop.order(2)
    shop.run()
    assert why in str(shop.reason(1))
    assert shop.delivered() == ['{"order":2}']


def test_a_defect_in_sending_one_item_fails_none_that_is_done(shop: Shop) -> None:
    shop.order(1)
    shop.order(2)

    def broken(request: Request) -> Response:
        if b'"order":2' in (request.body or b""):
            raise ZeroDivisionError
        return shop.edge(request)

    relay = shop.relay(broken)
    shop.stream.deliver(relay)
    assert shop.stream.position == 1
    shop.late = 7 * HOUR
    shop.stream.deliver(relay)
    assert shop.stream.position == 2
    assert "not certain" in str(shop.reason(2))


def test_a_batch_that_takes_too_long_goes_on_in_the_next_run(shop: Shop) -> None:
    for number in range(10):
        shop.order(number)
    ends_at = shop.hands.now + 10.0

    def slow(request: Request) -> Response:
        shop.hands.now += 3.0
        return shop.edge(request)

    relay = shop.relay(slow)
    shop.stream.deliver(relay, Context(lambda: ends_at - shop.hands.now))
    assert shop.stream.position == 3
    assert shop.hands.now <= ends_at


@pytest.mark.parametrize(("remaining", "most"), [(5.0, 4.5), (900.0, 30.0)])
def test_a_call_ends_before_the_function_does_and_never_sleeps_for_long(
    shop: Shop, remaining: float, most: float
) -> None:
    shop.order(1)
    began = shop.hands.now
    context = Context(lambda: began + remaining - shop.hands.now)
    answer = shop.stream.deliver(shop.relay(lambda _: Response(503, {}, b"")), context)
    assert answer["batchItemFailures"]
    assert shop.hands.now - began <= most


def test_a_stream_without_old_images_is_seen_at_once(shop: Shop) -> None:
    shop.order(1)
    (record,) = shop.stream.records()
    with pytest.raises(ValueError, match="NEW_AND_OLD_IMAGES"):
        shop.relay()({"Records": [{**record, "eventName": "MODIFY"}]}, Context())


@pytest.mark.parametrize("patience", [0, -1, 24 * HOUR])
def test_patience_ends_before_the_key_is_forgotten(shop: Shop, patience: float) -> None:
    with pytest.raises(ValueError, match="patience"):
        shop.relay(patience_seconds=patience)


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        ({}, ""),
        ({}, "two words"),
        ({}, "k" * 256),
        ({"payload": float("nan")}, "k"),
        ({"payload": "\ud800"}, "k"),
        ({"payload": "ü" * 200_000}, "k"),
    ],
)
def test_what_could_never_be_sent_fails_in_the_callers_transaction(request_: dict[str, Any], key: str) -> None:
    with pytest.raises(ValueError):
        outbox.item(request_, key)


def test_an_item_may_name_its_client(shop: Shop) -> None:
    shop.order(1, {**job(HOOK, "1", in_=60), "clientId": "globex"})
    shop.run()
    assert str(shop.reason(1)).startswith("403")  # not the caller's, in Clockwork's own words: final
