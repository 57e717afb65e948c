"""The calls that AWS itself makes with the roles of the Lambdas: no emulator shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.support.iam.calls import REGION, Call
from tests.support.iam.policies import Account

#: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
_OF_A_QUEUE = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
#: https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
_OF_A_NETWORK = (
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DeleteNetworkInterface",
)
#: https://docs.aws.amazon.com/lambda/latest/dg/with-msk-permissions.html
_OF_A_CLUSTER = "kafka:DescribeClusterV2"
#: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonmanagedstreamingforapachekafka.html
_OF_ANY_CLUSTER = "kafka:GetBootstrapBrokers"
_OF_ITS_NETWORK = (
    *_OF_A_NETWORK,
    "ec2:DescribeVpcs",
    "ec2:DescribeSubnets",
    "ec2:DescribeSecurityGroups",
)


def calls_of_aws(account: Account) -> Iterator[Call]:
    """The calls of Lambda for functions (logs, networks) and for event sources, and those of a deployment to MSK."""
    for asking in account.template.all("Custom::AWS").values():
        function = asking["Properties"]["ServiceToken"]["Fn::GetAtt"][0]
        yield Call(account.role_of(account.template.body["Resources"][function]), _OF_ANY_CLUSTER, "*")
    for function in account.template.all("Lambda::Function").values():
        properties = function["Properties"]
        role = account.role_of(function)
        if log := properties.get("LoggingConfig", {}).get("LogGroup"):
            stream = account.arn(log["Ref"]).removesuffix("*") + "log-stream:2026/11/22/[1]ab"
            yield from (Call(role, action, stream) for action in ("logs:CreateLogStream", "logs:PutLogEvents"))
        if properties.get("VpcConfig"):
            yield from (Call(role, action, _network(account, action)) for action in _OF_A_NETWORK)
    for source in account.template.all("Lambda::EventSourceMapping").values():
        yield from _of_source(account, source["Properties"])


def decryptions(account: Account, calls: Iterable[Call]) -> Iterator[Call]:
    """The calls of Parameter Store to KMS for a reader of a parameter that a key of the account's own encrypts.

    https://docs.aws.amazon.com/kms/latest/developerguide/services-parameter-store.html
    """
    for call in calls:
        if call.action == "ssm:GetParameter":
            context = (
                ("kms:ViaService", f"ssm.{REGION}.amazonaws.com"),
                ("kms:EncryptionContext:PARAMETER_ARN", call.resource),
            )
            yield Call(call.role, "kms:Decrypt", f"arn:aws:kms:{REGION}:{account.number}:key/0123-4", context)


def _of_source(account: Account, properties: dict[str, Any]) -> Iterator[Call]:
    alias = account.template.body["Resources"][properties["FunctionName"]["Ref"]]["Properties"]
    role = account.role_of(account.template.body["Resources"][alias["FunctionName"]["Ref"]])
    source = account.resolved(properties.get("EventSourceArn"))
    if source and ":sqs:" in source:
        yield from (Call(role, action, source) for action in _OF_A_QUEUE)
    elif source:
        yield Call(role, _OF_A_CLUSTER, source)
        yield Call(role, _OF_ANY_CLUSTER, "*")
        yield from (Call(role, action, _network(account, action)) for action in _OF_ITS_NETWORK)
        if "serverless" in source or properties.get("SourceAccessConfigurations") is None:
            yield from _of_topic(role, source, properties)


def _of_topic(role: str, cluster: str, properties: dict[str, Any]) -> Iterator[Call]:
    """The calls of a consumer to a cluster that goes by IAM."""
    (topic,) = properties["Topics"]
    group = properties["AmazonManagedKafkaEventSourceConfig"]["ConsumerGroupId"]
    inside = cluster.replace(":cluster/", ":{}/")
    yield Call(role, "kafka-cluster:Connect", cluster)
    for action in ("kafka-cluster:DescribeTopic", "kafka-cluster:ReadData"):
        yield Call(role, action, f"{inside.format('topic')}/{topic}")
    for action in ("kafka-cluster:DescribeGroup", "kafka-cluster:AlterGroup"):
        yield Call(role, action, f"{inside.format('group')}/{group}")


def _network(account: Account, action: str) -> str:
    """The resource that an action on network interfaces is judged by."""
    return f"arn:aws:ec2:{REGION}:{account.number}:network-interface/eni-1" if "Describe" not in action else "*"
