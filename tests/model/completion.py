"""The protocol of completion by callback, as a model: two attempts, their messages and watches, deliverers, reports.

A plan and its compare-and-set are one step, since whoever loses plans again. All else is a step of its own, between
which a process may die: send, save, send what follows, acknowledge. A message may be handed out at any time, and twice,
until it is acknowledged. A claim may end at any time; a deliverer knows when its own has ended, and sends nothing then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.model.explore import Broken, Step

ATTEMPTS = (1, 2)
FINAL = ("SUCCEEDED", "DEAD", "CANCELLED")


Deliverer = tuple[str, int, tuple[str, int], tuple[str, int] | None]


class Record(NamedTuple):
    """The record: `state` is WAITING for attempt `number` + 1, RUNNING in it, or final."""

    state: str
    number: int = 0
    live: bool = False
    accepted: bool = False
    failed: bool = False  # a failure was reported, and nobody has acted on it yet
    cancelled: bool = False


class Model(NamedTuple):
    """All there is: the record, messages and watches by attempt, deliverers, receivers, calls that fail an attempt.

    A deliverer is (what it does, attempt, the message it holds, what it is to send). A receiver `has` a token, or not.
    """

    record: Record = Record("WAITING")
    messages: tuple[tuple[str, int], ...] = (("release", 1),)
    deliverers: tuple[Deliverer, ...] = ()
    tokens: tuple[int, ...] = ()
    told: bool = False  # the callback of the death is placed
    sending: tuple[int, ...] = ()  # calls that have noted a failure, and are to send the watch


Actions = Callable[[Model], Iterator[Step[Model]]]


def is_settled(model: Model) -> bool:
    """Whether the execution has ended for good, and a death was told."""
    return model.record.state in FINAL and (model.record.state != "DEAD" or model.told)


def steps_of(breaks: frozenset[str], most_deliverers: int = 2) -> Actions:
    """The steps of the protocol, with rules left out as `breaks` names them."""

    def write(model: Model, after: Record, **more: object) -> Model:
        if model.record.state in FINAL and after != model.record:
            raise Broken(f"a final {model.record.state} becomes {after.state}")
        return model._replace(record=after, **more)  # type: ignore[arg-type]

    def follow(record: Record) -> Record:
        if record.cancelled:
            return Record("CANCELLED", record.number)
        return Record("DEAD", record.number) if record.number == ATTEMPTS[-1] else Record("WAITING", record.number)

    def next_of(record: Record) -> tuple[str, int] | None:
        return ("release", record.number + 1) if record.state == "WAITING" else None

    def plan(model: Model, kind: str, number: int) -> tuple[str, Record, tuple[str, int] | None]:
        """What a deliverer does that holds a message: start, send what follows, or let go."""
        record = model.record
        if record.state in FINAL:
            return "end", record, None
        if record.state == "RUNNING":
            if record.failed and "report ignored" not in breaks:
                after = follow(record)
                return "send", after, next_of(after)
            if record.live:
                if kind == "watch" and (record.number != number or "watch lets go of a live claim" in breaks):
                    return "end", record, None
                return "send", record, (("watch" if record.accepted else kind), number)
            after = follow(record)
            return "send", after, next_of(after)
        if number != record.number + 1 or kind == "watch":
            if kind == "watch" and "watch starts" in breaks and number == record.number + 1:
                return "claim", Record("RUNNING", number, live=True), None
            if kind == "watch" and "watch lets go of what waits" in breaks:
                return "end", record, None
            return "send", record, next_of(record)
        return "claim", Record("RUNNING", number, live=True), None

    def deliverer_steps(model: Model) -> Iterator[Step[Model]]:
        for message in model.messages:
            if len(model.deliverers) < most_deliverers:
                yield from receive(model, message)
        for place, (doing, number, held, sends) in enumerate(model.deliverers):
            others = model.deliverers[:place] + model.deliverers[place + 1 :]
            yield False, f"a deliverer dies ({doing} {number})", model._replace(deliverers=others)

            def goes_on(model: Model, doing: str, sends: tuple[str, int] | None = sends, place: int = place) -> Model:
                _, number, held, _ = model.deliverers[place]
                mine = (doing, number, held, sends)
                return model._replace(deliverers=model.deliverers[:place] + (mine,) + model.deliverers[place + 1 :])

            record = model.record
            owns = record.state == "RUNNING" and record.number == number
            if doing == "claim":
                if owns and record.live:
                    yield True, f"deliver {number}", deliver(goes_on(model, "await"), number)
                else:
                    yield True, f"too late to deliver {number}", model._replace(deliverers=others)
            elif doing == "await":
                yield from outcomes(model, goes_on, number, owns, held, others)
            elif doing == "send":
                sent = (model if sends is None else with_message(model, sends))._replace(deliverers=others)
                sent = sent._replace(told=sent.told or record.state == "DEAD")
                yield True, f"send {sends}, acknowledge {held}", without(sent, held)
                yield False, f"send {sends}, and die", sent
                if "acknowledged before what follows" in breaks:
                    yield False, "acknowledge first", without(model, held)._replace(deliverers=others)

    def receive(model: Model, message: tuple[str, int]) -> Iterator[Step[Model]]:
        kind, number = message
        doing, after, sends = plan(model, kind, number)
        if doing == "end":
            yield True, f"receive and acknowledge {message}", end(model, message)
            return
        mine = (doing, number, message, sends)
        yield (
            True,
            f"receive {kind} {number}",
            write(model, after, deliverers=tuple(sorted((*model.deliverers, mine), key=repr))),
        )

    def end(model: Model, message: tuple[str, int]) -> Model:
        return without(model, message)._replace(told=model.told or model.record.state == "DEAD")

    def deliver(model: Model, number: int) -> Model:
        if number in model.tokens:
            raise Broken(f"attempt {number} is delivered twice")
        if model.record.state in FINAL:
            raise Broken("an attempt begins after the end")
        return model._replace(tokens=(*model.tokens, number))

    def outcomes(
        model: Model,
        goes_on: Callable[..., Model],
        number: int,
        owns: bool,
        held: tuple[str, int],
        others: tuple[Deliverer, ...],
    ) -> Iterator[Step[Model]]:
        record = model.record
        if not owns and "acceptance without the claim" not in breaks:
            if record.state in FINAL or "lost claim absorbed" in breaks:
                yield True, "another has ended it", end(model, held)._replace(deliverers=others)
            else:
                yield True, "another has it: the message comes back", model._replace(deliverers=others)
            return
        if record.failed:
            after = follow(record)
            yield True, "its failure was reported", goes_on(write(model, after), "send", next_of(after))
            return
        accepted = record._replace(state="RUNNING", number=number, live=True, accepted=True)
        watch = None if "no watch" in breaks else ("watch", number)
        yield True, f"accepted {number}", goes_on(write(model, accepted), "send", watch)
        after = follow(record._replace(number=number))
        yield False, f"refused {number}", goes_on(write(model, after), "send", next_of(after))

    def receiver_steps(model: Model) -> Iterator[Step[Model]]:
        record = model.record
        for number in model.tokens:
            fits = record.state == "RUNNING" and (record.number == number or "any token counts" in breaks)
            fits = fits or ("a final record takes reports" in breaks and record.number == number)
            if fits and not record.failed:
                yield False, f"complete {number}", write(model, Record("SUCCEEDED", number))
                failed = record._replace(failed=True)
                if record.state == "RUNNING" and number not in model.sending:
                    noted = write(model, failed, sending=tuple(sorted((*model.sending, number))))
                    yield False, f"fail {number}", noted
                if record.live or record.accepted:
                    yield False, f"beat {number}", write(model, record._replace(live=True, accepted=True))
                if record.cancelled:
                    yield False, f"cancelled {number}", write(model, Record("CANCELLED", number))
            if "any token counts" in breaks and fits and record.number != number:
                raise Broken("a stale token changes a record")
        for number in model.sending:
            left = tuple(one for one in model.sending if one != number)
            yield False, f"the api dies before it sends watch {number}", model._replace(sending=left)
            yield True, f"the api sends watch {number}", with_message(model, ("watch", number))._replace(sending=left)

    def world_steps(model: Model) -> Iterator[Step[Model]]:
        record = model.record
        if record.state == "RUNNING" and record.live:
            yield True, "the claim ends", model._replace(record=record._replace(live=False))
        if record.state == "RUNNING" and not record.cancelled:
            yield False, "a cancel is noted", model._replace(record=record._replace(cancelled=True))
        if record.state == "WAITING":
            yield False, "a cancel", write(model, Record("CANCELLED", record.number))

    def steps(model: Model) -> Iterator[Step[Model]]:
        if is_settled(model) and not model.deliverers and not model.messages:
            return
        yield from deliverer_steps(model)
        yield from receiver_steps(model)
        yield from world_steps(model)

    return steps


def with_message(model: Model, message: tuple[str, int]) -> Model:
    """The model with a message that was sent. More than two alike are as two: one in hand, and one that follows it."""
    if model.messages.count(message) > 1:
        return model
    return model._replace(messages=tuple(sorted((*model.messages, message))))


def without(model: Model, message: tuple[str, int]) -> Model:
    """The model without a message that was acknowledged."""
    left = list(model.messages)
    if message in left:
        left.remove(message)
    return model._replace(messages=tuple(left))
