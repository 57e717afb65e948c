"""Brings a live stack to rest.

No job is accepted or released any more, and released jobs are delivered at their instants.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from botocore.exceptions import BotoCoreError, ClientError

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.flows.requests.clients import pause_client, resume_client
from rollout.live import Live

Say = Callable[[str], None]
#: Lambdas that accept or release. Deliverers and the sweeper go on: they finish running work.
_STOPPED = ("Api", "Ingester", "Poller", "Ticker")
#: The time for which all queues must be seen at rest. SQS counts approximately, and may miss new messages for a minute:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html The emulator counts
#: at once.
_REST_SECONDS = {"account": 90, "local": 4}
_LOOK_SECONDS = 2
#: The longest delay of a message, and the time to deliver the last one (s).
_LONGEST_DELAY_SECONDS = 900 + 120


class StillBusy(Exception):
    """Queues did not become empty, or pollers did not end; the message says which."""


@dataclass
class _Undo:
    paused: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    #: Functions that were stopped, and the concurrency that they had reserved.
    stopped: dict[str, int | None] = field(default_factory=dict)


@contextmanager
def stilled(live: Live, say: Say) -> Iterator[list[str]]:
    """Stop the Lambdas that accept and release, and pause all clients, for the block. Yields the paused clients.

    If the block fails, or is interrupted, the former state is restored. Each step of that is tried even if others fail.
    """
    undo = _Undo()
    try:
        _stop(live, undo)
        _pause(live, undo, say)
        say(f"Nothing new is accepted or released. {len(undo.paused)} clients were paused.")
        yield undo.paused
    except BaseException:
        say("What was stopped and paused is put back.")
        _put_back(live, undo, say)
        raise


def await_rest(live: Live, say: Say) -> None:
    """Wait until the plain release queues are empty and no poller holds a shard, for long enough to be sure.

    Raises StillBusy.
    """
    settings = live.settings
    longest = settings.poller_timeout_seconds + settings.lookahead_seconds + _LONGEST_DELAY_SECONDS
    begun, told = time.monotonic(), ""
    rests_from = begun
    while (busy := _busy(live)) or time.monotonic() < rests_from + _REST_SECONDS[settings.stage]:
        if busy:
            rests_from = time.monotonic()
        if busy and rests_from > begun + longest:
            raise StillBusy(f"{busy} after {longest} s. `--now` does not wait: adopt the queues afterwards.")
        if busy and busy != told:
            say(f"Waiting: {busy}")
            told = busy
        time.sleep(_LOOK_SECONDS)


def _busy(live: Live) -> str:
    held = {name: live.depth(url) for name, url in plain_queues(live)}
    waiting = [f"{count} messages in {name}" for name, count in held.items() if count]
    now = live.world.clock.now()
    polled = sum(shard.lease_until > now for shard in live.world.shards.all())
    return ", ".join([*waiting, *([f"{polled} shards are polled"] if polled else [])])


def plain_queues(live: Live) -> Iterator[tuple[str, str]]:
    """The names and URLs of the release queues that become empty by themselves.

    Heads of ordered queues may wait for days; those queues are never waited for.
    """
    for number, url in enumerate(live.settings.release_queue_urls):
        yield f"Release{number or ''}", url
    if live.settings.has_kafka:
        yield "KafkaRelease", live.settings.lanes["kafka"][0]
    if live.settings.has_network:
        yield "PrivateRelease", live.settings.lanes["private"][0]


def _stop(live: Live, undo: _Undo) -> None:
    functions, events = live.account.client("lambda"), live.account.client("events")
    for name in _STOPPED:
        if function := live.function(name):
            had = functions.get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions")
            # None at all is what an attempt before this one left, if it died.
            undo.stopped[function] = had or None
            functions.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    for rule in live.of("Events::Rule"):
        if rule.name.startswith("TriggersTick"):
            undo.rules.append(rule.physical)
            events.disable_rule(Name=rule.physical)


def _pause(live: Live, undo: _Undo, say: Say) -> None:
    """Pause every client that is not. A row that cannot be read belongs to a client that nobody can act for.

    Of a client that is being deleted, or is gone, nothing starts: it stays as it is.
    """
    reason = f"the stack {live.name} is taken away"
    behind: str | None = None
    while page := live.world.clients.list(100, behind):
        for client_id, client in page:
            if not isinstance(client, Client):
                say(f"The client {client_id} cannot be read and was not paused: {client}")
            elif client.deleting_at is None and (not client.paused or client.pause_reason == reason):
                undo.paused.append(client_id)
                pause_client(live.world, client_id, None, reason)
        behind = page[-1][0]


def _put_back(live: Live, undo: _Undo, say: Say) -> None:
    functions, events = live.account.client("lambda"), live.account.client("events")
    for client_id in undo.paused:
        with _telling(say, f"the client {client_id} is still paused"):
            resume_client(live.world, client_id, None)
    for rule in undo.rules:
        with _telling(say, f"the rule {rule} is still disabled"):
            events.enable_rule(Name=rule)
    for function, had in undo.stopped.items():
        with _telling(say, f"the function {function} still has no concurrency"):
            if had is None:
                functions.delete_function_concurrency(FunctionName=function)
            else:
                functions.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=had)


@contextmanager
def _telling(say: Say, otherwise: str) -> Iterator[None]:
    try:
        yield
    except (ClientError, BotoCoreError, Unavailable) as error:
        say(f"{otherwise}: {error}")
