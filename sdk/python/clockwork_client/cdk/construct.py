"""The construct `ClockworkClient`: what a service and its targets need to work with a deployed Clockwork.

The names of the deployment come from its SSM parameters, `/NAME/...`, when the service's stack is deployed. Both stacks
are in one account and region.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
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
    *("GET/v1/clients/{client}/activity", "GET/v1/clients/{client}/attention", "GET/v1/clients/{client}/runs"),
    *("POST/v1/clients/{client}/operations", "GET/v1/clients/{client}/operations"),
    *("GET/v1/clients/{client}/operations/*", "POST/v1/clients/{client}/operations/*"),
    *("GET/v1/clients/{client}/jobs/counts", "POST/v1/clients/{client}/jobs/*", "POST/v1/clients/{client}/dead/*"),
)


class ClockworkClient(Construct):
    """Lets roles call the routes of one client, and the deliverer send to the client's queues and topics.

    `deployment` is the name of Clockwork's stack. `url` is the address of its API, for the environment of a service.
    An admin declares the client once: the output `<Id>Client` has the body for `PUT /v1/clients/{clientId}`. Neither
    queue nor topic needs to stand in the deployment's `targetQueueArns` or `targetArns`: their own policies admit the
    deliverer, and so do those of the keys that encrypt them. A queue, topic or key that this stack only imports raises
    ValueError. `by_url`: the deployment has `api:
    functionUrl`. IAM then lets the callers call every path, and Clockwork alone judges the client.
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
        by_url: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self._deployment = deployment
        self.url = self._parameter("api-url")
        for caller in callers:
            for statement in self._calls_by_url() if by_url else self._calls(client_id):
                caller.add_to_principal_policy(statement)
        for queue in queues:
            self._admit("sqs:SendMessage", queue.queue_arn, queue, queue.encryption_master_key)
        for topic in topics:
            self._admit("sns:Publish", topic.topic_arn, topic, topic.master_key)
        body = {
            "principals": [caller.role_arn for caller in callers],
            "allowedQueueArns": [queue.queue_arn for queue in queues],
            "allowedTargetArns": [topic.topic_arn for topic in topics],
        }
        output = cdk.CfnOutput(self, "Client", value=cdk.Stack.of(self).to_json_string(body))
        output.override_logical_id(f"{construct_id}Client")

    def _parameter(self, name: str) -> str:
        return ssm.StringParameter.value_for_string_parameter(self, f"/{self._deployment}/{name}")

    def _admit(self, action: str, arn: str, target: sqs.IQueue | sns.ITopic, key: kms.IKey | None) -> None:
        """Let the policies of a queue or a topic, and of its key, admit the deliverer.

        Raises ValueError for one of another stack.
        """
        deliverer = iam.ArnPrincipal(self._parameter("deliverer-role-arn"))
        statement = iam.PolicyStatement(actions=[action], resources=[arn], principals=[deliverer])
        _add(statement, target)
        if key is not None:
            stack = cdk.Stack.of(self)
            via = f"{action.partition(':')[0]}.{stack.region}.{stack.url_suffix}"
            uses = iam.PolicyStatement(
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=["*"],  # a key's policy is about that key alone
                principals=[deliverer],
                conditions={"StringEquals": {"kms:ViaService": via}},
            )
            _add(uses, key)

    def _calls_by_url(self) -> Iterator[iam.PolicyStatement]:
        """Allows the function by its URL, and no other way to invoke it: an event of one's own could name any caller.

        Only `lambda:InvokeFunction` has the condition key, and AWS refuses the other action with it.
        https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html
        """
        by_url = {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}
        for action, conditions in (("lambda:InvokeFunctionUrl", {}), ("lambda:InvokeFunction", by_url)):
            resources = [self._parameter("api-function-arn")]
            yield iam.PolicyStatement(actions=[action], resources=resources, conditions=conditions)

    def _calls(self, client_id: str) -> Iterator[iam.PolicyStatement]:
        """Allows the routes of one client. Clockwork itself judges the client of each request, too."""
        stack, api = cdk.Stack.of(self), self._parameter("api-id")
        routes = [route.format(client=client_id) for route in ROUTES]
        resources = [
            stack.format_arn(service="execute-api", resource=api, resource_name=f"$default/{route}") for route in routes
        ]
        yield iam.PolicyStatement(actions=["execute-api:Invoke"], resources=resources)


def _add(statement: iam.PolicyStatement, to: sqs.IQueue | sns.ITopic | kms.IKey) -> None:
    if not to.add_to_resource_policy(statement).statement_added:
        raise ValueError(f"{to.node.path} is of another stack: its policy has to admit the deliverer there")
