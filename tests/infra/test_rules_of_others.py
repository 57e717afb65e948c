"""Two independent judges of the template: cdk-nag's AwsSolutions rules, and cfn-lint."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest

from tests.infra.conftest import ADMIN, TARGETS, compose, synthesize
from tests.infra.option_sets import OPTION_SETS, template_of

KAFKA = json.dumps(
    {
        "bootstrapServers": "b-1.example.com:9098",
        "clusterArn": "arn:aws:kafka:us-east-1:123456789012:cluster/jobs/abc-1",
        "auth": "iam",
        "subnetIds": ["subnet-0123456789abcdef0"],
        "securityGroupIds": ["sg-0123456789abcdef0"],
        "ingestionTopic": "requests",
    }
)
#: The stack makes the cluster and its network.
MADE = json.dumps({"create": "serverless", "ingestionTopic": "requests"})
_ARN = "Resource::arn:<AWS::Partition>"
_DESCRIBED = "Clockwork/Functions/ApiRole/DefaultPolicy/Resource AwsSolutions-IAM5"
_WILDCARDS = "Clockwork/Functions/DelivererRole/DefaultPolicy/Resource AwsSolutions-IAM5"
_IN_NETWORK = "Clockwork/Functions/KafkaDelivererRole/DefaultPolicy/Resource AwsSolutions-IAM5"
#: Accepted findings, each with the reason why it stands.
ACKNOWLEDGED = {
    f"{_WILDCARDS}[{_ARN}:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:clockwork/*]": (
        "clients name their signing secrets at run time; the prefix keeps every other secret of the account out"
    ),
    f"{_WILDCARDS}[{_ARN}:ssm:<AWS::Region>:<AWS::AccountId>:parameter/clockwork/*]": "the same of parameters",
    f"{_DESCRIBED}[{_ARN}:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:clockwork/*]": (
        "clients name their signing secrets at run time; the api may ask whether one exists, and read none"
    ),
    f"{_DESCRIBED}[{_ARN}:ssm:<AWS::Region>:<AWS::AccountId>:parameter/clockwork/*]": "the same of parameters",
    f"{_WILDCARDS}[{_ARN}:kms:<AWS::Region>:<AWS::AccountId>:key/*]": (
        "only for Parameter Store, and only to decrypt parameters below that prefix: a condition says so"
    ),
    **dict.fromkeys(
        (
            f"Clockwork/Functions/{moment}Role/DefaultPolicy/Resource AwsSolutions-IAM5[Resource::{TARGETS}]"
            for moment in ("Deliverer", "KafkaDeliverer", "Poller", "Sweeper")
        ),
        "the queues of jobs and of clients' dead are chosen by whoever deploys, patterns included; by default none are",
    ),
    **{
        f"Clockwork/Functions/{teller}Role/DefaultPolicy/Resource AwsSolutions-IAM5[Resource::{TARGETS}]": (
            "the queues in which clients want to hear of dead executions are among those that jobs may target"
        )
        for teller in ("KafkaDeliverer", "Poller", "Sweeper")
    },
    **dict.fromkeys(
        (
            f"Clockwork/Functions/{moment}Role/DefaultPolicy/Resource AwsSolutions-IAM5"
            f"[{_ARN}:sqs:<AWS::Region>:<AWS::AccountId>:Clockwork-Release-*]"
            for moment in ("Api", "Ingester", "Poller", "Deliverer", "KafkaDeliverer", "Sweeper")
        ),
        "release queues of the stack alone have such names; those that it gave up still hold what is to be delivered",
    ),
    "Clockwork/Functions/IngesterRole/DefaultPolicy/Resource AwsSolutions-IAM5[Resource::*]": (
        "for a topic, Lambda reads with the role of the function, and network interfaces cannot be named beforehand"
    ),
    "Clockwork/Ingestion/Rejected/Resource AwsSolutions-SQS3": "it is a place of dead letters itself",
    f"{_IN_NETWORK}[Resource::*]": "what Lambda does to network interfaces of its VPC cannot be bound to resources",
}
_TOPICS = "the topics that jobs may target are chosen by whoever deploys; clients list their own among them"
_PART = '{"Fn::Select":[%d,{"Fn::Split":[":cluster/",{"Fn::GetAtt":["KafkaCluster4E7B4D9B","Arn"]}]}]}'
#: Further accepted findings of stacks with Kafka, by their `kafka` option.
ACKNOWLEDGED_OF = {
    KAFKA: {f"{_IN_NETWORK}[Resource::arn:aws:kafka:us-east-1:123456789012:topic/jobs/abc-1/*]": _TOPICS},
    MADE: {
        f"{_IN_NETWORK}[Resource::{_PART % 0}:topic/{_PART % 1}/*]": _TOPICS,
        "Clockwork/KafkaBrokers/Asked/CustomResourcePolicy/Resource AwsSolutions-IAM5[Resource::*]": (
            "AWS has no resource for the action that asks for a cluster's brokers; it tells their addresses"
        ),
        "Clockwork/KafkaCluster/Network/Resource AwsSolutions-VPC7": (
            "flow logs are billed by traffic; in it are the cluster, its deliverer and endpoints, and no way in or out"
        ),
    },
}
#: cfn-lint rules that are left out, each with the reason.
NOT_ASKED = {
    "W3005": "the CDK writes DependsOn beside a GetAtt on purpose: the role's policy must exist too",
    "W3010": "zones are in a template only if whoever deploys named them, and then they are meant",
    "W3037": "the emulator knows an action by a name of its own, see infra/permissions.py",
}
#: Regions without MSK Serverless: whoever asks for such a cluster there is told so here, and by CloudFormation.
WITHOUT_SERVERLESS = ("me-central-1", "us-gov-east-1", "us-gov-west-1", "us-west-1")


@pytest.mark.parametrize("kafka", ACKNOWLEDGED_OF, ids=["existing cluster", "new cluster"])
def test_cdk_nag_finds_nothing_but_what_is_acknowledged_with_a_reason(kafka: str, tmp_path: Path) -> None:
    app = compose(
        outdir=str(tmp_path), adminPrincipals=ADMIN, targetQueueArns=TARGETS, kafka=kafka, ingestionQueue="true"
    )
    cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks())
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    (report,) = json.loads((tmp_path / "validation-report.json").read_text())["pluginReports"]
    found = {
        f"{construct['constructPath']} {violation['ruleName']}"
        for violation in report["violations"]
        for construct in violation["violatingConstructs"]
    }
    assert found == {*ACKNOWLEDGED, *ACKNOWLEDGED_OF[kafka]}


def findings(body: dict[str, Any], folder: Path, regions: str = "ALL_REGIONS") -> set[str]:
    """The findings of cfn-lint about a template in these regions: the rule and the message of each."""
    template = folder / "template.json"
    template.write_text(json.dumps(body))
    command = [str(Path(sys.executable).with_name("cfn-lint")), "--format", "json", "--regions", regions]
    command += ["--ignore-checks", *NOT_ASKED, "--template", str(template)]
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert judged.stderr == ""
    found = {f"{one['Rule']['Id']} {one['Message']}" for one in json.loads(judged.stdout)}
    assert bool(judged.returncode) == bool(found)
    return found


@pytest.mark.nightly
def test_cfn_lint_finds_nothing_in_what_the_emulator_is_given(tmp_path: Path) -> None:
    body = synthesize(stage="local", alarmTopicArn="arn:aws:sns:us-east-1:123456789012:ops", ingestionQueue="true").body
    assert findings(body, tmp_path, regions="us-east-1") == set()


@pytest.mark.nightly
@pytest.mark.parametrize("name", OPTION_SETS)
def test_cfn_lint_finds_nothing_in_any_region_and_with_any_options(name: str, tmp_path: Path) -> None:
    template = template_of(name)
    missing = WITHOUT_SERVERLESS if template.all("MSK::ServerlessCluster") else ()
    assert findings(template.body, tmp_path) == {
        f"E3006 Resource type 'AWS::MSK::ServerlessCluster' does not exist in '{region}'" for region in missing
    }


def test_cfn_lint_sees_a_type_that_a_region_lacks(tmp_path: Path) -> None:
    """The judge knows regions: the test above could fail."""
    pipe = {"Type": "AWS::Pipes::Pipe", "Properties": {"RoleArn": "arn:aws:iam::1:role/a", "Source": "a:b"}}
    found = findings({"Resources": {"Pipe": pipe}}, tmp_path, regions="ca-west-1")
    assert "E3006 Resource type 'AWS::Pipes::Pipe' does not exist in 'ca-west-1'" in found
