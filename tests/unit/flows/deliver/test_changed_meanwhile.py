"""Messages of named jobs that waited while their job was paused and resumed, or changed, or their client was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.aws.stores.clients import CachedClients
from clockwork.domain.executions import Execution, State
from clockwork.domain.fires.chains import release_of
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.named.changes import replaced
from clockwork.domain.policies import Completion
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Release
from clockwork.domain.storage import codec
from clockwork.domain.waits import Waited
from clockwork.flows.requests.clients import pause_client, resume_client
from clockwork.ports import Refused, Saved
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.registry import Target
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ACME
from tests.support.named import Named

FIRST, SECOND = (SqsTarget(f"arn:aws:sqs:us-east-1:123456789012:{name}") for name in ("one", "two"))
BOTH = (FIRST.queue_arn, SECOND.queue_arn)
OPEN, PRIVATE = HttpTarget("https://example.com/"), HttpTarget("http://10.0.0.7:80/", private=True)
#: Changes after which another deliverer has what it takes.
WAYS = {
    "to Kafka": (OPEN, KafkaTarget("orders", "k")),
    "from Kafka": (KafkaTarget("orders", "k"), OPEN),
    "into the network": (OPEN, PRIVATE),
    "out of the network": (PRIVATE, OPEN),
}


@pytest.mark.parametrize("listed", [BOTH, BOTH[:1]], ids=["since", "never"])
def test_an_ordered_item_is_refused_its_new_target_only_by_its_client_as_it_is_now(listed: tuple[str, ...]) -> None:
    named = Named(target=FIRST, ordering_key="k", sequence=0)
    clockwork = named.clockwork
    before = msgspec.structs.replace(ACME, allowed_queue_arns=BOTH[:1])
    clockwork.clients.put(before)
    clients = CachedClients(clockwork.clients, clockwork.clock, 10)
    clockwork.clock.advance(9_000)
    clients.get("acme")
    clockwork.clients.put(msgspec.structs.replace(before, allowed_queue_arns=listed))
    clockwork.clock.advance(1_000)
    clockwork.poll_all()
    named.change(replaced(named.definition(target=SECOND, ordering_key="k", sequence=0), b'"y"'))
    (message,) = clockwork.ordered_queue.messages.values()
    (release,) = codec.decode_message(message.body)
    assert release.occurrence.target == FIRST
    clockwork.world = clockwork.world.with_(clients=clients)
    clockwork.deliver_ordered()
    states = {one.state for one in named.executions()}
    assert states == ({State.SUCCEEDED} if listed == BOTH else {State.DEAD})
    assert [one.occurrence.target for one in clockwork.targets.delivered] == [SECOND] * (listed == BOTH)


@pytest.mark.parametrize("is_sent", [True, False], ids=["sent anew", "comes back"])
def test_a_wait_is_told_once_though_the_target_is_changed_behind_the_claim(
    is_sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named(every_ms=10_000)
    clockwork = named.clockwork
    due_at = clockwork.clock.at + 10_000
    release = release_of(named.job, Fire(due_at, due_at, 1)).put_off("cap", due_at, due_at + 30_000, paced=True)
    clockwork.clock.advance(40_000)
    clockwork.queue.messages.clear()
    assert not clockwork.world.releases.send([release], clockwork.clock.now())
    save, send = clockwork.executions.save, clockwork.queue.send
    elsewhere = replaced(named.definition(target=HttpTarget("https://elsewhere.example.com/")), b'"y"')

    def claimed(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        saves = save(changes)
        if [after.state for _, after in changes] == [State.RUNNING]:
            monkeypatch.setattr(clockwork.executions, "save", save)
            named.change(elsewhere)
            if not is_sent:
                monkeypatch.setattr(clockwork.queue, "send", throttles)
        return saves

    def throttles(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        return [Refused(index, False, "throttled") for index in range(len(releases))]

    monkeypatch.setattr(clockwork.executions, "save", claimed)
    reports = [clockwork.deliver_visible()]
    monkeypatch.setattr(clockwork.queue, "send", send)
    assert [len(reports[0].failed_messages), reports[0].lateness_ms] == [int(not is_sent), []]
    clockwork.clock.advance(0 if is_sent else clockwork.settings.visibility_seconds * 1000)
    reports.append(clockwork.deliver_visible())
    (stored,) = [one for one in named.executions() if one.state is State.SUCCEEDED and one.due_at == due_at]
    assert (stored.attempt, stored.waits.waited) == (1, Waited(cap=30_000))
    assert reports[1].waited_ms == {"cap": [30_000]}
    assert reports[1].own_lateness_ms == [clockwork.clock.at - due_at - 30_000]


def test_the_jobs_of_all_items_that_are_due_together_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(every_ms=10_000)
    clockwork = named.clockwork
    jobs = [named.job, *(named.create(f"tick {number}").job for number in range(3))]
    due_at = clockwork.clock.at + 10_000
    clockwork.clock.advance(10_000)
    clockwork.queue.messages.clear()
    clockwork.world.releases.send([release_of(job, Fire(due_at, due_at, 1)) for job in jobs], due_at)
    get, asked = clockwork.jobs.get, []

    def noting(refs: Sequence[tuple[str, str]]) -> Any:
        asked.append(len(refs))
        return get(refs)

    monkeypatch.setattr(clockwork.jobs, "get", noting)
    assert clockwork.deliver_visible().succeeded == 4
    assert asked == [4]


@pytest.mark.parametrize("waits_for", ["slot", "permit", "circuit"])
def test_a_job_is_asked_once_before_anything_is_taken_and_once_behind_the_claim(
    waits_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them asks in a step of its own whether an item may start: the job is asked for all of them together."""
    named = Named(every_ms=10_000, target=OPEN)
    clockwork = named.clockwork
    clockwork.clients.put(msgspec.structs.replace(ACME, max_rate_per_second=10.0, max_concurrency=10))
    due_at = clockwork.clock.at + 10_000
    clockwork.clock.advance(12_000)
    clockwork.queue.messages.clear()
    tried = Circuit("acme", "example.com", due_at, clockwork.clock.at, 60_000)
    assert clockwork.regulation.save_circuit(None, tried)
    release = release_of(named.job, Fire(due_at, due_at, 1))
    release = {
        "slot": release.put_off("cap", due_at, due_at + 2_000),
        "permit": release.put_off("permit", due_at, due_at + 2_000, permits=1),
        "circuit": release.held_back("circuit", due_at),
    }[waits_for]
    clockwork.world.releases.send([release], clockwork.clock.at)
    get, asked = clockwork.jobs.get, []

    def noting(refs: Sequence[tuple[str, str]]) -> Any:
        asked.append(len(clockwork.executions.all()))
        return get(refs)

    monkeypatch.setattr(clockwork.jobs, "get", noting)
    assert clockwork.deliver_visible().succeeded == 1
    # Without a record first, and with the record of the claim then.
    assert asked == [0, 1]


def test_an_ordered_fire_that_goes_the_way_of_another_transport_is_no_repeat_where_it_was_before() -> None:
    named = Named(recurrence=None, at=1_700_000_005_000, ordering_key="one", sequence=0)
    due_at, world = named.job.definition.at, named.clockwork.world
    named.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_topics=("orders",)))
    pause_client(world, "acme", None, None)
    named.run(10)
    kafka = msgspec.structs.replace(named.job.definition, target=KafkaTarget("orders"))
    named.change(replaced(kafka, b'"changed"'))
    resume_client(world, "acme", None)
    named.run(200)
    assert [(one.occurrence.due_at, one.occurrence.target) for one in named.clockwork.targets.delivered] == [
        (due_at, KafkaTarget("orders"))
    ]


@pytest.mark.parametrize("cap", [None, 100], ids=["uncapped", "capped"])
@pytest.mark.parametrize("order", [None, "k"], ids=["plain", "ordered"])
def test_an_attempt_has_a_token_if_its_job_completes_by_callback_by_then(order: str | None, cap: int | None) -> None:
    named = Named(**({} if order is None else {"ordering_key": order, "sequence": 0}))
    clockwork = named.clockwork
    clockwork.clients.put(msgspec.structs.replace(ACME, max_concurrency=cap))
    clockwork.clock.advance(10_000)
    clockwork.poll_all()
    queue = clockwork.queue if order is None else clockwork.ordered_queue
    assert queue.messages
    named.change(replaced(named.definition(completion=Completion()), b'"y"'))
    clockwork.deliver_ordered()
    clockwork.deliver_visible()
    clockwork.deliver_visible()
    (stored,) = named.executions()
    (delivery,) = clockwork.targets.delivered
    assert (stored.state, stored.attempt, stored.is_accepted) == (State.RUNNING, 1, True)
    assert delivery.token is not None
    # What is behind it in the order does not wait for its receiver.
    assert not clockwork.ordered_queue.messages


@pytest.mark.parametrize("cap", [None, 100], ids=["uncapped", "capped"])
@pytest.mark.parametrize("order", [None, "k"], ids=["plain", "ordered"])
@pytest.mark.parametrize(("before", "after"), WAYS.values(), ids=WAYS)
def test_what_another_deliverer_has_to_deliver_by_then_is_sent_to_its_queue(
    before: Target, after: Target, order: str | None, cap: int | None
) -> None:
    more: dict[str, Any] = {"every_ms": 600_000}
    more |= {} if order is None else {"ordering_key": order, "sequence": 0}
    named = Named(target=before, **more)
    clockwork = named.clockwork
    ways = clockwork.settings.with_(has_network=True, kafka_release_queue_url="of Kafka's deliverer")
    clockwork.world = clockwork.world.with_(settings=ways)
    listed = {"allowed_topics": ("orders",), "allowed_private_targets": ("10.0.0.7:80",)}
    clockwork.clients.put(msgspec.structs.replace(ACME, max_concurrency=cap, **listed))
    clockwork.clock.advance(600_000)
    clockwork.poll_all()
    named.change(replaced(named.definition(target=after, **more), b'"y"'))
    queue = clockwork.queue if order is None else clockwork.ordered_queue
    deliver = clockwork.deliver_visible if order is None else clockwork.deliver_ordered
    deliver()
    # This one has no way to the target: nothing was tried, and the message lies where the other one takes it from.
    assert clockwork.targets.delivered == []
    hints = [release.occurrence.target for one in queue.messages.values() for release in codec.decode_message(one.body)]
    assert hints == [after]
    deliver()
    (delivery,) = clockwork.targets.delivered
    (stored,) = named.executions()
    assert (delivery.occurrence.target, stored.state, stored.attempt) == (after, State.SUCCEEDED, 1)
    assert not queue.messages


def test_an_attempt_has_no_token_if_its_job_completes_by_callback_no_more() -> None:
    named = Named(completion=Completion())
    clockwork = named.clockwork
    clockwork.clock.advance(10_000)
    clockwork.poll_all()
    named.change(replaced(named.definition(), b'"y"'))
    clockwork.deliver_visible()
    clockwork.deliver_visible()
    (stored,) = named.executions()
    assert (stored.state, stored.attempt) == (State.SUCCEEDED, 1)
    assert [one.token for one in clockwork.targets.delivered] == [None]


@pytest.mark.parametrize("url", ["of Kafka's deliverer", ""], ids=["with Kafka", "Kafka was removed"])
def test_what_is_redriven_in_order_and_changed_to_kafka_meanwhile_is_not_dropped_as_a_repeat(url: str) -> None:
    named = Named(target=OPEN, every_ms=600_000, ordering_key="k", sequence=0)
    clockwork = named.clockwork
    ways = clockwork.settings.with_(kafka_release_queue_url=url)
    clockwork.world = clockwork.world.with_(settings=ways)
    clockwork.clients.put(msgspec.structs.replace(ACME, allowed_topics=("orders",)))
    to_kafka = replaced(named.definition(target=KafkaTarget("orders"), every_ms=600_000, ordering_key="k"), b'"y"')
    clockwork.clock.advance(600_000)
    clockwork.poll_all()
    (message,) = clockwork.ordered_queue.messages.values()
    (sent,) = codec.decode_message(message.body)
    named.change(to_kafka)
    # The copy of a redrive, which is of the job's revision of now, and has the target that its record told.
    clockwork.ordered_queue.delete(message.message_id)
    clockwork.ordered_queue.send([sent.of_its(revision=named.stored.revision)], clockwork.clock.at)
    clockwork.deliver_ordered()
    clockwork.deliver_ordered()
    assert [one.occurrence.target for one in clockwork.targets.delivered] == [KafkaTarget("orders")]


def test_what_is_to_end_by_its_answer_by_then_has_no_token_and_ends_by_it_in_its_place() -> None:
    named = Named(every_ms=600_000, ordering_key="k", sequence=0)
    clockwork = named.clockwork
    clockwork.clock.advance(600_000)
    clockwork.poll_all()
    (message,) = clockwork.ordered_queue.messages.values()
    (sent,) = codec.decode_message(message.body)
    # As it was released while its job ended by callback, for a time.
    by_callback = msgspec.structs.replace(sent.occurrence, completion=Completion())
    clockwork.ordered_queue.delete(message.message_id)
    clockwork.ordered_queue.send(
        [msgspec.structs.replace(sent.of_its(revision=2), occurrence=by_callback)], clockwork.clock.at
    )
    named.change(replaced(named.definition(every_ms=600_000, ordering_key="k", sequence=0), b'"y"'))
    clockwork.deliver_ordered()
    (delivery,) = clockwork.targets.delivered
    (stored,) = named.executions()
    assert (delivery.token, stored.state, stored.attempt) == (None, State.SUCCEEDED, 1)
    assert not clockwork.ordered_queue.messages
