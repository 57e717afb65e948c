"""A deployed stack with a client, its target, and a handle on every part that a fault strikes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from clockwork.domain.instants import from_text
from local.stack import LocalStack
from tests.chaos.audit import VISIBLE_ENDS
from tests.chaos.processes import Environments, send
from tests.chaos.promises import Key
from tests.chaos.sender import Sender
from tests.chaos.target import Target, target
from tests.e2e.deployment import Deployment

CLIENT = "chaos"


class Scene:
    """The deployed stack of the chaos rounds, with one client whose jobs all go to one target."""

    def __init__(self, deployment: Deployment, to: Target, client_id: str) -> None:
        self.deployment = deployment
        self.stack = deployment.stack
        self.target = to
        self.environments = Environments(self.stack)
        self.client_id = client_id
        self._tenant = deployment.tenant(client_id, allowedPrivateTargets=[to.place])

    def sender(self, run: str) -> Sender:
        """A sender of this client's requests; `run` makes their names differ from those of other runs."""
        return Sender(self._tenant.api, self.client_id, f"http://{self.target.place}", run)

    def freeze(self, seconds: float) -> None:
        """Stops the emulator for a while: queues, tables and api do not answer, and its time-outs do not run."""
        emulator = self.stack.emulator.process_group
        send(emulator, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            send(emulator, signal.SIGCONT)

    def tick(self) -> None:
        """Invokes the ticker now, as its rule does."""
        self.deployment.invoke("ticker", {})

    def sweep(self) -> None:
        """Invokes the sweeper now."""
        self.deployment.invoke("sweeper", {})

    def leased(self) -> set[str]:
        """The shards whose lease a poller holds."""
        now = time.time_ns() // 1_000_000
        rows = self.stack.client("dynamodb").scan(TableName=self.stack.outputs["ShardsTable"])["Items"]
        return {row["partitionId"]["S"] for row in rows if int(row["leaseUntil"]["N"]) > now}

    def waiting(self) -> int:
        """Messages in the release queues: waiting, delayed or in delivery."""
        urls = [url for key, url in self.stack.outputs.items() if "ReleaseQueue" in key]
        return sum(self.deployment.depth(url) for url in urls)

    def ends_of(self, keys: Collection[Key]) -> dict[Key, str]:
        """The state of each execution that ended without a delivery, as the API shows it."""
        return {key: state for key in keys if (state := self._state_of(key)) in VISIBLE_ENDS}

    def _state_of(self, key: Key) -> str:
        """The state of the execution that is due at the key's instant; empty if there is none."""
        items = self._tenant.get(f"/v1/jobs/{key.job_id}/executions")["items"]
        return next((str(item["state"]) for item in items if from_text(item["dueAt"]) == key.due_at), "")


@contextmanager
def scene(say: Callable[[str], None]) -> Iterator[Scene]:
    """Starts and deploys a stack of its own on free ports, and removes all of it at the end."""
    with LocalStack.start(say=say) as stack, target(stack.emulator.folder) as to:
        stack.deploy()
        yield Scene(Deployment(stack, "", ""), to, CLIENT)
