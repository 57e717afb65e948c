"""Pictures of commands on terminals of 80 and 120 columns: a scene, the commands, and the files that hold them.

    python -m tests.sdk.pictures

draws all of them anew. Read each as a user would, before it is committed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import PropertyMock, patch

from clockwork.domain.executions import Outcome, State
from clockwork_client.cli.state import State as Settings
from tests.handlers.handlers import Api
from tests.sdk.terminal import Cli
from tests.support.examples import ADMIN, ALICE

FOLDER = Path(__file__).parent / "drawn"
WIDTHS = (80, 120)
#: A Thursday morning.
NOW = datetime(2027, 3, 4, 9, 30, tzinfo=UTC)
SHOP = "https://shop.example.com/hooks"
#: Name of a picture -> the command, and its caller if that is an admin.
COMMANDS: dict[str, tuple[str, ...]] = {
    "job-list": ("job", "list"),
    "job-get": ("job", "get", "nightly-report"),
    "exec-get": ("exec", "get", "invoices-of-march"),
    "exec-list": ("exec", "list", "nightly-report"),
    "exec-list-of-all": ("exec", "list"),
    "dead-list": ("dead", "list"),
    "dead-causes": ("dead", "causes"),
    "upcoming": ("upcoming",),
    "audit": ("audit",),
    "client-usage": ("client", "usage"),
    "client-activity": ("client", "activity", "--step", "600"),
    "client-list": ("client", "list"),
    "cron-explain": ("cron", "explain", "0 3 * * MON-FRI", "--timezone", "Europe/Berlin"),
}
_OF_ADMINS = {"client-list"}
#: Pictures of one thing, whose values are never cut.
FACTS = {"exec-get", "job-get", "client-usage"}


def shop() -> Cli:
    """A shop with a few jobs, of which one fails, and one is over."""
    api = Api()
    api.clockwork.clock.at = int(NOW.timestamp() * 1000) - 3_000_000
    cli = Cli(api)

    def answer(work: Any) -> Outcome:
        at = api.clockwork.clock.at
        is_down = "invoices" in getattr(work.occurrence.target, "url", "")
        return Outcome(State.FAILED, at, at, error="HTTP 503") if is_down else Outcome(State.SUCCEEDED, at, at + 240)

    api.clockwork.targets._answer = answer
    nightly = ("--cron", "0 3 * * *", "--timezone", "Europe/Berlin", "--key", "nightly-report")
    cli("job", "create", *nightly, f"{SHOP}/reports/nightly", "--tag", "team=billing", "--data", '{"format":"pdf"}')
    cli("job", "create", "--every", "15m", "--key", "poll-stock", f"{SHOP}/stock")
    twice = '{"maxAttempts": 2, "backoff": "fixed", "initialSeconds": 30}'
    cli("job", "create", "--in", "20m", "--key", "invoices-of-march", f"{SHOP}/invoices", "--retry", twice)
    cli("job", "create", "--in", "2h", f"{SHOP}/carts/abandoned", "--data", '{"cart": 4711}')
    cli("job", "create", "--in", "5m", f"{SHOP}/carts/abandoned")
    cli("job", "create", "--every", "1h", "--key", "kundenübersicht-für-das-team-in-der-zentrale", f"{SHOP}/customers")
    api.clockwork.run_until(int(NOW.timestamp() * 1000))
    cli("job", "run", "--key", "nightly-report")
    api.clockwork.run_until(int(NOW.timestamp() * 1000) + 1_000)
    cli("job", "pause", "--key", "poll-stock", "--reason", "the warehouse counts its stock until Friday")
    return cli


@contextmanager
def terminal(width: int, now: datetime) -> Iterator[None]:
    """A terminal of this width, at a fixed instant, in UTC."""
    given = {"COLUMNS": str(width), "TZ": "UTC", "TERM": "xterm"}
    with (
        patch.dict(os.environ, given),
        patch("clockwork_client.cli.show.is_terminal", lambda: True),
        patch.object(Settings, "now", PropertyMock(return_value=now)),
    ):
        time.tzset()
        yield
    time.tzset()


def picture(cli: Cli, name: str, width: int) -> str:
    """A command, its output, and its notes."""
    command = COMMANDS[name]
    now = datetime.fromtimestamp(cli.api.clockwork.clock.at / 1000, UTC)
    with terminal(width, now):
        ran = cli(*command, caller=ADMIN if name in _OF_ADMINS else ALICE)
    return f"$ clockwork {' '.join(command)}\n{ran.output}"


def kept(name: str, width: int) -> Path:
    """The file of a picture."""
    return FOLDER / f"{name}.{width}.txt"


def main() -> None:
    """Draw all pictures anew."""
    FOLDER.mkdir(exist_ok=True)
    for one in FOLDER.glob("*.txt"):
        one.unlink()
    cli = shop()
    for name in COMMANDS:
        for width in WIDTHS:
            kept(name, width).write_text(picture(cli, name, width), encoding="utf-8")


if __name__ == "__main__":
    main()
