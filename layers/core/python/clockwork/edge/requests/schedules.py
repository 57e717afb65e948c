"""Schedules as clients write them, and the instant or the compiled recurrence that each stands for."""

from __future__ import annotations

from math import ceil
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from clockwork.domain import instants
from clockwork.domain.cron.compiled import CompiledCron, DayMatch, DstGap, DstOverlap
from clockwork.domain.cron.exclude_parser import MOST_ENTRIES, InvalidExclude, parse_exclude
from clockwork.domain.cron.exclusion import Exclusion
from clockwork.domain.cron.invalid import InvalidCron
from clockwork.domain.cron.parser import LONGEST_EXPRESSION, compile_cron
from clockwork.domain.cron.spacing import fires_closer_than
from clockwork.domain.cron.zones import zone_named
from clockwork.domain.named_jobs import CatchUp, Overlap
from clockwork.domain.recurrence import Every, Recurrence, TooMuchWork, next_occurrence
from clockwork.domain.requests.create import FURTHEST_AHEAD_MS, LATEST_PAST_MS
from clockwork.edge.http.checks import Checks, EdgeModel, checks_of

#: The kinds of schedules. A schedule names just one of them.
KINDS = ("at", "delaySeconds", "every", "cron")
#: Fields that only some kinds of schedules may have, each with these kinds.
BELONG_TO = {
    **dict.fromkeys(("anchorAt",), ("every",)),
    **dict.fromkeys(("dstGap", "dstOverlap", "dayMatch"), ("cron",)),
    **dict.fromkeys(("timezone", "exclude", "startAt", "endAt", "maxFires", "jitterSeconds"), ("every", "cron")),
    **dict.fromkeys(("catchUp", "catchUpWindowSeconds", "overlap"), ("every", "cron")),
}
JITTER = "each fire is due up to so much later, always before the next one; with `every` below the interval"
LONGEST_YEAR_SECONDS = 31_536_000
InstantText = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def _whole_milliseconds(seconds: float | None) -> float | None:
    """The seconds, if they are whole milliseconds. Raises ValueError."""
    if seconds is not None and abs(seconds * 1000 - round(seconds * 1000)) > 1e-3:
        raise ValueError("has more decimals than milliseconds")
    return seconds


class EveryBody(EdgeModel):
    """An interval of elapsed time, whatever clocks show."""

    seconds: float = Field(ge=1, le=LONGEST_YEAR_SECONDS, description="decimals to 1 ms")

    _in_milliseconds = field_validator("seconds")(_whole_milliseconds)


class ScheduleBody(EdgeModel):
    """When: just one of `at`, `delaySeconds`, `every` and `cron`. The last two recur and need a `jobKey`."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [kind]} for kind in KINDS]})

    at: InstantText | None = Field(
        None, description="RFC 3339 with a zone; up to 24 h past (then at once), 10 years ahead"
    )
    delay_seconds: float | None = Field(None, ge=0, le=FURTHEST_AHEAD_MS / 1000, description="decimals to 1 ms")
    every: EveryBody | None = None
    anchor_at: InstantText | None = Field(
        None, description="`every` counts from it; the instant of the create unless given"
    )
    cron: str | None = Field(
        None, max_length=LONGEST_EXPRESSION, description="5 fields, or 6 with seconds first; see docs/cron.md"
    )
    timezone: str = Field("UTC", max_length=64, description="IANA name")
    start_at: InstantText | None = Field(None, description="nothing fires before it")
    end_at: InstantText | None = Field(None, description="nothing fires after it")
    max_fires: int | None = Field(None, ge=1, le=10**9)
    jitter_seconds: int = Field(0, ge=0, le=86_400, description=JITTER)
    exclude: list[str] = Field([], max_length=MOST_ENTRIES, description="dates or cron expressions")
    dst_gap: DstGap = "run_at_gap_end"
    dst_overlap: DstOverlap = "first"
    day_match: DayMatch = "cron"
    catch_up: CatchUp = "latest"
    catch_up_window_seconds: float = Field(86_400, ge=0, le=LONGEST_YEAR_SECONDS)
    overlap: Overlap = "allow"

    @field_validator("at")
    @classmethod
    def _in_range(cls, at: str | None, info: ValidationInfo) -> str | None:
        if at is not None:
            instant, now = instants.from_text(at), checks_of(info).now
            if instant < now - LATEST_PAST_MS:
                raise ValueError("is more than 24 hours past")
            if instant > now + FURTHEST_AHEAD_MS:
                raise ValueError("is more than 10 years (3,650 days) ahead")
        return at

    @field_validator("anchor_at", "start_at", "end_at")
    @classmethod
    def _is_instant(cls, at: str | None) -> str | None:
        if at is not None and not 0 <= instants.from_text(at) <= instants.LAST:
            raise ValueError("is out of 1970-2286")
        return at

    _in_milliseconds = field_validator("delay_seconds")(_whole_milliseconds)

    @field_validator("timezone")
    @classmethod
    def _is_zone(cls, timezone: str) -> str:
        zone_named(timezone)
        return timezone

    @field_validator("cron")
    @classmethod
    def _is_cron(cls, cron: str | None, info: ValidationInfo) -> str | None:
        try:
            if cron is not None:
                compile_cron(cron)
        except InvalidCron as invalid:
            for fault in invalid.faults:
                checks_of(info).report("/schedule/cron", str(fault))
        return cron

    @field_validator("exclude")
    @classmethod
    def _is_exclude(cls, entries: list[str], info: ValidationInfo) -> list[str]:
        try:
            parse_exclude(entries)
        except InvalidExclude as invalid:
            for fault in invalid.faults:
                checks_of(info).report(f"/schedule/exclude/{fault.entry}", fault.detail)
        return entries

    @model_validator(mode="before")
    @classmethod
    def _fits_together(cls, schedule: Any, info: ValidationInfo) -> Any:
        if not isinstance(schedule, dict):
            return schedule
        kinds = [kind for kind in KINDS if schedule.get(kind) is not None]
        if len(kinds) != 1:
            checks_of(info).report("/schedule", f"must have just one of {', '.join(KINDS)}")
        for name, owners in BELONG_TO.items():
            if schedule.get(name) is not None and len(kinds) == 1 and kinds[0] not in owners:
                checks_of(info).report(f"/schedule/{name}", f"is for {' and '.join(owners)} alone")
        return schedule

    @model_validator(mode="after")
    def _fires(self, info: ValidationInfo) -> ScheduleBody:
        checks = checks_of(info)
        if not self.recurs or any(problem.pointer.startswith("/schedule") for problem in checks.problems):
            return self
        if self.every is not None and self.jitter_seconds >= self.every.seconds:
            checks.report("/schedule/jitterSeconds", f"must be below the interval of {self.every.seconds:g} s")
        if checks.client is not None:
            self._keeps_distance(checks, checks.client.min_interval_seconds)
        try:
            if next_occurrence(self.to_recurrence(checks.now), checks.now, 0, "", checks.work) is None:
                checks.report("/schedule", "never fires from now on")
        except TooMuchWork as fault:
            checks.report("/schedule/exclude", str(fault))
        return self

    def _keeps_distance(self, checks: Checks, least: float) -> None:
        """Report a schedule that fires more often than once in `least` seconds."""
        allowed = f"the client's minIntervalSeconds of {least:.15g}"
        if self.every is not None and self.every.seconds < least:
            checks.report("/schedule/every/seconds", f"is below {allowed}")
        cron = self._compiled()
        # No expression fires twice in a second.
        if cron is not None and least > 1 and fires_closer_than(cron, ceil(least), instants.date_of(checks.now)):
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


class PreviewBody(EdgeModel):
    """POST /v1/schedules/preview."""

    schedule: ScheduleBody
    count: int = Field(10, ge=1, le=1_000)


class ReasonBody(EdgeModel):
    """POST /v1/clients/{clientId}/pause and /resume."""

    reason: str | None = Field(None, max_length=1_024)


class PauseBody(ReasonBody):
    """POST /v1/jobs/{jobId}/pause and /resume."""

    waiting: Literal["keep", "cancel"] = Field(
        "keep", description="what was due before the pause and waits: it goes on, or is cancelled"
    )


class EmptyBody(EdgeModel):
    """POST /v1/jobs/{jobId}/run."""


class BackfillBody(EdgeModel):
    """POST /v1/jobs/{jobId}/backfill: every fire of the schedule in a range, again, at a bounded rate."""

    from_: InstantText = Field(alias="from", description="the first instant of the range")
    to: InstantText = Field(description="the last instant of the range; not later than now")
    max_per_second: float = Field(ge=0.001, le=100)

    @field_validator("from_", "to")
    @classmethod
    def _is_past(cls, at: str, info: ValidationInfo) -> str:
        instant = instants.from_text(at)
        if instant < 0:
            raise ValueError("is before 1970")
        if instant > checks_of(info).now:
            raise ValueError("is not past: what is to come fires by itself")
        return at

    @model_validator(mode="after")
    def _in_order(self, info: ValidationInfo) -> BackfillBody:
        if instants.from_text(self.from_) > instants.from_text(self.to):
            checks_of(info).report("/to", "is before from")
        return self


def instant_of(at: str | None) -> int | None:
    """The instant (ms) of a text, if there is one. Raises ValueError."""
    return None if at is None else instants.from_text(at)
