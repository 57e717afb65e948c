"""The protocol of completion by callback, as a model: two attempts, their messages and watches, deliverers, reports.

A plan and its compare-and-set are one step, since whoever loses plans again. All else is a step of its own, between
which a process may die: send, save, send what follows, acknowledge. A message may be handed out at any time, and twice,
until it is acknowledged. A claim may end at any time; a deliverer knows when its own has ended, and sends nothing then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Broken, Step

LAST = 2
FINAL = ("SUCCEEDED", "DEAD", "CANCELLED")
#: A release or a watch, and its attempt.
Message = tuple[str, int]


class Record(NamedTuple):
    """The record: `state` is WAITING for attempt `number` + 1, RUNNING in it, or final."""

    state: str
    number: int = 0
    live: bool = False
    accepted: bool = False
    failed: bool = False  # a failure was reported, and nobody has acted on it yet
    cancelled: bool = False


class Deliverer(NamedTuple):
    """A deliverer: what it does next, for which attempt, the message in its hands, and what it is to send."""

    doing: str
    number: int
    held: Message
    sends: Message | None = None


class Model(NamedTuple):
    """All there is. `tokens`: attempts that were delivered; `sending`: failures noted, whose watch is to be sent."""

    record: Record = Record("WAITING")
    messages: tuple[Message, ...] = (("release", 1),)
    deliverers: tuple[Deliverer, ...] = ()
    tokens: tuple[int, ...] = ()
    told: bool = False  # the callback of the death is placed
    sending: tuple[int, ...] = ()

    def with_message(self, message: Message | None) -> Model:
        """With a message that was sent. More than two alike are as two: one in progress, and one that follows it."""
        if message is None or self.messages.count(message) > 1:
            return self
        return self._replace(messages=tuple(sorted((*self.messages, message))))

    def without_message(self, message: Message) -> Model:
        """Without a message that was acknowledged, which may be gone already."""
        left = list(self.messages)
        if message in left:
            left.remove(message)
        return self._replace(messages=tuple(left))

    def written(self, record: Record) -> Model:
        """With another record. Raises Broken if the one before was final."""
        if self.record.state in FINAL and record != self.record:
            raise Broken(f"a final {self.record.state} becomes {record.state}")
        return self._replace(record=record)

    def ended(self, message: Message) -> Model:
        """With a message acknowledged as done; a death that it finds is told."""
        return self.without_message(message)._replace(told=self.told or self.record.state == "DEAD")

    def with_deliverers(self, *deliverers: Deliverer) -> Model:
        """With these deliverers, in an order of their own."""
        return self._replace(deliverers=tuple(sorted(deliverers, key=repr)))


def is_settled(model: Model) -> bool:
    """Whether the execution has ended permanently, and a death was told."""
    return model.record.state in FINAL and (model.record.state != "DEAD" or model.told)


def follow(record: Record) -> Record:
    """The record after an attempt that failed."""
    if record.cancelled:
        return Record("CANCELLED", record.number)
    return Record("DEAD" if record.number == LAST else "WAITING", record.number)


def next_of(record: Record) -> Message | None:
    """The release of the attempt that a record waits for."""
    return ("release", record.number + 1) if record.state == "WAITING" else None


class Protocol:
    """The steps of the protocol, with the rules left out that `breaks` names, and so many deliverers at once."""

    def __init__(self, *breaks: str, deliverers: int = 1) -> None:
        self._breaks = frozenset(breaks)
        self._most = deliverers

    def steps(self, model: Model) -> Iterator[Step[Model]]:
        """All steps out of a state."""
        if is_settled(model) and not model.deliverers and not model.messages:
            return
        for message in model.messages:
            if len(model.deliverers) < self._most:
                yield True, f"receive {message}", self._received(model, message)
        for one in model.deliverers:
            others = list(model.deliverers)
            others.remove(one)
            alone = model.with_deliverers(*others)
            yield False, f"a deliverer dies ({one.doing} {one.number})", alone
            yield from {"claim": self._deliver, "await": self._answered, "send": self._send}[one.doing](alone, one)
        yield from self._reports(model)
        yield from self._of_the_world(model)

    # Deliverers. `alone` is the model without the one that acts.

    def _received(self, model: Model, message: Message) -> Model:
        doing, after, sends = self._plan(model.record, *message)
        if doing == "end":
            return model.ended(message)
        return model.written(after).with_deliverers(*model.deliverers, Deliverer(doing, message[1], message, sends))

    def _plan(self, record: Record, kind: str, number: int) -> tuple[str, Record, Message | None]:
        """The step of a deliverer that holds a message: claim, send what follows, or acknowledge."""
        if record.state in FINAL:
            return "end", record, None
        if record.state == "RUNNING":
            return self._plan_running(record, kind, number)
        if kind == "watch" and "a watch lets go of what waits" in self._breaks:
            return "end", record, None
        if number != record.number + 1 or kind == "watch":
            return "send", record, next_of(record)
        return "claim", Record("RUNNING", number, live=True), None

    def _plan_running(self, record: Record, kind: str, number: int) -> tuple[str, Record, Message | None]:
        if record.failed or not record.live:
            after = follow(record)
            return "send", after, next_of(after)
        if kind == "watch" and (record.number != number or "a watch lets go of a live claim" in self._breaks):
            return "end", record, None
        return "send", record, ("watch" if record.accepted else kind, record.number if record.accepted else number)

    def _deliver(self, alone: Model, one: Deliverer) -> Iterator[Step[Model]]:
        record = alone.record
        if not (record.state == "RUNNING" and record.number == one.number and record.live):
            yield True, f"too late to deliver {one.number}", alone
            return
        if one.number in alone.tokens:
            raise Broken(f"attempt {one.number} is delivered twice")
        delivered = alone._replace(tokens=(*alone.tokens, one.number))
        yield True, f"deliver {one.number}", delivered.with_deliverers(*alone.deliverers, one._replace(doing="await"))

    def _answered(self, alone: Model, one: Deliverer) -> Iterator[Step[Model]]:
        """The target has answered; a compare-and-set on the claim decides what that means."""
        record = alone.record
        owns = record.state == "RUNNING" and record.number == one.number
        if not owns and "an acceptance needs no claim" not in self._breaks:
            is_done = record.state in FINAL or "a lost claim is acknowledged" in self._breaks
            yield True, "somebody else has ended it", alone.ended(one.held) if is_done else alone
            return
        after = follow(record._replace(number=one.number))
        if record.failed:
            yield True, "its failure was reported", self._sending(alone, one, after, next_of(after))
            return
        accepted = record._replace(state="RUNNING", number=one.number, live=True, accepted=True)
        watch = None if "what was accepted is not watched" in self._breaks else ("watch", one.number)
        yield True, f"accepted {one.number}", self._sending(alone, one, accepted, watch)
        yield False, f"refused {one.number}", self._sending(alone, one, after, next_of(after))

    def _sending(self, alone: Model, one: Deliverer, after: Record, sends: Message | None) -> Model:
        return alone.written(after).with_deliverers(*alone.deliverers, one._replace(doing="send", sends=sends))

    def _send(self, alone: Model, one: Deliverer) -> Iterator[Step[Model]]:
        sent = alone.with_message(one.sends)._replace(told=alone.told or alone.record.state == "DEAD")
        yield True, f"send {one.sends}, acknowledge {one.held}", sent.without_message(one.held)
        yield False, f"send {one.sends}, and die", sent
        if "acknowledged before what follows" in self._breaks:
            yield False, f"acknowledge {one.held} first, and die", alone.without_message(one.held)

    # Receivers and the api.

    def _reports(self, model: Model) -> Iterator[Step[Model]]:
        for number in model.tokens:
            if self._counts(model.record, number):
                yield from self._said(model, number)
        for number in model.sending:
            left = model._replace(sending=tuple(one for one in model.sending if one != number))
            yield False, f"the api dies before it sends watch {number}", left
            yield True, f"the api sends watch {number}", left.with_message(("watch", number))

    def _counts(self, record: Record, number: int) -> bool:
        """Whether the token of an attempt counts."""
        if record.state != "RUNNING":
            return "a report counts after the end" in self._breaks and record.number == number
        if record.number != number and "any token counts" in self._breaks:
            raise Broken("a stale token changes a record")
        return record.number == number and not record.failed

    def _said(self, model: Model, number: int) -> Iterator[Step[Model]]:
        record = model.record
        yield False, f"complete {number}", model.written(Record("SUCCEEDED", number))
        yield False, f"beat {number}", model.written(record._replace(live=True, accepted=True))
        if number not in model.sending:
            noted = model.written(record._replace(failed=True))
            yield False, f"fail {number}", noted._replace(sending=tuple(sorted((*model.sending, number))))

    def _of_the_world(self, model: Model) -> Iterator[Step[Model]]:
        record = model.record
        if record.state == "RUNNING" and record.live:
            yield True, "the claim ends", model._replace(record=record._replace(live=False))
        if record.state == "RUNNING" and not record.cancelled:
            yield False, "a cancel is noted", model._replace(record=record._replace(cancelled=True))
        if record.state == "WAITING":
            yield False, "a cancel", model.written(Record("CANCELLED", record.number))
