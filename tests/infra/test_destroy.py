"""The remains of a stack are listed with their cost, and a new stack takes them up by its option `adopt`."""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from clockwork.settings import Settings
from rollout.__main__ import main
from rollout.destroy import Protected, adoption, destroy, report
from rollout.live import Live, Resource
from tests.infra.account import account_of
from tests.infra.conftest import synthesize
from tests.infra.option_sets import KAFKA
from tests.infra.template import TABLES, strings
from tests.support.deployed_settings import deployed

QUEUES = ("Release", "DeadLetters", "OrderedRelease", "OrderedDeadLetters")
QUEUE_URL = "https://sqs.us-east-1.amazonaws.com/123456789012"
KEPT = [
    *(Resource("AWS::DynamoDB::GlobalTable", f"Storage{name}", f"Old-Storage{name}", True) for name in TABLES),
    *(Resource("AWS::SQS::Queue", f"Queues{name}", f"{QUEUE_URL}/Old-{name}", True) for name in QUEUES),
    Resource("AWS::SQS::Queue", "IngestionInbound", f"{QUEUE_URL}/Old-Inbound.fifo", True),
    Resource("AWS::Logs::LogGroup", "ApiAccessLog", "/aws/vendedlogs/Old/access-1", True),
]


def test_tables_and_queues_are_adopted_also_those_that_seem_empty() -> None:
    assert adoption(KEPT) == {
        "tables": {name.lower(): f"Old-Storage{name}" for name in TABLES},
        "queues": {**{name: f"Old-{name}" for name in QUEUES}, "Inbound": "Old-Inbound.fifo"},
    }


def going(*resources: dict[str, str], asked: list[str] | None = None, **more: Any) -> Live:
    """A stack without Lambdas, as a deletion that failed leaves it; what AWS answers is in `more`, by call."""
    answers = {
        "describe_stacks": {"Stacks": [{"StackStatus": "DELETE_FAILED"}]},
        "get_template": {"TemplateBody": {"Resources": {}}},
        "list_stack_resources": {"StackResourceSummaries": resources},
        "delete_stack": {},
        "stack_delete_complete": {},
        "list_event_source_mappings": {"EventSourceMappings": []},
    }
    return Live(account_of(asked, **{**answers, **more}), "Clockwork")


def test_a_stack_that_adopted_says_what_the_next_one_adopts() -> None:
    adopt = {
        "tables": {name.lower(): f"Old-Storage{name}" for name in TABLES},
        "queues": {"Release": "Old-Release"},
    }
    told = list[str]()
    live = going(
        get_template={"TemplateBody": synthesize(adopt=json.dumps(adopt)).body},
        get_queue_url={"QueueUrl": f"{QUEUE_URL}/Old-Release"},
        get_queue_attributes={"Attributes": collections.defaultdict(lambda: "2")},
    )
    destroy(live, told.append, now=False)
    said = "\n".join(told)
    assert "Old-StorageJobs" in said
    assert "Old-Release (6 messages)" in said
    assert json.JSONDecoder().raw_decode(said[said.index('"adopt":') + 8 :].lstrip())[0] == adopt


def test_a_queue_that_was_adopted_and_is_gone_keeps_no_stack_from_going() -> None:
    options = {"adopt": {"queues": {"Release": "Old-Release"}}}
    body = {"Resources": {}, "Metadata": {"Clockwork": {"options": options}}}
    live = going(get_template={"TemplateBody": body}, get_queue_url="AWS.SimpleQueueService.NonExistentQueue")
    assert list(live.adopted) == []


@pytest.mark.parametrize("refusal", ["AccessDeniedException", "ResourceInUseException"])
def test_event_sources_of_others_and_one_that_stays_end_nothing(refusal: str) -> None:
    told, function = list[str](), "arn:aws:lambda:us-east-1:123456789012:function:Deliverer1"
    mappings = [
        {"UUID": "of-kafka", "FunctionArn": function},
        {"UUID": "other", "FunctionArn": function, "EventSourceArn": "arn:aws:sqs:us-east-1:1:orders"},
        {
            "UUID": "first",
            "FunctionArn": f"{function}:live",
            "EventSourceArn": "arn:aws:sqs:us-east-1:1:Clockwork-Release-1",
        },
    ]
    live = going(
        list_event_source_mappings={"EventSourceMappings": mappings},
        delete_event_source_mapping=refusal,
        delete_function={},
    )
    destroy(live, told.append, now=False)
    assert told[0].startswith("The stack Clockwork is being deleted.")
    assert told[1] == "The stack Clockwork is gone."
    assert told[2].startswith("Not removed, delete it by hand: the event source first")
    assert told[3:] == [f"Removed the function {function}, which stayed for a release queue"]


@pytest.mark.parametrize(
    "other", ["Clockwork-Release-QueuesRelease-X1", "Clockwork-Release-Release-1", "MyClockwork-Release-1"]
)
def test_the_deliverers_of_another_stack_stay(other: str) -> None:
    asked = list[str]()
    function = "arn:aws:lambda:us-east-1:123456789012:function:Deliverer1"
    mapping = {"UUID": "other", "FunctionArn": function, "EventSourceArn": f"arn:aws:sqs:us-east-1:1:{other}"}
    live = going(asked=asked, list_event_source_mappings={"EventSourceMappings": [mapping]})
    destroy(live, list[str]().append, now=False)
    assert {"delete_event_source_mapping", "delete_function"}.isdisjoint(asked)


def test_a_protected_stack_is_refused_before_anything_is_stopped_or_paused() -> None:
    """CloudFormation would say so only after half an hour without deliveries."""
    asked = list[str]()
    stack = {"StackStatus": "UPDATE_COMPLETE", "EnableTerminationProtection": True}
    functions = {"ResourceType": "AWS::Lambda::Function", "LogicalResourceId": "FunctionsApi", "ResourceStatus": ""}
    live = going(functions, asked=asked, describe_stacks={"Stacks": [stack]})
    with pytest.raises(Protected, match="termination protection"):
        destroy(live, list[str]().append, now=False)
    assert set(asked) == {"get_template", "list_stack_resources", "describe_stacks"}


def test_what_stays_is_said_before_the_wait_for_the_end() -> None:
    told = list[str]()
    with pytest.raises(ClientError):
        destroy(going(stack_delete_complete="ValidationError"), told.append, now=False)
    assert [line.partition(".")[0] for line in told] == ["The stack Clockwork is being deleted"]


def test_a_stack_that_is_being_deleted_is_only_waited_for() -> None:
    told, asked = list[str](), list[str]()
    live = going(asked=asked, describe_stacks={"Stacks": [{"StackStatus": "DELETE_IN_PROGRESS"}]})
    destroy(live, told.append, now=False)
    assert told == ["The stack Clockwork is gone."]
    assert asked[-2:] == ["stack_delete_complete", "list_event_source_mappings"]
    assert "delete_stack" not in asked


def test_what_an_earlier_deletion_took_is_no_resource_of_the_stack() -> None:
    rows = [
        {"LogicalResourceId": f"Functions{name}", "ResourceType": "AWS::Lambda::Function"} | {"ResourceStatus": status}
        for name, status in (("Api", "DELETE_COMPLETE"), ("Sweeper", "DELETE_FAILED"))
    ]
    live = going(*({**row, "PhysicalResourceId": row["LogicalResourceId"].lower()} for row in rows))
    assert [one.physical for one in live.resources] == ["functionssweeper"]
    assert (live.function("Api"), list(live.functions)) == (None, ["functionssweeper"])


def test_the_settings_are_those_of_any_lambda_that_is_left() -> None:
    row = {"LogicalResourceId": "FunctionsSweeper", "ResourceType": "AWS::Lambda::Function", "ResourceStatus": "X"}
    settings = deployed(Settings.for_account()).with_(jobs_table="Old-StorageJobs")
    found = {"Environment": {"Variables": settings.to_environment()}}
    assert going(row, get_function_configuration=found).settings == settings.named()


@pytest.mark.parametrize("command", ["preflight", "destroy"])
def test_a_call_of_aws_that_fails_is_a_line_and_no_traceback(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    account = account_of(get_caller_identity={"Account": "123456789012"}, describe_stacks="ThrottlingException")
    monkeypatch.setattr("rollout.__main__.Account", lambda: account)
    monkeypatch.setattr("rollout.__main__.preflight", lambda *_: account.status("Clockwork"))
    assert main([command, "--yes", "--app", str(tmp_path), "-c", "name=Clockwork"]) == 1
    assert "ThrottlingException" in capsys.readouterr().err


def test_the_report_names_everything_that_stays_with_its_cost() -> None:
    told = report("Old", KEPT, {"Old-OrderedRelease": 3}, ["acme"])
    for one in KEPT:
        assert one.physical.rpartition(f"{QUEUE_URL}/")[2] in told
    assert "Old-OrderedRelease (3 messages)" in told
    assert told.endswith("Resume them once the new stack runs:\n  acme")
    assert "protected against deletion" in told


@pytest.mark.parametrize("more", [{}, {"kafka": KAFKA, "ingestionQueue": True}], ids=["plain", "all"])
def test_what_is_adopted_is_used_and_not_made(more: dict[str, Any]) -> None:
    names = [f"{kind}{one}" for kind in ("", *(["Kafka"] if more else [])) for one in QUEUES]
    names += ["Inbound", "InboundDeadLetters", "Rejected"] if more else []
    queues = {
        name: f"Old-{name}{'.fifo' if name.startswith(('Ordered', 'KafkaOrdered', 'Inb')) else ''}" for name in names
    }
    tables = {name.lower(): f"Old-Storage{name}" for name in TABLES}
    template = synthesize(adopt=json.dumps({"tables": tables, "queues": queues}), **more)
    assert not template.all("DynamoDB::GlobalTable")
    assert not template.all("SQS::Queue")
    variables = template.function("Api")["Properties"]["Environment"]["Variables"]
    read = Settings.from_environment(variables | {"RELEASE_QUEUE_URL": "https://q/1/Old-Release"})
    told = [getattr(read, f"{name.lower()}_table") for name in TABLES]
    assert told == [f"Old-Storage{name}" for name in TABLES]
    assert read.ordered_release_dead_letter_queue_url == "https://q/1/Old-OrderedDeadLetters.fifo"
    assert all(url[0].startswith("https://q/1/Old-Kafka") for url in read.lanes.values())
    sources = template.all("Lambda::EventSourceMapping").values()
    arns = ["".join(strings(one["Properties"]["EventSourceArn"])) for one in sources]
    assert len([arn for arn in arns if "Old-" in arn]) == (5 if more else 2)
    consumed = [name for name in template.allowed("Deliverer", "sqs:") if "Old-Release" in name]
    assert consumed
    index = [one for one in template.allowed("Api", "dynamodb:") if "Old-StorageExecutions/index/attention" in one]
    assert index
