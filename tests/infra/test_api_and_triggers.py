"""The API's access control, and the triggers that start Lambdas: rules and event sources."""

from __future__ import annotations

import json
import re
from typing import Any

from clockwork.routes import ROUTES
from tests.infra.conftest import synthesize
from tests.infra.template import Template, strings


def routes(template: Template) -> dict[str, dict[str, Any]]:
    return {one["Properties"]["RouteKey"]: one["Properties"] for one in template.all("ApiGatewayV2::Route").values()}


def taken_by(key: str, method: str, path: str) -> bool:
    """Whether a route of API Gateway takes a request."""
    wanted, _, pattern = key.partition(" ")
    parts = re.escape(pattern).replace(r"\{proxy\+\}", ".+")
    return wanted in ("ANY", method) and re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", parts), path) is not None


def taker(template: Template, method: str, path: str) -> dict[str, Any]:
    """The route that takes a request: a whole path goes before a greedy parameter, and a longer one before a shorter.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
    """
    found = [key for key in routes(template) if taken_by(key, method, path)]
    return routes(template)[max(found, key=lambda key: ("+}" not in key, len(key)))]


def test_one_route_takes_every_request(account: Template) -> None:
    assert routes(account).keys() == {"ANY /{proxy+}"}


def test_the_requests_of_workers_go_to_their_lambda_and_no_others() -> None:
    template = synthesize(pools=json.dumps([{"name": "etl"}]), unsignedCompletions=True)
    assert len(routes(template)) == 4
    integrations = template.all("ApiGatewayV2::Integration")
    for route in ROUTES:
        path = re.sub(r"{\w+}", "x", route.path)
        one = taker(template, route.method, path)
        assert (one["AuthorizationType"] == "NONE") is route.unsigned
        reached = integrations[one["Target"]["Fn::Join"][1][1]["Ref"]]["Properties"]["IntegrationUri"]
        moment = "Workers" if route.worker else "Api"
        assert template.started(reached) == template.logical_id(template.function(moment)), route.key


def test_every_route_asks_for_a_signature(account: Template) -> None:
    assert {route["AuthorizationType"] for route in routes(account).values()} == {"AWS_IAM"}


def test_one_route_alone_may_be_opened_and_has_a_throttle_of_its_own() -> None:
    template = synthesize(unsignedCompletions=True)
    found = {
        route["Properties"]["RouteKey"]: (route["Properties"]["AuthorizationType"], key)
        for key, route in template.all("ApiGatewayV2::Route").items()
    }
    assert {key: kind for key, (kind, _) in found.items()} == {
        "ANY /{proxy+}": "AWS_IAM",
        "POST /v1/completions/{token}": "NONE",
    }
    only = "POST /v1/completions/{token}"
    stage = template.one("ApiGatewayV2::Stage", "Api")
    throttle = {"ThrottlingBurstLimit": 200, "ThrottlingRateLimit": 100}
    assert stage["Properties"]["RouteSettings"] == {only: throttle}
    # API Gateway refuses settings of a route that is not there yet.
    assert found[only][1] in stage["DependsOn"]


def test_no_log_has_the_path_where_a_path_may_hold_a_token() -> None:
    template = synthesize(unsignedCompletions=True)
    logged = template.one("ApiGatewayV2::Stage", "Api")["Properties"]["AccessLogSettings"]["Format"]
    assert "$context.routeKey" in logged
    assert "$context.path" not in logged


def test_requests_are_throttled_and_logged_with_their_caller(account: Template) -> None:
    properties = account.one("ApiGatewayV2::Stage", "Api")["Properties"]
    assert properties["StageName"] == "$default"
    assert properties["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 1_000, "ThrottlingRateLimit": 2_000}
    logged = json.loads(properties["AccessLogSettings"]["Format"])
    assert {"$context.identity.userArn", "$context.status", "$context.httpMethod", "$context.path"} <= set(
        logged.values()
    )


def test_ticker_and_sweeper_start_every_minute(account: Template) -> None:
    rules = [rule["Properties"] for rule in account.all("Events::Rule").values()]
    started = {account.started(rule["Targets"][0]["Arn"]): rule["ScheduleExpression"] for rule in rules}
    expected = [account.logical_id(account.function(moment)) for moment in ("Ticker", "Sweeper")]
    assert started == dict.fromkeys(expected, "rate(1 minute)")


def test_releases_reach_the_deliverer_at_once_in_tens_and_fail_one_by_one(account: Template) -> None:
    mappings = [mapping["Properties"] for mapping in account.all("Lambda::EventSourceMapping").values()]
    windows, most = {}, {}
    for properties in mappings:
        assert account.started(properties["FunctionName"]) == account.logical_id(account.function("Deliverer"))
        assert properties["BatchSize"] == 10
        assert properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        (queue, _) = properties["EventSourceArn"]["Fn::GetAtt"]
        windows[queue] = properties.get("MaximumBatchingWindowInSeconds")
        most[queue] = properties["ScalingConfig"]["MaximumConcurrency"]
    plain, ordered = (account.one("SQS::Queue", f"Queues{name}") for name in ("Release", "OrderedRelease"))
    # Lambda refuses a batching window for a FIFO queue.
    assert windows == {account.logical_id(plain): 0, account.logical_id(ordered): None}
    assert most == {account.logical_id(plain): 80, account.logical_id(ordered): 20}


def test_one_permission_lets_all_routes_call_the_api(account: Template) -> None:
    allowed = [
        one["Properties"]
        for one in account.all("Lambda::Permission").values()
        if one["Properties"]["Principal"] == "apigateway.amazonaws.com"
    ]
    (permission,) = allowed
    assert "".join(strings(permission["SourceArn"])).endswith("/*/*")


def test_the_access_log_may_be_left_out() -> None:
    template = synthesize(accessLog=False)
    assert "AccessLogSettings" not in template.one("ApiGatewayV2::Stage", "ApiStage")["Properties"]
    assert not [key for key in template.all("Logs::LogGroup") if "AccessLog" in key]


def test_the_access_log_lies_where_logs_of_services_share_one_policy(account: Template) -> None:
    (name,) = [
        one["Properties"]["LogGroupName"]
        for one in account.all("Logs::LogGroup").values()
        if "LogGroupName" in one["Properties"]
    ]
    assert "".join(strings(name)).startswith("/aws/vendedlogs/Clockwork/access-")
    # The log stays when the stack goes: another stack of the same name must find its own free.
    assert "AWS::StackId" in strings(name)


def test_the_outputs_name_what_operators_look_for(account: Template) -> None:
    names = {"ApiUrl", "ApiId", "ReleaseQueueUrl", "DeadLetterQueueUrl", "TimelineTable", "PollerFunction"}
    assert names <= set(account.body["Outputs"])
