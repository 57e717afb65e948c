"""Fixtures of the end-to-end tests on the one deployed stack: queues, hooks, a client whose webhooks are signed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from local.emulator import ACCOUNT, REGION
from local.receiver import Post
from local.stack import LocalStack
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant

SECRET_NAME = "clockwork/acme"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The test that judges the calls of all tests comes behind them."""
    items.sort(key=lambda item: item.path.name == "test_iam.py" and item.path.parent.name == "e2e")


class FirstJob(NamedTuple):
    """The answer to the stack's very first create, and the delivery of that job."""

    created: dict[str, Any]
    arrival: Post


@pytest.fixture(scope="session")
def deployment(stack: LocalStack) -> Deployment:
    """The deployed stack, with a standard and a FIFO queue as targets."""
    sqs = stack.client("sqs")
    for name, attributes in (("target-standard", {}), ("target-orders.fifo", {"FifoQueue": "true"})):
        sqs.create_queue(QueueName=name, Attributes=attributes)
    standard, fifo = (f"arn:aws:sqs:{REGION}:{ACCOUNT}:target-{name}" for name in ("standard", "orders.fifo"))
    return Deployment(stack, standard, fifo)


@pytest.fixture
def resolving(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names below localhost lead to this machine, as they do on most systems; the stack's certificate is trusted."""
    real = socket.getaddrinfo

    def resolve(host: Any, *more: Any, **named: Any) -> Any:
        return real("127.0.0.1" if str(host).endswith(".localhost") else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(deployment.stack.ca_bundle))


@pytest.fixture(scope="session")
def webhooks() -> Iterator[Hooks]:
    """The running webhook receiver."""
    with Hooks() as running:
        yield running


@pytest.fixture
def hook(webhooks: Hooks) -> Hook:
    """A URL of this test's own; the receiver accepts every request to it."""
    return webhooks.hook()


@pytest.fixture(scope="session")
def newcomer(deployment: Deployment, webhooks: Hooks) -> Tenant:
    """The client acme, which has not created a job yet."""
    deployment.stack.client("secretsmanager").create_secret(Name=SECRET_NAME, SecretString=SECRET)
    return deployment.tenant(
        "acme",
        signingSecrets=[SECRET_NAME],
        allowedPrivateTargets=[webhooks.place],
        allowedQueueArns=[deployment.standard, deployment.fifo],
    )


@pytest.fixture(scope="session")
def first_job(newcomer: Tenant, webhooks: Hooks) -> FirstJob:
    """The first job of the stack's life: due in two seconds, while no Lambda has run and no tick has come before."""
    hook = webhooks.hook()
    created = newcomer.create(hook, schedule={"delaySeconds": 2})
    return FirstJob(created, hook.await_arrivals(1)[0])


@pytest.fixture(scope="session")
def acme(newcomer: Tenant, first_job: FirstJob) -> Tenant:
    """The client acme, on a stack that is warm."""
    return newcomer


@pytest.fixture(scope="session")
def globex(deployment: Deployment, webhooks: Hooks) -> Tenant:
    """Another client."""
    return deployment.tenant("globex", allowedPrivateTargets=[webhooks.place])
