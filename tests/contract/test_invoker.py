"""The contract of `ports.Invoker`, tested with a function that really runs."""

from __future__ import annotations

import io
import json
import time
import zipfile

import pytest

from clockwork.aws.errors import RefusedToAll
from clockwork.aws.invoker import AwsInvoker
from clockwork.domain.errors import Unavailable
from tests.contract.faults import Wire, answer
from tests.contract.worlds import AwsWorld

#: The code of a function that sends the event of each invocation to a queue.
HANDLER = """
import json, os
import botocore.session

def handler(event, context):
    sqs = botocore.session.get_session().create_client("sqs", region_name="us-east-1")
    sqs.send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=json.dumps(event))
"""


def make_function(world: AwsWorld, name: str) -> str:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("code.py", HANDLER)
    world.aws.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.12",
        Role=f"arn:aws:iam::{world.account}:role/any",
        Handler="code.handler",
        Code={"ZipFile": archive.getvalue()},
        Environment={"Variables": {"QUEUE_URL": world.queue_url()}},
    )
    return name


def test_pollers_are_started_with_their_shards(emulated: AwsWorld) -> None:
    invoker = AwsInvoker(emulated.aws, make_function(emulated, "poller"))
    invoker.poll("p007")
    assert received(emulated) == {"partitionId": "p007"}
    invoker.poll("o007", succeeds=True)
    assert received(emulated) == {"partitionId": "o007", "succeeds": True}
    invoker.poll_together(("p001", "o002"))
    assert received(emulated) == {"partitionIds": ["p001", "o002"]}


def test_the_sweeper_is_started_for_one_client(emulated: AwsWorld) -> None:
    AwsInvoker(emulated.aws, "no-such-function", make_function(emulated, "sweeper")).sweep("acme")
    assert received(emulated) == {"clientId": "acme"}


def received(world: AwsWorld) -> object:
    """The event of the next invocation."""
    deadline = time.monotonic() + 20
    while not (bodies := world.receive(1)):
        assert time.monotonic() < deadline, "the function was not invoked"
        time.sleep(0.02)
    (body,) = bodies
    return json.loads(body)


@pytest.mark.parametrize(
    ("status", "code"), [(200, "None"), (429, "TooManyRequestsException"), (500, "ServiceException")]
)
@pytest.mark.usefixtures("no_pauses_of_botocore")
def test_an_invocation_that_was_not_queued_is_unavailable(emulated: AwsWorld, status: int, code: str) -> None:
    wire = Wire(emulated.aws.client("lambda"), "Invoke", [answer(status, {"code": code, "message": "no"})] * 3)
    with pytest.raises(Unavailable):
        AwsInvoker(emulated.aws, "poller").poll("p007")
    assert wire.sent == (1 if status == 200 else 3)


def test_a_function_that_does_not_exist_is_refused_to_all(emulated: AwsWorld) -> None:
    with pytest.raises(RefusedToAll, match="ResourceNotFoundException"):
        AwsInvoker(emulated.aws, "no-such-function").poll("p007")
