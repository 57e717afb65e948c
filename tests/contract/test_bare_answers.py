"""Answers that lack what AWS's models call optional: nothing is taken for done or for empty that nobody has said.

A writer learns that there was no answer (Unavailable). A reader learns the same, unless the model knows no other way to
say that there is nothing: an item that is not there, messages that are not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from clockwork.aws.invoker import AwsInvoker
from clockwork.aws.queues.backlog import AwsBacklog
from clockwork.aws.queues.dead_letters import AwsDeadLetters
from clockwork.aws.queues.ordered_queue import AwsOrderedQueue, AwsVisibility
from clockwork.aws.queues.rejects import AwsRejects
from clockwork.aws.queues.release_queue import AwsReleaseQueue
from clockwork.aws.repeats import Backoff
from clockwork.aws.session import Aws
from clockwork.aws.stores.clients import AwsClients
from clockwork.aws.stores.executions import AwsExecutions
from clockwork.aws.stores.jobs import AwsJobs
from clockwork.aws.stores.regulation import AwsRegulation
from clockwork.aws.stores.shards import AwsShards
from clockwork.aws.stores.signing_secrets import AwsSigningSecrets
from clockwork.aws.stores.timeline import AwsTimeline
from clockwork.aws.targets.roles import RoleClients
from clockwork.aws.targets.secrets import Secrets, SecretUnreadable
from clockwork.aws.targets.service_attempts import NoRole, ServiceTransport
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.requests.create import Rejected
from clockwork.memory.clock import MemoryClock
from clockwork.targets.sqs import SqsTarget
from tests.contract.bare import bare, bare_session
from tests.contract.examples import DUE, execution, release, row
from tests.contract.receiver import WallClock, delivery_to
from tests.contract.service_targets import EXAMPLES, Example

URL = "https://sqs.us-east-1.amazonaws.com/123456789012/release"
ROLE = "arn:aws:iam::123456789012:role/JobTarget"


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    made = Aws(bare_session(), backoff=Backoff(sleep=lambda _: None))
    yield made
    made.close()


#: A value that nobody said is Unavailable.
UNSAID: dict[str, Callable[[Aws], Any]] = {
    "a batch of rows": lambda aws: AwsTimeline(aws, "t").put([row(row_id="a"), row(row_id="b")]),
    "rows by their keys": lambda aws: AwsTimeline(aws, "t").find([("p000", "a"), ("p000", "b")]),
    "rows that are forgotten": lambda aws: AwsTimeline(aws, "t").forget("p000", ["a"]),
    "a page of the timeline": lambda aws: AwsTimeline(aws, "t").read("p000", "0", "9", 10),
    "the list of shards": lambda aws: AwsShards(aws, "t").list(),
    "several shards": lambda aws: AwsShards(aws, "t").get(["p000", "p001"]),
    "a lease": lambda aws: AwsShards(aws, "t").acquire("p000", "me", DUE, DUE + 1, "0"),
    "a page of jobs": lambda aws: AwsJobs(aws, "t").list("acme", None, None, 10),
    "several jobs": lambda aws: AwsJobs(aws, "t").get([("acme", "a"), ("acme", "b")]),
    "executions of a job": lambda aws: AwsExecutions(aws, "t").list("a", 10, None),
    "the dead of a client": lambda aws: AwsExecutions(aws, "t").dead("acme", 10, None),
    "clients of a principal": lambda aws: AwsClients(aws, "t").of_principal("arn"),
    "permits that are taken": lambda aws: AwsRegulation(aws, "t", MemoryClock()).taken("acme", DUE),
    "circuits": lambda aws: AwsRegulation(aws, "t", MemoryClock()).circuits("acme"),
    "slots": lambda aws: AwsRegulation(aws, "t", MemoryClock()).reserve("acme", 1, 10.0, DUE),
    "the backlog": lambda aws: AwsBacklog(aws, [URL]).waiting(),
    "a poller that is started": lambda aws: AwsInvoker(aws, "poller").poll("p000"),
}
#: Answers that tell by omission that there is nothing, or that all is done.
SAID: dict[str, tuple[Callable[[Aws], Any], Any]] = {
    "a row": (lambda aws: AwsTimeline(aws, "t").find([("p000", "a")]), [None]),
    "a new row": (lambda aws: AwsTimeline(aws, "t").put_new([row()]), None),
    "a cancel": (lambda aws: AwsTimeline(aws, "t").cancel("p000", "a", 0), True),
    "an execution": (lambda aws: AwsExecutions(aws, "t").find("a", "a.0.0"), None),
    "a client": (lambda aws: AwsClients(aws, "t").get("acme"), None),
    "dead letters": (lambda aws: AwsDeadLetters(aws, [URL]).receive(), []),
    "messages in hand": (lambda aws: AwsVisibility(aws, URL).hide(["receipt"], 5), None),
    "a secret": (lambda aws: AwsSigningSecrets(aws).exists("clockwork/a"), True),
    "a parameter": (lambda aws: AwsSigningSecrets(aws).exists("ssm:/clockwork/a"), True),
}


@pytest.mark.parametrize("name", UNSAID)
def test_an_answer_that_does_not_say_it_is_none(name: str, aws: Aws) -> None:
    with pytest.raises(Unavailable):
        UNSAID[name](aws)


@pytest.mark.parametrize("name", SAID)
def test_what_is_left_out_where_there_is_nothing_is_nothing(name: str, aws: Aws) -> None:
    ask, expected = SAID[name]
    answer = ask(aws)
    assert (list(answer) if isinstance(answer, list | tuple) else answer) == expected


def test_a_save_that_is_answered_with_nothing_is_done(aws: Aws) -> None:
    (saved,) = AwsExecutions(aws, "t").save([(None, execution())])
    assert saved.ok


@pytest.mark.parametrize("queue", [AwsReleaseQueue, AwsOrderedQueue])
def test_a_release_that_sqs_does_not_name_is_refused_for_now(queue: type[AwsReleaseQueue], aws: Aws) -> None:
    (refused,) = queue(aws, URL).send([release(DUE)], DUE)
    assert (refused.index, refused.permanent) == (0, False)
    assert "did not say" in refused.reason


def test_a_rejected_message_that_sqs_does_not_name_is_refused_for_now(aws: Aws) -> None:
    (refused,) = AwsRejects(aws, URL).send([Rejected("1", "lane", b"body", "reason")])
    assert (refused.index, refused.permanent) == (0, False)


def test_of_a_batch_only_the_messages_that_sqs_names_are_delivered(aws: Aws) -> None:
    target = SqsTarget("arn:aws:sqs:us-east-1:123456789012:orders")
    transport = ServiceTransport(SqsTarget, RoleClients(aws, WallClock()), WallClock())
    outcomes = transport.deliver_all([delivery_to(target)] * 2)
    assert [outcome.state for outcome in outcomes] == [State.FAILED] * 2
    assert all("did not say" in str(outcome.error) and not outcome.permanent for outcome in outcomes)


@pytest.mark.parametrize("example", EXAMPLES.values())
def test_a_bare_answer_means_that_a_message_was_taken_unless_the_service_names_what_it_took(
    example: Example, aws: Aws
) -> None:
    target: Any = msgspec.structs.replace(example.target, role_arn=None)
    transport = ServiceTransport(type(target), RoleClients(aws, WallClock()), WallClock())
    outcome = transport.deliver(delivery_to(target))
    assert (outcome.state is State.SUCCEEDED, outcome.permanent) == (example.says_nothing, False), outcome


def test_a_role_without_credentials_is_a_fault_of_the_attempt(aws: Aws) -> None:
    clock = WallClock()
    with pytest.raises(NoRole, match="cannot be taken on: ResponseParserError"):
        RoleClients(aws, clock).client("sqs", ROLE, "acme", clock.now() + 10_000)


@pytest.mark.parametrize("name", ["clockwork/a", "ssm:/clockwork/a"])
def test_a_secret_without_a_value_cannot_be_read(name: str, aws: Aws) -> None:
    stores = aws.client("secretsmanager"), aws.client("ssm")
    with pytest.raises(SecretUnreadable):
        Secrets(*stores, MemoryClock(), prefix="clockwork/").get(name)


def test_a_bare_answer_has_what_is_required_and_nothing_else(aws: Aws) -> None:
    sqs, dynamodb = (aws.client(name).meta.service_model for name in ("sqs", "dynamodb"))
    assert bare(sqs.operation_model("SendMessageBatch").output_shape) == {"Successful": [], "Failed": []}
    assert bare(dynamodb.operation_model("Query").output_shape) == {}
    assert bare(sqs.shape_for("BatchResultErrorEntry")) == {"Id": "", "SenderFault": False, "Code": ""}
