"""The sizes of a template as AWS judges them. CloudFormation meets a size that is too large halfway through."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rollout.template import Template, readable

#: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html counts no white space. All inline policies
#: of a role count together.
ROLE_CHARACTERS, MANAGED_CHARACTERS = 10_240, 6_144
#: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html counts the JSON.
ENVIRONMENT_BYTES = 4_096
#: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
TEMPLATE_BYTES = 1_000_000
#: The longest texts that CloudFormation fills in: of a pseudo parameter, and of the ARN of a queue or function.
_FILLED_IN = {"AWS::Region": 14, "AWS::AccountId": 12, "AWS::Partition": 10, "AWS::URLSuffix": 16, "AWS::StackName": 24}
_LONGEST = 140
_PATTERNS = "name many targets by one pattern, such as `jobs-*`, in `targetQueueArns`, `targetArns` and `targetKeyArns`"


@dataclass(frozen=True)
class TooLarge:
    """A size that AWS refuses; `then` is the advice."""

    what: str
    size: int
    most: int
    then: str


def too_large(template: Template) -> Iterator[TooLarge]:
    """Every size of the template that AWS refuses."""
    for logical_id, size in _of_roles(template).items():
        if size > ROLE_CHARACTERS:
            yield TooLarge(f"policies of {readable(logical_id)}", size, ROLE_CHARACTERS, _PATTERNS)
    for logical_id, one in template.resources("AWS::IAM::ManagedPolicy"):
        if (size := _size(one["Properties"]["PolicyDocument"])) > MANAGED_CHARACTERS:
            yield TooLarge(f"policy {readable(logical_id)}", size, MANAGED_CHARACTERS, _PATTERNS)
    for logical_id, one in template.resources("AWS::Lambda::Function"):
        variables = one["Properties"].get("Environment", {}).get("Variables", {})
        if (size := _size(variables)) > ENVIRONMENT_BYTES:
            yield TooLarge(f"environment of {readable(logical_id)}", size, ENVIRONMENT_BYTES, "shorten the options")
    if (size := len(json.dumps(template.body, indent=1))) > TEMPLATE_BYTES:
        yield TooLarge("template", size, TEMPLATE_BYTES, "shorten the options")


def _of_roles(template: Template) -> Counter[str]:
    """The characters of all inline policies of each role, by the role's logical id."""
    sizes = Counter[str]()
    for logical_id, one in template.resources("AWS::IAM::Role"):
        sizes[logical_id] += sum(_size(policy["PolicyDocument"]) for policy in one["Properties"].get("Policies", []))
    for _, one in template.resources("AWS::IAM::Policy"):
        for role in one["Properties"].get("Roles", []):
            sizes[role["Ref"]] += _size(one["Properties"]["PolicyDocument"])
    return sizes


def _size(value: Any) -> int:
    return len(json.dumps(_filled(value), separators=(",", ":")))


def _filled(value: Any) -> Any:
    """The value with a text of the greatest length in place of each that CloudFormation fills in."""
    if isinstance(value, list):
        return [_filled(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "Fn::Join" in value:
        between, parts = value["Fn::Join"]
        return between.join(map(str, map(_filled, parts)))
    if len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::")):
        return "x" * _FILLED_IN.get(str(value.get("Ref")), _LONGEST)
    return {name: _filled(one) for name, one in value.items()}
