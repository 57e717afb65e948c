"""IAM permissions of each Lambda (least privilege): no statement names a resource that the Lambda does not need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from clockwork.domain.clients import ADMINS
from clockwork.queue_names import pool_queue_name, release_queue_name
from clockwork.settings import LIVE
from clockwork.targets.registry import LISTED, SERVICE_TARGETS
from clockwork.targets.service import ROLES, Service
from infra.options import service_of
from infra.queues import Queues
from infra.storage import ATTENTION_INDEX, RUNS_INDEX
from infra.table_actions import TABLE_ACTIONS

#: Lambdas that need the permissions of another, for the same work on other queues.
KIND_OF = {"kafka_deliverer": "deliverer", "private_deliverer": "deliverer"}
#: The action that the deliverer needs for a target or role, by the service of its ARN.
TARGET_ACTIONS = {target.service.in_arns: target.service.action for target in LISTED} | {ROLES: "sts:AssumeRole"}
#: Services that use the key of an encrypted resource in the name of the deliverer.
_USE_KEYS = (*(target.service.client for target in SERVICE_TARGETS if target.service.uses_keys), "secretsmanager")
#: Lambdas in which an execution may become DEAD. They may send to the queues that jobs may target, since a client may
#: have named one of these for messages about its dead executions.
TELLS = ("poller", "deliverer", "sweeper", "workers")
RELEASES = ("api", "ingester", "poller", "deliverer", "sweeper", "workers")
#: Lambdas that sign webhooks.
CALLS_WEBHOOKS = ("deliverer", "private_deliverer")
#: The ticker narrows the lookahead by the backlog; the api shows it to admins.
COUNTS = ("ticker", "api")
INVOKES_POLLER = ("api", "ingester", "ticker", "sweeper")
#: AWS checks `SendMessage`, `DeleteMessage` and `ChangeMessageVisibility` for single messages and batches alike. It
#: knows no actions of their own for batches, which the emulator checks:
#: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsqs.html
_OF_BATCHES = frozenset({"sqs:SendMessageBatch", "sqs:DeleteMessageBatch", "sqs:ChangeMessageVisibilityBatch"})
#: The key in the context of a stack's constructs that says whether the emulator takes the stack.
EMULATED = "clockwork:emulated"
#: The actions that change items of a table.
WRITES_OF_ITEMS = frozenset(
    {f"dynamodb:{action}" for action in ("BatchWriteItem", "DeleteItem", "PutItem", "UpdateItem")}
)
SEND = ("sqs:SendMessage", "sqs:SendMessageBatch")
_DELETE = ("sqs:DeleteMessage", "sqs:DeleteMessageBatch")
#: https://docs.aws.amazon.com/kms/latest/developerguide/services-dynamodb.html
_OWN_KEY = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*")
_HIDE_BATCH = "sqs:ChangeMessageVisibilityBatch"
_HIDE = ("sqs:ChangeMessageVisibility", _HIDE_BATCH)
CONSUME = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes")


def kind_of(moment: str) -> str:
    """The Lambda whose permissions a Lambda has."""
    return KIND_OF.get(moment, moment)


def grant(
    functions: Mapping[str, lambda_.Function],
    *,
    tables: Mapping[str, dynamodb.ITableV2],
    queues: Queues,
    target_queue_arns: tuple[str, ...],
    target_arns: tuple[str, ...],
    secret_prefix: str,
    target_key_arns: tuple[str, ...],
    key_arn: str,
) -> None:
    """Write the policy of every function's own role."""
    further = _further_queues(queues)
    for moment, function in functions.items():
        _allow_tables(function, TABLE_ACTIONS[kind_of(moment)], tables)
        if kind_of(moment) in RELEASES:
            allow(function, SEND, *(pair.release.queue_arn for pair in queues.every), further)
            if queues.pools:
                allow(function, SEND, _pool_queues(queues))
        if kind_of(moment) in TELLS and target_queue_arns:
            allow(function, ["sqs:SendMessage"], *target_queue_arns)
        if moment in INVOKES_POLLER:
            allow(function, ["lambda:InvokeFunction"], f"{functions['poller'].function_arn}:{LIVE}")
    for moment, pair in queues.pairs.items():
        allow(functions[moment], CONSUME, pair.release.queue_arn)
        allow(functions[moment], (*CONSUME, _HIDE_BATCH), queues.ordered[moment].release.queue_arn)
    allow(functions["deliverer"], CONSUME, further)
    counted = [*(pair.release for pair in queues.pairs.values()), *queues.further.values()]
    for moment in COUNTS:
        allow(functions[moment], ["sqs:GetQueueAttributes"], *(queue.queue_arn for queue in counted))
    letters = [pair.dead_letters.queue_arn for pair in queues.every if not pair.shares_dead_letters]
    allow(functions["sweeper"], CONSUME, *letters)
    _allow_pools(functions, queues)
    # A resume of a client starts a sweep.
    allow(functions["api"], ["lambda:InvokeFunction"], f"{functions['sweeper'].function_arn}:{LIVE}")
    _allow_successor(functions["poller"])
    # The sweeper redrives and discards for the api.
    for moment in ("api", "sweeper"):
        allow(functions[moment], ["dynamodb:Query"], f"{tables['executions'].table_arn}/index/{ATTENTION_INDEX}")
    allow(functions["api"], ["dynamodb:Query"], f"{tables['executions'].table_arn}/index/{RUNS_INDEX}")
    _allow_targets(functions["deliverer"], target_arns)
    _allow_secrets(functions, secret_prefix)
    for moment, function in functions.items():
        _allow_keys_of(moment, function, target_key_arns, key_arn)


def _allow_keys_of(moment: str, function: lambda_.Function, targets: tuple[str, ...], own: str) -> None:
    if targets and kind_of(moment) in TELLS:
        services = _USE_KEYS if kind_of(moment) == "deliverer" else ("sqs",)
        uses = ("kms:GenerateDataKey", "kms:Decrypt")
        function.add_to_role_policy(_of_keys(cdk.Stack.of(function), uses, targets, services))
    if own:
        function.add_to_role_policy(key_statement(cdk.Stack.of(function), own))


def key_statement(stack: cdk.Stack, own: str) -> iam.PolicyStatement:
    """Lets DynamoDB and SQS use the key of Clockwork's own tables and queues for a Lambda."""
    return _of_keys(stack, _OWN_KEY, (own,), ("dynamodb", "sqs"))


def _of_keys(
    stack: cdk.Stack, actions: tuple[str, ...], keys: tuple[str, ...], services: tuple[str, ...]
) -> iam.PolicyStatement:
    """Lets keys be used by services that work for a Lambda, and by nobody else."""
    via = [f"{service}.{stack.region}.{stack.url_suffix}" for service in services]
    conditions = {"StringEquals": {"kms:ViaService": via}}
    return iam.PolicyStatement(actions=list(actions), resources=list(keys), conditions=conditions)


def _further_queues(queues: Queues) -> str:
    """A pattern of the ARNs of all release queues after the first.

    It also covers the queues that an earlier deployment had and left behind.
    """
    stack = cdk.Stack.of(queues)
    name = release_queue_name(stack.stack_name, "*")
    return stack.format_arn(service="sqs", resource=name, arn_format=cdk.ArnFormat.NO_RESOURCE_NAME)


def _pool_queues(queues: Queues) -> str:
    """A pattern of the ARNs of all pools' queues: a role's policy has no room for each. Dead letters are not in it."""
    stack = cdk.Stack.of(queues)
    name = pool_queue_name(stack.stack_name, "*", "*")
    return stack.format_arn(service="sqs", resource=name, arn_format=cdk.ArnFormat.NO_RESOURCE_NAME)


def _allow_pools(functions: Mapping[str, lambda_.Function], queues: Queues) -> None:
    """Let the workers Lambda delete the tickets that it has answered, and others count those that wait.

    No Lambda of ours receives a ticket but the sweeper, of those that were received too often.
    """
    if queues.pools:
        allow(functions["workers"], [*_DELETE, *_HIDE, "sqs:GetQueueAttributes"], _pool_queues(queues))
        allow(functions["api"], ["sqs:GetQueueAttributes"], _pool_queues(queues))
        allow(functions["sweeper"], CONSUME, *(pool.dead_letters.queue_arn for pool in queues.pools.values()))


def _allow_successor(poller: lambda_.Function) -> None:
    """Let the poller invoke itself, since the poller of an ordered shard starts its successor.

    The statement has a policy of its own. It cannot be in the default policy of the role: CloudFormation makes the
    function after that policy, and the statement names the function.
    """
    statement = iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[f"{poller.function_arn}:{LIVE}"])
    assert poller.role is not None
    iam.Policy(poller.node.scope, "PollerSuccession", roles=[poller.role], statements=[statement])  # type: ignore[arg-type]


def _allow_targets(deliverer: lambda_.Function, target_arns: tuple[str, ...]) -> None:
    """Let the deliverer call the targets that the deployment opened. Queues are not included: `TELLS` covers them."""
    opened = {service: [arn for arn in target_arns if service_of(arn) == service] for service in TARGET_ACTIONS}
    roles = opened[ROLES]
    for service in (target.service for target in LISTED):
        if arns := opened[service.in_arns]:
            kind = service.resource.partition("/")[0] + "/"
            acted_on = [arn for arn in arns if may_be(arn, kind)] if service.within else arns
            if acted_on:
                allow_at(deliverer, service, (service.action,), acted_on, arns)
            if service.passes_roles_to and roles:
                _allow_passing(deliverer, service.passes_roles_to, roles)
    if roles:
        allow(deliverer, [TARGET_ACTIONS[ROLES]], *roles)


def may_be(arn: str, kind: str) -> bool:
    """Whether an ARN is, or a pattern covers, resources whose last part begins with `kind`."""
    resource = (arn.split(":", 5)[5:] or ["*"])[0]
    return fnmatchcase(kind, re.sub("(?<=[:/]).*", "", resource))


def allow_at(
    deliverer: lambda_.Function,
    service: Service,
    actions: tuple[str, ...],
    resources: Iterable[str],
    opened: Iterable[str],
) -> None:
    """Allow actions of a service on resources, within the opened ARNs if it has a condition key for that.

    The emulator does not know the key, and takes another resource for such an action.
    """
    if not service.within:
        allow(deliverer, actions, *resources)
    elif deliverer.node.try_get_context(EMULATED):
        allow(deliverer, actions, "*")
    else:
        conditions = {"ArnLike": {service.within: [*opened]}}
        deliverer.add_to_role_policy(
            iam.PolicyStatement(actions=[*actions], resources=[*resources], conditions=conditions)
        )


def _allow_passing(deliverer: lambda_.Function, to: str, roles: list[str]) -> None:
    """Let the deliverer pass opened roles to what it starts, and to no other service."""
    conditions = {"StringEquals": {"iam:PassedToService": to}}
    deliverer.add_to_role_policy(iam.PolicyStatement(actions=["iam:PassRole"], resources=roles, conditions=conditions))


def _allow_secrets(functions: Mapping[str, lambda_.Function], prefix: str) -> None:
    """Let those that call webhooks read signing secrets below the prefix, and the api learn whether one exists.

    The api may not read any. Parameter Store describes no single parameter, so the api asks for a parameter's tags.
    """
    api = functions["api"]
    stack = cdk.Stack.of(api)
    secrets = stack.format_arn(
        service="secretsmanager",
        resource="secret",
        resource_name=f"{prefix}*",
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )
    parameters = stack.format_arn(service="ssm", resource="parameter", resource_name=f"{prefix}*")
    allow(api, ["secretsmanager:DescribeSecret"], secrets)
    allow(api, ["ssm:ListTagsForResource"], parameters)
    for moment in CALLS_WEBHOOKS:
        if moment in functions:
            allow(functions[moment], ["secretsmanager:GetSecretValue"], secrets)
            _allow_parameters(functions[moment], parameters)


def _allow_parameters(deliverer: lambda_.Function, parameters: str) -> None:
    """Let the deliverer read signing secrets that are SSM parameters, and decrypt them with keys of the account.

    The keys may be used for these parameters only: Parameter Store names the parameter when it asks for a decryption.
    https://docs.aws.amazon.com/kms/latest/developerguide/services-parameter-store.html
    """
    stack = cdk.Stack.of(deliverer)
    allow(deliverer, ["ssm:GetParameter"], parameters)
    statement = iam.PolicyStatement(
        actions=["kms:Decrypt"],
        resources=[stack.format_arn(service="kms", resource="key", resource_name="*")],
        conditions={
            "StringEquals": {"kms:ViaService": f"ssm.{stack.region}.{stack.url_suffix}"},
            "StringLike": {"kms:EncryptionContext:PARAMETER_ARN": parameters},
        },
    )
    deliverer.add_to_role_policy(statement)


def _allow_tables(
    function: lambda_.Function, actions_of: Mapping[str, str], tables: Mapping[str, dynamodb.ITableV2]
) -> None:
    """Allow a Lambda its actions on each table, but no write to the row of the admins: the deployment names them."""
    row = {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": [ADMINS]}}
    for name, listed in actions_of.items():
        actions = {f"dynamodb:{action}" for action in listed.split()}
        allow(function, sorted(actions), tables[name].table_arn)
        writes = sorted(actions & WRITES_OF_ITEMS)
        if name == "clients" and writes:
            deny = iam.PolicyStatement(effect=iam.Effect.DENY, actions=writes, conditions=row)
            deny.add_resources(tables[name].table_arn)
            function.add_to_role_policy(deny)


def allow(function: lambda_.Function, actions: list[str] | tuple[str, ...], *resources: str) -> None:
    """Allow a Lambda some actions; those that the emulator alone checks are left out of a stack for AWS."""
    emulated = function.node.try_get_context(EMULATED)
    known = [action for action in actions if emulated or action not in _OF_BATCHES]
    function.add_to_role_policy(iam.PolicyStatement(actions=known, resources=list(resources)))
