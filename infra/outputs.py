"""Outputs of the stack: the addresses and names that its operator needs."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ssm as ssm

from infra.api import Api
from infra.function_url import FunctionUrl
from infra.functions import Functions, construct_name
from infra.ingestion import Ingestion
from infra.permissions import TELLS, kind_of
from infra.queues import Queues
from infra.storage import Storage


def declare_outputs(
    stack: cdk.Stack,
    *,
    storage: Storage,
    queues: Queues,
    functions: Functions,
    api: Api | FunctionUrl,
    ingestion: Ingestion | None,
) -> None:
    """Declare the outputs: ApiUrl, ApiId, the queues' URLs, `<Name>Table` and `<Name>Function` per table and Lambda.

    The SSM parameters `/<name of the stack>/...` tell stacks of services the API and the deliverer's role.
    """
    values = {
        "ApiUrl": api.url,
        **api.outputs,
        **{f"{name.capitalize()}Table": table.table_name for name, table in storage.tables.items()},
        **{f"{construct_name(name)}Function": one.function_name for name, one in functions.by_moment.items()},
    }
    for moment, function in functions.by_moment.items():
        if kind_of(moment) in TELLS and function.role is not None:
            values[f"{construct_name(moment)}RoleArn"] = function.role.role_arn
    for moment, pair in queues.pairs.items():
        prefix = construct_name(moment).removesuffix("Deliverer")
        values |= {
            f"{prefix}ReleaseQueueUrl": pair.release.queue_url,
            f"{prefix}OrderedReleaseQueueUrl": queues.ordered[moment].release.queue_url,
        }
        if not pair.shares_dead_letters:
            values |= {
                f"{prefix}DeadLetterQueueUrl": pair.dead_letters.queue_url,
                f"{prefix}OrderedDeadLetterQueueUrl": queues.ordered[moment].dead_letters.queue_url,
            }
    values |= {f"ReleaseQueue{number}Url": queue.queue_url for number, queue in queues.further.items()}
    if ingestion:
        values["RejectedQueueUrl"] = ingestion.rejected.queue_url
    if ingestion and ingestion.inbound:
        values["InboundQueueUrl"] = ingestion.inbound.queue_url
    for name, value in values.items():
        cdk.CfnOutput(stack, name, value=value)
    role_arn = values["DelivererRoleArn"]
    parameters = {"api-url": api.url, **api.parameters, "deliverer-role-arn": role_arn}
    for name, value in parameters.items():
        # Stacks of services read them (`clockwork_client.cdk`), and need no address of their own.
        ssm.StringParameter(
            stack, f"Parameter-{name}", parameter_name=f"/{stack.stack_name}/{name}", string_value=value
        )
