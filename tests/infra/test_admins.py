"""The admins: a row that the deployment writes before the api takes a request, and no setting of a Lambda."""

from __future__ import annotations

import json

from infra.admins import TYPE
from tests.infra.conftest import ADMIN, synthesize
from tests.infra.template import Resource, Template
from tests.infra.test_limits import TEMPLATE_BYTES

MANY = [f"arn:aws:iam::123456789012:role/SchedulerAdministratorsOfTheTeam{number}" for number in range(200)]


def row(template: Template) -> Resource:
    """The custom resource."""
    (found,) = template.all(TYPE).values()
    return found


def test_two_hundred_admins_are_deployed_and_no_environment_grows() -> None:
    template, few = synthesize(adminPrincipals=MANY), synthesize(adminPrincipals=ADMIN)
    assert row(template)["Properties"]["AdminPrincipals"] == MANY
    assert len(json.dumps(template.body)) < TEMPLATE_BYTES
    assert template.all("Lambda::Function") == few.all("Lambda::Function")


def test_a_change_of_the_admins_publishes_no_version(account: Template) -> None:
    other = synthesize(adminPrincipals=MANY[:1])
    assert set(other.all("Lambda::Version")) == set(synthesize(adminPrincipals=ADMIN).all("Lambda::Version"))


def test_without_admins_the_row_is_written_all_the_same() -> None:
    """A row that a stack before left behind must not name admins of this one."""
    assert row(synthesize())["Properties"]["AdminPrincipals"] == []


def test_the_row_is_written_before_the_api_of_this_deployment_takes_a_request() -> None:
    template = synthesize(adminPrincipals=ADMIN, pools=json.dumps([{"name": "etl"}]))
    (written,) = template.all(TYPE)
    for moment in ("Api", "Workers"):
        assert written in template.one("Lambda::Alias", f"Functions{moment}Live")["DependsOn"]


def test_cloudformation_does_not_wait_for_an_hour(account: Template) -> None:
    function = template_function(account)
    assert int(row(account)["Properties"]["ServiceTimeout"]) == 2 * function["Properties"]["Timeout"] <= 300


def test_no_write_comes_after_cloudformation_has_given_up(account: Template) -> None:
    """Lambda would otherwise repeat a failed invocation minutes later, and name the admins of an update undone."""
    ((key, how),) = [
        (key, one["Properties"])
        for key, one in account.all("Lambda::EventInvokeConfig").items()
        if one["Properties"]["FunctionName"] == {"Ref": account.logical_id(template_function(account))}
    ]
    assert key in row(account)["DependsOn"]
    assert how["MaximumRetryAttempts"] == 0
    latest = how["MaximumEventAgeInSeconds"] + template_function(account)["Properties"]["Timeout"]
    assert latest <= int(row(account)["Properties"]["ServiceTimeout"])


def template_function(template: Template) -> Resource:
    """The Lambda that writes the row."""
    return template.one("Lambda::Function", "AdminsWriter")
