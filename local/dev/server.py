"""Starts the development server: takes the address, deploys, and makes the client `demo`."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from infra import ROOT
from local.api import SignedApi
from local.broker import broker
from local.demo.screen import Screen
from local.dev import address, reload
from local.dev.console import free_from
from local.dev.faults import ServerFailed
from local.dev.keys import DEMO, SIGNING_SECRET, WEBHOOK_SECRET
from local.dev.running import Server
from local.emulator import ACCOUNT, REGION, Credentials
from local.stack import LocalStack

QUEUE = "clockwork-demo"
#: The ARN is known before the queue is made: the stack is deployed with it, so its assembly is the same every time.
QUEUE_ARN = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{QUEUE}"
#: The pool for which the user `demo` may work, and to which the client `demo` may send jobs: any of these handlers.
POOL = "demo"
#: The Kafka broker listens so many ports further on than the server.
BROKER_OFFSET = 15
HANDLERS = ["work", "generate_invoices", "resize_images", "train_model"]
#: Resources whose names begin with `demo` are targets of the stack and of the client `demo`, once somebody makes them.
TARGETS = [
    f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}"
    for service, name in (
        ("lambda", "function:demo*"),
        ("events", "event-bus/demo*"),
        ("sns", "demo*"),
        ("kinesis", "stream/demo*"),
        ("states", "stateMachine:demo*"),
        ("ecs", "cluster/demo*"),
        ("ecs", "task-definition/demo*"),
    )
]
#: The private targets of the client `demo`, in plain HTTP: every port of this machine.
LOOPBACK = ["127.0.0.1:*", "localhost:*", "[::1]:*"]


@contextmanager
def server(screen: Screen, *, port: int = 0, state: Path | None = None, kafka: bool = False) -> Iterator[Server]:
    """Start the server at this port of 127.0.0.1, 0 for a free one; at the end nothing of it is left but `state`.

    With `kafka` it has a Kafka broker beside it, at a port that follows from its own. Raises the errors of
    `local.dev.faults`.
    """
    if shutil.which("node") is None:
        raise ServerFailed("the CDK needs Node >= 20, and there is no `node` on the PATH")
    with ExitStack() as held:
        listener = held.enter_context(address.take(port, ROOT))
        if state is not None:
            held.enter_context(own(state))
        options = {"targetQueueArns": QUEUE_ARN, "targetArns": ",".join(TARGETS), "pools": json.dumps([{"name": POOL}])}
        cluster = None
        if kafka:
            with screen.step("Starting a Kafka broker"):
                cluster = held.enter_context(broker(_broker_port(port)))
            options["kafka"] = json.dumps({"bootstrapServers": cluster})
        with screen.step("Starting the emulator"):
            stack = held.enter_context(LocalStack.start(say=screen.say, address=listener, state=state))
        with screen.step("Synthesizing the CDK app (kept until its sources change)"):
            assembly = stack.synthesize(options)
        with screen.step("Deploying"):
            stack.deploy(assembly=assembly)
            if state is not None:
                reload.make_current(stack.emulator, state)
        taken = listener.getsockname()[1]
        with screen.step("Making the client demo, and the first call"):
            # The first tick comes after a minute. Until then, what was due while a kept state lay still would wait.
            stack.client("lambda").invoke(FunctionName=stack.outputs["TickerFunction"], InvocationType="Event")
            demo = _set_up_client(stack)
        yield Server(stack, f"http://127.0.0.1:{taken}", taken, demo, cluster)


def _broker_port(port: int) -> int:
    """A server at any free port takes the default's: the assembly names the broker, and is kept while that stays."""
    return port + BROKER_OFFSET if port else free_from(address.PORT + BROKER_OFFSET)


@contextmanager
def own(state: Path) -> Iterator[None]:
    """Hold the folder of the state, which two servers would overwrite for each other. Raises ServerFailed."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ServerFailed(f"another server keeps its jobs in {state}: give another STATE=folder") from None
        yield


def _set_up_client(stack: LocalStack) -> Credentials:
    """Create the client `demo` and its user, with the right to call the API alone. An existing client or user stays.

    Returns the user's credentials. Raises ServerFailed if the API refuses the client.
    """
    api_arn = f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{stack.outputs['ApiId']}/*"
    queues = f"arn:aws:sqs:{REGION}:{ACCOUNT}:Clockwork-Pool-{POOL}-*"
    credentials = stack.create_user(
        DEMO,
        {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": api_arn},
        {"Effect": "Allow", "Action": ["sqs:ReceiveMessage", "sqs:ChangeMessageVisibility"], "Resource": queues},
    )
    admin, path = stack.api(), f"/v1/clients/{DEMO}"
    _set_up_pool(admin, credentials)
    if admin.request("GET", path).status == 200:
        return credentials
    secrets = stack.client("secretsmanager")
    names = [one["Name"] for one in secrets.list_secrets()["SecretList"]]
    if SIGNING_SECRET not in names:
        secrets.create_secret(Name=SIGNING_SECRET, SecretString=WEBHOOK_SECRET)
    body = {
        "principals": [credentials.arn],
        "signingSecrets": [SIGNING_SECRET],
        "allowedQueueArns": [QUEUE_ARN],
        "allowedPrivateTargets": LOOPBACK,
        "allowedPools": [POOL],
        "allowedTargetArns": TARGETS,
        "allowedTopics": ["*"],
    }
    answer = admin.request("PUT", path, body)
    if answer.status != 200:
        raise ServerFailed(f"The API did not take the client: {answer.status} {answer.body}")
    return credentials


def _set_up_pool(admin: SignedApi, worker: Credentials) -> None:
    """Let the user `demo` work for the pool, unless somebody has written it before."""
    path = f"/v1/pools/{POOL}"
    if admin.request("GET", path).body.get("revision"):
        return
    answer = admin.request("PUT", path, {"principals": [worker.arn], "handlers": HANDLERS, "leaseSeconds": 60})
    if answer.status != 200:
        raise ServerFailed(f"The API did not take the pool: {answer.status} {answer.body}")
