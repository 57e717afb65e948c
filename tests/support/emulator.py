"""The emulator that test suites share: it starts when the first test asks, and ends with the session."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from infra import ROOT

if TYPE_CHECKING:
    from local.emulator import Credentials, Emulator
    from local.stack import LocalStack
    from tests.support.kafka.cluster import KafkaCluster

#: The calls of the roles of the stack, see `local.recorded_calls`.
CALLS = ROOT / "build/iam/calls.jsonl"
_OPEN = (
    ("lambda", "function:target-*"),
    ("events", "event-bus/target-*"),
    ("sns", "target-*"),
    ("kinesis", "stream/target-*"),
    ("states", "stateMachine:target-*"),
    ("ecs", "cluster/target-*"),
    ("ecs", "task-definition/target-*"),
)
_ARN = "arn:aws:{}:us-east-1:000000000000:{}"
#: The options of the stack, Kafka's addresses aside.
OPTIONS = {
    "targetQueueArns": _ARN.format("sqs", "target-*"),
    "targetArns": ",".join(_ARN.format(*opened) for opened in _OPEN),
    "ingestionQueue": "true",
    "reserve": "true",
}
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """An emulator without IAM, over HTTP, for tests of the adapters."""
    from local.emulator import emulator

    with emulator(secure=False) as running:
        yield running


@pytest.fixture
def account() -> Credentials:
    """An account of the emulator that no other test has used: empty, and invisible to the others."""
    from local.emulator import Credentials

    return Credentials.root(f"{next(_numbers):012d}")


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaCluster]:
    """The Kafka cluster that the stack writes to; its addresses must be known before the stack is deployed."""
    from tests.support.kafka.cluster import kafka_cluster

    with kafka_cluster() as running:
        yield running


@pytest.fixture(scope="session")
def options(kafka: KafkaCluster) -> dict[str, str]:
    """The options of the deployment, with everything that some test needs, so that one deployment serves them all.

    Jobs may target queues, functions, buses and topics whose names begin with `target-`.
    """
    return {**OPTIONS, "kafka": json.dumps({"bootstrapServers": kafka.addresses})}


@pytest.fixture(scope="session")
def stack(options: dict[str, str]) -> Iterator[LocalStack]:
    """The deployed stack, with IAM and TLS, for end-to-end tests. A test that deploys other options restores these.

    The calls of its Lambdas to AWS are in `CALLS`, anew for each session.
    """
    from local.stack import LocalStack

    CALLS.parent.mkdir(parents=True, exist_ok=True)
    CALLS.unlink(missing_ok=True)
    with LocalStack.start(calls=CALLS) as running:
        running.deploy(options)
        yield running
