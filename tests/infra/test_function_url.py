"""A function URL in place of the HTTP API: who may call it, what it is not, and what a change of it takes away."""

from __future__ import annotations

import json

import pytest

from infra.deployment.document import InvalidDeployment
from rollout.checks import WARN, judge, may_deploy
from rollout.removals import removals
from rollout.template import Template as Deployed
from tests.infra.account import FACTS
from tests.infra.conftest import ADMIN, synthesize
from tests.infra.template import Template, strings


@pytest.fixture(scope="module")
def by_url() -> Template:
    return synthesize(api="functionUrl", reserve="true")


def test_the_url_is_of_the_whole_version_and_asks_for_a_signature(by_url: Template) -> None:
    (url,) = (one["Properties"] for one in by_url.all("Lambda::Url").values())
    assert url["AuthType"] == "AWS_IAM"
    assert (url["Qualifier"], "Cors" in url) == ("live", False)
    function = by_url.logical_id(by_url.function("Api"))
    assert function in json.dumps(url["TargetFunctionArn"])
    assert not by_url.all("ApiGatewayV2::Api")
    assert not [key for key in by_url.all("Logs::LogGroup") if "AccessLog" in key]


def test_nobody_but_callers_of_the_own_account_with_rights_in_iam_may_call_it(by_url: Template) -> None:
    """A permission for everybody would let unsigned requests in with `NONE`, and those of other accounts with any."""
    allowed = by_url.all("Lambda::Permission").values()
    assert {one["Properties"]["Principal"] for one in allowed} == {"events.amazonaws.com"}


def test_its_address_has_no_slash_at_the_end_and_is_told_with_its_function(by_url: Template) -> None:
    assert {"ApiUrl", "ApiFunctionArn"} <= set(by_url.body["Outputs"])
    assert "ApiId" not in by_url.body["Outputs"]
    address = by_url.body["Outputs"]["ApiUrl"]["Value"]["Fn::Join"][1]
    assert (address[0], address[1]["Fn::Select"][0], len(address)) == ("https://", 2, 2)
    names = {one["Properties"]["Name"] for one in by_url.all("SSM::Parameter").values()}
    assert names == {f"/Clockwork/{name}" for name in ("api-url", "api-function-arn", "deliverer-role-arn")}


def test_its_concurrency_is_its_throttle_and_its_faults_ring(by_url: Template) -> None:
    assert by_url.function("Api")["Properties"]["ReservedConcurrentExecutions"] == 40
    faults = by_url.one("CloudWatch::Alarm", "AlarmsApiFaults")["Properties"]
    assert (faults["Namespace"], faults["MetricName"]) == ("AWS/Lambda", "Url5xxCount")


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"unsignedCompletions": True}, "takes no unsigned request"),
        ({"pools": json.dumps([{"name": "etl"}])}, "leads to one Lambda"),
        ({"stage": "local"}, "the local stage has no function URL"),
    ],
)
def test_options_that_it_cannot_serve_are_refused(more: dict[str, object], fault: str) -> None:
    with pytest.raises(InvalidDeployment, match=fault):
        synthesize(api="functionUrl", **more)


def test_a_change_of_the_address_is_a_removal_that_somebody_names(by_url: Template, account: Template) -> None:
    for live, wanted in ((account, by_url), (by_url, account)):
        found = [one for one in removals(Deployed(live.body), Deployed(wanted.body)) if "address" in one.what]
        assert [one.name for one in found] == ["api"]
    assert not [one for one in removals(Deployed(account.body), Deployed(account.body)) if one.name == "api"]


def test_no_other_name_of_the_api_is_left(by_url: Template) -> None:
    assert not [text for text in strings(by_url.body["Resources"]) if "execute-api" in text]


def test_preflight_warns_of_what_a_function_url_is_not(by_url: Template) -> None:
    """IAM cannot admit a caller to some paths alone, and nothing but concurrency throttles the URL."""
    plain = Deployed(synthesize(api="functionUrl", adminPrincipals=ADMIN).body)
    states = {row.what: row.state for row in judge(FACTS, plain)}
    assert (states["paths of the API in IAM"], states["throttle of the API"]) == (WARN, WARN)
    assert may_deploy(judge(FACTS, plain))
    told = [row.what for row in judge(FACTS, Deployed(by_url.body)) if "of the API" in row.what]
    assert told == ["paths of the API in IAM"]
