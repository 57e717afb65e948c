"""The release queue's visibility timeout exceeds its reader's timeout, and it keeps messages for two weeks."""

from __future__ import annotations

import pytest

from clockwork.settings import Settings
from tests.infra.template import Template

TWO_WEEKS = 14 * 86_400


@pytest.mark.parametrize("name", ["Release", "DeadLetters", "OrderedRelease", "OrderedDeadLetters"])
def test_a_queue_keeps_messages_for_two_weeks_and_encrypts_them(account: Template, name: str) -> None:
    properties = account.one("SQS::Queue", f"Queues{name}")["Properties"]
    assert properties["MessageRetentionPeriod"] == TWO_WEEKS == Settings().queue_retention_seconds
    assert properties["SqsManagedSseEnabled"] is True


@pytest.mark.parametrize("name", ["Release", "DeadLetters", "OrderedRelease", "OrderedDeadLetters"])
def test_a_queue_refuses_plain_http(account: Template, name: str) -> None:
    queue = account.logical_id(account.one("SQS::Queue", f"Queues{name}"))
    policies = [
        policy["Properties"]["PolicyDocument"]["Statement"]
        for policy in account.all("SQS::QueuePolicy").values()
        if {"Ref": queue} in policy["Properties"]["Queues"]
    ]
    ((statement,),) = policies
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


@pytest.mark.parametrize(("stage", "settings"), [("account", Settings.for_account()), ("local", Settings.for_local())])
def test_a_message_stays_hidden_for_longer_than_the_deliverer_may_work(
    request: pytest.FixtureRequest, stage: str, settings: Settings
) -> None:
    template: Template = request.getfixturevalue(stage)
    visibility = template.one("SQS::Queue", "QueuesRelease")["Properties"]["VisibilityTimeout"]
    assert visibility == settings.visibility_seconds
    assert visibility > template.function("Deliverer")["Properties"]["Timeout"]


def test_what_is_received_too_often_goes_to_the_dead_letters(account: Template) -> None:
    dead_letters = account.logical_id(account.one("SQS::Queue", "QueuesDeadLetters"))
    assert account.one("SQS::Queue", "QueuesRelease")["Properties"]["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": [dead_letters, "Arn"]},
        "maxReceiveCount": Settings.for_account().max_receive_count,
    }


def test_what_heads_of_groups_were_tried_too_often_goes_to_dead_letters_of_their_own(account: Template) -> None:
    dead_letters = account.one("SQS::Queue", "QueuesOrderedDeadLetters")
    assert account.one("SQS::Queue", "QueuesOrderedRelease")["Properties"]["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": [account.logical_id(dead_letters), "Arn"]},
        "maxReceiveCount": 1_000,
    }


@pytest.mark.parametrize("name", ["OrderedRelease", "OrderedDeadLetters"])
def test_the_ordered_queues_are_fifo_of_high_throughput(account: Template, name: str) -> None:
    properties = account.one("SQS::Queue", f"Queues{name}")["Properties"]
    kept = {key: properties[key] for key in ("FifoQueue", "DeduplicationScope", "FifoThroughputLimit")}
    expected = {"FifoQueue": True, "DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
    assert kept == expected
    assert "ContentBasedDeduplication" not in properties
