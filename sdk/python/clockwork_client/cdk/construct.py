"""The construct `ClockworkClient`: what a service and its targets need to work with a deployed Clockwork.

The names of the deployment come from its SSM parameters, `/NAME/...`, when the service's stack is deployed. Both stacks
are in one account and region.
"""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_ssm as ssm
from constructs import Construct

#: Method and path of the routes that a client has. `{client}` is its id, and a `*` any text, slashes included.
ROUTES = (
    *("POST/v1/jobs", "GET/v1/jobs", "POST/v1/jobs/*", "GET/v1/jobs/*", "PUT/v1/jobs/*", "PATCH/v1/jobs/*"),
    *("DELETE/v1/jobs/*", "GET/v1/executions/*", "POST/v1/executions/*", "POST/v1/schedules/preview"),
    *("GET/v1/upcoming", "GET/v1/audit", "GET/v1/whoami", "GET/v1/health", "GET/v1/openapi.json"),
    *("GET/v1/clients/{client}", "GET/v1/clients/{client}/usage", "GET/v1/clients/{client}/dead"),
    *("GET/v1/clients/{client}/attention", "GET/v1/clients/{client}/runs"),
    *("GET/v1/clients/{client}/jobs/counts", "POST/v1/clients/{client}/jobs/*", "POST/v1/clients/{client}/dead/*"),
)


class ClockworkClient(Construct):
    """Lets roles call the routes of one client, and the deliverer send to the client's queues and topics.

    `deployment` is the name of Clockwork's stack. `url` is the address of its API, for the environment of a service.
    An admin declares the client once: the output `<Id>Client` has the body for `PUT /v1/clients/{clientId}`. Neither
    queue nor topic needs to stand in the deployment's `targetQueueArns` or `targetArns`: their own policies admit the
    deliverer. A queue or topic that this stack only imports raises ValueError.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        client_id: str,
        callers: Sequence[iam.IRole],
        queues: Sequence[sqs.IQueue] = (),
        topics: Sequence[sns.ITopic] = (),
        deployment: str = "Clockwork",
    ) -> None:
        super().__init__(scope, construct_id)
        self._deployment = deployment
        self.url = self._parameter("api-url")
        for caller in callers:
            caller.add_to_principal_policy(self._calls(client_id))
        for queue in queues:
            self._admit("sqs:SendMessage", queue.queue_arn, queue)
        for topic in topics:
            self._admit("sns:Publish", topic.topic_arn, topic)
        body = {
            "principals": [caller.role_arn for caller in callers],
            "allowedQueueArns": [queue.queue_arn for queue in queues],
            "allowedTargetArns": [topic.topic_arn for topic in topics],
        }
        output = cdk.CfnOutput(self, "Client", value=cdk.Stack.of(self).to_json_string(body))
        output.override_logical_id(f"{construct_id}Client")

    def _parameter(self, name: str) -> str:
        return ssm.StringParameter.value_for_string_parameter(self, f"/{self._deployment}/{name}")

    def _admit(self, action: str, arn: str, target: sqs.IQueue | sns.ITopic) -> None:
        """Let the policy of a queue or a topic admit the deliverer. Raises ValueError for one of another stack."""
        deliverer = iam.ArnPrincipal(self._parameter("deliverer-role-arn"))
        statement = iam.PolicyStatement(actions=[action], resources=[arn], principals=[deliverer])
        if not target.add_to_resource_policy(statement).statement_added:
            raise ValueError(f"{target.node.path} is of another stack: its policy has to admit the deliverer there")

    def _calls(self, client_id: str) -> iam.PolicyStatement:
        """Allows the routes of one client. Clockwork itself judges the client of each request, too."""
        stack, api = cdk.Stack.of(self), self._parameter("api-id")
        routes = [route.format(client=client_id) for route in ROUTES]
        resources = [
            stack.format_arn(service="execute-api", resource=api, resource_name=f"$default/{route}") for route in routes
        ]
        return iam.PolicyStatement(actions=["execute-api:Invoke"], resources=resources)
