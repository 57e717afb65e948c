"""The parser of cron expressions: which texts it accepts, which it refuses, and the faults that it names."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clockwork.domain.cron.compiled import CompiledCron
from clockwork.domain.cron.invalid import Fault, InvalidCron
from clockwork.domain.cron.parser import compile_cron
from tests.support.searches import drawn
from tests.unit.domain.cron.expressions import FIVE_FIELDS, SIX_FIELDS

SAME = [
    ("0 0 * * 7", "0 0 * * 0"),
    ("0 0 * * 5-7", "0 0 * * 0,5,6"),
    ("0 0 * * 7-7", "0 0 * * SUN"),
    ("0 0 * * 5L", "0 0 * * L5"),
    ("0 0 * * FRIL", "0 0 * * lfri"),
    ("0 0 * * 7#2", "0 0 * * sun#2"),
    ("0 0 ? * mon-fri", "0 0 * * 1-5"),
    ("5/15 * * * *", "5,20,35,50 * * * *"),
    ("* 20/2 * * *", "* 20,22 * * *"),
    ("0 0 * jan,DEC *", "0 0 * 1,12 *"),
    ("0 30 2 * * *", "30 2 * * *"),
    ("5-5/2 * * * *", "5 * * * *"),
    ("\t0  0 * * * ", "0 0 * * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@MIDNIGHT", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
    ("0 0 * * */7", "0 0 */1 * */7"),
]

REFUSED = [
    ("0 25 * * *", [("hour", 3, "hour 25 is out of 0-23")]),
    ("60 * * * *", [("minute", 1, "minute 60 is out of 0-59")]),
    ("60 * * * * *", [("second", 1, "second 60 is out of 0-59")]),
    ("0 0 0 * *", [("day of month", 5, "day of month 0 is out of 1-31")]),
    ("0 0 1 13 *", [("month", 7, "month 13 is out of 1-12")]),
    ("0 0 * * 8", [("day of week", 9, "day of week 8 is out of 0-7")]),
    ("0 22-2 * * *", [("hour", 3, "range 22-2 of hour runs backwards: write two ranges with a comma")]),
    (
        "0 0 * * fri-mon",
        [("day of week", 9, "range FRI-MON of day of week runs backwards: write two ranges with a comma")],
    ),
    ("*/100 * * * *", [("minute", 3, "step 100 of minute is out of 1-60")]),
    ("* */25 * * *", [("hour", 5, "step 25 of hour is out of 1-24")]),
    ("0 0 * * */8", [("day of week", 11, "step 8 of day of week is out of 1-7")]),
    ("*/0 * * * *", [("minute", 3, "step 0 of minute is out of 1-60")]),
    ("*/x * * * *", [("minute", 3, "step 'X' of minute is not a number")]),
    ("R * * * *", [("minute", 1, "'R' in minute is refused: random parts (R, H) fire at another time each time")]),
    (
        "0 H(0-7) * * *",
        [("hour", 3, "'H(0-7)' in hour is refused: random parts (R, H) fire at another time each time")],
    ),
    (
        "cron(0 12 ? * 2-6 *)",
        [
            (
                "expression",
                1,
                "this is an expression of EventBridge: write its fields without the word and the parentheses, and "
                "without the year; weekdays count from 0 (Sunday) to 6 here, not from 1 to 7, so rather write SUN to "
                "SAT",
            )
        ],
    ),
    (
        " Rate(5 minutes) ",
        [
            (
                "expression",
                1,
                'this is a rate of EventBridge: write "every": {"seconds": 300} instead of "cron"',
            )
        ],
    ),
    ("? * * * *", [("minute", 1, "minute '?' is not one of 0-59")]),
    ("0 0 * * MONDAY", [("day of week", 9, "day of week 'MONDAY' is not one of 0-7 or SUN-SAT")]),
    ("0 0 L-3 * *", [("day of month", 5, "'L-3' is not supported: days before the last cannot be counted")]),
    ("0 0 * * L", [("day of week", 9, "L needs a weekday here, such as 5L; write SAT for Saturdays")]),
    ("0 0 * * 1#6", [("day of week", 11, "week '6' after # is out of 1-5")]),
    ("0 0 30 2 *", [("day of month", 5, "never fires: there is no such day within 28 years")]),
    ("0 0 31W 4,6 *", [("day of month", 5, "never fires: there is no such day within 28 years")]),
    ("0, * * * *", [("minute", 3, "minute '' is not one of 0-59")]),
    (
        "0 25 x * 9,MON-99",
        [
            ("hour", 3, "hour 25 is out of 0-23"),
            ("day of month", 6, "day of month 'X' is not one of 1-31"),
            ("day of week", 10, "day of week 9 is out of 0-7"),
            ("day of week", 16, "day of week 99 is out of 0-7"),
        ],
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_ways_to_write_a_schedule_compile_to_the_same(one: str, other: str) -> None:
    assert compile_cron(one) == compile_cron(other)


@pytest.mark.parametrize(("expression", "faults"), REFUSED)
def test_a_refusal_names_every_fault_with_its_field_and_column(
    expression: str, faults: list[tuple[str, int, str]]
) -> None:
    with pytest.raises(InvalidCron) as refused:
        compile_cron(expression)
    assert list(refused.value.faults) == [Fault(*fault) for fault in faults]
    assert all(f"{detail} (column {column})" in str(refused.value) for _, column, detail in faults)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "expected 5 fields (minute hour day month weekday) or 6 (with seconds first), found 0 (column 1)"),
        ("* * * * * * *", "found 7 (column 11)"),
        ("@reboot", "@reboot is not known"),
        ("@every 5m", "@every is not known"),
        ("@daily *", "an alias stands alone"),
        ("0 0 * * *\n", "character U+000A is not allowed: use printable ASCII (column 10)"),
        ("٣ * * * *", "character U+0663 is not allowed: use printable ASCII (column 1)"),
        ("0 0 * * " + "1," * 200, "the expression has 408 characters, at most 256 are allowed (column 257)"),
    ],
)
def test_what_is_not_an_expression_at_all_is_refused_with_a_reason(expression: str, message: str) -> None:
    with pytest.raises(InvalidCron) as refused:
        compile_cron(expression)
    assert message in str(refused.value)


def test_unknown_options_are_refused_with_their_choices() -> None:
    with pytest.raises(InvalidCron, match="dst_gap 'later' is not one of run_at_gap_end, skip") as refused:
        compile_cron("0 0 * * *", dst_gap="later")  # type: ignore[arg-type]
    assert [fault.column for fault in refused.value.faults] == [1]


@given(st.text(max_size=300) | st.text("0123456789*/-,?LW#@RH()MONJAN \t", max_size=60))
@example("0 0 " + "9" * 200 + " * *")
@settings(max_examples=drawn(500), deadline=None)
def test_no_text_makes_the_parser_raise_anything_but_invalid_cron(text: str) -> None:
    try:
        assert isinstance(compile_cron(text), CompiledCron)
    except InvalidCron as refused:
        assert refused.faults
        assert all(1 <= fault.column <= len(text) + 1 for fault in refused.faults)


@given(FIVE_FIELDS | SIX_FIELDS)
@settings(max_examples=drawn(150), deadline=None)
def test_a_compiled_schedule_survives_json_and_messagepack(expression: str) -> None:
    try:
        cron = compile_cron(expression)
    except InvalidCron as refused:
        assert all("never fires" in fault.detail for fault in refused.faults)
        return
    assert msgspec.json.decode(msgspec.json.encode(cron), type=CompiledCron) == cron
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(cron), type=CompiledCron) == cron
    assert len(msgspec.json.encode(cron)) < 300


def test_a_compiled_schedule_of_another_version_is_refused() -> None:
    stored = msgspec.json.encode(compile_cron("@daily")).replace(b'"version":1', b'"version":2')
    with pytest.raises(msgspec.ValidationError, match="Invalid value 2"):
        msgspec.json.decode(stored, type=CompiledCron)
