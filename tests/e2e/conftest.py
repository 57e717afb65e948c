"""One deployed stack for all tests from end to end, with a tenant whose webhooks are signed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from local.emulator import ACCOUNT, REGION
from local.receiver import Post
from local.stack import LocalStack
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant

#: The queues that the deployment opens to jobs.
_TARGETS = f"arn:aws:sqs:{REGION}:{ACCOUNT}:target-*"
#: The functions, buses and topics that it opens.
_SERVICES = ",".join(
    f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"
    for service, resource in (("lambda", "function:target-*"), ("events", "event-bus/target-*"), ("sns", "target-*"))
)
SECRET_NAME = "clockwork/acme"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class FirstJob(NamedTuple):
    """The answer to the very first create, and the delivery."""

    created: dict[str, Any]
    arrival: Post


class _WithTargets(LocalStack):
    """Opens the queues and services to jobs whenever it is deployed."""

    def deploy(self, context: Mapping[str, str] | None = None, *, assembly: Path | None = None) -> dict[str, str]:
        opened = {"targetQueueArns": _TARGETS, "targetArns": _SERVICES}
        return super().deploy({**opened, **(context or {})}, assembly=assembly)


@pytest.fixture(scope="session")
def stack() -> Iterator[LocalStack]:
    """The stack with IAM and TLS, as a newcomer gets it."""
    with _WithTargets.start() as running:
        running.deploy()
        yield running


@pytest.fixture(scope="session")
def deployment(stack: LocalStack) -> Deployment:
    """The stack, with a standard and a FIFO queue."""
    sqs = stack.client("sqs")
    for name, attributes in (("target-standard", {}), ("target-orders.fifo", {"FifoQueue": "true"})):
        sqs.create_queue(QueueName=name, Attributes=attributes)
    return Deployment(stack, _TARGETS.replace("*", "standard"), _TARGETS.replace("*", "orders.fifo"))


@pytest.fixture(scope="session")
def webhooks() -> Iterator[Hooks]:
    """Where hooks are received."""
    with Hooks() as running:
        yield running


@pytest.fixture
def hook(webhooks: Hooks) -> Hook:
    """A URL of this test's own that accepts everything."""
    return webhooks.hook()


@pytest.fixture(scope="session")
def newcomer(deployment: Deployment, webhooks: Hooks) -> Tenant:
    """The client acme, who has not created a job yet."""
    deployment.stack.client("secretsmanager").create_secret(Name=SECRET_NAME, SecretString=SECRET)
    return deployment.tenant(
        "acme",
        signingSecrets=[SECRET_NAME],
        allowedPrivateTargets=[webhooks.place],
        allowedQueueArns=[deployment.standard, deployment.fifo],
    )


@pytest.fixture(scope="session")
def first_job(newcomer: Tenant, webhooks: Hooks) -> FirstJob:
    """The first job of the stack's life: due in two seconds, while no Lambda has ever run and no tick has come."""
    hook = webhooks.hook()
    created = newcomer.create(hook, schedule={"delaySeconds": 2})
    return FirstJob(created, hook.await_arrivals(1)[0])


@pytest.fixture(scope="session")
def acme(newcomer: Tenant, first_job: FirstJob) -> Tenant:
    """The client acme on a stack that is warm."""
    return newcomer


@pytest.fixture(scope="session")
def globex(deployment: Deployment, webhooks: Hooks) -> Tenant:
    """Another client."""
    return deployment.tenant("globex", allowedPrivateTargets=[webhooks.place])
