"""Everything that the demonstration needs around the stack: a client with its own user, secret, receiver and queue."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from local.api import SignedApi
from local.demo.arrivals import Arrivals
from local.demo.plan import Channel, Kind
from local.demo.reader import reader
from local.demo.screen import Screen
from local.demo.webhooks import FLAKY_PATH, STEADY_PATH, Webhooks
from local.emulator import ACCOUNT, REGION, Credentials
from local.stack import LocalStack

CLIENT = "demo"
SECRET = "clockwork/demo"
QUEUE = "clockwork-demo"
#: The ARN is known before the queue is made: the stack is deployed with it, so its assembly is the same every time.
QUEUE_ARN = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{QUEUE}"


class DemoFailed(Exception):
    """The demonstration cannot go on; the message says why."""


@dataclass(frozen=True)
class Scene:
    """A deployed stack, and a client who may call its API and receives its deliveries."""

    stack: LocalStack
    credentials: Credentials
    api: SignedApi
    receiver_port: int
    arrivals: Arrivals

    def target(self, channel: Channel, kind: Kind = Kind.SOON) -> dict[str, str]:
        """The target of a job, as a request to the API has it."""
        if channel is Channel.QUEUE:
            return {"type": "sqs", "queueArn": QUEUE_ARN}
        path = FLAKY_PATH if kind is Kind.FLAKY else STEADY_PATH
        return {"type": "http", "url": f"http://127.0.0.1:{self.receiver_port}{path}"}


@contextmanager
def scene(screen: Screen, port: int) -> Iterator[Scene]:
    """Start and deploy the stack, and set the client up; at the end nothing of it is left."""
    key, arrivals = secrets.token_bytes(24), Arrivals()
    with Webhooks(key, arrivals) as webhooks, LocalStack.start(port=port, say=screen.say) as stack:
        with screen.step("Deploying the stack"):
            stack.deploy({"targetQueueArns": QUEUE_ARN})
        credentials = _set_up_client(stack, key, webhooks.port)
        queue_url = stack.client("sqs").create_queue(QueueName=QUEUE)["QueueUrl"]
        with reader(stack.client("sqs"), queue_url, arrivals, screen.say):
            yield Scene(stack, credentials, stack.api(credentials), webhooks.port, arrivals)


def _set_up_client(stack: LocalStack, key: bytes, receiver_port: int) -> Credentials:
    """Create the client `demo` and its user, who may call the API and nothing else in the account.

    Returns the user's credentials. Raises DemoFailed if the API refuses the client.
    """
    api_arn = f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{stack.outputs['ApiId']}/*"
    credentials = stack.create_user(CLIENT, {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": api_arn})
    secret = "whsec_" + base64.b64encode(key).decode()
    stack.client("secretsmanager").create_secret(Name=SECRET, SecretString=secret)
    body = {
        "principals": [credentials.arn],
        "signingSecrets": [SECRET],
        "allowedQueueArns": [QUEUE_ARN],
        "allowedPrivateTargets": [f"127.0.0.1:{receiver_port}"],
    }
    answer = stack.api().request("PUT", f"/v1/clients/{CLIENT}", body)
    if answer.status != 200:
        raise DemoFailed(f"The API did not take the client: {answer.status} {answer.body}")
    return credentials
