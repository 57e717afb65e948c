"""Calls that AWS refuses: what speaks of one item ends that item, and all else is an outage, which ends none."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ClientError, NoCredentialsError

from clockwork.aws.errors import RefusedToAll, Throttled, ask, is_of_entry
from clockwork.aws.stores.timeline import AwsTimeline
from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.flows.containment import Faults, put_each
from clockwork.flows.hardening import HardenedJobs, HardenedReleases
from tests.contract.examples import DUE, execution, release, row
from tests.contract.faults import Fault, Wire, answer, body_of
from tests.contract.worlds import AwsWorld

pytestmark = pytest.mark.usefixtures("no_pauses_of_botocore")

HORIZON = keys.edge_key(DUE + 240_000)
#: The answers of DynamoDB while an operator's slip lasts, and one code that no version knows.
OF_ALL = [
    "AccessDeniedException",
    "UnrecognizedClientException",
    "ExpiredTokenException",
    "ResourceNotFoundException",
    "KMSAccessDeniedException",
    "SomethingNewException",
]
#: The same of SQS, as an entry of a batch, or the whole call, may have it.
OF_ALL_ENTRIES = [
    "AccessDenied",
    "KMS.AccessDeniedException",
    "KmsAccessDenied",
    "KmsDisabled",
    "KmsNotFound",
    "AWS.SimpleQueueService.NonExistentQueue",
    "SomethingNew",
]


def refusal(code: str, status: int = 400) -> Fault:
    return answer(status, {"__type": f"com.amazonaws#{code}", "message": "no"})


def error_of(code: str, **more: Any) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 400}, **more}
    return ClientError(response, "Call")


def raising(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("code", OF_ALL)
def test_a_refused_record_is_a_defect_only_if_the_code_speaks_of_the_record(emulated: AwsWorld, code: str) -> None:
    Wire(emulated.aws.client("dynamodb"), "PutItem", [refusal(code), refusal("ValidationException")])
    first, second = (emulated.executions.save([(None, execution())])[0] for _ in range(2))
    assert (first.ok, first.is_defect) == (False, False)
    assert code in (first.unavailable or "")
    assert (second.ok, second.is_defect) == (False, True)


@pytest.mark.parametrize("code", OF_ALL)
def test_rows_and_reads_that_are_refused_to_all_are_unavailable(emulated: AwsWorld, code: str) -> None:
    rows = [row(DUE + n) for n in range(3)]
    client = emulated.aws.client("dynamodb")
    Wire(client, "PutItem", [refusal(code)] * 9)
    reads = Wire(client, "BatchGetItem", [refusal(code)] * 9)
    with pytest.raises(Unavailable, match=code):
        put_each(emulated.timeline, Faults(), rows)
    with pytest.raises(Unavailable, match=code):
        HardenedJobs(emulated.jobs, Faults()).get([("acme", "daily"), ("acme", "hourly")])
    assert reads.sent == 1


def test_a_row_that_is_refused_by_itself_is_told_from_the_others(emulated: AwsWorld) -> None:
    rows = [row(DUE + n) for n in range(2)]

    def refuse_first(request: AWSPreparedRequest) -> AWSResponse | None:
        is_first = body_of(request)["Item"]["scheduleTime"]["S"] == rows[0].key
        return refusal("ValidationException")(request) if is_first else None

    Wire(emulated.aws.client("dynamodb"), "PutItem", [refuse_first] * 4)
    faults = Faults()
    refused = put_each(emulated.timeline, faults, rows)
    assert (refused, faults.take()) == ({0: "internal fault: ClientError"}, 1)


def test_a_missing_table_is_an_outage(emulated: AwsWorld) -> None:
    with pytest.raises(RefusedToAll, match="ResourceNotFoundException"):
        AwsTimeline(emulated.aws, "no-such-table").read("p000", keys.BEGINNING, HORIZON, 1)


@pytest.mark.parametrize("code", OF_ALL_ENTRIES)
@pytest.mark.parametrize("whole_call", [False, True], ids=["an entry", "the call"])
def test_a_send_that_is_refused_to_all_ends_no_release(emulated: AwsWorld, code: str, whole_call: bool) -> None:
    entry = {"SenderFault": True, "Code": code, "Message": "no"}
    entries = answer(200, {"Successful": [], "Failed": [{"Id": str(n), **entry} for n in range(2)]})
    client = emulated.aws.client("sqs", attempts=1)
    wire = Wire(client, "SendMessageBatch", [refusal(code, 403) if whole_call else entries] * 4)
    releases, faults = [release(DUE, b"%d" % n) for n in range(2)], Faults()
    refused = HardenedReleases(emulated.releases, faults).send(releases, DUE)
    assert [(one.index, one.permanent) for one in refused] == [(0, False), (1, False)]
    assert code.rpartition(".")[2] in refused[0].reason
    assert (wire.sent, faults.take()) == (4, 0)
    assert HardenedReleases(emulated.releases, faults).send(releases, DUE) == []
    assert len(emulated.receive(10)) == 2


@pytest.mark.parametrize("code", ["InvalidMessageContents", "InvalidParameterValue"])
def test_an_entry_that_sqs_never_takes_is_known_by_its_code(code: str) -> None:
    assert is_of_entry({"Id": "0", "SenderFault": True, "Code": code})


def test_what_botocore_cannot_send_for_anybody_is_an_outage() -> None:
    with pytest.raises(RefusedToAll, match="credentials"):
        ask(raising, NoCredentialsError())


def test_a_cancelled_transaction_speaks_of_an_item_only_by_its_reasons() -> None:
    def cancelled(reason: str) -> ClientError:
        return error_of("TransactionCanceledException", CancellationReasons=[{"Code": "None"}, {"Code": reason}])

    with pytest.raises(Throttled):
        ask(raising, cancelled("TransactionConflict"))
    with pytest.raises(ClientError):
        ask(raising, cancelled("ValidationError"))
    with pytest.raises(RefusedToAll):
        ask(raising, cancelled("AccessDenied"))


def test_a_code_that_is_not_known_is_logged_once_and_not_for_every_call(caplog: pytest.LogCaptureFixture) -> None:
    for code in ("NeverHeardOfException", "NeverHeardOfException", "AccessDeniedException"):
        with pytest.raises(RefusedToAll):
            ask(raising, error_of(code))
    (logged,) = caplog.records
    assert (logged.levelname, logged.__dict__["code"]) == ("ERROR", "NeverHeardOfException")
