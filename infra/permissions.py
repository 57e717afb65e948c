"""What each Lambda may do, and nothing else. No statement names a resource it does not need."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from infra.options import service_of
from infra.queues import Queues

#: DynamoDB actions by Lambda and table.
TABLE_ACTIONS: Mapping[str, Mapping[str, str]] = {
    "api": {
        "timeline": "GetItem BatchGetItem PutItem BatchWriteItem UpdateItem",
        "jobs": "GetItem PutItem Query",
        "executions": "GetItem PutItem Query",
        "shards": "GetItem BatchGetItem PutItem Scan",
        "clients": "GetItem PutItem UpdateItem DeleteItem Query",
    },
    "ingester": {
        "timeline": "GetItem BatchGetItem PutItem UpdateItem",
        "jobs": "GetItem BatchGetItem PutItem",
        "executions": "GetItem PutItem Query",
        "shards": "GetItem BatchGetItem PutItem Scan",
        "clients": "GetItem PutItem UpdateItem",
    },
    "ticker": {
        "shards": "PutItem Scan",
    },
    "poller": {
        "timeline": "PutItem Query",
        "jobs": "GetItem BatchGetItem",
        "executions": "PutItem",
        "shards": "UpdateItem",
        "clients": "GetItem",
    },
    "deliverer": {
        "timeline": "GetItem PutItem",
        "jobs": "GetItem BatchGetItem",
        "executions": "GetItem PutItem Query",
        "shards": "GetItem",
        "clients": "GetItem PutItem UpdateItem DeleteItem Query",
    },
    "sweeper": {
        "timeline": "GetItem BatchGetItem PutItem BatchWriteItem Query",
        "jobs": "Scan",
        "executions": "GetItem PutItem Query",
        "shards": "GetItem",
        "clients": "GetItem UpdateItem DeleteItem Query",
    },
}
#: Lambdas that do what another does, elsewhere.
KIND_OF = {"kafka_deliverer": "deliverer"}
#: What a job's target takes, by the service of its ARN.
TARGET_ACTIONS = {
    "lambda": "lambda:InvokeFunction",
    "events": "events:PutEvents",
    "sns": "sns:Publish",
    "iam": "sts:AssumeRole",
}
RELEASES = ("api", "ingester", "poller", "deliverer", "sweeper")
INVOKES_POLLER = ("api", "ingester", "ticker", "sweeper")
#: AWS knows `SendMessage` for single messages and batches alike; the emulator asks for the batch by its own name.
_SEND = ("sqs:SendMessage", "sqs:SendMessageBatch")
_CONSUME = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes")


def grant(
    functions: Mapping[str, lambda_.Function],
    *,
    tables: Mapping[str, dynamodb.TableV2],
    queues: Queues,
    target_queue_arns: tuple[str, ...],
    target_arns: tuple[str, ...],
) -> None:
    """Write the policy of every function's own role."""
    for moment, function in functions.items():
        for name, actions in TABLE_ACTIONS[KIND_OF.get(moment, moment)].items():
            _allow(function, [f"dynamodb:{action}" for action in actions.split()], tables[name].table_arn)
        if KIND_OF.get(moment, moment) in RELEASES:
            _allow(function, _SEND, *(pair.release.queue_arn for pair in queues.pairs.values()))
        if moment in INVOKES_POLLER:
            _allow(function, ["lambda:InvokeFunction"], functions["poller"].function_arn)
    for moment, pair in queues.pairs.items():
        _allow(functions[moment], _CONSUME, pair.release.queue_arn)
    _allow(functions["sweeper"], _CONSUME, *(pair.dead_letters.queue_arn for pair in queues.pairs.values()))
    _allow_targets(functions["deliverer"], target_queue_arns, target_arns)


def _allow_targets(
    deliverer: lambda_.Function, target_queue_arns: tuple[str, ...], target_arns: tuple[str, ...]
) -> None:
    """Signing secrets under the name `clockwork/...`, and the queues and others that the deployment opened to jobs."""
    stack = cdk.Stack.of(deliverer)
    secrets = stack.format_arn(
        service="secretsmanager",
        resource="secret",
        resource_name="clockwork/*",
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )
    _allow(deliverer, ["secretsmanager:GetSecretValue"], secrets)
    if target_queue_arns:
        _allow(deliverer, ["sqs:SendMessage"], *target_queue_arns)
    for service, action in TARGET_ACTIONS.items():
        opened = [arn for arn in target_arns if service_of(arn) == service]
        if opened:
            _allow(deliverer, [action], *opened)


def _allow(function: lambda_.Function, actions: list[str] | tuple[str, ...], *resources: str) -> None:
    function.add_to_role_policy(iam.PolicyStatement(actions=list(actions), resources=list(resources)))
