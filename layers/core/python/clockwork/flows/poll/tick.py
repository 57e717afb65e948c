"""A tick, once a minute: start a poller for each shard, or one for several shards in which little happens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from clockwork.domain.limits.polling import Lookahead, Poll, begun_elsewhere, plan_lookahead, plan_polls
from clockwork.flows.outages import tolerated
from clockwork.flows.timeline.shards import all_shards, refused_setting
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class TickReport(msgspec.Struct, frozen=True):
    """For how many shards a poller was started (`started`), and for how many none could be (`failed`).

    `refused`: a setting is refused. `narrowed`: the lookahead is narrowed. `lag_ms`: how far the cursor of a shard is
    behind now, at the most. A shard that no poller visits counts as well.
    """

    started: int
    failed: int
    refused: bool = False
    narrowed: bool = False
    lag_ms: int = 0


#: Runs a function for each of many pollers, perhaps several at the same time; the results come in the order of these.
SideBySide = Callable[[Callable[[Poll], bool], Iterable[Poll]], Iterable[bool]]


def tick(world: World, *, side_by_side: SideBySide = map, until: int | None = None) -> TickReport:
    """Start pollers for all registered shards. A poller that cannot be started does not stop the others.

    `side_by_side` starts several at the same time: a thousand starts one after the other outlast the invocation. None
    is started after the instant `until` (ms) if it is given: the next tick begins with others.
    """
    # 1. Register the shards that are missing, and read how much the last visit of each shard released.
    shards = all_shards(world)
    # 2. If deliverers do not keep up, let pollers release less far ahead (backpressure).
    lookahead = _plan_lookahead(world)
    # 3. Start a poller for each shard that may be busy, and one for several of the others.
    polls = plan_polls(shards, world.clock.now(), world.settings.shards_together)
    polls = begun_elsewhere(polls, world.clock.now(), world.settings.tick_seconds)
    done = side_by_side(partial(_start, world, lookahead.lookahead_seconds, until), polls)
    started = sum(len(poll.partition_ids) for poll, is_started in zip(polls, done, strict=True) if is_started)
    failed = sum(len(poll.partition_ids) for poll in polls) - started
    reason = refused_setting(world)
    if reason is not None:
        log.error(reason, extra={"action": "setting_refused"})
    lag_ms = max((shard.lag_ms(world.clock.now()) for shard in shards), default=0)
    return TickReport(started, failed, reason is not None, lookahead.narrowed, lag_ms)


def _plan_lookahead(world: World) -> Lookahead:
    settings = world.settings
    waiting = 0
    # The tick goes on without the count: to release too far ahead costs little, not to release costs lateness.
    with tolerated(world, log, "the backlog is not known: %s", {"action": "backlog_not_known"}):
        waiting = world.backlog.waiting()
    lookahead = plan_lookahead(
        settings.lookahead_seconds, settings.backpressure_lookahead_seconds, waiting, settings.backpressure_messages
    )
    if lookahead.narrowed:
        log.warning(lookahead.reason, extra={"action": "lookahead_narrowed"})
    return lookahead


def _start(world: World, lookahead_seconds: int, until: int | None, poll: Poll) -> bool:
    if until is not None and world.clock.now() >= until:
        log.warning("no time is left", extra={"action": "poller_not_started", "shards": poll.partition_ids})
        return False
    with tolerated(
        world,
        log,
        "poller not started: %s",
        {"action": "poller_not_started", "shards": poll.partition_ids},
    ):
        if len(poll.partition_ids) == 1:
            world.invoker.poll(poll.partition_ids[0], lookahead_seconds=lookahead_seconds)
        else:
            world.invoker.poll_together(poll.partition_ids, lookahead_seconds=lookahead_seconds)
        return True
    return False
