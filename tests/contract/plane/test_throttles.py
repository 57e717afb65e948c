"""Calls that DynamoDB throttles are counted, whichever plane makes them; others are not."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.plane.hostile import Behaviour, answer, refusal, serving
from tests.contract.plane.planes import BOTH, CALLS, PATIENT, connected

pytestmark = pytest.mark.usefixtures("no_pauses_of_botocore")

#: DynamoDB refuses a write to a table whose index is throttled with the code of the table's own throttles.
OVER = refusal("ProvisionedThroughputExceededException")
UNREAD = answer(200, {"Responses": {}, "UnprocessedKeys": {"t": {"Keys": [{"id": {"S": "a"}}]}}})
UNWRITTEN = answer(200, {"UnprocessedItems": {"t": [{"DeleteRequest": {"Key": {"id": {"S": "a"}}}}]}})
DONE = answer(200, {})


def counted(kind: str, operation: str, *behaviours: Behaviour) -> int:
    """How many calls counted as throttled when one call of the operation was made."""
    told: list[None] = []
    with serving(*behaviours) as service, connected(kind, service.url) as aws:
        aws.on_throttled = lambda: told.append(None)
        asked: dict[str, Any] = CALLS[operation][1]
        aws.plane("dynamodb", 1, PATIENT).call_all(operation, [asked])
    return len(told)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("operation", "behaviour", "expected"),
    [
        ("PutItem", OVER, 1),
        ("Query", refusal("ThrottlingException"), 1),
        ("GetItem", refusal("RequestLimitExceeded"), 1),
        ("BatchGetItem", UNREAD, 1),
        ("BatchWriteItem", UNWRITTEN, 1),
        ("PutItem", refusal("TransactionConflictException"), 0),
        ("PutItem", refusal("ConditionalCheckFailedException"), 0),
        ("PutItem", refusal("AccessDeniedException"), 0),
        ("PutItem", DONE, 0),
    ],
)
def test_each_throttled_call_is_counted(kind: str, operation: str, behaviour: Behaviour, expected: int) -> None:
    assert counted(kind, operation, behaviour) == expected


def test_a_call_that_succeeds_when_it_is_made_again_is_not_counted() -> None:
    told: list[None] = []
    with serving(OVER, DONE) as service, connected("lean", service.url) as aws:
        aws.on_throttled = lambda: told.append(None)
        aws.plane("dynamodb", 2, PATIENT).call("PutItem", **CALLS["PutItem"][1])
    assert told == []


def test_the_caller_hears_of_a_throttle_as_before() -> None:
    told: list[None] = []
    with serving(OVER) as service, connected("lean", service.url) as aws:
        aws.on_throttled = lambda: told.append(None)
        with pytest.raises(ClientError, match="ProvisionedThroughputExceeded"):
            aws.plane("dynamodb", 1, PATIENT).call("PutItem", **CALLS["PutItem"][1])
    assert told == [None]
