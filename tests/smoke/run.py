"""Plays one smoke at a place: the load, the deployment in the midst of it, the probes; and gathers what was seen."""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from clockwork.domain.instants import from_text
from tests.chaos.audit import VISIBLE_ENDS
from tests.chaos.promises import Key
from tests.smoke import dollars, logs, probes
from tests.smoke.evidence import Evidence, Upgrade
from tests.smoke.places.place import Place
from tests.smoke.plan import mix, steady
from tests.smoke.sender import Sender
from tests.smoke.targets.listener import Heard, Listener
from tests.smoke.targets.stack import gone, make, queue_urls, url_of
from tests.smoke.targets.template import DELAYS, HIDING, STACK, arns, bodies, template
from tests.smoke.upgrade import live_versions

Say = Callable[[str], None]
CLIENT = "smoke"


def play(place: Place, say: Say, rng: random.Random) -> Evidence:
    """Play it, and take everything away, whatever becomes of it."""
    left: list[str] = []
    try:
        seen = _Smoke(place, say, rng).run()
    finally:
        say("Taking everything away")
        left += [said for said in (gone(place.client, STACK),) if said]
        left += place.leave()
        for sentence in left:
            say(f"LEFT: {sentence}")
    return replace(seen, left=left)


class _Smoke:
    def __init__(self, place: Place, say: Say, rng: random.Random) -> None:
        self._place = place
        self._say = say
        self._rng = rng
        self._began_at = _now()
        self._upgraded = threading.Event()

    def run(self) -> Evidence:
        place, scale, sqs = self._place, self._place.scale, self._place.client("sqs")
        self._say("Making the targets")
        token = secrets.token_hex(16)
        made = make(place.client, template(place.runtime, token, public=place.public))
        arn = arns(place.region, place.account, public=place.public)
        targets = {**bodies(arn), **place.more_targets()}
        sender = Sender(place.api, CLIENT, place.web(made), targets, f"smoke-{self._rng.getrandbits(32):x}")
        self._put_client(sender, list(arn.values()))
        self._start_by_hand()
        listener = Listener(sqs, queue_urls(place.client))
        rngs = [random.Random(self._rng.random()) for _ in range(3)]
        with listener.listening(), ThreadPoolExecutor(4) as threads:
            self._say(f"Sending the load; a deployment begins in {scale.deploy_after_seconds:g} s")
            self._began_at = _now()
            load = [
                threads.submit(sender.send, mix(rngs[0], scale, targets)),
                threads.submit(sender.send, steady(rngs[1], scale.per_second, self._may_end)),
            ]
            delays = threads.submit(
                probes.delay_errors,
                sqs,
                url_of(place.client, DELAYS),
                rngs[2],
                scale.delays,
                scale.longest_delay_seconds,
            )
            hidden = threads.submit(probes.hiding, sqs, url_of(place.client, HIDING))
            try:
                upgrade = self._upgrade()
                for one in load:
                    one.result()
            finally:
                self._upgraded.set()
                sender.stop()
            self._say("Waiting until everything has ended")
            errors, hiding = delays.result(), hidden.result()
            heard = self._settled(sender, listener)
        self._say(f"{len(sender.promises)} occurrences, {len(heard)} arrivals")
        return self._evidence(sender, listener, heard, upgrade, errors, hiding)

    def _put_client(self, sender: Sender, allowed: Sequence[str]) -> None:
        """A client that may use every target. It is the first request of all, and may find no Lambda started."""
        queues = [arn for arn in allowed if ":sqs:" in arn]
        others = [arn for arn in allowed if ":sqs:" not in arn]
        body = {**self._place.tenant(), "allowedQueueArns": queues, "allowedTargetArns": others}
        sender.until_answered("PUT", f"/v1/clients/{CLIENT}", body, {})

    def _start_by_hand(self) -> None:
        """Start ticker and sweeper, whose rules may be a minute away."""
        for moment in ("Ticker", "Sweeper"):
            function = self._place.functions[moment]
            self._place.client("lambda").invoke(FunctionName=function, InvocationType="Event", Payload=b"{}")

    def _may_end(self) -> bool:
        since = (_now() - self._began_at) / 1_000
        return self._upgraded.is_set() and since >= self._place.scale.seconds

    def _upgrade(self) -> Upgrade:
        """Deploy another version in the midst of the load."""
        time.sleep(self._place.scale.deploy_after_seconds)
        before = live_versions(self._place.client, self._place.functions)
        self._say("Deploying another version")
        began_at = _now()
        self._place.upgrade()
        ended_at = _now()
        self._say(f"It is live after {(ended_at - began_at) / 1_000:.1f} s")
        time.sleep(self._place.scale.after_deploy_seconds)
        self._upgraded.set()
        return Upgrade(began_at, ended_at, before, live_versions(self._place.client, self._place.functions))

    def _settled(self, sender: Sender, listener: Listener) -> list[Heard]:
        """All arrivals, once everything is due and all that is expected has come, or there is no time left."""
        promises = sender.promises
        expected = {promise.key for promise in promises if promise.expects_delivery}
        last_due_at = max(promise.key.due_at for promise in promises)
        until = time.monotonic() + (last_due_at - _now()) / 1_000 + self._place.scale.settle_seconds
        while True:
            heard = [*listener.heard, *self._place.heard()]
            accepted = {one.arrival.key for one in heard if one.arrival.accepted}
            if (_now() > last_due_at and expected <= accepted) or time.monotonic() > until:
                return heard
            time.sleep(0.5)

    def _evidence(
        self,
        sender: Sender,
        listener: Listener,
        heard: Sequence[Heard],
        upgrade: Upgrade,
        errors: Sequence[int],
        hiding: probes.Hiding,
    ) -> Evidence:
        place, since = self._place, self._began_at - 1_000
        promises = sender.promises
        told = logs.read(logs.lines_of(place.client, place.functions, since))
        accepted = {one.arrival.key for one in heard if one.arrival.accepted}
        missing = [p.key for p in promises if p.sure and not p.cancel and p.key not in accepted]
        reckoned = dollars.reckoned(promises, sender.kinds, (_now() - since) / 60_000)
        return Evidence(
            promises=promises,
            kinds=sender.kinds,
            heard=heard,
            strange=listener.strange,
            ends=self._ends_of(missing),
            upgrade=upgrade,
            failures=sender.failures,
            delay_errors_ms=errors,
            delays=place.scale.delays,
            hiding=hiding,
            told=told,
            metrics=place.metrics(sorted(told.metrics), since),
            invocation_errors=place.invocation_errors(told, since),
            bill=place.bill(reckoned, since),
        )

    def _ends_of(self, keys: Sequence[Key]) -> Mapping[Key, str]:
        """The state in which the API shows each of these executions, if it explains that nothing arrived."""
        found = {}
        for key in keys:
            answer = self._place.api.request("GET", f"/v1/jobs/{key.job_id}/executions")
            items = answer.body["items"] if answer.status == 200 else []
            state = next((str(one["state"]) for one in items if from_text(one["dueAt"]) == key.due_at), "")
            if state in VISIBLE_ENDS:
                found[key] = state
        return found


def _now() -> int:
    return time.time_ns() // 1_000_000
