"""The rights of a pool's workers: a managed policy for each pool, which an operator attaches to the workers' role."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from clockwork.routes import ROUTES
from infra.api import Api
from infra.options import plain_name
from infra.queues import PoolQueues

#: A worker receives tickets, and gives back those that it has not asked for. It deletes none: the API does.
RECEIVES = ("sqs:ReceiveMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueUrl")


def policy_of(stack: cdk.Stack, pool: str, *, queues: PoolQueues, api: Api, key_arn: str) -> iam.ManagedPolicy:
    """The policy of one pool's workers: its queues, and the routes of workers.

    The API decides whether a caller works for the pool, by the pool's principals. The policy alone therefore admits
    nobody, and IAM stops a principal without the policy before the API.
    """
    statements = [
        iam.PolicyStatement(actions=list(RECEIVES), resources=[queue.queue_arn for queue in queues.by_name.values()]),
        iam.PolicyStatement(actions=["execute-api:Invoke"], resources=_routes(pool, api)),
    ]
    if key_arn:
        # SQS decrypts for whoever receives, with the receiver's rights.
        via = {"StringEquals": {"kms:ViaService": f"sqs.{stack.region}.{stack.url_suffix}"}}
        statements.append(iam.PolicyStatement(actions=["kms:Decrypt"], resources=[key_arn], conditions=via))
    return iam.ManagedPolicy(
        stack,
        f"Pool{plain_name(pool).capitalize()}Policy",
        description=f"What the workers of the pool {pool} may do",
        statements=statements,
    )


def _routes(pool: str, api: Api) -> list[str]:
    """The ARNs of the worker routes: of this pool, and of executions, whose ids are not known before."""
    found = {
        f"{route.method}{route.path.replace('{pool}', pool).replace('{executionId}', '*')}"
        for route in ROUTES
        if route.worker
    }
    stack = cdk.Stack.of(api)
    return [
        stack.format_arn(service="execute-api", resource=api.http_api.api_id, resource_name=f"$default/{one}")
        for one in sorted(found)
    ]


def declare_policies(stack: cdk.Stack, policies: Mapping[str, iam.ManagedPolicy]) -> None:
    """Declare the output Pool<Name>PolicyArn of each pool."""
    for pool, policy in policies.items():
        cdk.CfnOutput(stack, f"Pool{plain_name(pool).capitalize()}PolicyArn", value=policy.managed_policy_arn)
