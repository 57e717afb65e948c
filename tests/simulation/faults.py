"""The adversary: draws from the seed which fault strikes which call, and counts each kind of fault."""

from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from tests.simulation.defects import Defects, Meets


class Fault(StrEnum):
    """The kinds of faults, by the place where they occur."""

    # Faults in a call of a port.
    CRASH_BEFORE = "crash_before"  # the process dies before the call has an effect
    CRASH_AFTER = "crash_after"  # the process dies after the effect, before it learns of it
    CRASH_BETWEEN = "crash_between"  # the process dies when some of several things are done
    THROTTLED = "throttled"  # an error, and no effect
    ANSWER_LOST = "answer_lost"  # an error, though the effect took place
    LANDS_LATE = "lands_late"  # an error, and the effect takes place later
    LANDS_TWICE = "lands_twice"  # the effect takes place, and an earlier copy of the same call arrives later
    OUTAGE = "outage"  # one port fails at one place for minutes
    DEFECT = "defect"  # a plain ValueError, from a call about one client's work
    BAD_DECISION = "bad_decision"  # a plain ValueError, from a decision about one client's work
    OVERTAKEN = "overtaken"  # another writer is first, with a change that means nothing
    NEWER_RECORD = "newer_record"  # read by an environment of an older build than the one that wrote it
    SPLIT = "split"  # several things done one after the other, with other actors acting between
    SLOW = "slow"  # the call takes seconds
    BEYOND_LEASE = "beyond_lease"  # a process sleeps past its lease
    BEYOND_VISIBILITY = "beyond_visibility"  # a process sleeps past the visibility of its messages
    # Faults of machines.
    DEADLINE = "invocation_deadline"
    OVERRUN = "invocation_overrun"  # the invocation ends seconds after its deadline
    THAWED = "thawed"  # its environment is frozen, and what is left of it runs minutes later
    POISON = "poison"  # a payload that kills its deliverer at every attempt
    CLOCK_SKEW = "clock_skew"
    TICK_MISSED = "tick_missed"
    TICK_TWICE = "tick_twice"
    SWEEP_TWICE = "sweep_twice"  # two sweepers at once
    INVOKE_LOST = "invoke_lost"
    INVOKE_TWICE = "invoke_twice"
    DEPLOY = "deploy"
    MISDEPLOY = "misdeploy"  # a setting that must not change was changed: its calls are refused until it is undone
    NEW_ZONES = "new_zones"  # a deployment brings other rules of a time zone
    # Faults of the queue.
    MESSAGE_TWICE = "message_twice"
    MESSAGE_LATE = "message_late"
    MESSAGE_EARLY = "message_early"
    MESSAGE_SHOWN_TWICE = "message_shown_twice"  # two deliverers have it; if one deletes it, it is gone for both
    DELETE_LOST = "delete_lost"
    TICKET_LOST = "ticket_lost"  # a worker deletes a ticket and never claims it, or its queue keeps it no longer
    POOL_FLOOD = "pool_flood"  # one client's attempts have all slots of a pool, and its tickets wait
    NEVER_SENDABLE = "never_sendable"
    DEAD_LETTERED = "dead_lettered"
    GARBAGE_MESSAGE = "garbage_message"
    REJECTS_REFUSED = "rejects_refused"  # the queue for rejected messages refuses them
    REQUEST_AGAIN = "request_again"  # a message with a request is handed out once more
    # Faults of rows.
    GARBAGE_ROW = "garbage_row"
    NEWER_ROW = "newer_row"
    POINTER_LOST = "pointer_lost"  # a chain's next pointer is gone: nothing fires until the audit or a read repairs it
    TTL = "ttl"
    RECORD_EXPIRED = "record_expired"  # TTL deletes a record, at its time or later
    UNREADABLE_JOB = "unreadable_job"  # the row of a job that ended earlier cannot be read, for minutes or permanently
    RECORD_LOST = "record_lost"  # the record of something that is parked is gone, as after a restore of its table
    GARBAGE_PARKED = "garbage_parked_row"
    DAMAGED_CLIENT = "damaged_client"  # a client's row cannot be read until an admin replaces it, minutes later
    # Faults of targets.
    TARGET_REFUSES = "target_refuses"
    TARGET_REJECTS = "target_rejects"
    TARGET_HANGS = "target_hangs"
    TARGET_ANSWERS_LATE = "target_answers_late"
    TARGET_ASKS_PATIENCE = "target_asks_patience"
    NEVER_ENDS = "never_ends"  # what an attempt began at a service runs until it is stopped
    EVENT_LOST = "event_lost"  # the event that tells the end of what an attempt began never comes
    EVENT_TWICE = "event_twice"
    EVENT_LATE = "event_late"  # it comes minutes later, behind the deadline or the next attempt
    SERVICE_SILENT = "service_silent"  # a service that is asked how something goes gives no answer
    STOPPED_LATE = "stopped_late"  # a service stops what it is to stop only later
    NEVER_BEGUN = "never_begun"  # the deliverer has nothing free for the attempt, such as a lookup of its host's name
    # Faults of clients.
    CLIENT_GIVES_UP = "client_gives_up"
    CLIENT_REPEATS = "client_repeats"
    HERD = "herd"


CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
PAUSES = (Fault.SLOW, Fault.SLOW, Fault.BEYOND_LEASE, Fault.BEYOND_VISIBILITY)
ERRORS = (Fault.THROTTLED, Fault.ANSWER_LOST, Fault.LANDS_LATE)
#: The faults that may strike a call, by its kind.
OF_READ = (*CRASHES, *PAUSES, Fault.THROTTLED)
#: A read of several records, any of which may be of a newer build.
OF_READ_OF_RECORDS = (*OF_READ, Fault.NEWER_RECORD)
OF_WRITE = (*CRASHES, *CRASHES, *PAUSES, *ERRORS, Fault.LANDS_TWICE)
#: Besides, a write that counts only if nobody else has written.
OF_CONDITION = (Fault.OVERTAKEN, Fault.OVERTAKEN, Fault.OVERTAKEN)
#: A write whose adapter never repeats it.
OF_WRITE_ONCE = (*CRASHES, *CRASHES, *PAUSES, *ERRORS)
OF_TARGET = (*CRASHES, *PAUSES)
OF_SEVERAL = (Fault.CRASH_BETWEEN, Fault.CRASH_BETWEEN, Fault.SPLIT, Fault.SPLIT)


@dataclass(frozen=True)
class Profile:
    """How hostile a run is. Each rate is per call, per message, per answer of a target, and so on."""

    name: str
    calls: float = 0.0
    machines: float = 0.0
    queue: float = 0.0
    targets: float = 0.0
    rows: float = 0.0
    #: How far a clock may be from true time: two clocks differ by twice as much.
    skew_ms: int = 1_500
    #: If given, only these faults strike calls, and only calls that mention one of the words in `focus`.
    only: tuple[Fault, ...] = ()
    focus: tuple[str, ...] = ("",)
    #: How likely a call is struck whose place in the flows was not struck yet; soon much less likely.
    curiosity: float = 0.0
    #: If given, most processes die that have just saved a record in this state, and before they do what follows.
    dies_behind: str = ""


#: Calls of a create or cancel between which a poller may slip in.
PLACING = ("timeline.put", "shards.get", "timeline.cancel")
#: Calls during which an attempt may outlive its claim.
OVERRUNNING = ("targets.collect", "deliverer executions.save")
#: Calls with which the sweeper handles a message that its deliverer died of.
SWEEPING_UP = ("sweeper releases", "targets.begin")
#: Calls with which the sweeper releases, or ends, what was parked or came back.
REFUSED_SWEEPING = ("sweeper releases.send", "sweeper executions.save", "sweeper timeline.put_new")
#: Calls between a claim and its start.
LOOKING = ("deliverer jobs.get", "targets.begin", "claim jobs.get")
CALM = Profile("calm", skew_ms=0)
#: Strikes most where it was seldom: the calls that few runs come to.
CURIOUS = Profile("odd corners", 0.004, 0.02, 0.02, 0.3, 0.5, curiosity=0.6)
PROFILES = (
    CALM,
    Profile("gentle", 0.004, 0.03, 0.01, 0.10, 0.2),
    Profile("rough", 0.02, 0.08, 0.03, 0.25, 0.5),
    Profile("wild", 0.06, 0.15, 0.08, 0.35, 0.5),
    Profile("crashes", 0.04, 0.0, 0.0, 0.15, only=(*CRASHES, Fault.CRASH_BETWEEN)),
    Profile("sleepers", 0.04, 0.02, 0.0, 0.15, only=(*PAUSES, Fault.SPLIT)),
    Profile("lossy", 0.06, 0.05, 0.02, 0.15, only=(*ERRORS, Fault.LANDS_TWICE)),
    Profile("messy queue", 0.01, 0.0, 0.3, 0.3),
    Profile("bad targets", 0.002, 0.0, 0.02, 0.6, 0.5),
    Profile("slow puts", 0.5, 0.02, 0.0, 0.4, only=(*PAUSES, Fault.LANDS_LATE), focus=PLACING),
    Profile("overruns", 0.3, 0.5, 0.3, 0.2, only=PAUSES, focus=OVERRUNNING, dies_behind="WORKER_LOST"),
    Profile("dying deliverers", 0.08, 0.02, 0.1, 0.2, 0.5, only=(*CRASHES, Fault.THROTTLED), focus=("deliverer",)),
    Profile("zombie pollers", 0.2, 0.3, 0.02, 0.1, 0.2, only=(*PAUSES, *ERRORS, Fault.LANDS_TWICE), focus=("poller",)),
    Profile("slow looks", 0.4, 0.02, 0.0, 0.1, only=PAUSES, focus=LOOKING),
    Profile("sleepy sweeps", 0.4, 0.02, 0.02, 0.4, only=PAUSES, focus=("sweeper releases", "sweeper timeline.forget")),
    Profile("slow sweeps", 0.3, 0.02, 0.05, 0.5, only=PAUSES, focus=("sweeper",)),
    Profile("held back", 0.15, 0.05, 0.1, 0.6, only=(*CRASHES, *ERRORS), focus=("deliverer executions", "regulation")),
    Profile("deaf api", 0.2, 0.05, 0.02, 0.2, only=ERRORS, focus=("api<", "ingester")),
    Profile("slow cancels", 0.5, 0.02, 0.0, 0.1, only=(Fault.SLOW,), focus=("cancel shards", "cancel timeline.cancel")),
    Profile("lone sweeps", 0.35, 0.02, 0.1, 0.2, 0.5, only=(Fault.CRASH_BEFORE, Fault.THROTTLED), focus=SWEEPING_UP),
    Profile("bad sweeps", 0.35, 0.02, 0.02, 0.2, 0.5, only=(*CRASHES, *ERRORS), focus=("sweeper", "targets.begin")),
    Profile("refused sweeps", 0.3, 0.02, 0.05, 0.4, 0.5, only=ERRORS, focus=REFUSED_SWEEPING),
    # The number of profiles has no common divisor with the numbers that choose what else a seed meets.
    CURIOUS,
)

#: The share of the processes that saved a record of the state behind which they are to die, and die.
DYING = 0.6
#: The share of the decisions about the client with defects that raise.
BAD_DECISIONS = 0.05
#: Nothing goes wrong but decisions and calls about the work of one client: for all others the run is calm.
DEFECTS = Profile("defects", 0.25, only=(Fault.DEFECT,), skew_ms=0)
#: Rows, messages and records are kept for minutes, retries are an hour away, and a client is paused for as long.
SHORT_LIVES = Profile("short lives", 0.01, 0.02, 0.02, 0.3)


#: A call is made for many at these places of the flows: whoever uses them is asked.
SHARED = ("containment.py", "records.py", "apart.py")


def _place_in_flows() -> tuple[str, int]:
    """The file and line of the flows that make the call under way."""
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if "/clockwork/flows/" in file and not file.endswith(SHARED):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


class Struck(Protocol):
    """An outage, as the adversary uses it."""

    def struck(self, now: int, call: str, items: Sequence[object], about: Sequence[object]) -> set[int]: ...


class Adversary:
    """Draws faults from the seed, at most `limit` of them, until `stop` is called."""

    def __init__(self, rng: random.Random, profile: Profile, limit: int | None = None) -> None:
        self.rng = rng
        self.profile = profile
        self.counts: Counter[Fault] = Counter()
        #: The outage of this run, if there is one.
        self.outage: Struck | None = None
        #: The defects of this run, if there are any.
        self.defects: Defects | None = None
        self._struck_at: Counter[tuple[str, int]] = Counter()
        self._left = limit if limit is not None else 10**9
        self._stopped = False

    def stop(self) -> None:
        """Lets no more faults strike."""
        self._stopped = True

    @property
    def is_active(self) -> bool:
        """Whether faults may still strike."""
        return not self._stopped and self._left > 0

    @property
    def is_done(self) -> bool:
        """Whether nothing goes wrong any more."""
        return not self.is_active

    def strikes(self, fault: Fault, rate: float) -> bool:
        """Whether this fault strikes here; counts it if so."""
        if self.is_active and self.rng.random() < rate:
            self.count(fault)
            return True
        return False

    def on_call(self, actor: str, call: str, kinds: tuple[Fault, ...], *, surely: bool = False) -> Fault | None:
        """The fault that strikes a call, or None. `surely`: a fault does."""
        if not self.is_active:
            return None
        if self.profile.dies_behind and self.profile.dies_behind in call and self.strikes(Fault.CRASH_AFTER, DYING):
            return Fault.CRASH_AFTER
        if self.rng.random() >= self.profile.calls and not surely:
            return None
        if not any(word in f"{actor} {call}" for word in self.profile.focus):
            return None
        if self.profile.only:
            kinds = tuple(kind for kind in kinds if kind in self.profile.only)
        if not kinds:
            return None
        fault = self.rng.choice(kinds)
        self.count(fault)
        return fault

    def is_curious(self) -> bool:
        """Whether the call under way is struck because the place in the flows that makes it was struck seldom."""
        if not self.profile.curiosity or not self.is_active:
            return False
        place = _place_in_flows()
        if self.rng.random() >= self.profile.curiosity / (1 + self._struck_at[place]) ** 3:
            return False
        self._struck_at[place] += 1
        return True

    def out_at(self, now: int, call: str, items: Sequence[object], about: Sequence[object]) -> set[int]:
        """The indexes of the items of a call for which its port is out at `now` (ms)."""
        struck = self.outage.struck(now, call, items, about) if self.outage is not None and self.is_active else set()
        if struck:
            self.count(Fault.OUTAGE)
        return struck

    def defect_at(self, actor: str, now: int, call: str, about: object) -> Meets | None:
        """Which defect a call of this actor meets. The api answers such a call with 500, which is its client's."""
        if self.defects is None or actor.startswith(("api", "workers")):
            return None
        return self.defects.at(now, call, about)

    def spoils(self, actor: str, about: object) -> bool:
        """Whether a decision raises now, in this actor."""
        met = self.defect_at(actor, 0, "", about)
        return met is not None and self.strikes(Fault.BAD_DECISION, BAD_DECISIONS)

    def count(self, fault: Fault) -> None:
        """Counts a fault that has struck."""
        self.counts[fault] += 1
        self._left -= 1

    def sleep_ms(self, fault: Fault) -> int:
        """How long (ms) a fault delays a call."""
        first, last = {
            Fault.SLOW: (500, 8_000),
            Fault.BEYOND_LEASE: (20_500, 50_000),
            Fault.BEYOND_VISIBILITY: (120_500, 200_000),
        }[fault]
        return self.rng.randrange(first, last)

    def latency_ms(self) -> int:
        """How long (ms) half a call takes when nothing is wrong."""
        return int(self.rng.random() * 12)

    def some(self, count: int) -> set[int]:
        """The indexes of a drawn, non-empty part of `count` things."""
        if count == 1:
            return {0}
        return set(self.rng.sample(range(count), self.rng.randint(1, count)))
