"""The smoke in an account of AWS: deploys a stack that goes whole, and takes it away whatever happens."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.billing import prices
from clockwork.domain.clients import principal_of
from infra.options import SMOKE
from local.api import SignedApi
from local.stack import say_on_terminal
from rollout import commands
from rollout.__main__ import preflight
from rollout.account import Account as Credentialed
from rollout.template import Template
from tests.smoke.evidence import Bill
from tests.smoke.logs import Told
from tests.smoke.places.cloudwatch import Query, invocation_errors, sums
from tests.smoke.places.place import Place
from tests.smoke.plan import Kind
from tests.smoke.scale import ACCOUNT, ACCOUNT_BOUNDS
from tests.smoke.targets.listener import Heard
from tests.smoke.targets.stack import gone
from tests.smoke.targets.template import DESCRIPTION, PREFIX, STACK
from tests.smoke.upgrade import another_version

NOT_HERE = {f"target {Kind.KAFKA}": "a cluster costs by the hour, and takes longer to make than all the rest"}
#: Enough for its herds, in an account whose quota is small.
DELIVERERS = 20
#: CloudWatch has what was logged after a minute or two.
METRICS_SECONDS = 300
_MILLION = 1_000_000


class NotStarted(AssertionError):
    """The smoke would touch something that is not its own, or was not wanted; the message says what."""


class Account(Place):
    """The deployed stack of a smoke."""

    stage = "account"
    scale, bounds = ACCOUNT, ACCOUNT_BOUNDS
    not_here = NOT_HERE
    public = True
    runtime = "python3.13"

    def __init__(self, credentialed: Credentialed, folder: Path) -> None:
        self._credentialed = credentialed
        self._folder = folder
        self._assembly = folder / "deployed"
        self.region = str(credentialed.client("cloudformation").meta.region_name)
        self.account = credentialed.number()

    def deploy(self) -> None:
        """Deploy the stack. Raises NotStarted if the preflight refuses."""
        synthesized = commands.synthesized([text for one in self._options() for text in ("-c", one)])
        shutil.copytree(synthesized, self._assembly, symlinks=True)
        if not preflight(self._credentialed, self._assembly, ()):
            raise NotStarted("the preflight refuses")
        commands.cdk("deploy", "--app", str(self._assembly), "--require-approval", "never")
        described = self.client("cloudformation").describe_stacks(StackName=SMOKE)["Stacks"][0]
        self.outputs = {one["OutputKey"]: one["OutputValue"] for one in described["Outputs"]}
        credentials = self._credentialed.session.get_credentials()
        assert credentials is not None
        self.api = SignedApi(self.outputs["ApiUrl"], credentials, region=self.region)

    def client(self, service: str) -> Any:
        return self._credentialed.client(service)

    def tenant(self) -> Mapping[str, Any]:
        return {"principals": [self._principal()]}

    def web(self, made: Mapping[str, str]) -> str:
        return made["Url"]

    def more_targets(self) -> Mapping[Kind, Mapping[str, Any]]:
        return {}

    def heard(self) -> Sequence[Heard]:
        return []

    def upgrade(self) -> None:
        assembly = another_version(self._assembly, self._folder / "another")
        commands.cdk("deploy", "--app", str(assembly), "--require-approval", "never")

    def metrics(self, names: Sequence[str], since: int) -> frozenset[str] | None:
        give_up_at = time.monotonic() + METRICS_SECONDS
        queries = [Query(name, "Clockwork", name, {"stack": SMOKE}) for name in names]
        while True:
            found = frozenset(sums(self.client, queries, since))
            if found >= set(names) or time.monotonic() > give_up_at:
                return found
            time.sleep(15)

    def invocation_errors(self, told: Told, since: int) -> Mapping[str, float]:
        return invocation_errors(self.client, self.functions, since)

    def bill(self, reckoned: Mapping[str, float], since: int) -> Bill | None:
        used = sums(self.client, list(self._metered()), since)
        memory = {moment: self._memory_gb(name) for moment, name in self.functions.items()}
        return Bill(reckoned, metered(used, memory))

    def leave(self) -> list[str]:
        said = gone(self.client, SMOKE)
        return [said] if said else []

    def _options(self) -> list[str]:
        services = (("lambda", f"function:{PREFIX}"), ("events", f"event-bus/{PREFIX}"), ("sns", PREFIX))
        place = f"{self.region}:{self.account}"
        return [
            "stage=smoke",
            f"name={SMOKE}",
            "ownMetrics=all",
            # Lambda reports initialisations at this level.
            "platformLogs=INFO",
            f"adminPrincipals={self._principal()}",
            f"delivererConcurrency={DELIVERERS}",
            f"targetQueueArns=arn:aws:sqs:{place}:{PREFIX}-*",
            "targetArns=" + ",".join(f"arn:aws:{service}:{place}:{name}" for service, name in services),
        ]

    def _principal(self) -> str:
        return principal_of(str(self.client("sts").get_caller_identity()["Arn"]))

    def _memory_gb(self, function: str) -> float:
        found = self.client("lambda").get_function_configuration(FunctionName=function)
        return int(found["MemorySize"]) / 1_024

    def _metered(self) -> Iterator[Query]:
        for name, table in self.outputs.items():
            if name.endswith("Table"):
                yield Query("writes", "AWS/DynamoDB", "ConsumedWriteCapacityUnits", {"TableName": table})
                yield Query("reads", "AWS/DynamoDB", "ConsumedReadCapacityUnits", {"TableName": table})
        for name, url in self.outputs.items():
            if name.endswith("QueueUrl"):
                queue = {"QueueName": url.rpartition("/")[2]}
                for metric in ("NumberOfMessagesSent", "NumberOfMessagesDeleted", "NumberOfEmptyReceives"):
                    yield Query("sqs", "AWS/SQS", metric, queue)
        for moment, function in self.functions.items():
            yield Query("invocations", "AWS/Lambda", "Invocations", {"FunctionName": function})
            yield Query(f"ms of {moment}", "AWS/Lambda", "Duration", {"FunctionName": function})
        yield Query("api", "AWS/ApiGateway", "Count", {"ApiId": self.outputs["ApiId"]})


def metered(used: Mapping[str, float], memory_gb: Mapping[str, float]) -> dict[str, float]:
    """Dollars by item. SQS meters messages, of which up to ten share a request: so much it is at most."""
    gb_seconds = sum(used.get(f"ms of {moment}", 0) / 1_000 * memory for moment, memory in memory_gb.items())
    per_million = {
        "writes": prices.WRITE_UNIT,
        "reads": prices.READ_UNIT,
        "sqs": prices.SQS_REQUEST,
        "invocations": prices.LAMBDA_REQUEST,
        "api": prices.HTTP_API_REQUEST,
    }
    items = {name: used.get(name, 0) * price / _MILLION for name, price in per_million.items()}
    return {**items, "gbSeconds": gb_seconds * prices.GB_SECOND}


@contextmanager
def account(*, ask: bool) -> Iterator[Account]:
    """The stack of a smoke in the account of whoever asks. The remains of an earlier smoke go first.

    Raises NotStarted, before anything is changed, or if the preflight refuses.
    """
    credentialed = Credentialed()
    with tempfile.TemporaryDirectory() as folder:
        place = Account(credentialed, Path(folder))
        refuse_a_stack_of_others(credentialed)
        where = f"the account {place.account}, {place.region}"
        if ask and input(f"Deploys {SMOKE} and {STACK} into {where}, and takes both away. Go on? (yes) ") != "yes":
            raise NotStarted("nothing was changed")
        for stack in (STACK, SMOKE):
            if credentialed.status(stack):
                say_on_terminal(f"An earlier smoke left {stack}; it goes first")
                if said := gone(place.client, stack):
                    raise NotStarted(said)
        try:
            place.deploy()
            yield place
        finally:
            # Usually it has gone by now: whoever plays the smoke takes it away, and judges that.
            if credentialed.status(SMOKE):
                say_on_terminal("Taking away what was deployed")
                for sentence in place.leave():
                    say_on_terminal(f"LEFT: {sentence}")


def refuse_a_stack_of_others(credentialed: Credentialed) -> None:
    """Raises NotStarted if a stack has the smoke's name, or that of its targets, and is not made like the smoke's."""
    if credentialed.status(SMOKE) and (kept := _kept(credentialed.template(SMOKE))):
        raise NotStarted(f"there is a stack {SMOKE} of somebody else: its {', '.join(kept[:3])} would stay")
    if credentialed.status(STACK):
        described = credentialed.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]
        if described.get("Description") != DESCRIPTION:
            raise NotStarted(f"there is a stack {STACK} of somebody else")


def _kept(template: Template) -> list[str]:
    """The resources of a template that stay when its stack goes: of a smoke's none do."""
    return [
        name
        for name, one in template.body.get("Resources", {}).items()
        if str(one.get("DeletionPolicy", "Delete")).startswith("Retain")
    ]
