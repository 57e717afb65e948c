"""The compiled cron schedule: the value that is stored with a job and that the engine reads."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

DstGap = Literal["run_at_gap_end", "skip"]
DstOverlap = Literal["first", "second", "both"]
DayMatch = Literal["cron", "and", "or"]

ALL_SECONDS = ALL_MINUTES = (1 << 60) - 1
ALL_HOURS = (1 << 24) - 1
ALL_DAYS = (1 << 32) - 2
ALL_MONTHS = (1 << 13) - 2
ALL_WEEKDAYS = (1 << 7) - 1

SixtyBits = Annotated[int, Meta(ge=1, le=ALL_SECONDS)]
HourBits = Annotated[int, Meta(ge=1, le=ALL_HOURS)]
DayBits = Annotated[int, Meta(ge=0, le=ALL_DAYS)]
MonthBits = Annotated[int, Meta(ge=1, le=ALL_MONTHS)]
WeekdayBits = Annotated[int, Meta(ge=0, le=ALL_WEEKDAYS)]
NthBits = Annotated[int, Meta(ge=0, le=(1 << 35) - 1)]


class CompiledCron(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
    tag_field="version",
    tag=1,
):
    """A cron expression as bitmasks: bit *n* set means that value *n* matches.

    msgspec encodes it to JSON or MessagePack. It always writes ``version``, and refuses to read another version.
    Weekdays count from Sunday = 0. Only `clockwork.domain.cron.parser.compile_cron` makes such values.
    """

    minutes: SixtyBits
    hours: HourBits
    seconds: SixtyBits = 1
    #: Days of the month, bits 1-31.
    days: DayBits = ALL_DAYS
    #: ``nW``: bit n is the working day nearest to day n, within the month.
    nearest_working_days: DayBits = 0
    #: ``L``: the last day of the month.
    last_day: bool = False
    #: ``LW``: the last working day (Monday to Friday) of the month.
    last_working_day: bool = False
    months: MonthBits = ALL_MONTHS
    weekdays: WeekdayBits = ALL_WEEKDAYS
    #: ``w#n``: bit 7 * (n - 1) + w is the n-th weekday w of the month.
    nth_weekdays: NthBits = 0
    #: ``wL``: bit w is the last weekday w of the month.
    last_weekdays: WeekdayBits = 0
    #: True: a day matches if either of its two fields matches. False: both must match.
    either_day: bool = False
    #: The minute or the hour starts with ``*``: the schedule follows the wall clock through every shift.
    follows_clock: bool = False
    dst_gap: DstGap = "run_at_gap_end"
    dst_overlap: DstOverlap = "first"
