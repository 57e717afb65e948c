"""The template of the targets: plain CloudFormation, so that one call makes them and one call takes them away. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.smoke.plan import Kind

STACK = "Smoke-Targets-Of-Clockwork"
#: Begins the name of each target. No name may begin like that of the stack that is smoked: jobs may not target it.
PREFIX = "target-smoke"
DESCRIPTION = "Targets of Clockwork's smoke test"
SOURCE = "smoke"
#: Queues that only probes use.
DELAYS, HIDING = "delays", "hiding"
#: Queues in which deliveries are heard, by the end of their name.
HEARD = {"heard": "heard", Kind.SQS: "standard", Kind.FIFO: "orders.fifo", Kind.SEALED: "sealed"}
_VERSION = "2012-10-17"


def template(runtime: str, token: str, *, public: bool) -> dict[str, Any]:
    """The template. `public`: with what only an account has, an address for webhooks and a queue with a key.

    `token` begins the path of every webhook.
    """
    resources = {**_queues(), **_services(), **_function(runtime, token), **(_public() if public else {})}
    outputs = {"Url": {"Value": {"Fn::Sub": f"${{Http.ApiEndpoint}}/{token}"}}} if public else {}
    return {"Description": DESCRIPTION, "Resources": resources, "Outputs": outputs}


def arns(region: str, account: str, *, public: bool) -> Mapping[Kind, str]:
    """The ARN of each target."""
    queues = {kind: queue_name(kind) for kind in HEARD if isinstance(kind, Kind) and (public or kind != Kind.SEALED)}
    return {
        **{kind: f"arn:aws:sqs:{region}:{account}:{name}" for kind, name in queues.items()},
        Kind.SNS: f"arn:aws:sns:{region}:{account}:{PREFIX}",
        Kind.EVENTBRIDGE: f"arn:aws:events:{region}:{account}:event-bus/{PREFIX}",
        Kind.LAMBDA: f"arn:aws:lambda:{region}:{account}:function:{PREFIX}",
    }


def bodies(arn: Mapping[Kind, str]) -> dict[Kind, dict[str, Any]]:
    """The `target` of a job for each of these ARNs."""
    queues = {kind: {"type": "sqs", "queueArn": one} for kind, one in arn.items() if kind in HEARD}
    return {
        **queues,
        Kind.SNS: {"type": "sns", "topicArn": arn[Kind.SNS]},
        Kind.EVENTBRIDGE: {
            "type": "eventbridge",
            "busArn": arn[Kind.EVENTBRIDGE],
            "source": SOURCE,
            "detailType": "smoke",
        },
        Kind.LAMBDA: {"type": "lambda", "functionArn": arn[Kind.LAMBDA]},
    }


def queue_name(use: str) -> str:
    """The name of a queue, by what it is for."""
    return f"{PREFIX}-{HEARD.get(use, use)}" + (".fifo" if use == HIDING else "")


def _queues() -> dict[str, Any]:
    fifo = {"FifoQueue": True, "ContentBasedDeduplication": True}
    return {
        "Heard": _queue("heard"),
        "Standard": _queue(Kind.SQS),
        "Orders": _queue(Kind.FIFO, **fifo),
        "Delays": _queue(DELAYS),
        "Hiding": _queue(HIDING, **fifo, VisibilityTimeout=30),
        "HeardPolicy": {
            "Type": "AWS::SQS::QueuePolicy",
            "Properties": {
                "Queues": [{"Ref": "Heard"}],
                "PolicyDocument": _policy(
                    "sqs:SendMessage", _arn("Heard"), "sns.amazonaws.com", "events.amazonaws.com"
                ),
            },
        },
    }


def _services() -> dict[str, Any]:
    subscription = {"TopicArn": {"Ref": "Topic"}, "Protocol": "sqs", "Endpoint": _arn("Heard")}
    rule = {
        "EventBusName": {"Ref": "Bus"},
        "EventPattern": {"source": [SOURCE]},
        "Targets": [{"Id": "heard", "Arn": _arn("Heard")}],
    }
    return {
        "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": PREFIX}},
        "Subscription": {"Type": "AWS::SNS::Subscription", "Properties": {**subscription, "RawMessageDelivery": True}},
        "Bus": {"Type": "AWS::Events::EventBus", "Properties": {"Name": PREFIX}},
        "Rule": {"Type": "AWS::Events::Rule", "Properties": rule},
    }


def _function(runtime: str, token: str) -> dict[str, Any]:
    log = {"Fn::GetAtt": ["Log", "Arn"]}
    statements = [
        {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": _arn("Heard")},
        {"Effect": "Allow", "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": log},
    ]
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
    role = {
        "AssumeRolePolicyDocument": {"Version": _VERSION, "Statement": [trust]},
        "Policies": [{"PolicyName": "own", "PolicyDocument": {"Version": _VERSION, "Statement": statements}}],
    }
    function = {
        "FunctionName": PREFIX,
        "Runtime": runtime,
        "Handler": "index.handler",
        "Timeout": 10,
        "MemorySize": 512,
        "Role": _arn("Role"),
        "Environment": {"Variables": {"HEARD": {"Ref": "Heard"}, "TOKEN": token}},
        "LoggingConfig": {"LogGroup": {"Ref": "Log"}},
        "Code": {"ZipFile": Path(__file__).with_name("sink.py").read_text()},
    }
    return {
        "Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": f"/{PREFIX}", "RetentionInDays": 1}},
        "Role": {"Type": "AWS::IAM::Role", "Properties": role},
        "Function": {"Type": "AWS::Lambda::Function", "Properties": function},
    }


def _public() -> dict[str, Any]:
    """An HTTP API in front of the function, and a queue whose key is the account's own.

    The key's policy is like that of AWS's own key for SQS: whoever may use the queue may use the key through it.
    """
    everybody = {"AWS": "*"}
    through = {
        "kms:CallerAccount": {"Ref": "AWS::AccountId"},
        "kms:ViaService": {"Fn::Sub": "sqs.${AWS::Region}.amazonaws.com"},
    }
    use = ["kms:Decrypt", "kms:GenerateDataKey"]
    owner = {"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}}
    statements = [
        {"Effect": "Allow", "Principal": owner, "Action": "kms:*", "Resource": "*"},
        {
            "Effect": "Allow",
            "Principal": everybody,
            "Action": use,
            "Resource": "*",
            "Condition": {"StringEquals": through},
        },
    ]
    key = {"KeyPolicy": {"Version": _VERSION, "Statement": statements}, "PendingWindowInDays": 7}
    invoked = {
        "Action": "lambda:InvokeFunction",
        "FunctionName": _arn("Function"),
        "Principal": "apigateway.amazonaws.com",
        "SourceArn": {"Fn::Sub": "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Http}/*"},
    }
    api = {"Name": PREFIX, "ProtocolType": "HTTP", "Target": _arn("Function")}
    return {
        "Http": {"Type": "AWS::ApiGatewayV2::Api", "Properties": api},
        "HttpInvokes": {"Type": "AWS::Lambda::Permission", "Properties": invoked},
        "Key": {"Type": "AWS::KMS::Key", "Properties": key},
        "Sealed": _queue(Kind.SEALED, KmsMasterKeyId=_arn("Key"), KmsDataKeyReusePeriodSeconds=300),
    }


def _queue(use: str, **more: Any) -> dict[str, Any]:
    return {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": queue_name(use), **more}}


def _arn(logical_id: str) -> dict[str, Any]:
    return {"Fn::GetAtt": [logical_id, "Arn"]}


def _policy(action: str, resource: Any, *services: str) -> dict[str, Any]:
    allowed = {"Effect": "Allow", "Principal": {"Service": list(services)}, "Action": action, "Resource": resource}
    return {"Version": _VERSION, "Statement": [allowed]}
