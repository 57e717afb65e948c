"""The custom resource that names the admins of a deployment: a row of the clients table, which no other role may write.

The admins are no setting of the Lambdas. An environment has room for some thirty, and each change of one would publish
new versions of all Lambdas.
"""

from __future__ import annotations

from collections.abc import Iterable

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from clockwork.domain.clients import ADMINS
from infra.options import Options
from infra.packaging.bundle import handler
from infra.packaging.layers import ARCHITECTURES, RUNTIME, Layers
from infra.permissions import key_statement

TYPE = "Custom::ClockworkAdmins"
TIMEOUT = cdk.Duration.seconds(60)
#: How long Lambda may keep an event, the least that it takes. It starts no event later, and repeats none: a write that
#: comes after CloudFormation has given up would name the admins of an update that was undone.
#: https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionEventInvokeConfig.html
EVENT_AGE = cdk.Duration.seconds(60)


class Admins(Construct):
    """The row of the admins, with the Lambda that writes it while the stack is deployed."""

    def __init__(
        self, scope: Construct, construct_id: str, *, options: Options, clients: dynamodb.ITableV2, layers: Layers
    ) -> None:
        super().__init__(scope, construct_id)
        function = self._writer(options, clients, layers)
        resource = cdk.CustomResource(
            self,
            "Row",
            resource_type=TYPE,
            service_token=function.function_arn,
            # No write comes after that. CloudFormation waits for an hour otherwise.
            service_timeout=cdk.Duration.seconds(EVENT_AGE.to_seconds() + TIMEOUT.to_seconds()),
            properties={"AdminPrincipals": list(options.admin_principals), "Table": clients.table_name},
        )
        # With its settings: Lambda would otherwise repeat the first event after its own defaults.
        resource.node.add_dependency(function)
        self.row = resource

    def precede(self, aliases: Iterable[lambda_.IAlias]) -> None:
        """Let these Lambdas take requests only once the row is written."""
        for alias in aliases:
            alias.node.add_dependency(self.row)

    def _writer(self, options: Options, clients: dynamodb.ITableV2, layers: Layers) -> lambda_.Function:
        month = logs.RetentionDays.ONE_MONTH
        log = logs.LogGroup(self, "Log", retention=month, removal_policy=cdk.RemovalPolicy.DESTROY)
        return lambda_.Function(
            self,
            "Writer",
            description="Names the admins while the stack is deployed",
            runtime=RUNTIME,
            architecture=ARCHITECTURES[options.value("architecture")],
            handler="handler.lambda_handler",
            code=lambda_.Code.from_asset(str(handler("admins"))),
            layers=[layers.of[layer] for layer in ("vendor", "core")],
            role=self._role(options, clients, log),
            log_group=log,
            logging_format=lambda_.LoggingFormat.JSON,
            system_log_level_v2=lambda_.SystemLogLevel[options.value("platformLogs")],
            # Which lines are written is up to POWERTOOLS_LOG_LEVEL.
            application_log_level_v2=lambda_.ApplicationLogLevel.DEBUG,
            timeout=TIMEOUT,
            max_event_age=EVENT_AGE,
            retry_attempts=0,
            environment={"CLIENTS_TABLE": clients.table_name, "STACK_NAME": cdk.Stack.of(self).stack_name},
        )

    def _role(self, options: Options, clients: dynamodb.ITableV2, log: logs.ILogGroup) -> iam.Role:
        """The only role that may write the row, and it may write nothing else."""
        row = iam.PolicyStatement(
            actions=["dynamodb:PutItem"],
            resources=[clients.table_arn],
            conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [ADMINS]}},
        )
        lines = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log.log_group_arn]
        )
        keys = [key_statement(cdk.Stack.of(self), options.key_arn)] if options.key_arn else []
        document = iam.PolicyDocument(statements=[row, lines, *keys])
        service = iam.ServicePrincipal("lambda.amazonaws.com")
        return iam.Role(self, "Role", assumed_by=service, inline_policies={"Row": document})
