"""Random cron expressions that the parser must accept, with or without daylight saving in mind."""

from hypothesis import strategies as st

WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@st.composite
def items(draw: st.DrawFn, low: int, high: int, span: int) -> str:
    first, last = sorted((draw(st.integers(low, high)), draw(st.integers(low, high))))
    step = draw(st.integers(1, span))
    return draw(
        st.sampled_from([f"{first}", f"{first}-{last}", f"{first}-{last}/{step}", f"{first}/{step}", f"*/{step}"])
    )


def fields(low: int, high: int, span: int, *extra: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    item = st.one_of(items(low, high, span), *extra)
    return st.just("*") | st.lists(item, min_size=1, max_size=3).map(",".join)


MINUTES = SECONDS = fields(0, 59, 60)
HOURS = fields(0, 23, 24)
DAYS = fields(1, 31, 31, st.sampled_from(["L", "LW"]), st.integers(1, 28).map("{}W".format)) | st.just("?")
MONTH_FIELDS = fields(1, 12, 12, st.sampled_from(MONTHS))
WEEKDAY_FIELDS = fields(
    0,
    7,
    7,
    st.sampled_from([*WEEKDAYS, "5L", "L0", "7L", "FRIL", "MON-FRI"]),
    st.tuples(st.sampled_from([*WEEKDAYS, "0", "3", "7"]), st.integers(1, 5)).map(lambda pair: f"{pair[0]}#{pair[1]}"),
)
FIVE_FIELDS = st.tuples(MINUTES, HOURS, DAYS, MONTH_FIELDS, WEEKDAY_FIELDS).map(" ".join)
SIX_FIELDS = st.tuples(SECONDS, FIVE_FIELDS).map(" ".join)
#: Most fires of a random expression are far apart; these expressions fire often near the hours when clocks shift.
NEAR_SHIFTS = st.tuples(
    MINUTES, fields(0, 4, 24), st.sampled_from(["*", "*/2", "L", "1-15,20W"]), st.just("*"), WEEKDAY_FIELDS
)
EXPRESSIONS = FIVE_FIELDS | NEAR_SHIFTS.map(" ".join)
ZONES = st.sampled_from(
    [
        "UTC",
        "America/New_York",
        "Europe/London",
        "Europe/Dublin",
        "Australia/Lord_Howe",
        "America/Sao_Paulo",
        "Pacific/Apia",
        "Africa/Cairo",
        "Africa/Casablanca",
        "Antarctica/Casey",
        "Antarctica/Troll",
        "Asia/Kathmandu",
        "Asia/Gaza",
        "America/Caracas",
        "Pacific/Chatham",
    ]
)

#: UTC ms from 2000 to 2037.
INSTANTS = st.integers(946_684_800_000, 2_145_916_800_000)
