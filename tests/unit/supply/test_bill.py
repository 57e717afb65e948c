"""The bill of materials: valid CycloneDX, complete, and the same on every machine."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema_rs
import pytest

from infra import ROOT
from supply.bill import bill, write
from supply.locks import LOCKS, npm_packages, python_packages

SCHEMAS = files("cyclonedx.schema") / "_res"


def schema(name: str) -> dict[str, object]:
    """A schema as CycloneDX publishes it."""
    value: dict[str, object] = json.loads((SCHEMAS / f"{name}.SNAPSHOT.schema.json").read_text())
    return value


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Draft7Validator:
    bom = schema("bom-1.6")
    others = {f"http://cyclonedx.org/schema/{name}.SNAPSHOT.schema.json": schema(name) for name in ("spdx", "jsf-0.82")}
    registry = jsonschema_rs.Registry(list(others.items()))
    return jsonschema_rs.Draft7Validator(bom, registry=registry, validate_formats=True)


def test_it_is_what_cyclonedx_says_of_a_bill_of_materials(validator: jsonschema_rs.Draft7Validator) -> None:
    assert [f"{one.instance_path}: {one.message}" for one in validator.iter_errors(bill())] == []


@pytest.mark.parametrize(
    "fault",
    [{"specVersion": 1.6}, {"components": [{"type": "library"}]}, {"serialNumber": "urn:uuid:7"}, {"odd": True}],
)
def test_the_check_notices_a_fault(fault: dict[str, object], validator: jsonschema_rs.Draft7Validator) -> None:
    assert not validator.is_valid({**bill(), **fault})


def test_every_locked_package_is_in_it_once_and_no_other() -> None:
    listed = [one["purl"] for one in bill()["components"]]
    locked = {one.purl for lock in LOCKS.values() for one in python_packages(lock)} | {
        one.purl for one in npm_packages()
    }
    assert sorted(locked) == sorted(listed)


def test_what_the_lambdas_run_is_required_and_nothing_else_is() -> None:
    required = {one["name"] for one in bill()["components"] if one["scope"] == "required"}
    assert {"botocore", "msgspec", "pydantic", "confluent-kafka"} <= required
    assert not {"pytest", "aws-cdk-lib", "ministack", "aws-cdk", "hypothesis"} & required


def test_every_package_can_be_reached_from_the_application() -> None:
    told = bill()
    below = {one["ref"]: one["dependsOn"] for one in told["dependencies"]}
    reached, left = set[str](), [told["metadata"]["component"]["bom-ref"]]
    while left:
        ref = left.pop()
        if ref not in reached:
            reached.add(ref)
            left += below[ref]
    assert reached == below.keys()


def test_the_same_locks_make_the_same_bytes(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name).read_bytes() for name in ("one.json", "further/two.json"))
    assert first == second
    assert str(ROOT).encode() not in first
