"""The stack of `make smoke` is an account's, and nothing of it stays; no other stack may be like that."""

from __future__ import annotations

import aws_cdk as cdk
import pytest

from clockwork.settings import Settings
from infra.deployment.document import InvalidDeployment
from infra.options import SMOKE, Options
from tests.infra.conftest import synthesize
from tests.infra.template import Template
from tests.infra.test_functions import environment


@pytest.fixture(scope="module")
def smoke() -> Template:
    return synthesize(stage="smoke", name=SMOKE)


def test_nothing_of_it_stays(smoke: Template) -> None:
    resources = smoke.body["Resources"].values()
    policies = {one.get("DeletionPolicy", "Delete") for one in resources}
    assert policies == {"Delete"}
    assert {one.get("UpdateReplacePolicy", "Delete") for one in resources} == {"Delete"}
    tables = smoke.all("DynamoDB::GlobalTable").values()
    assert len(tables) == 5
    assert not any(
        replica.get("DeletionProtectionEnabled") for table in tables for replica in table["Properties"]["Replicas"]
    )


def test_its_lambdas_have_the_settings_of_an_account(smoke: Template) -> None:
    variables = [environment(one) for key, one in smoke.all("Lambda::Function").items() if key.startswith("Functions")]
    assert len(variables) == 5
    told = {(one.stage, one.shards) for one in map(Settings.from_environment, variables)}
    assert told == {("account", Settings.for_account().shards)}


@pytest.mark.parametrize(
    "context",
    [{"stage": "smoke"}, {"stage": "smoke", "name": "Production"}, {"name": SMOKE}, {"stage": "local", "name": SMOKE}],
)
def test_stage_and_name_go_together_or_nothing_is_deployed(context: dict[str, str]) -> None:
    with pytest.raises(InvalidDeployment, match=f"the name {SMOKE} is that of -c stage=smoke"):
        Options.chosen(cdk.App(context=context).node, None)
