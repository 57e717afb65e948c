"""The parts of a stack that hold state, or are known outside by their name: a golden file for every set of options.

    python -m tests.infra.stateful

writes the file anew, after a change that is meant: what it loses is lost in every account that has it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from tests.infra.template import Template

GOLDEN = Path(__file__).parent / "golden/stateful.json"
#: The address of the API is with its callers.
KINDS = (
    "DynamoDB::GlobalTable",
    "SQS::Queue",
    "MSK::ServerlessCluster",
    "EC2::VPC",
    "EC2::Subnet",
    "EC2::SecurityGroup",
    "ApiGatewayV2::Api",
    "Logs::LogGroup",
)
#: CloudFormation's schema does not say of these that they cannot be changed; DynamoDB does.
_ALSO = {"DynamoDB::GlobalTable": ("KeySchema", "LocalSecondaryIndexes")}


def fixed_properties(kind: str) -> tuple[str, ...]:
    """The properties that CloudFormation cannot change: it makes a new resource, empty, and leaves the old one."""
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", f"AWS::{kind}").schema
    named = {path.removeprefix("/properties/") for path in schema.get("createOnlyProperties", ())} - {"Tags"}
    return (*sorted(named), *_ALSO.get(kind, ()))


def stateful(template: Template) -> dict[str, dict[str, Any]]:
    """Logical id -> type and fixed properties."""
    return {
        logical_id: {"Type": kind}
        | {name: one["Properties"][name] for name in fixed_properties(kind) if name in one.get("Properties", {})}
        for kind in KINDS
        for logical_id, one in sorted(template.all(kind).items())
    }


def main() -> None:
    """Write the golden file."""
    from tests.infra.option_sets import OPTION_SETS, template_of

    found = {name: stateful(template_of(name)) for name in OPTION_SETS}
    GOLDEN.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
