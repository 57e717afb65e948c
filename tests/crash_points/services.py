"""AWS in this process: moto under virtual time, and events before and after each call that an actor makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Protocol, TypeVar
from unittest import mock

import botocore
import botocore.loaders
import botocore.session
import moto.core.responses
import moto.sqs.models
from botocore.awsrequest import AWSResponse, HTTPHeaders
from moto import mock_aws
from moto.core.base_backend import BackendDict
from moto.core.utils import method_names_from_class
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.moto_api._internal import mock_random
from moto.sqs.models import Queue, sqs_backends

from clockwork.aws.repeats import Backoff, Parallel
from clockwork.aws.session import Aws
from clockwork.settings import Settings
from tests.contract.schema import KEYS, create_table
from tests.contract.strictness import enforce

T = TypeVar("T")
R = TypeVar("R")
ACCOUNT = "123456789012"
REGION = "us-east-1"
#: Each queue's name, with the name of its dead-letter queue.
QUEUES = {"release": "release-dead", "ordered.fifo": "ordered-dead.fifo"}
#: The same of a pool.
POOL_QUEUES = {"pool-normal": "pool-dead", "pool-normal-overflow": "pool-dead"}
POOL_VISIBILITY_SECONDS = 60
Invoked = Callable[[Mapping[str, Any]], None]


class Witness(Protocol):
    """Sees each call of an actor to AWS, and may end the actor there by raising."""

    def before(self, call: str) -> None:
        """Called before a call such as `dynamodb.PutItem` is made."""

    def after(self, call: str, asked: Mapping[str, Any], answer: Mapping[str, Any], *, done: bool) -> None:
        """Called after AWS carried out the call or refused it (`done` is False), before its caller learns of it."""


class InTurn(Parallel):
    """Makes calls one after the other, so that the same calls precede a crash in every run."""

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        return [work(item) for item in items]


class Services:
    """DynamoDB and SQS on moto. Of Lambda it only accepts asynchronous invocations."""

    def __init__(self) -> None:
        #: The current instant (ms).
        self.now: Callable[[], int] = lambda: 0
        #: Returns the witness of calls made now; None while the test itself makes them.
        self.witness: Callable[[], Witness | None] = lambda: None
        self.invoked: Invoked = lambda _: None
        self.aws = Aws(self._session(), backoff=Backoff(sleep=lambda _: None))
        self.aws.parallel = InTurn(1)

    def start(self, settings: Settings) -> None:
        """Empties tables and queues, and removes the witness."""
        self.witness, self.invoked = lambda: None, lambda _: None
        mock_random.seed(0)
        backends: tuple[BackendDict[Any], ...] = (dynamodb_backends, sqs_backends)
        for backend in backends:
            backend[ACCOUNT][REGION].reset()
        for kind in KEYS:
            create_table(self.aws.client("dynamodb"), kind, kind)
        self._create_queue("dead")
        for name, dead in QUEUES.items():
            receives = settings.ordered_max_receive_count if name.endswith(".fifo") else settings.max_receive_count
            target = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{dead}"
            redrive = json.dumps({"deadLetterTargetArn": target, "maxReceiveCount": receives})
            self._create_queue(dead)
            self._create_queue(name, VisibilityTimeout=str(settings.visibility_seconds), RedrivePolicy=redrive)
        for name, dead in POOL_QUEUES.items():
            self._create_queue(dead)
            self._create_queue(name, VisibilityTimeout=str(POOL_VISIBILITY_SECONDS))

    @staticmethod
    def url(queue: str) -> str:
        """The URL of a queue."""
        return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{queue}"

    @staticmethod
    def queue(name: str) -> Queue:
        """moto's own queue object, to look into the queue."""
        return sqs_backends[ACCOUNT][REGION].queues[name]

    @staticmethod
    def stored(table: str, key: str) -> Mapping[str, Any]:
        """The stored item under a key of a table without a sort key."""
        item = dynamodb_backends[ACCOUNT][REGION].get_table(table).get_item(DynamoType({"S": key}))
        assert item is not None, f"there is no {key} in {table}"
        return {name: {value.type: value.value} for name, value in item.attrs.items()}

    def _create_queue(self, name: str, **attributes: str) -> None:
        fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        self.aws.client("sqs").create_queue(QueueName=name, Attributes={**attributes, **fifo})

    def _session(self) -> botocore.session.Session:
        session = botocore.session.Session()
        session.register_component("data_loader", botocore.loaders.create_loader())
        session.set_config_variable("region", REGION)
        session.set_credentials(ACCOUNT, "any")
        events = session.get_component("event_emitter")
        enforce(events)
        events.register("choose-signer", lambda **_: botocore.UNSIGNED)
        events.register("before-parameter-build", self._note_parameters)
        events.register("before-call.lambda.Invoke", self._take_invocation)
        events.register_first("before-send", self._before)
        events.register("after-call", self._after)
        return session

    @staticmethod
    def _note_parameters(params: Mapping[str, Any], context: dict[str, Any], **_: object) -> None:
        context["asked"] = params

    def _before(self, event_name: str, **_: object) -> None:
        witness = self.witness()
        if witness is not None:
            witness.before(event_name.partition(".")[2])

    def _after(
        self, event_name: str, http_response: AWSResponse, parsed: Any, context: dict[str, Any], **_: object
    ) -> None:
        witness = self.witness()
        if witness is not None:
            done = http_response.status_code < 300
            witness.after(event_name.partition(".")[2], context["asked"], parsed, done=done)

    def _take_invocation(self, context: dict[str, Any], **_: object) -> tuple[AWSResponse, dict[str, Any]]:
        self._before("before-send.lambda.Invoke")
        self.invoked(json.loads(context["asked"]["Payload"]))
        return AWSResponse("", 202, HTTPHeaders(), None), {"StatusCode": 202, "ResponseMetadata": {}}


@contextmanager
def services() -> Iterator[Services]:
    """Runs AWS in this process. Its time is `Services.now` (ms)."""
    with mock_aws(), ExitStack() as patches:
        running = Services()
        changes: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
            (moto.sqs.models, "unix_time_millis", lambda: float(running.now())),
            (moto.sqs.models, "unix_time", lambda: running.now() / 1000),
            # Saves an eighth of each call's time.
            (moto.core.responses, "method_names_from_class", cache(method_names_from_class)),
            (moto.core.responses, "gen_amzn_requestid_long", lambda _: "request"),
        )
        for module, name, change in changes:
            patches.enter_context(mock.patch.object(module, name, change))
        yield running
        running.aws.close()
