"""Sets of options that between them have every kind of resource, each synthesized once."""

from __future__ import annotations

import functools
import json
from typing import Any

from infra.deployment.schema import OPTIONS
from tests.infra.conftest import ADMIN, TARGETS, synthesize
from tests.infra.template import Template

ARNS = "arn:aws:{}:us-east-1:123456789012:{}"
KAFKA = {
    "bootstrapServers": "b-1.example.com:9098",
    "clusterArn": ARNS.format("kafka", "cluster/jobs/abc-1"),
    "auth": "iam",
    "subnetIds": ["subnet-0123456789abcdef0"],
    "securityGroupIds": ["sg-0123456789abcdef0"],
    "ingestionTopic": "requests",
}
NETWORK = {"subnetIds": ["subnet-0123456789abcdef1"], "securityGroupIds": ["sg-0123456789abcdef1"]}
KEY = ARNS.format("kms", "key/1a2b3c4d-5e6f-7081-92a3-b4c5d6e7f809")
TARGET_KEY = ARNS.format("kms", "key/0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0")
MOST_QUEUES: int = OPTIONS["releaseQueues"]["maximum"]
OPTION_SETS: dict[str, dict[str, Any]] = {
    "plain": {"adminPrincipals": [ADMIN], "targetQueueArns": [TARGETS]},
    "kafka": {"kafka": KAFKA, "ingestionQueue": True, "delivererConcurrency": 50},
    "new cluster": {
        "kafka": {"create": "serverless", "ingestionTopic": "requests", "zones": ["us-east-1a", "us-east-1c"]},
        "name": "Clockwork-Staging",
        "architecture": "x86_64",
    },
    "reserved, with pollers": {
        "reserve": True,
        "queuePollers": 3,
        "releaseQueues": 3,
        "delivererConcurrency": 200,
        "alarmTopicArn": ARNS.format("sns", "ops"),
        "network": NETWORK,
        "pools": [{"name": "batch-etl"}, {"name": "gpu", "priorities": ["normal"]}],
    },
    "largest": {
        "kafka": KAFKA,
        "network": NETWORK,
        "ingestionQueue": True,
        "unsignedCompletions": True,
        "releaseQueues": MOST_QUEUES - 3,  # as many as fit beside the pools and the ends
        "shards": 1_000,
        "name": "A-name-as-long-as-it-may",
        "adminPrincipals": [f"arn:aws:iam::123456789012:role/SchedulerAdministrators{number}" for number in range(8)],
        "targetArns": [
            *(ARNS.format("lambda", f"function:billing-jobs-{number}-*") for number in range(10)),
            ARNS.format("events", "event-bus/orders"),
            ARNS.format("sns", "shipments"),
            ARNS.format("states", "stateMachine:billing-*"),
            ARNS.format("ecs", "cluster/billing"),
            ARNS.format("ecs", "task-definition/billing-*:*"),
            "arn:aws:iam::123456789012:role/JobTarget",
        ],
        "targetKeyArns": [TARGET_KEY],
        "keyArn": KEY,
        "targetQueueArns": [ARNS.format("sqs", f"jobs-of-team-{number}-*") for number in range(10)],
        "alarmTopicArn": ARNS.format("sns", "ops"),
        "pools": [{"name": f"{letter}-pool-with-a-name-as-it-may-be"} for letter in "ab"],
    },
}


@functools.cache
def template_of(name: str) -> Template:
    """The account's template with one of the sets."""
    return synthesize(**{option: json.loads(json.dumps(value)) for option, value in OPTION_SETS[name].items()})
