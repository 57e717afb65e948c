"""The HTTPS API (API Gateway): one route takes all requests, and the api Lambda finds the operation by the path.

API Gateway changes the routes of an API one at a time, so a stack with a route for each operation deploys slowly, and
may fail. Two further routes lead the workers of pools to a Lambda of their own. IAM judges the method and path of each
request, whatever the route: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-access-control-iam.html

API Gateway admits only requests that an IAM principal has signed. The one exception is `POST /v1/completions/{token}`,
for receivers without AWS credentials: it has a throttle of its own, and only the option `unsignedCompletions` opens it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigatewayv2_authorizers import HttpIamAuthorizer
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from infra.observability.access_log import LOGGED
from infra.options import Options

#: The API's throttle (a token bucket) counts requests, not jobs: one batch request creates up to 500 jobs.
REQUESTS_PER_SECOND = 2_000
BURST = 1_000
#: The rate of unsigned requests. A flood of them keeps out other unsigned requests, and no signed ones.
UNSIGNED_PER_SECOND = 100
UNSIGNED_BURST = 200
#: Method and path of all requests, of the requests of workers, and of those without a signature. The most exact route
#: takes a request: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
ALL = (apigateway.HttpMethod.ANY, "/{proxy+}")
OF_WORKERS = (
    (apigateway.HttpMethod.GET, "/v1/pools/{pool}"),
    (apigateway.HttpMethod.POST, "/v1/pools/{pool}/{proxy+}"),
)
UNSIGNED = (apigateway.HttpMethod.POST, "/v1/completions/{token}")


class Api(Construct):
    """The API (`http_api`) and its only `stage`, which answers at the root of the address."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        handler: lambda_.IFunction,
        workers: lambda_.IFunction | None,
        options: Options,
    ) -> None:
        super().__init__(scope, construct_id)
        self.http_api = apigateway.HttpApi(
            self,
            "HttpApi",
            description="Clockwork",
            create_default_stage=False,
            default_authorizer=HttpIamAuthorizer(),
        )
        integration = HttpLambdaIntegration("Handler", handler, scope_permission_to_route=False)
        self._add(ALL, integration)
        if workers:
            of_workers = HttpLambdaIntegration("Workers", workers, scope_permission_to_route=False)
            for route in OF_WORKERS:
                self._add(route, of_workers)
        unsigned: list[apigateway.HttpRoute] = []
        if options.settings.takes_unsigned:
            unsigned = self._add(UNSIGNED, integration, apigateway.HttpNoneAuthorizer())
        self.stage = apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.http_api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(rate_limit=REQUESTS_PER_SECOND, burst_limit=BURST),
        )
        self._throttle(unsigned)
        if options.value("accessLog"):
            # A path may hold a token, which is a secret as long as its attempt runs.
            self._log_access(disposable=not options.keeps, has_tokens=bool(unsigned))

    @property
    def faults(self) -> cloudwatch.Metric:
        """The answers of 5xx of a minute."""
        return self.http_api.metric_server_error(statistic="Sum", period=cdk.Duration.minutes(1))

    @property
    def outputs(self) -> Mapping[str, str]:
        """The outputs of the stack that tell more of the API than its address."""
        return {"ApiId": self.http_api.api_id}

    @property
    def parameters(self) -> Mapping[str, str]:
        """The SSM parameters by which stacks of services let their roles call the API."""
        return {"api-id": self.http_api.api_id}

    @property
    def url(self) -> str:
        """The API's address, without a slash at the end."""
        return self.http_api.api_endpoint

    def _add(
        self,
        route: tuple[apigateway.HttpMethod, str],
        integration: HttpLambdaIntegration,
        authorizer: apigateway.IHttpRouteAuthorizer | None = None,
    ) -> list[apigateway.HttpRoute]:
        method, path = route
        return self.http_api.add_routes(path=path, methods=[method], integration=integration, authorizer=authorizer)

    def _throttle(self, routes: Sequence[apigateway.HttpRoute]) -> None:
        """Give routes a throttle of their own; the stage knows a route only once that exists."""
        rate = {"ThrottlingRateLimit": UNSIGNED_PER_SECOND, "ThrottlingBurstLimit": UNSIGNED_BURST}
        if routes:
            self._cfn_stage.route_settings = {_key_of(route): rate for route in routes}
            self.stage.node.add_dependency(*routes)

    @property
    def _cfn_stage(self) -> apigateway.CfnStage:
        stage = self.stage.node.default_child
        assert isinstance(stage, apigateway.CfnStage)
        return stage

    def _log_access(self, *, disposable: bool, has_tokens: bool) -> None:
        log = logs.LogGroup(
            self,
            "AccessLog",
            log_group_name=_access_log_name(cdk.Stack.of(self)),
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=cdk.RemovalPolicy.DESTROY if disposable else cdk.RemovalPolicy.RETAIN,
        )
        logged = {**LOGGED, "path": "$context.routeKey"} if has_tokens else LOGGED
        self._cfn_stage.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=log.log_group_arn, format=json.dumps(logged)
        )


def _key_of(route: apigateway.HttpRoute) -> str:
    child = route.node.default_child
    assert isinstance(child, apigateway.CfnRoute)
    return child.route_key


def _access_log_name(stack: cdk.Stack) -> str:
    """A name below /aws/vendedlogs/, with a part that no other stack of this name has had.

    API Gateway names each log group in a policy of the account's logs, which has room for a few only; those below
    /aws/vendedlogs/ share one entry. The log outlives the stack, and must not stand in the way of its successor.
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/AWS-logs-and-resource-policy.html
    """
    uuid = cdk.Fn.select(2, cdk.Fn.split("/", stack.stack_id))
    return f"/aws/vendedlogs/{stack.stack_name}/access-{cdk.Fn.select(0, cdk.Fn.split('-', uuid))}"
