"""Accounts with rules of their own: a bootstrap stack under another qualifier, and a boundary of every role."""

from __future__ import annotations

import json

import pytest

from tests.infra.conftest import synthesize
from tests.infra.option_sets import OPTION_SETS
from tests.infra.template import strings

ARN = "arn:aws:iam::123456789012:policy/team/Boundary"
CONTEXT = "@aws-cdk/core:permissionsBoundary"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OPTION_SETS)
def test_every_role_is_bounded_also_those_that_the_cdk_adds(name: str) -> None:
    options = {**OPTION_SETS[name], "permissionsBoundary": ARN}
    roles = synthesize(
        **{one: value if isinstance(value, str) else json.dumps(value) for one, value in options.items()}
    )
    bounds = [one["Properties"].get("PermissionsBoundary") for one in roles.all("IAM::Role").values()]
    assert len(bounds) >= 6
    assert set(bounds) == {ARN}


def test_a_boundary_may_be_named() -> None:
    template = synthesize(permissionsBoundary="Team")
    bounds = {"".join(strings(one["Properties"]["PermissionsBoundary"])) for one in template.all("IAM::Role").values()}
    assert len(bounds) == 1
    assert bounds.pop().endswith(":policy/Team")


def test_the_cdks_own_context_for_both_works_as_well() -> None:
    template = synthesize(**{CONTEXT: {"name": "Team"}, "@aws-cdk/core:bootstrapQualifier": "platform"})
    assert all("PermissionsBoundary" in one["Properties"] for one in template.all("IAM::Role").values())
    assert template.body["Parameters"]["BootstrapVersion"]["Default"] == "/cdk-bootstrap/platform/version"


def test_assets_go_to_the_bucket_of_the_qualifier() -> None:
    code = synthesize(bootstrapQualifier="platform").function("Api")["Properties"]["Code"]
    assert "cdk-platform-assets-" in "".join(strings(code["S3Bucket"]))


def test_without_the_options_there_is_no_boundary_and_the_cdks_own_qualifier() -> None:
    template = synthesize()
    assert not [one for one in template.all("IAM::Role").values() if "PermissionsBoundary" in one["Properties"]]
    assert template.body["Parameters"]["BootstrapVersion"]["Default"] == "/cdk-bootstrap/hnb659fds/version"
