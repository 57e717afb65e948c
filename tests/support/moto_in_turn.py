"""moto whose tables keep DynamoDB's rules between threads, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any
from unittest import mock

from moto import mock_aws
from moto.dynamodb.responses import DynamoHandler

_answered: Any = DynamoHandler.call_action


@contextmanager
def moto_in_turn() -> Iterator[None]:
    """Runs moto in this process, which answers requests to DynamoDB one after the other.

    moto evaluates a condition and writes in two steps, and undoes a transaction by putting the tables back as they
    were. With two requests at once, both may win, or one is lost. Queues are not held, since their readers wait.
    """
    turn = Lock()

    def in_turn(handler: DynamoHandler) -> Any:
        with turn:
            return _answered(handler)

    with mock_aws(), mock.patch.object(DynamoHandler, "call_action", in_turn):
        yield
