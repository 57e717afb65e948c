"""The description of a schedule in English: some known sentences, and any sentence read back gives the schedule."""

import re

import pytest
from hypothesis import assume, given, settings

from clockwork.domain.cron.compiled import ALL_DAYS, ALL_WEEKDAYS, CompiledCron
from clockwork.domain.cron.description import MONTHS, WEEKDAYS, description
from clockwork.domain.cron.invalid import InvalidCron
from clockwork.domain.cron.parser import compile_cron
from tests.support.searches import drawn
from tests.unit.domain.cron.expressions import FIVE_FIELDS, SIX_FIELDS

SENTENCES = [
    ("30 2 * * *", "At 02:30, every day."),
    ("@hourly", "At minute 0 past every hour, every day."),
    ("* * * * *", "Every minute."),
    ("*/2 * * * *", "Every 2 minutes."),
    ("*/15 * * * MON", "Every 15 minutes, on Monday."),
    ("0/30 * * * * *", "Every 30 seconds."),
    ("*/7 * * * *", "At every 7th minute from 0 through 56 past every hour, every day."),
    ("1-59/2 * * * *", "At every 2nd minute from 1 through 59 past every hour, every day."),
    (
        "*/7 9-17 * * MON-FRI",
        "At every 7th minute from 0 through 56 past every hour from 9 through 17, on Monday through Friday.",
    ),
    ("0,30 9 1,15 1-3 *", "At 09:00 and 09:30, on days 1 and 15 of the month, in January through March."),
    ("0 0 * 5,6 MON,TUE", "At 00:00, on Monday and Tuesday, in May and June."),
    (
        "0 0 1-31/3 * MON#1,TUE#3",
        "At 00:00, on every 3rd day from 1 through 31 of the month "
        "or the 1st Monday of the month or the 3rd Tuesday of the month.",
    ),
    ("0 */11,22 1-31/12 * *", "At 00:00, 11:00 and 22:00, on every 12th day from 1 through 25 of the month."),
    ("0 0 13 * FRI", "At 00:00, on day 13 of the month or Friday."),
    ("0 0 1-7 * */7", "At 00:00, on every day from 1 through 7 of the month, but only if that is Sunday."),
    ("0 0 * * 5L,MON#2", "At 00:00, on the 2nd Monday of the month or the last Friday of the month."),
    (
        "15 10 3 L,1W * ?",
        "At 03:10:15, on the working day (Monday through Friday) nearest to day 1 of the month "
        "or the last day of the month.",
    ),
    (
        "* * * LW * *",
        "Every second, on the last working day (Monday through Friday) of the month.",
    ),
]


@pytest.mark.parametrize(("expression", "sentence"), SENTENCES)
def test_a_schedule_is_described_in_a_sentence(expression: str, sentence: str) -> None:
    assert description(compile_cron(expression)) == sentence


@pytest.mark.long
@given(FIVE_FIELDS | SIX_FIELDS)
@settings(max_examples=drawn(300), deadline=None)
def test_a_description_read_back_is_the_schedule(expression: str) -> None:
    try:
        cron = compile_cron(expression)
    except InvalidCron:
        assume(False)
        raise
    sentence = description(cron)
    times, days, months = split(sentence)
    assert times_in(times) == {
        (h, m, s) for h in bits(cron.hours) for m in bits(cron.minutes) for s in bits(cron.seconds)
    }
    assert (set(range(1, 13)) if not months else names_in(months, MONTHS)) == bits(cron.months)
    assert_days(days, cron)


def split(sentence: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"(At .*?|Every .*?)(?:, (every day|on .*?))?(?:, in (.*))?\.", sentence)
    assert match, sentence
    assert match[2] or sentence.startswith("Every"), sentence
    return match[1].removeprefix("At "), match[2] or "every day", match[3] or ""


def bits(mask: int) -> set[int]:
    return {bit for bit in range(64) if mask >> bit & 1}


def times_in(text: str) -> set[tuple[int, int, int]]:
    if even := re.fullmatch(r"Every (?:(\d+) )?(minute|second)s?", text):
        step, is_minute = int(even[1] or 1), even[2] == "minute"
        units = [(one, 0) for one in range(0, 60, step)]
        if not is_minute:
            units = [(minute, one) for minute in range(60) for one in range(0, 60, step)]
        return {(hour, *unit) for hour in range(24) for unit in units}
    if ":" in text:
        clocks = [tuple(map(int, clock.split(":"))) for clock in re.findall(r"[\d:]+", text)]
        return {(clock[0], clock[1], clock[2] if len(clock) == 3 else 0) for clock in clocks}
    before, hours = text.split(" past ")
    seconds, _, minutes = before.rpartition(" of ")
    each = [numbers_in(hours, 24), numbers_in(minutes, 60), numbers_in(seconds, 60) if seconds else {0}]
    return {(hour, minute, second) for hour in each[0] for minute in each[1] for second in each[2]}


def numbers_in(text: str, size: int) -> set[int]:
    if re.fullmatch(r"every \w+", text):
        return set(range(size))
    run = re.fullmatch(r"every (?:(\d+)\w\w )?\w+ from (\d+) through (\d+)", text)
    if run:
        return set(range(int(run[2]), int(run[3]) + 1, int(run[1] or 1)))
    return set(map(int, re.findall(r"\d+", text)))


def names_in(text: str, names: tuple[str, ...]) -> set[int]:
    run = re.fullmatch(r"(\w+) through (\w+)", text)
    if run:
        return set(range(names.index(run[1]), names.index(run[2]) + 1))
    return {names.index(name) for name in re.findall(r"\w+", text) if name != "and"}


def assert_days(text: str, cron: CompiledCron) -> None:
    terms = text.removeprefix("on ").replace(", but only if that is ", " or ").split(" or ")
    if text == "every day":
        terms = []
    # Beside a field that holds all days a special day adds nothing, so the sentence may leave it out.
    if cron.days != ALL_DAYS:
        nearest = re.search(r"nearest to day (\d.*?) of the month", text)
        assert (set(map(int, re.findall(r"\d+", nearest[1]))) if nearest else set()) == bits(cron.nearest_working_days)
        assert ("the last day of the month" in terms) == cron.last_day
        assert ("the last working day (Monday through Friday) of the month" in terms) == cron.last_working_day
    if cron.weekdays != ALL_WEEKDAYS:
        nths = re.findall(r"the (\d)\w\w (\w+) of the month", text)
        assert {7 * (int(week) - 1) + WEEKDAYS.index(name) for week, name in nths} == bits(cron.nth_weekdays)
        lasts = re.findall(r"the last (\w+day) of the month", text)
        assert {WEEKDAYS.index(name) for name in lasts if name in WEEKDAYS} == bits(cron.last_weekdays)
    plain = [term for term in terms if re.match(r"days? \d|every .*day", term) and "nearest" not in term]
    dates = numbers_in(plain[0].removesuffix(" of the month"), 0) if plain else set()
    assert dates == (bits(cron.days) if cron.days != ALL_DAYS else dates & bits(cron.days))
    weekdays = [term for term in terms if term.split(",")[0].split(" ")[0] in WEEKDAYS]
    assert (
        names_in(weekdays[0], WEEKDAYS) if weekdays else {*range(7)} if cron.weekdays == ALL_WEEKDAYS else set()
    ) == bits(cron.weekdays)
    if cron.days != ALL_DAYS and cron.weekdays != ALL_WEEKDAYS:
        assert (", but only if that is " in text) != cron.either_day
