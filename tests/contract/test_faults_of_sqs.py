"""Faults of SQS: the release queue's answer to refusals and lost answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.aws.queues.release_queue import AwsReleaseQueue
from tests.contract.examples import DUE, release
from tests.contract.faults import Fault, Wire, answer, broken, lost_request
from tests.contract.worlds import AwsWorld

NOW = DUE


def sqs_wire(world: AwsWorld, *faults: Fault) -> Wire:
    """A wire between the release queue and SQS, on the client that does not repeat requests itself."""
    return Wire(world.aws.client("sqs", attempts=1), "SendMessageBatch", faults)


def failed(*entries: dict[str, object], taken: Sequence[str] = ()) -> Fault:
    successful = [{"Id": id_, "MessageId": id_, "MD5OfMessageBody": ""} for id_ in taken]
    return answer(200, {"Successful": successful, "Failed": list(entries)})


@pytest.mark.parametrize("fault", [lost_request, broken])
def test_releases_without_an_answer_are_sent_again(emulated: AwsWorld, fault: Fault) -> None:
    wire = sqs_wire(emulated, fault)
    assert list(emulated.releases.send([release(NOW)], NOW)) == []
    assert wire.sent == 2
    assert len(emulated.receive(10)) == 1


def test_what_sqs_did_not_take_is_sent_again_and_what_it_refused_for_good_is_not(emulated: AwsWorld) -> None:
    fault = failed(
        {"Id": "0", "SenderFault": False, "Code": "InternalError", "Message": "later"},
        {"Id": "2", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "never"},
        taken=["1"],
    )
    wire = sqs_wire(emulated, fault)
    (refused,) = emulated.releases.send([release(NOW, b"%d" % n) for n in range(3)], NOW)
    assert (refused.index, refused.permanent, refused.reason) == (2, True, "InvalidMessageContents: never")
    assert wire.sent == 2
    assert len(emulated.receive(10)) == 1


@pytest.mark.parametrize("code", ["RequestThrottled", "AWS.SimpleQueueService.ThrottlingException"])
def test_that_too_much_was_sent_at_once_is_no_fault_for_good(emulated: AwsWorld, code: str) -> None:
    wire = sqs_wire(emulated, failed({"Id": "0", "SenderFault": True, "Code": code, "Message": "slow down"}))
    assert list(emulated.releases.send([release(NOW)], NOW)) == []
    assert wire.sent == 2
    assert len(emulated.receive(10)) == 1


def test_an_outage_of_the_queue_is_reported_release_by_release(emulated: AwsWorld) -> None:
    nowhere = emulated.connect(endpoint_url="http://127.0.0.1:9")
    queue = AwsReleaseQueue(nowhere, "http://127.0.0.1:9/queue")
    refused = queue.send([release(NOW, b"%d" % n) for n in range(12)], NOW)
    assert [(r.index, r.permanent) for r in refused] == [(n, False) for n in range(12)]
    assert all("127.0.0.1:9" in r.reason for r in refused)
    nowhere.close()


def test_what_sqs_does_not_tell_about_one_ticket_is_told_of_the_others(emulated: AwsWorld) -> None:
    faults = [{"Id": "0", "SenderFault": False, "Code": "InternalError"}, {"Id": "1", "SenderFault": True, "Code": "X"}]
    Wire(emulated.aws.client("sqs"), "ChangeMessageVisibilityBatch", [failed(*faults)])
    assert list(emulated.pool_queues.hold("etl", "normal", ["a", "b", "c"], 60)) == [None, False, True]
