"""AWS services as targets on the deployed stack: the messages that arrive behind them, and the permissions used.

The emulator carries all of these services. `tests/contract/test_targets_services.py` covers the cases it lacks:
refusals and throttles of the services, and roles of other accounts, since all of its accounts trust each other.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from typing import Any

import pytest

from local.emulator import ACCOUNT, REGION
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant

_FUNCTION = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:target-orders"
_BUS = f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/target-orders"
_TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:target-orders"
_STREAM = f"arn:aws:kinesis:{REGION}:{ACCOUNT}:stream/target-orders"
_MACHINE = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:target-orders"
#: A function that passes its event on to a webhook receiver.
_CODE = """
import json, os, urllib.request

def handler(event, context):
    headers = {"webhook-id": event["executionId"], "content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(os.environ["HOOK"], json.dumps(event).encode(), headers), timeout=5)
"""


@pytest.fixture(scope="module")
def services(deployment: Deployment, webhooks: Hooks) -> Tenant:
    """A client that may use one target of each kind."""
    arns = [_FUNCTION, _BUS, _TOPIC, _STREAM, f"{_MACHINE}*", f"arn:aws:ecs:{REGION}:*"]
    queues = [_arn("target-heard-bus"), _arn("target-heard-topic")]
    for queue in queues:
        told = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": queue}
        attributes = {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [told]})}
        deployment.stack.client("sqs").create_queue(QueueName=queue.rpartition(":")[2], Attributes=attributes)
    return deployment.tenant(
        "services", allowedTargetArns=arns, allowedQueueArns=queues, allowedPrivateTargets=[webhooks.place]
    )


def _arn(queue: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}"


def _envelope(created: dict[str, Any], execution_id: str, payload: Any) -> dict[str, Any]:
    """The event of a function, and the detail of an EventBridge event."""
    return {
        "executionId": execution_id,
        "jobId": created["jobId"],
        "attempt": 1,
        "dueAt": created["dueAt"],
        "payload": payload,
    }


def _execution(tenant: Tenant, created: dict[str, Any]) -> str:
    return str(tenant.await_job(created["jobId"], "SUCCEEDED")["lastExecution"]["executionId"])


def _make_function(deployment: Deployment, hook: Hook) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("handler.py", _CODE)
    deliverer = deployment.stack.client("lambda").get_function(
        FunctionName=deployment.stack.outputs["DelivererFunction"]
    )
    deployment.stack.client("lambda").create_function(
        FunctionName="target-orders",
        Runtime=deliverer["Configuration"]["Runtime"],
        Role=deliverer["Configuration"]["Role"],
        Handler="handler.handler",
        Code={"ZipFile": packed.getvalue()},
        Environment={"Variables": {"HOOK": hook.url}},
    )


def test_a_function_is_invoked_with_the_envelope(deployment: Deployment, services: Tenant, hook: Hook) -> None:
    _make_function(deployment, hook)
    created = services.create(target={"type": "lambda", "functionArn": _FUNCTION}, payload={"order": 17})
    (arrival,) = hook.await_arrivals(1)
    assert json.loads(arrival.body) == _envelope(created, _execution(services, created), {"order": 17})


def test_an_event_is_put_on_a_bus_with_the_envelope_as_its_detail(deployment: Deployment, services: Tenant) -> None:
    events = deployment.stack.client("events")
    events.create_event_bus(Name="target-orders")
    events.put_rule(Name="heard", EventBusName="target-orders", EventPattern=json.dumps({"source": ["shop"]}))
    heard = _arn("target-heard-bus")
    events.put_targets(Rule="heard", EventBusName="target-orders", Targets=[{"Id": "1", "Arn": heard}])
    target = {"type": "eventbridge", "busArn": _BUS, "source": "shop", "detailType": "order due"}
    created = services.create(target=target, payload="text stays text")
    event = json.loads(deployment.receive(heard)["Body"])
    assert (event["source"], event["detail-type"]) == ("shop", "order due")
    assert event["detail"] == _envelope(created, _execution(services, created), "text stays text")


def test_a_message_is_published_to_a_topic_with_the_facts_as_attributes(
    deployment: Deployment, services: Tenant
) -> None:
    sns = deployment.stack.client("sns")
    assert sns.create_topic(Name="target-orders")["TopicArn"] == _TOPIC
    heard = _arn("target-heard-topic")
    sns.subscribe(TopicArn=_TOPIC, Protocol="sqs", Endpoint=heard, Attributes={"RawMessageDelivery": "true"})
    created = services.create(target={"type": "sns", "topicArn": _TOPIC}, payload={"order": 18})
    message = deployment.receive(heard)
    assert json.loads(message["Body"]) == {"order": 18}
    attributes = {name: one["StringValue"] for name, one in message["MessageAttributes"].items()}
    assert attributes == {
        "executionId": _execution(services, created),
        "jobId": created["jobId"],
        "attempt": "1",
        "dueAt": created["dueAt"],
    }


@pytest.mark.parametrize(
    "target",
    [
        {"type": "lambda", "functionArn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:payroll"},
        {"type": "sns", "topicArn": f"arn:aws:sns:{REGION}:{ACCOUNT}:payroll"},
    ],
    ids=["lambda", "sns"],
)
def test_what_a_client_lists_is_refused_at_delivery_unless_the_deployment_opened_it(
    deployment: Deployment, target: dict[str, str]
) -> None:
    anything = [f"arn:aws:lambda:{REGION}:*", f"arn:aws:sns:{REGION}:*"]
    tenant = deployment.tenant(f"daring-{target['type']}", allowedTargetArns=anything)
    created = tenant.create(target=target, retryPolicy={"maxAttempts": 1})
    dead = tenant.await_job(created["jobId"], "DEAD")["lastExecution"]
    assert "denies access" in dead["attempts"][0]["error"]


def test_a_record_is_put_into_a_stream_under_the_ordering_key(deployment: Deployment, services: Tenant) -> None:
    kinesis = deployment.stack.client("kinesis")
    kinesis.create_stream(StreamName="target-orders", ShardCount=1)
    kinesis.get_waiter("stream_exists").wait(StreamName="target-orders")
    created = services.create(
        target={"type": "kinesis", "streamArn": _STREAM}, payload={"order": 19}, orderingKey="order-19", record="full"
    )
    execution_id = _execution(services, created)
    (shard,) = kinesis.list_shards(StreamName="target-orders")["Shards"]
    first = kinesis.get_shard_iterator(
        StreamName="target-orders", ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )
    (record,) = kinesis.get_records(ShardIterator=first["ShardIterator"])["Records"]
    assert record["PartitionKey"] == "order-19"
    assert json.loads(record["Data"]) == _envelope(created, execution_id, {"order": 19})


def _make_machine(deployment: Deployment, name: str, states: dict[str, Any]) -> str:
    """The ARN of a state machine that begins with the first of these states."""
    functions, deliverer = deployment.stack.client("lambda"), deployment.stack.outputs["DelivererFunction"]
    role = functions.get_function(FunctionName=deliverer)["Configuration"]["Role"]
    definition = json.dumps({"StartAt": next(iter(states)), "States": states})
    made = deployment.stack.client("stepfunctions").create_state_machine(name=name, definition=definition, roleArn=role)
    return str(made["stateMachineArn"])


def _ending(machine: str) -> dict[str, Any]:
    """The fields of a job that ends with an execution of this state machine."""
    target = {"type": "stepFunctions", "stateMachineArn": machine}
    return {"target": target, "completion": {"mode": "end", "timeoutSeconds": 600}}


def test_a_job_ends_with_the_execution_of_its_state_machine_and_has_its_output(
    deployment: Deployment, services: Tenant
) -> None:
    wait = {"wait": {"Type": "Wait", "Seconds": 3, "Next": "end"}, "end": {"Type": "Pass", "Result": 7, "End": True}}
    created = services.create(**_ending(_make_machine(deployment, "target-orders-wait", wait)))
    running = services.await_job(created["jobId"], "RUNNING")["lastExecution"]
    done = services.await_job(created["jobId"], "SUCCEEDED")["lastExecution"]
    assert done["executionId"] == running["executionId"]
    told = services.get(f"/v1/executions/{done['executionId']}")
    assert told["report"]["result"] == 7
    assert told["attempts"][0]["state"] == "SUCCEEDED"


@pytest.mark.nightly
def test_a_cancel_stops_the_execution_of_the_state_machine(deployment: Deployment, services: Tenant) -> None:
    machine = _make_machine(deployment, "target-orders-long", {"wait": {"Type": "Wait", "Seconds": 600, "End": True}})
    created = services.create(**_ending(machine))
    execution = services.await_job(created["jobId"], "RUNNING")["lastExecution"]["executionId"]
    assert services.api.request("POST", f"/v1/executions/{execution}/cancel").status == 200
    services.await_job(created["jobId"], "CANCELLED")
    (begun,) = deployment.stack.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]
    assert begun["status"] == "ABORTED"


def test_a_state_machine_begins_an_execution_with_the_envelope_as_its_input(
    deployment: Deployment, services: Tenant
) -> None:
    states = deployment.stack.client("stepfunctions")
    machine = _make_machine(deployment, "target-orders", {"pass": {"Type": "Pass", "End": True}})
    assert machine == _MACHINE
    created = services.create(target={"type": "stepFunctions", "stateMachineArn": machine}, payload={"order": 20})
    execution_id = _execution(services, created)
    (begun,) = states.list_executions(stateMachineArn=machine)["executions"]
    told = json.loads(states.describe_execution(executionArn=begun["executionArn"])["input"])
    assert told == _envelope(created, execution_id, {"order": 20})


@pytest.mark.nightly
def test_a_task_starts_with_the_payload_as_a_variable_and_a_cancel_stops_it(
    deployment: Deployment, services: Tenant
) -> None:
    """The emulator has no Docker, and its tasks run until they are stopped."""
    ecs = deployment.stack.client("ecs")
    cluster = ecs.create_cluster(clusterName="target-orders")["cluster"]["clusterArn"]
    containers = [{"name": "app", "image": "app", "memory": 64}]
    made = ecs.register_task_definition(family="target-orders", containerDefinitions=containers)
    target = {
        "type": "ecs",
        "taskDefinitionArn": made["taskDefinition"]["taskDefinitionArn"],
        "clusterArn": cluster,
        "container": "app",
    }
    created = services.create(target=target, payload={"order": 21}, completion={"mode": "end", "timeoutSeconds": 600})
    execution = services.await_job(created["jobId"], "RUNNING")["lastExecution"]["executionId"]
    until = time.monotonic() + 30
    while not (arns := ecs.list_tasks(cluster=cluster)["taskArns"]) and time.monotonic() < until:
        time.sleep(0.1)
    (task,) = ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"]
    (override,) = task["overrides"]["containerOverrides"]
    said = {one["name"]: one["value"] for one in override["environment"]}
    assert (said["CLOCKWORK_PAYLOAD"], said["CLOCKWORK_EXECUTION_ID"]) == ('{"order":21}', execution)
    assert services.api.request("POST", f"/v1/executions/{execution}/cancel").status == 200
    services.await_job(created["jobId"], "CANCELLED")
    (task,) = ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"]
    assert task["stopCode"] == "UserInitiated"
