"""The emulator that test suites share: it starts when the first test asks, and ends with the session."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from local.emulator import Credentials, Emulator
    from local.stack import LocalStack
    from tests.support.kafka.cluster import KafkaCluster

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
    from local.emulator import ACCOUNT, REGION

    services = (("lambda", "function:target-*"), ("events", "event-bus/target-*"), ("sns", "target-*"))
    return {
        "targetQueueArns": f"arn:aws:sqs:{REGION}:{ACCOUNT}:target-*",
        "targetArns": ",".join(f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}" for service, name in services),
        "ingestionQueue": "true",
        "reserve": "true",
        "kafka": json.dumps({"bootstrapServers": kafka.addresses}),
    }


@pytest.fixture(scope="session")
def stack(options: dict[str, str]) -> Iterator[LocalStack]:
    """The deployed stack, with IAM and TLS, for end-to-end tests. A test that deploys other options restores these."""
    from local.stack import LocalStack

    with LocalStack.start() as running:
        running.deploy(options)
        yield running
