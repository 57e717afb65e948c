"""A URL of the api Lambda in place of an HTTP API: a dollar less for a million requests, and less to configure.

Lambda admits only requests that an IAM principal has signed, for the service `lambda`. IAM judges the function alone
and no path: whoever may call may call every path, and Clockwork's lists of principals decide. Only the function's
concurrency bounds requests: https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html
"""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


class FunctionUrl(Construct):
    """The URL of the alias `live` of the api. `faults`, `outputs` and `parameters` are as `Api` has them."""

    def __init__(
        self, scope: Construct, construct_id: str, *, handler: lambda_.Alias, function: lambda_.Function
    ) -> None:
        super().__init__(scope, construct_id)
        made = handler.add_function_url(auth_type=lambda_.FunctionUrlAuthType.AWS_IAM)
        #: The API's address, without the slash at its end.
        self.url = f"https://{cdk.Fn.select(2, cdk.Fn.split('/', made.url))}"
        self.faults: cloudwatch.Metric = function.metric("Url5xxCount", statistic="Sum", period=cdk.Duration.minutes(1))
        self.outputs: Mapping[str, str] = {"ApiFunctionArn": handler.function_arn}
        self.parameters: Mapping[str, str] = {"api-function-arn": handler.function_arn}
