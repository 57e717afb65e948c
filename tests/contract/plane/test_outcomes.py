"""Both data planes come to the same outcome, with the same requests, whatever the service does to them."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from clockwork.aws.errors import ConditionFailed, HotPartition, NoAnswer, RefusedToAll, Throttled, ask
from clockwork.domain.errors import PartitionThrottled
from tests.contract.plane import hostile
from tests.contract.plane.hostile import (
    Behaviour,
    answer,
    chunked,
    closes,
    half,
    raw,
    refusal,
    resets,
    serving,
    then_closes,
    written,
)
from tests.contract.plane.planes import BOTH, BOTOCORE, CALLS, LEAN, PATIENT, connected, outcome, told

pytestmark = pytest.mark.usefixtures("no_pauses_of_botocore")

OK = answer(200, {})
STORED = {"id": {"S": "a"}, "blob": {"B": "AP8="}, "list": {"L": [{"M": {"x": {"N": "1"}}}, {"NULL": True}]}}
THROTTLED = refusal("ProvisionedThroughputExceededException", "too fast")
_HOT = {
    "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
    "message": "Throughput exceeds the current capacity of your table or index.",
    "throttlingReasons": [{"reason": "TableReadKeyRangeThroughputExceeded", "resource": "arn:aws:dynamodb:::table/t"}],
}
HOT = answer(400, _HOT)
PROVISIONED = refusal(
    "ProvisionedThroughputExceededException", ThrottlingReasons=[{"reason": "TableWriteKeyRangeThroughputExceeded"}]
)
FULL = answer(400, {**_HOT, "throttlingReasons": [{"reason": "TableReadAccountLimitExceeded"}]})
QUERY_ERROR = "AWS.SimpleQueueService.NonExistentQueue;Sender"
SKEWED = "Signature expired: 20261122T000000Z is now earlier than 20261122T001000Z"
PAGE = {"Items": [STORED, STORED], "Count": 2, "ScannedCount": 2, "LastEvaluatedKey": {"id": {"S": "a"}}, "New": 1}
UNPROCESSED = {"UnprocessedItems": {"t": [{"PutRequest": {"Item": STORED}}]}, "ItemCollectionMetrics": None}
UNANSWERED = {"Responses": {"t": [STORED]}, "UnprocessedKeys": {"t": {"Keys": [{"id": {"S": "b"}}]}}}
NOT_TAKEN = {"Successful": None, "Failed": [{"Id": "0", "SenderFault": True, "Code": "X", "Message": None}]}

#: The behaviours of the service, by the operation that is asked for. After it, the service answers with `{}`.
SCRIPTS: dict[str, tuple[str, list[Behaviour]]] = {
    "an item": (
        "GetItem",
        [answer(200, {"Item": STORED, "ConsumedCapacity": {"TableName": "t", "CapacityUnits": 1.5}})],
    ),
    "no item": ("GetItem", [OK]),
    "an item that is null": ("GetItem", [answer(200, {"Item": None})]),
    "a page": ("Query", [answer(200, PAGE)]),
    "a changed item": ("UpdateItem", [answer(200, {"Attributes": STORED})]),
    "items unprocessed": ("BatchWriteItem", [answer(200, UNPROCESSED)]),
    "keys unanswered": ("BatchGetItem", [answer(200, UNANSWERED)]),
    "messages not taken": ("SendMessageBatch", [answer(200, NOT_TAKEN)]),
    "counts": ("GetQueueAttributes", [answer(200, {"Attributes": {"ApproximateNumberOfMessages": "7"}})]),
    "hidden": ("ChangeMessageVisibilityBatch", [answer(200, {"Successful": [{"Id": "0"}], "Failed": []})]),
    "throttled once": ("PutItem", [THROTTLED]),
    "throttled throughout": ("PutItem", [THROTTLED] * 3),
    "a partition throttled": ("GetItem", [HOT] * 3),
    "a provisioned partition throttled": ("PutItem", [PROVISIONED] * 3),
    "throttled for reasons that are none": ("GetItem", [answer(400, {**_HOT, "throttlingReasons": None})] * 3),
    "throttled by SQS": ("SendMessageBatch", [refusal("RequestThrottled", status=403)] * 3),
    "500 once": ("PutItem", [refusal("InternalServerError", status=500)]),
    "500 throughout": ("PutItem", [refusal("InternalServerError", status=500)] * 3),
    "502 without a body": ("PutItem", [answer(502, b"")] * 3),
    "503 as a page": ("PutItem", [answer(503, b"<html><body>Service Unavailable</body></html>")] * 3),
    "504 once": ("PutItem", [answer(504, b"")]),
    "504 without JSON": ("PutItem", [answer(504, b"gateway")] * 3),
    "505": ("PutItem", [answer(505, b"")]),
    "429 without a body": ("PutItem", [answer(429, b"")]),
    "a refused item": ("PutItem", [refusal("ValidationException", "too large")]),
    "a refusal without words": ("PutItem", [answer(400, {"__type": "AccessDeniedException"})]),
    "a refusal with other letters": ("PutItem", [answer(400, {"__type": "a.b#AccessDenied:http://x", "Message": "M"})]),
    "a refusal that is no JSON": ("PutItem", [answer(400, b"no")]),
    "a redirect": ("PutItem", [answer(307, b"", location="http://127.0.0.1:9/")]),
    "a condition that failed": ("PutItem", [refusal("ConditionalCheckFailedException", Item=STORED)]),
    "a condition that failed on nothing": ("PutItem", [refusal("ConditionalCheckFailedException")]),
    "a condition that failed in a repeat": (
        "PutItem",
        [closes, refusal("ConditionalCheckFailedException", Item=STORED)],
    ),
    "a clock that is off": ("PutItem", [refusal("InvalidSignatureException", SKEWED)]),
    "a token that has expired": ("PutItem", [refusal("ExpiredTokenException")]),
    "a queue that is missing": (
        "SendMessageBatch",
        [answer(400, {"__type": "com.amazonaws.sqs#QueueDoesNotExist"}, x_amzn_query_error=QUERY_ERROR)],
    ),
    "a queue's error of no kind": ("SendMessageBatch", [answer(400, {"__type": "a#X"}, x_amzn_query_error="Y")]),
    "closed once": ("PutItem", [closes]),
    "closed throughout": ("PutItem", [closes] * 3),
    "reset once": ("PutItem", [resets]),
    "reset throughout": ("PutItem", [resets] * 3),
    "half an answer once": ("GetItem", [half(answer(200, {"Item": STORED}), 0.9)]),
    "half an answer throughout": ("GetItem", [half(answer(200, {"Item": STORED}), 0.9)] * 3),
    "no HTTP": ("GetItem", [raw(b"+OK hello\r\n\r\n")] * 3),
    "a line without end": ("GetItem", [raw(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 70_000)] * 3),
    "headers without end": ("GetItem", [raw(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 200)] * 3),
    "in chunks": ("GetItem", [chunked({"Item": STORED})]),
    "in chunks without the last": ("GetItem", [chunked({"Item": STORED}, last=False)] * 3),
    "until it closes": ("GetItem", [raw(b"HTTP/1.0 200 OK\r\n\r\n", b'{"Item": {}}')]),
    "after a 100": ("GetItem", [lambda _: b"HTTP/1.1 100 Continue\r\n\r\n" + written(200, {"Item": STORED})]),
    "a sum that is wrong once": ("GetItem", [answer(200, {"Item": {"x": {"S": "damaged"}}}, crc=1), OK]),
    "a sum that is wrong of an error": ("GetItem", [answer(400, {"__type": "ValidationException"}, crc=1), OK]),
    "a sum that is wrong at SQS": ("SendMessageBatch", [answer(200, {"Successful": []}, crc=1)]),
    "Connection: close": ("GetItem", [answer(200, {"Item": STORED}, connection="close")]),
}


def made(kind: str, operation: str, attempts: int, script: list[Behaviour]) -> tuple[Any, list[Any]]:
    """The outcome of a call and of the same call once more, and what the service was asked."""
    with serving(*script) as service, connected(kind, service.url) as aws:
        plane = aws.plane(CALLS[operation][0], attempts, PATIENT)
        outcomes = told(outcome(plane, operation)), told(outcome(plane, operation))
        return outcomes, [(request.operation, request.headers["host"] in service.url) for request in service.requests]


@pytest.mark.parametrize(
    ("name", "attempts"),
    # botocore looks at a sum only if it may make the call again: the rest is in test_differences.py.
    [(name, n) for name in SCRIPTS for n in (3, 1) if n == 3 or not name.startswith("a sum that is wrong")],
)
def test_both_planes_come_to_the_same_outcome(name: str, attempts: int) -> None:
    operation, script = SCRIPTS[name]
    lean, botocore = (made(kind, operation, attempts, list(script)) for kind in (LEAN, BOTOCORE))
    assert lean == botocore
    assert len(lean[1]) >= 2


@pytest.mark.parametrize(
    ("behaviour", "meaning"),
    [
        (THROTTLED, Throttled),
        (FULL, Throttled),
        (HOT, HotPartition),
        (PROVISIONED, HotPartition),
        (answer(429, b""), Throttled),
        (answer(503, b""), NoAnswer),
        (closes, NoAnswer),
        (half(OK, 0.99), NoAnswer),
        (refusal("AccessDeniedException"), RefusedToAll),
        (refusal("InvalidSignatureException", SKEWED), RefusedToAll),
        (refusal("ConditionalCheckFailedException"), ConditionFailed),
    ],
)
@pytest.mark.parametrize("kind", BOTH)
def test_an_outcome_means_the_same_to_an_adapter(kind: str, behaviour: Behaviour, meaning: type[Exception]) -> None:
    with serving(rest=behaviour) as service, connected(kind, service.url) as aws, pytest.raises(meaning):
        try:
            ask(aws.plane("dynamodb", 3, PATIENT).call, "PutItem", **CALLS["PutItem"][1])
        except Throttled as throttled:
            # A partition alone is told from a table or an account, which throttle all clients.
            assert isinstance(throttled, PartitionThrottled) == (meaning is HotPartition)
            raise


@pytest.mark.parametrize("kind", BOTH)
def test_an_endpoint_that_cannot_be_reached_was_sent_nothing(kind: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    with connected(kind, url) as aws:
        assert told(outcome(aws.plane("dynamodb"), "PutItem")) == "EndpointConnectionError"


@pytest.mark.parametrize("kind", BOTH)
def test_a_service_that_does_not_answer_is_not_waited_for_without_end(kind: str) -> None:
    with serving() as service, connected(kind, service.url) as aws:
        service.rest = lambda _: b"" if service.over.wait(PATIENT) else None
        assert told(outcome(aws.plane("dynamodb", 2, 0.2), "GetItem")) == "ReadTimeoutError"
        assert len(service.requests) == 2


@pytest.mark.parametrize("kind", BOTH)
def test_a_connection_that_was_closed_while_it_was_idle_costs_no_attempt(kind: str) -> None:
    """As after an environment was frozen: the call is sent once, on a new connection."""
    with serving(then_closes(OK), then_closes(OK)) as service, connected(kind, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        for _ in range(2):
            service.idle_closed.clear()
            assert told(outcome(plane, "BatchWriteItem")) == {}
            assert service.idle_closed.wait(PATIENT)
        assert told(outcome(plane, "BatchWriteItem")) == {}
        assert [request.connection for request in service.requests] == [1, 2, 3]


@pytest.mark.parametrize("kind", BOTH)
def test_a_connection_that_closes_as_a_call_comes_is_no_answer_to_a_call_that_may_not_be_repeated(kind: str) -> None:
    with serving(OK, closes) as service, connected(kind, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        assert told(outcome(plane, "BatchWriteItem")) == {}
        assert told(outcome(plane, "BatchWriteItem")) == "ConnectionClosedError"
        assert [request.connection for request in service.requests] == [1, 1]


@pytest.mark.parametrize("kind", BOTH)
def test_calls_that_keep_failing_are_no_longer_repeated(kind: str) -> None:
    """500 tokens, of which a repeat takes five: a hundred repeats, then each call is made once."""
    with serving(rest=THROTTLED) as service, connected(kind, service.url) as aws:
        plane = aws.plane("dynamodb", 3, PATIENT)
        for _ in range(60):
            assert told(outcome(plane, "PutItem"))[0] == "ClientError"
        assert len(service.requests) == 60 + 100
        service.rest = hostile.answer(200, {})
        for _ in range(5):
            assert told(outcome(plane, "PutItem")) == {}
        service.behaviours, before = [THROTTLED], len(service.requests)
        assert told(outcome(plane, "PutItem")) == {}
        assert len(service.requests) == before + 2
