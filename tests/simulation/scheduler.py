"""Virtual time and actors: each actor is a greenlet that yields at each pause, so a seed decides every interleaving."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable

from greenlet import GreenletExit, getcurrent, greenlet

from clockwork.domain.cron.zones import INSTALLED, Rules, ruled_by
from clockwork.domain.errors import ClockworkError
from clockwork.memory.clock import MemoryClock

#: Far more events than any run needs that makes progress.
MOST_EVENTS = 1_000_000


class Livelock(Exception):
    """The actors keep each other busy without end."""


class Killed(BaseException):
    """Ends an actor: its process crashed, or its invocation ran out of time. `except Exception` does not catch it."""


class Actor:
    """A Lambda invocation, or a client. It ends with a result, with an error of Clockwork's own, or killed."""

    def __init__(self, scheduler: Scheduler, name: str, work: Callable[[Actor], object]) -> None:
        self._scheduler = scheduler
        self._work = work
        self._greenlet: greenlet | None = None
        self.name = name
        self.result: object = None
        self.error: ClockworkError | None = None
        self.ended = False
        self.killed = False
        #: The true instant (ms) at which its invocation is over; the process may end a little later.
        self.deadline_at: int | None = None
        self.on_end: Callable[[Actor], None] | None = None
        #: Its environment stands still until then (ms); None if it never did.
        self.frozen_until: int | None = None
        #: The random tokens that this actor drew, such as its claims.
        self.tokens: set[str] = set()
        #: The rows of the timeline that this actor has read, as they were then.
        self.rows: set[tuple[str, str, bytes]] = set()

    def start(self) -> None:
        """Run until the first pause."""
        if not self.ended:
            self._greenlet = greenlet(self._run, self._scheduler.hub)
            self._act(self._greenlet)

    def resume(self) -> None:
        """Go on after a pause, unless killed meanwhile; a frozen actor goes on when it is thawed."""
        if self.frozen_until is not None and self._scheduler.now < self.frozen_until:
            self._scheduler.after(self.frozen_until - self._scheduler.now, self.resume)
        elif not self.ended and self._greenlet is not None:
            self._act(self._greenlet)

    def _act(self, mine: greenlet) -> None:
        self._scheduler.acting = self
        mine.switch()
        self._scheduler.acting = None

    def freeze(self, until: int) -> None:
        """Stands still until an instant (ms). Only the hub calls this."""
        self.frozen_until = until

    def pause(self, ms: int) -> None:
        """Lets `ms` of virtual time pass for this actor, while others act."""
        self._scheduler.after(ms, self.resume)
        self._scheduler.hub.switch()

    def kill(self) -> None:
        """Ends the actor wherever it is. Only the hub calls this."""
        if self.ended:
            return
        if self._greenlet is None:
            self.ended = self.killed = True
        else:
            self._greenlet.throw(Killed())

    def is_over(self, now: int) -> bool:
        """Whether its invocation has ended, even if the process still runs."""
        return self.ended or (self.deadline_at is not None and now >= self.deadline_at)

    def _run(self) -> None:
        try:
            with ruled_by(self._scheduler.rules()):
                self.result = self._work(self)
        except ClockworkError as error:
            self.error = error
        except (Killed, GreenletExit):
            self.killed = True
        except Exception as error:  # noqa: BLE001 - whatever code did not expect is a finding
            self._scheduler.unexpected(self, error)
        self.ended = True
        if self.on_end is not None:
            self.on_end(self)


class Scheduler:
    """The queue of coming events. The seed breaks ties."""

    def __init__(self, clock: MemoryClock, rng: random.Random) -> None:
        self.clock = clock
        self.hub = getcurrent()
        self.stopped = False
        #: The actor that acts at this moment.
        self.acting: Actor | None = None
        #: The rules of time zones that are deployed: an actor keeps those with which it began.
        self.rules: Callable[[], Rules] = lambda: INSTALLED
        #: Called with an exception that no flow expects.
        self.unexpected: Callable[[Actor, Exception], None] = _raise
        self._rng = rng
        self._numbers = itertools.count()
        self._queue: list[tuple[int, float, int, Callable[[], None]]] = []
        self._actors: list[Actor] = []

    @property
    def now(self) -> int:
        """The world's true time (ms)."""
        return self.clock.at

    def after(self, ms: int, happen: Callable[[], None]) -> None:
        """Schedules a call for `ms` from now."""
        heapq.heappush(self._queue, (self.now + max(0, ms), self._rng.random(), next(self._numbers), happen))

    def spawn(
        self,
        name: str,
        work: Callable[[Actor], object],
        *,
        after: int = 0,
        on_end: Callable[[Actor], None] | None = None,
    ) -> Actor:
        """Starts a new actor `after` ms from now."""
        actor = Actor(self, name, work)
        actor.on_end = on_end
        self._actors.append(actor)
        self.after(after, actor.start)
        return actor

    def run(self, until: int) -> None:
        """Runs all events up to `until` (ms), or until `stopped` is set. Raises Livelock."""
        while self._queue and not self.stopped and self._queue[0][0] <= until:
            at, _, number, happen = heapq.heappop(self._queue)
            if number > MOST_EVENTS:
                raise Livelock(f"{number} events, and no end")
            self.clock.at = at
            happen()
        if not self.stopped:
            self.clock.at = max(self.clock.at, until)

    def close(self) -> None:
        """Kills all remaining actors, so that nothing of this run lives on."""
        self.stopped = True
        for actor in self._actors:
            actor.on_end = None
            actor.kill()


def _raise(_: Actor, error: Exception) -> None:
    raise error
