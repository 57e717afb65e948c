"""A CloudFormation template, with the questions that the tests ask of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Resource = dict[str, Any]
MOMENTS = ("Api", "Ticker", "Poller", "Deliverer", "Sweeper")
TABLES = ("Timeline", "Jobs", "Executions", "Shards", "Clients")


class Template:
    """Finds resources by type, or by type and the start of their logical id."""

    def __init__(self, template: dict[str, Any]) -> None:
        self.body = template

    def all(self, kind: str) -> dict[str, Resource]:
        """Every resource of a type, such as `Lambda::Function` or `Custom::AWS`, by logical id."""
        wanted = kind if kind.startswith("Custom::") else f"AWS::{kind}"
        return {key: one for key, one in self.body["Resources"].items() if one["Type"] == wanted}

    def one(self, kind: str, prefix: str) -> Resource:
        """The one resource of a type whose logical id starts with `prefix`. Fails unless there is exactly one."""
        found = [one for key, one in self.all(kind).items() if key.startswith(prefix)]
        assert len(found) == 1, f"{len(found)} resources of {kind} start with {prefix}"
        return found[0]

    def table(self, name: str) -> Resource:
        """The table with this name in the design."""
        return self.one("DynamoDB::GlobalTable", f"Storage{name}")

    def function(self, moment: str) -> Resource:
        """The Lambda with this moment."""
        functions = {
            key.removeprefix("Functions"): one
            for key, one in self.all("Lambda::Function").items()
            if key.startswith(f"Functions{moment}")
        }
        assert len(functions) == 1, f"{list(functions)} are the functions of {moment}"
        return next(iter(functions.values()))

    def started(self, named: Resource) -> str:
        """The logical id of the function whose alias `live` a trigger names. Fails if it names anything else."""
        alias = self.all("Lambda::Alias")[named["Ref"]]["Properties"]
        assert alias["Name"] == "live"
        return str(alias["FunctionName"]["Ref"])

    def logical_id(self, resource: Resource) -> str:
        """The logical id under which a resource stands."""
        return next(str(key) for key, one in self.body["Resources"].items() if one is resource)

    def statements(self, moment: str) -> list[Resource]:
        """The policy statements of a Lambda's own role."""
        role = self.function(moment)["Properties"]["Role"]["Fn::GetAtt"][0]
        return [
            statement
            for policy in self.all("IAM::Policy").values()
            if policy["Properties"]["Roles"] == [{"Ref": role}]
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        ]

    def allowed(self, moment: str, prefix: str) -> dict[str, set[str]]:
        """Resource (as JSON) -> the actions of one service, such as `sqs:`, that a Lambda may take on it."""
        found: dict[str, set[str]] = {}
        for statement in (one for one in self.statements(moment) if one["Effect"] == "Allow"):
            actions = {action for action in as_list(statement["Action"]) if action.startswith(prefix)}
            for resource in as_list(statement["Resource"]) if actions else []:
                found.setdefault(json.dumps(resource), set()).update(actions)
        return found


def as_list(value: Any) -> list[Any]:
    """The value as a list: CloudFormation writes a list of one without brackets."""
    return value if isinstance(value, list) else [value]


def strings(value: Any) -> Iterator[str]:
    """Every string in a nested structure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
