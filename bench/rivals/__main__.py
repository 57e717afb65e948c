"""Clockwork beside what one would pick instead: the same jobs, the same receiver, one machine, one run.

Each round gives every system its turn alone: creates, a steady rate, a herd on one second. Then all are killed with
SIGKILL while some jobs run and others wait, and are started again at once. The kill takes their stores along, and,
where stores are processes of their own, is repeated without them. Everything is counted at the receiver.

    python -m bench.rivals [--json] [--docs] [--only SYSTEM ...] [--rounds N] [--herd N] [--pending N] [--watch S]

Systems are installed into .venv-rivals of this project, at pinned versions. A system that cannot be installed is
printed as not to be had. All servers listen on 127.0.0.1 and end with this process. Linux only: it reads /proc. The
tables go to standard error, with --docs also into docs/performance.md; the last line of standard output is one JSON
object. About 40 minutes; `--rounds 1 --pending 2000` takes ten.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from bench.arrivals.quiet import busy_cores, refuse_busy
from bench.reporting.report import publish
from bench.reporting.tables import machine
from bench.rivals.judging.load import Load
from bench.rivals.judging.report import as_json, page
from bench.rivals.running.measure import Measurement
from bench.rivals.running.receiver import RunReceiver
from bench.rivals.running.turns import SystemTime
from bench.rivals.systems.apscheduler_sql import ApschedulerSql
from bench.rivals.systems.base import System
from bench.rivals.systems.bullmq import BullMq
from bench.rivals.systems.clockwork_local import Clockwork, ClockworkInMemory
from bench.rivals.systems.graphile import Graphile
from bench.rivals.systems.temporal import Temporal

SYSTEMS: tuple[type[System], ...] = (Clockwork, ClockworkInMemory, ApschedulerSql, BullMq, Temporal, Graphile)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    plain = Load()
    parser = argparse.ArgumentParser(
        prog="python -m bench.rivals", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no tables, the JSON alone")
    parser.add_argument(
        "--docs", action="store_true", help="write the tables into docs/performance.md, on a quiet machine"
    )
    parser.add_argument("--only", action="append", choices=[kind.name for kind in SYSTEMS], help="may be repeated")
    parser.add_argument("--rounds", type=int, default=plain.rounds, help="(%(default)s)")
    parser.add_argument("--herd", type=int, default=plain.herd, help="jobs on one second (%(default)s)")
    parser.add_argument("--pending", type=int, default=plain.pending, help="jobs in store for memory (%(default)s)")
    parser.add_argument("--watch", type=int, default=plain.watch_seconds, help="seconds after a kill (%(default)s)")
    options = parser.parse_args(arguments)
    load = Load(rounds=options.rounds, herd=options.herd, pending=options.pending, watch_seconds=options.watch)
    kinds = [kind for kind in SYSTEMS if not options.only or kind.name in options.only]
    if options.docs:
        refuse_busy()
    busy = busy_cores()
    with RunReceiver() as receiver:
        measurement = Measurement(kinds, receiver, load, SystemTime(), lambda line: print(line, file=sys.stderr))
        try:
            measurement.run()
        except KeyboardInterrupt:
            print("interrupted: this is what was measured so far", file=sys.stderr)
    where = f"When the run began, others kept {busy:.1f} of the cores busy. {machine()}"
    block = page(measurement.results, load, where)
    if not options.json:
        sys.stderr.write(f"{block}\n")
    if options.docs:
        publish("rivals", block)
    print(json.dumps(as_json(measurement.results)))


if __name__ == "__main__":
    main()
