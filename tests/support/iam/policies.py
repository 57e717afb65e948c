"""The policies of a template's roles, with the ARNs that its resources would have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.infra.template import Template, as_list
from tests.support.iam.calls import REGION

Statement = dict[str, Any]
_PSEUDO = {
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::StackName": "Clockwork",
}
#: By type: the property that gives the resource its name, if any does, and its ARN behind the partition.
_ARNS = {
    "AWS::DynamoDB::GlobalTable": ("TableName", "dynamodb:{region}:{account}:table/{name}"),
    "AWS::SQS::Queue": ("QueueName", "sqs:{region}:{account}:{name}"),
    "AWS::Lambda::Function": ("FunctionName", "lambda:{region}:{account}:function:{name}"),
    "AWS::Logs::LogGroup": ("LogGroupName", "logs:{region}:{account}:log-group:{name}:*"),
    "AWS::IAM::Role": ("RoleName", "iam::{account}:role/{name}"),
    "AWS::MSK::ServerlessCluster": ("ClusterName", "kafka:{region}:{account}:cluster/{name}/0123-4"),
    "AWS::KMS::Key": ("", "kms:{region}:{account}:key/{name}"),
}


class Account:
    """The resources of a template in the account `number`. One without a name has its logical id as its name."""

    def __init__(self, template: Template, number: str) -> None:
        self.template = template
        self.number = number

    def role_of(self, function: Mapping[str, Any]) -> str:
        """The logical id of a function's role."""
        return str(function["Properties"]["Role"]["Fn::GetAtt"][0])

    def statements(self, role: str) -> list[Statement]:
        """The policies of a role (its logical id), resolved."""
        own = [one for one in self.template.all("IAM::Policy").values() if {"Ref": role} in one["Properties"]["Roles"]]
        documents = [one["Properties"]["PolicyDocument"] for one in own]
        documents += [
            one["PolicyDocument"] for one in self.template.all("IAM::Role")[role]["Properties"].get("Policies", ())
        ]
        return [self.resolved(statement) for document in documents for statement in as_list(document["Statement"])]

    def allowing(self, role: str) -> list[Statement]:
        """The statements of a role that allow something."""
        return [one for one in self.statements(role) if one["Effect"] == "Allow"]

    def arn(self, logical: str) -> str:
        """The ARN of a resource. Raises KeyError for a type that has none here."""
        return f"arn:aws:{self._pattern(logical)[1]}".format(
            region=REGION, account=self.number, name=self.name(logical)
        )

    def name(self, logical: str) -> str:
        """The name of a resource."""
        properties = self.template.body["Resources"][logical].get("Properties", {})
        given = properties.get(self._pattern(logical)[0])
        return str(self.resolved(given)) if given else logical + (".fifo" if properties.get("FifoQueue") else "")

    def resolved(self, value: Any) -> Any:
        """A value of the template without CloudFormation's functions. Raises KeyError for a function not known here."""
        if isinstance(value, list):
            return [self.resolved(one) for one in value]
        if not isinstance(value, dict):
            return value
        name, given = next(iter(value.items()), ("", None))
        if len(value) == 1 and (name == "Ref" or name.startswith("Fn::")):
            return self._function(name, given)
        return {key: self.resolved(one) for key, one in value.items()}

    def _function(self, name: str, given: Any) -> Any:
        if name == "Ref":
            pseudo = {**_PSEUDO, "AWS::AccountId": self.number}
            return pseudo[given] if given in pseudo else self._reference(given)
        if name == "Fn::GetAtt":
            assert given[1] == "Arn", given
            return self.arn(given[0])
        parts = self.resolved(given)
        functions = {
            "Fn::Join": lambda: parts[0].join(parts[1]),
            "Fn::Split": lambda: parts[1].split(parts[0]),
            "Fn::Select": lambda: parts[1][int(parts[0])],
        }
        return functions[name]()

    def _reference(self, logical: str) -> str:
        resource = self.template.body["Resources"][logical]
        if resource["Type"] == "AWS::Lambda::Alias":
            return f"{self.resolved(resource['Properties']['FunctionName'])}:{resource['Properties']['Name']}"
        return self.name(logical)

    def _pattern(self, logical: str) -> tuple[str, str]:
        return _ARNS[self.template.body["Resources"][logical]["Type"]]
