"""The deployed local stack has what its template says, even where the emulator's CloudFormation ignores it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import urllib3

from clockwork.settings import Settings
from local.stack import LocalStack


@pytest.mark.parametrize("name", ["Timeline", "Jobs", "Executions", "Clients"])
def test_rows_expire(stack: LocalStack, name: str) -> None:
    table = stack.outputs[f"{name}Table"]
    state = stack.client("dynamodb").describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert (state["TimeToLiveStatus"], state["AttributeName"]) == ("ENABLED", "expiresAt")


def test_pollers_have_their_concurrency_and_may_recur(stack: LocalStack) -> None:
    functions, poller = stack.client("lambda"), stack.outputs["PollerFunction"]
    reserved = functions.get_function_concurrency(FunctionName=poller)["ReservedConcurrentExecutions"]
    local = Settings.for_local()
    # Two for each ordered shard: a long-running poller and its successor both live while it hands over.
    assert reserved == local.shards + 2 * local.ordered_shards
    assert functions.get_function_recursion_config(FunctionName=poller)["RecursiveLoop"] == "Allow"


def test_deploying_again_changes_nothing(stack: LocalStack, options: dict[str, str]) -> None:
    before = dict(stack.outputs)
    assert stack.deploy(options) == before


def test_a_signed_request_of_an_admin_is_answered(stack: LocalStack) -> None:
    assert stack.api().request("GET", "/v1/health").status == 200


def test_a_request_without_a_signature_is_refused(stack: LocalStack) -> None:
    with urllib3.PoolManager(ca_certs=str(stack.ca_bundle), retries=False) as pool:
        path = f"/_aws/execute-api/{stack.outputs['ApiId']}/$default/v1/health"
        assert pool.request("GET", stack.endpoint_url + path).status == 403


def test_a_request_signed_with_a_wrong_secret_is_refused(stack: LocalStack) -> None:
    forged = replace(stack.admin, secret_key="wrong")
    assert stack.api(forged).request("GET", "/v1/health").status == 403


def test_a_user_without_a_policy_is_refused(stack: LocalStack) -> None:
    assert stack.api(stack.create_user("nobody")).request("GET", "/v1/health").status == 403


def test_a_route_that_is_not_in_the_table_does_not_exist(stack: LocalStack) -> None:
    assert stack.api().request("GET", "/v1/nothing").status == 404
