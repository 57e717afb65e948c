"""An example of each type of target that is a resource of an AWS service, and what its service may answer."""

from __future__ import annotations

from typing import NamedTuple

from clockwork.targets.ecs import EcsTarget
from clockwork.targets.eventbridge import EventBridgeTarget
from clockwork.targets.kinesis import KinesisTarget
from clockwork.targets.lambda_function import LambdaTarget
from clockwork.targets.service import ServiceTarget
from clockwork.targets.sns import SnsTarget
from clockwork.targets.sqs import SqsTarget
from clockwork.targets.step_functions import StepFunctionsTarget

_ARN = "arn:aws:{}:us-east-1:123456789012:{}"


class Example(NamedTuple):
    """`operation` of botocore's client sends one message. `refusals`: codes, and whether each is permanent, why.

    `says_nothing`: a bare answer to one message means that it was taken.
    """

    target: ServiceTarget
    operation: str
    refusals: dict[str, tuple[bool, str]]
    says_nothing: bool = True


EXAMPLES = {
    SqsTarget: Example(
        SqsTarget(_ARN.format("sqs", "orders"), role_arn="r"),
        "send_message",
        {
            "AccessDenied": (False, "needs sqs:SendMessage, by the option targetQueueArns"),
            "AWS.SimpleQueueService.NonExistentQueue": (False, "does not exist"),
            "InvalidMessageContents": (True, "did not take the message"),
        },
    ),
    LambdaTarget: Example(
        LambdaTarget(_ARN.format("lambda", "function:orders"), "r"),
        "invoke",
        {
            "AccessDeniedException": (False, "needs lambda:InvokeFunction, by the option targetArns"),
            "ResourceNotFoundException": (False, "does not exist"),
            "TooManyRequestsException": (False, "did not take the event: TooManyRequestsException: because"),
            "RequestTooLargeException": (True, "did not take the event"),
        },
    ),
    EventBridgeTarget: Example(
        EventBridgeTarget(_ARN.format("events", "event-bus/orders"), "shop", "due", "r"),
        "put_events",
        {
            "AccessDeniedException": (False, "needs events:PutEvents, by the option targetArns"),
            "InternalException": (False, "did not take the event"),
            "ValidationException": (True, "did not take the event"),
        },
        says_nothing=False,
    ),
    SnsTarget: Example(
        SnsTarget(_ARN.format("sns", "orders"), role_arn="r"),
        "publish",
        {
            "AuthorizationError": (False, "needs sns:Publish, by the option targetArns"),
            "NotFound": (False, "does not exist"),
            "InvalidParameter": (True, "did not take the message"),
        },
    ),
    KinesisTarget: Example(
        KinesisTarget(_ARN.format("kinesis", "stream/orders"), role_arn="r"),
        "put_record",
        {
            "AccessDeniedException": (False, "needs kinesis:PutRecord, by the option targetArns"),
            "ResourceNotFoundException": (False, "does not exist"),
            "ProvisionedThroughputExceededException": (False, "did not take the record"),
            "KMSAccessDeniedException": (False, "needs kms:GenerateDataKey and kms:Decrypt on its key"),
            "InvalidArgumentException": (True, "did not take the record"),
        },
    ),
    StepFunctionsTarget: Example(
        StepFunctionsTarget(_ARN.format("states", "stateMachine:orders"), role_arn="r"),
        "start_execution",
        {
            "AccessDeniedException": (False, "needs states:StartExecution, by the option targetArns"),
            "StateMachineDoesNotExist": (False, "does not exist"),
            "ExecutionLimitExceeded": (False, "did not take the input"),
            "InvalidExecutionInput": (True, "did not take the input"),
            "ValidationException": (True, "did not take the input"),
        },
    ),
    EcsTarget: Example(
        EcsTarget(
            _ARN.format("ecs", "task-definition/report"), _ARN.format("ecs", "cluster/jobs"), "app", role_arn="r"
        ),
        "run_task",
        {
            "AccessDeniedException": (False, "needs ecs:RunTask, by the option targetArns"),
            "ClusterNotFoundException": (False, "did not take the task: ClusterNotFoundException"),
            "ClientException": (False, "did not take the task"),
            "ThrottlingException": (False, "did not take the task"),
            "BlockedException": (False, "did not take the task"),
            "InvalidParameterException": (True, "did not take the task"),
            "PlatformUnknownException": (True, "did not take the task"),
        },
        says_nothing=False,
    ),
}
REFUSALS = [
    (example, code, permanent, words)
    for example in EXAMPLES.values()
    for code, (permanent, words) in example.refusals.items()
]
