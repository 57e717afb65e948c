"""A whole Clockwork in virtual time: the shipped flows and the shipped API on adapters that keep all in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from botocore.credentials import Credentials

from clockwork.domain import instants
from clockwork.domain.cron.zones import ruled_by
from clockwork.domain.executions import Outcome
from clockwork.domain.releases import Delivery as Attempt
from clockwork.flows.hardening import hardened_releases
from clockwork.memory.world import MemoryClockwork
from clockwork.ports.routing import Routed, by_order
from clockwork.queue_names import pool_setting
from clockwork.settings import Settings
from clockwork_client import objects
from clockwork_client.answers import text_of
from clockwork_client.calls import Machine, segment
from clockwork_client.client import Clockwork
from clockwork_client.results import Job
from clockwork_client.testing.deliveries import Answer, Answering, Delivery, delivery_of, moment, outcome_of
from clockwork_client.testing.further import Further
from clockwork_client.testing.gateway import URL, Gateway, principal
from clockwork_client.testing.inline import InlineContext, run_handler
from clockwork_client.testing.lambdas import ExactQueue, Lambdas
from clockwork_client.testing.lasting import LastingTargets, lasted
from clockwork_client.testing.scheduled import Scheduled, all_scheduled, check_scheduled
from clockwork_client.testing.steps import Began, Run, Stepping, Steps, answered, stepped, told, with_answer
from clockwork_client.testing.workers import InlineWorkers

__all__ = ["Answer", "Delivery", "InlineContext", "Run", "Scheduled", "VirtualClockwork", "run_handler"]

_ADMIN = principal("admin")
#: Nobody's: the kit has no signatures to check.
_CREDENTIALS = Credentials("AKIAIOSFODNN7EXAMPLE", "no-secret")


class VirtualClockwork(Further):
    """A Clockwork of one's own, whose time passes only by `advance` and `run_until`.

    `at` is when it begins, RFC 3339 or a datetime with a zone. `signing_secrets` are the values of the secrets whose
    names clients list in `signingSecrets`. Every attempt succeeds at once unless `on_deliver` says otherwise.
    `deliveries` lists all attempts in the order in which they began. Chance repeats itself: two runs are alike.
    """

    def __init__(
        self,
        at: str | datetime = "2026-01-01T00:00:00Z",
        *,
        signing_secrets: Mapping[str, str] | None = None,
        pools: Iterable[str] = (),
    ) -> None:
        super().__init__()
        self.deliveries: list[Delivery] = []
        self._secrets = dict(signing_secrets or {})
        named = tuple(pool_setting(name, ("high", "normal", "low")) for name in pools)
        settings = Settings.for_account()
        settings = settings.with_(pools=(*settings.pools, *named))
        self._core = MemoryClockwork(settings, self._attempt, admins=[_ADMIN])
        self._core.clock.at = _ms(at)
        self._core.signing_secrets.names.update(self._secrets)
        queues = Routed(by_order(ExactQueue(self._core.queue), self._core.ordered_queue))
        targets = LastingTargets(self._core.targets, self._core.clock)
        releases = hardened_releases(self._core.world, queues)
        self._core.world = self._core.world.with_(releases=releases, targets=targets)
        self._lambdas = Lambdas(self._core)
        self._steps = Steps()
        self._workers = InlineWorkers(self._core, self._steps)
        self._answer: Answering = lambda _: 200
        self._ending: Stepping | None = None
        self._core.targets.ask = self._asked
        #: While a function of the test decides on an answer.
        self._is_answering = False
        #: A fault of that function, which ends the run.
        self._fault: Exception | None = None
        self._keys = 0
        self._clients: dict[str, Clockwork] = {}
        #: An admin's Clockwork.
        self.admin = self._client(_ADMIN, None)

    def __repr__(self) -> str:
        return f"<VirtualClockwork at {self.now:%Y-%m-%dT%H:%M:%SZ}, {len(self.deliveries)} deliveries>"

    @property
    def now(self) -> datetime:
        """The virtual time, in UTC."""
        return moment(self._core.clock.at)

    def client(self, client_id: str, **options: Any) -> Clockwork:
        """Create a client, or replace the whole client, and return its Clockwork.

        `options` are the fields of the API's client, such as `maxRatePerSecond=1`, or in snake case as elsewhere in
        this package. The principal of the kit is added to its `principals`. Raises the errors of `admin.clients.put`.
        """
        own = principal(client_id)
        body = {"principals": [], **objects.fields(**options)}
        if isinstance(body["principals"], list):  # anything else is for the API to refuse
            body["principals"] = [*body["principals"], *([] if own in body["principals"] else [own])]
        self.admin._caller.call("PUT", f"/v1/clients/{segment(client_id)}", body)
        return self._clients.setdefault(client_id, self._client(own, client_id))

    def on_deliver(self, answer: Answering) -> None:
        """From now on `answer` gives the targets' answers: it gets a Delivery, and returns a status or an Answer.

        An attempt times out if it returns or raises TimeoutError, and has no connection with another OSError. Any other
        exception, such as an AssertionError, ends the run: `advance` and `run_until` raise it.
        """
        self._answer = answer

    def on_end(self, answer: Stepping) -> None:
        """From now on `answer` says how that goes which an attempt with `completion=end()` began, whenever it is asked.

        It gets the Delivery, and returns the result, a JSON value, or `Fail`; None: it runs on. A cancel and the end of
        `timeout_seconds` stop what runs on. Without `on_end` it has ended well, with no result, when it is asked first:
        a minute after it began.
        """
        self._ending = answer

    def on_step(self, name: str, answer: Stepping) -> None:
        """From now on `answer` gives the answers of the targets of a workflow's step, in place of `on_deliver`.

        It gets a Delivery and returns the step's result, a JSON value: `on_step("check", lambda d: {"risk": "high"})`.
        A step that ends by a callback is reported as complete with it. None leaves such a step open. It may also return
        or raise `Fail`, TimeoutError or another OSError, or return an Answer. Steps of pools are for `work`.
        """
        self._steps.answer(name, answer)

    def run(self, job: Job | str) -> Run:
        """The newest run of a job, or of the job with this id, as it is now: `clockwork.run(job).nodes["book"]`.

        Raises LookupError if none has begun.
        """
        found = next(self.admin.executions.list(job if isinstance(job, str) else job.job_id, page_size=1), None)
        if found is None:
            raise LookupError("no run of the job has begun")
        return Run(found.execution_id, found.state, self.admin.runs.nodes(found.execution_id).states)

    @property
    def steps(self) -> list[Began]:
        """The attempts of all steps in the order in which they began."""
        return list(self._steps.began)

    def assert_order(self, *names: str, run: str | None = None) -> None:
        """Assert that steps began one after the other, in the run that began last or in another one.

        Raises AssertionError with the order of all steps, also if one of these has not begun.
        """
        self._steps.check_order(names, run)

    def advance(self, **duration: float) -> None:
        """Let time pass: `advance(minutes=10)`, with the units of a timedelta. See `run_until`."""
        self._run(self._core.clock.at + _milliseconds(timedelta(**duration)))

    def run_until(self, at: str | datetime) -> None:
        """Let time pass until an instant. Work that is due at that instant is done, too.

        The run waits for a delivery that its client's rate limit holds back for up to two seconds more: then `now` is
        that much later. Raises ValueError for an instant that is past.
        """
        self._run(_ms(at))

    def scheduled(self) -> list[Scheduled]:
        """The upcoming jobs of the clients made by `client`, in order of time.

        A recurring job has its next ten fires.
        """
        with self._lock, ruled_by(self._rules):
            found = [one for name, own in self._clients.items() for one in all_scheduled(self._core.world, name, own)]
        return sorted(found, key=lambda one: one.at)

    def assert_scheduled(
        self, *, key: str | None = None, at: str | datetime | None = None, payload: object = None
    ) -> Scheduled:
        """Assert that a job is upcoming: with this job key, at this instant, with all fields of this payload.

        Returns the first job that fits. Raises AssertionError with the list of upcoming jobs.
        """
        wanted = None if at is None else moment(_ms(at))
        return check_scheduled(self.scheduled(), key, wanted, payload)

    def _client(self, caller: str, client_id: str | None) -> Clockwork:
        machine = Machine(lambda: self._core.clock.at / 1000, self._sleep, lambda: 1.0, self._new_key)
        transport = Gateway(self._serve, caller, self._lock)
        return Clockwork(
            URL, client_id, region="us-east-1", credentials=_CREDENTIALS, transport=transport, machine=machine
        )

    def _new_key(self) -> str:
        with self._lock:
            self._keys += 1
            return f"virtual-{self._keys}"

    def _sleep(self, seconds: float) -> None:
        """A client waits before it repeats a call: time passes. While a target answers, its answer takes that long."""
        with self._lock:
            until = self._core.clock.at + max(1, round(seconds * 1000))
            if self._is_answering:
                self._core.clock.at = until
        self._pass(until)

    def _run(self, until: int) -> None:
        if self._is_answering:
            raise RuntimeError("a function given to on_deliver cannot let time pass")
        if until < self._core.clock.at:
            raise ValueError(f"{moment(until).isoformat()} is past: it is {self.now.isoformat()}")
        self._pass(until)

    def _pass(self, until: int) -> None:
        """Do all work that is due until then.

        The lock is taken once, so that `_ask` can release it while a target answers.
        """
        with self._lock, ruled_by(self._rules):
            if self._is_answering:
                return
            while (at := self._next_at()) is not None and at <= until:
                self._core.clock.hold_until(at)
                self._lambdas.step()
                self._let_work()
                self._raise_fault()
            self._core.clock.hold_until(until)
            self._lambdas.expire()

    def _next_at(self) -> int | None:
        found = [at for at in (self._lambdas.next_at(), *self._workers.next_at()) if at is not None]
        return min(found, default=None)

    def _let_work(self) -> None:
        """Handlers may call the API; meanwhile only their own calls let time pass."""
        self._is_answering = True
        try:
            self._workers.step()
        finally:
            self._is_answering = False

    def _attempt(self, attempt: Attempt) -> Outcome:
        delivery = delivery_of(attempt, self._core.clock.at, self._secrets)
        self.deliveries.append(delivery)
        if delivery.node is not None and delivery.run is not None:
            self._steps.began.append(Began(delivery.run, delivery.node, delivery.attempt, delivery.at))
        try:
            began_at, answer = self._core.clock.at, self._ask(delivery)
            outcome = outcome_of(answer, attempt, self._core.clock.at)
            if isinstance(answer, Answer) and answer.takes:
                longest = attempt.occurrence.target.seconds(self._core.settings)
                outcome = lasted(outcome, began_at, answer.takes, longest)
            return with_answer(outcome, answer) if delivery.node is not None else outcome
        except Exception as fault:  # noqa: BLE001 - the flows contain a fault; the test has to see it
            self._fault = self._fault or fault
            return outcome_of(TimeoutError(), attempt, self._core.clock.at)

    def _asked(self, errand: Attempt) -> Outcome:
        """The word of the service on what an attempt began."""
        now = self._core.clock.at
        try:
            return told(errand, now, self._ending, delivery_of(errand, now, self._secrets))
        except Exception as fault:  # noqa: BLE001 - as of `_attempt`
            self._fault = self._fault or fault
            return outcome_of(TimeoutError(), errand, now)

    def _ask(self, delivery: Delivery) -> object:
        """The test's answer. Meanwhile other threads may call the API, such as the threads of `schedule_many`."""
        self._is_answering = True
        self._lock.release()
        step = self._steps.of(delivery)
        try:
            if step is None:
                return self._answer(delivery)
            return answered(stepped(step, delivery), delivery, self._clients[delivery.client_id])
        except OSError as error:
            return error
        finally:
            self._lock.acquire()
            self._is_answering = False

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault


def _ms(at: str | datetime) -> int:
    """An instant in ms. Raises ValueError for one without a zone."""
    return instants.from_text(text_of(at) if isinstance(at, datetime) else at)


def _milliseconds(duration: timedelta) -> int:
    return round(duration / timedelta(milliseconds=1))
