"""Prints when a cron expression fires. See ``python -m clockwork.domain.cron --help``."""

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import get_args

from msgspec import DecodeError, Struct, field
from msgspec.json import decode

from clockwork.domain.cron.compiled import CompiledCron, DayMatch, DstGap, DstOverlap
from clockwork.domain.cron.description import description
from clockwork.domain.cron.engine import LATEST_SECOND, fires_between
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.cron.zones import zone_named

#: No fire is later than this (ms, UTC).
LATEST_AT = LATEST_SECOND * 1000
_EPILOG = """\
examples:
  python -m clockwork.domain.cron "30 2 * * *" --tz America/New_York --from 2026-03-07T00:00:00-05:00 --count 3
  echo '{"expr": "0 * * * *", "tz": "UTC", "from": 1767225599, "until": 1767232801}' | \\
      python -m clockwork.domain.cron --batch

exit codes: 0 done, 2 bad input. In a batch every line is answered, a bad one with {"error": "..."}."""


class _Request(Struct):
    """One line of a batch. Both instants are epoch seconds and exclusive."""

    expr: str
    tz: str
    after: int | float = field(name="from")
    until: int | float


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit code. `arguments` are those after the program's name."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.batch:
        if options.expression is not None:
            parser.error("--batch reads expressions from standard input: leave the expression out")
        for line in filter(bytes.strip, sys.stdin.buffer):
            print(json.dumps(_batch_line(line, options)), flush=True)
        return 0
    if options.expression is None or options.start is None:
        parser.error("an expression and --from are needed (or --batch)")
    try:
        cron = _compile(options.expression, options)
        fires = list(islice(_fires_from(cron, options.tz, options.start), options.count))
    except (ValueError, OverflowError) as error:
        parser.error(str(error))
    _print_fires(cron, options, fires)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m clockwork.domain.cron",
        description="Prints when a cron expression fires, in UTC and on the zone's clock.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("expression", nargs="?", help="five fields, six with seconds first, or @daily and the like")
    parser.add_argument("--tz", default="UTC", metavar="ZONE", help="IANA time zone (default UTC)")
    parser.add_argument(
        "--from",
        dest="start",
        metavar="ISO",
        help="print the fires after this instant, such as 2026-03-07T00:00:00Z; without an offset, by the zone's clock",
    )
    parser.add_argument("--count", type=_positive, default=10, metavar="N", help="how many fires to print (default 10)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--batch",
        action="store_true",
        help='read JSON lines {"expr", "tz", "from", "until"} (epoch seconds, both exclusive) from standard input, '
        "print for each a JSON list of epoch seconds",
    )
    parser.add_argument("--dst-gap", choices=get_args(DstGap), default="run_at_gap_end", help="(default %(default)s)")
    parser.add_argument("--dst-overlap", choices=get_args(DstOverlap), default="first", help="(default %(default)s)")
    parser.add_argument("--day-match", choices=get_args(DayMatch), default="cron", help="(default %(default)s)")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _compile(expression: str, options: argparse.Namespace) -> CompiledCron:
    return compile_cron(
        expression, dst_gap=options.dst_gap, dst_overlap=options.dst_overlap, day_match=options.day_match
    )


def _fires_from(cron: CompiledCron, zone: str, start: str) -> Iterator[int]:
    info = zone_named(zone)
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        raise ValueError(f"--from {start!r} is not an ISO 8601 instant such as 2026-03-07T00:00:00Z") from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=info)
    return fires_between(cron, zone, int(aware.timestamp() * 1000), LATEST_AT)


def _batch_line(line: bytes, options: argparse.Namespace) -> object:
    try:
        request = decode(line, type=_Request)
        cron = _compile(request.expr, options)
        fires = fires_between(cron, request.tz, int(request.after * 1000), int(request.until * 1000))
        return [at // 1000 for at in fires]
    except (ValueError, DecodeError) as error:
        return {"error": str(error)}


def _print_fires(cron: CompiledCron, options: argparse.Namespace, fires: list[int]) -> None:
    info = zone_named(options.tz)
    moments = [datetime.fromtimestamp(at // 1000, UTC) for at in fires]
    rows = [
        {"at": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "local": moment.astimezone(info).isoformat()}
        for moment in moments
    ]
    if options.json:
        print(json.dumps({"description": description(cron), "nextFires": rows}))
        return
    print(description(cron))
    for row in rows:
        print(f"{row['at']}  {row['local']}")


if __name__ == "__main__":
    sys.exit(main())
