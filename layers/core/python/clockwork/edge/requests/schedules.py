"""Schedules as clients write them, and the instant or the compiled recurrence that each stands for."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Annotated, Any, ClassVar

from msgspec import Meta, field

from clockwork.domain import instants
from clockwork.domain.cron.compiled import CompiledCron, DayMatch, DstGap, DstOverlap
from clockwork.domain.cron.exclude_parser import MOST_ENTRIES, InvalidExclude, cost_of_exclude, parse_exclude
from clockwork.domain.cron.exclusion import Exclusion
from clockwork.domain.cron.invalid import InvalidCron
from clockwork.domain.cron.parser import LONGEST_EXPRESSION, compile_cron, cost_of
from clockwork.domain.cron.spacing import COST_OF_SPACING, fires_closer_than
from clockwork.domain.cron.zones import zone_named
from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.named_jobs import CatchUp, Overlap
from clockwork.domain.recurrence import Every, Recurrence, TooMuchWork, next_occurrence
from clockwork.domain.requests.create import FURTHEST_AHEAD_MS, LATEST_PAST_MS
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.forms import Earlier, FieldCheck, Form

#: The kinds of schedules. A schedule names just one of them.
KINDS = ("at", "delaySeconds", "every", "cron")
#: Those that may fire more than once.
RECURRING = ("every", "cron")
#: Fields that only some kinds of schedules may have, each with these kinds.
BELONG_TO = {
    **dict.fromkeys(("anchorAt",), ("every",)),
    **dict.fromkeys(("dstGap", "dstOverlap", "dayMatch"), ("cron",)),
    **dict.fromkeys(("timezone", "exclude", "startAt", "endAt", "maxFires", "jitterSeconds"), RECURRING),
    **dict.fromkeys(("catchUp", "catchUpWindowSeconds", "overlap"), RECURRING),
}
#: A job's create looks for its first fire once more, and so does the answer.
MORE_LOOKS = 2
JITTER = "each fire is due up to so much later, always before the next one; with `every` below the interval"
LONGEST_YEAR_SECONDS = 31_536_000
InstantText = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


def _whole_milliseconds(seconds: float, _: Checks, __: Earlier) -> float:
    """The seconds, if they are whole milliseconds. Raises ValueError."""
    if abs(seconds * 1000 - round(seconds * 1000)) > 1e-3:
        raise ValueError("has more decimals than milliseconds")
    return seconds


def _in_range(at: str, checks: Checks, _: Earlier) -> str:
    instant = instants.from_text(at)
    if instant < checks.now - LATEST_PAST_MS:
        raise ValueError("is more than 24 hours past")
    if instant > checks.now + FURTHEST_AHEAD_MS:
        raise ValueError("is more than 10 years (3,650 days) ahead")
    return at


def _is_instant(at: str, _: Checks, __: Earlier) -> str:
    if not 0 <= instants.from_text(at) <= instants.LAST:
        raise ValueError("is out of 1970-2286")
    return at


def _is_zone(timezone: str, _: Checks, __: Earlier) -> str:
    zone_named(timezone)
    return timezone


def _is_cron(cron: str, checks: Checks, _: Earlier) -> str:
    checks.spend(cost_of(cron), "/schedule/cron")
    try:
        compile_cron(cron)
    except InvalidCron as invalid:
        for fault in invalid.faults:
            checks.report("/schedule/cron", str(fault))
    return cron


def _is_exclude(entries: list[str], checks: Checks, _: Earlier) -> list[str]:
    checks.spend(cost_of_exclude(entries), "/schedule/exclude")
    try:
        parse_exclude(entries)
    except InvalidExclude as invalid:
        for fault in invalid.faults:
            checks.report(f"/schedule/exclude/{fault.entry}", fault.detail)
    return entries


class EveryBody(Form):
    """An interval of elapsed time, independent of clocks."""

    seconds: Annotated[float, Meta(ge=1, le=LONGEST_YEAR_SECONDS, description="decimals to 1 ms")]

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {"seconds": _whole_milliseconds}


class ScheduleBody(Form):
    """When: just one of `at`, `delaySeconds`, `every` and `cron`. The last two recur and need a `jobKey`."""

    at: (
        Annotated[InstantText, Meta(description="RFC 3339 with a zone; up to 24 h past (then at once), 10 years ahead")]
        | None
    ) = None
    delay_seconds: Annotated[float, Meta(ge=0, le=FURTHEST_AHEAD_MS / 1000, description="decimals to 1 ms")] | None = (
        None
    )
    every: EveryBody | None = None
    anchor_at: (
        Annotated[InstantText, Meta(description="`every` counts from it; the instant of the create unless given")]
        | None
    ) = None
    cron: (
        Annotated[
            str,
            Meta(max_length=LONGEST_EXPRESSION, description="5 fields, or 6 with seconds first; see docs/cron.md"),
        ]
        | None
    ) = None
    timezone: Annotated[str, Meta(max_length=64, description="IANA name")] = "UTC"
    start_at: Annotated[InstantText, Meta(description="nothing fires before it")] | None = None
    end_at: Annotated[InstantText, Meta(description="nothing fires after it")] | None = None
    max_fires: Annotated[int, Meta(ge=1, le=10**9)] | None = None
    jitter_seconds: Annotated[int, Meta(ge=0, le=86_400, description=JITTER)] = 0
    exclude: Annotated[list[str], Meta(max_length=MOST_ENTRIES, description="dates or cron expressions")] = field(
        default_factory=list
    )
    dst_gap: DstGap = "run_at_gap_end"
    dst_overlap: DstOverlap = "first"
    day_match: DayMatch = "cron"
    catch_up: CatchUp = "latest"
    catch_up_window_seconds: Annotated[float, Meta(ge=0, le=LONGEST_YEAR_SECONDS)] = 86_400
    overlap: Overlap = "allow"

    more_schema: ClassVar[dict[str, Any]] = {"oneOf": [{"required": [kind]} for kind in KINDS]}
    field_checks: ClassVar[Mapping[str, FieldCheck]] = {
        "at": _in_range,
        "delay_seconds": _whole_milliseconds,
        **dict.fromkeys(("anchor_at", "start_at", "end_at"), _is_instant),
        "cron": _is_cron,
        "timezone": _is_zone,
        "exclude": _is_exclude,
    }

    @classmethod
    def before(cls, value: dict[str, Any], checks: Checks) -> None:
        """Report a schedule of two kinds, or of none, and fields that its kind does not have."""
        kinds = [kind for kind in KINDS if value.get(kind) is not None]
        if len(kinds) != 1:
            checks.report("/schedule", f'must have just one of {", ".join(KINDS)}, for example {{"delaySeconds": 30}}')
        for name, owners in BELONG_TO.items():
            if value.get(name) is not None and len(kinds) == 1 and kinds[0] not in owners:
                checks.report(f"/schedule/{name}", f"is for {' and '.join(owners)} alone")

    def after(self, value: dict[str, Any], checks: Checks) -> None:  # noqa: ARG002 - of all forms
        """Report a schedule that recurs too soon, or that never fires."""
        if not self.recurs or any(problem.pointer.startswith("/schedule") for problem in checks.problems):
            return
        if self.every is not None and self.jitter_seconds >= self.every.seconds:
            checks.report("/schedule/jitterSeconds", f"must be below the interval of {self.every.seconds:g} s")
        if checks.client is not None:
            self._keeps_distance(checks, checks.client.min_interval_seconds)
        left = checks.work.left
        try:
            if next_occurrence(self.to_recurrence(checks.now), checks.now, 0, "", checks.work) is None:
                checks.report("/schedule", "never fires from now on")
                return
            checks.work.spend(MORE_LOOKS * (left - checks.work.left))
        except TooMuchWork as fault:
            raise InvalidRequest([Problem("/schedule/exclude", str(fault))]) from None

    def _keeps_distance(self, checks: Checks, least: float) -> None:
        """Report a schedule that fires more often than once in `least` seconds."""
        allowed = f"the client's minIntervalSeconds of {least:.15g}"
        if self.every is not None and self.every.seconds < least:
            checks.report("/schedule/every/seconds", f"is below {allowed}")
        cron = self._compiled()
        if cron is None or least <= 1:
            return  # no expression fires twice in a second
        checks.spend(COST_OF_SPACING, "/schedule/cron")
        if fires_closer_than(cron, ceil(least), instants.date_of(checks.now)):
            checks.report("/schedule/cron", f"has fires that are closer than {allowed}")

    @property
    def recurs(self) -> bool:
        """Whether it may fire more than once."""
        return self.every is not None or self.cron is not None

    def to_instant(self, now: int) -> int:
        """The instant (ms) of a schedule that fires once. A delay counts from `now` (ms)."""
        if self.at is not None:
            return instants.from_text(self.at)
        return now + round((self.delay_seconds or 0) * 1000)

    def to_recurrence(self, now: int) -> Recurrence:
        """The compiled form of a schedule that recurs. `every` without an anchor counts from `now` (ms)."""
        return Recurrence(
            every=self._every(now),
            cron=self._compiled(),
            timezone=self.timezone,
            start_at=instant_of(self.start_at),
            end_at=instant_of(self.end_at),
            max_fires=self.max_fires,
            jitter_seconds=self.jitter_seconds,
            exclude=parse_exclude(self.exclude) if self.exclude else Exclusion(),
        )

    def _every(self, now: int) -> Every | None:
        if self.every is None:
            return None
        # Without an anchor it counts from its start, and without a start from now.
        begins_at = instant_of(self.start_at)
        anchor_at = (now if begins_at is None else begins_at) if self.anchor_at is None else instant_of(self.anchor_at)
        assert anchor_at is not None
        return Every(round(self.every.seconds * 1000), anchor_at)

    def _compiled(self) -> CompiledCron | None:
        if self.cron is None:
            return None
        return compile_cron(self.cron, dst_gap=self.dst_gap, dst_overlap=self.dst_overlap, day_match=self.day_match)


def recurs(sent: Any) -> bool:
    """Whether a schedule may fire more than once, as it was sent and with whatever faults."""
    return isinstance(sent, dict) and any(sent.get(kind) is not None for kind in RECURRING)


def instant_of(at: str | None) -> int | None:
    """The instant (ms) of a text, if there is one. Raises ValueError."""
    return None if at is None else instants.from_text(at)
