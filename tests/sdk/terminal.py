"""Runs the command `clockwork` on the shipped edge, as a user of the client acme."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from click.testing import CliRunner, Result

from clockwork.domain.executions import Outcome, State
from clockwork_client.cli.app import clockwork
from clockwork_client.cli.state import State as Settings
from clockwork_client.transport import Request, Response
from tests.handlers.handlers import Api
from tests.sdk.edge import CREDENTIALS, URL, Hands, InMemory
from tests.support.examples import ALICE

HOOK = "https://example.com/hook"
#: A job and an execution, as the API names them.
JOB = "nMS9hY21lL3JlcG9ydA"
EXECUTION = f"{JOB}.1795779231689.0"


class Quiet(InMemory):
    """The edge writes its metrics to standard output, where the command writes its answer."""

    def __call__(self, request: Request) -> Response:
        with redirect_stdout(StringIO()):
            return super().__call__(request)


class Cli:
    """Runs commands as a user of the client acme."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.hands = Hands()
        self.transport: Any = Quiet(api)

    def __call__(
        self, *arguments: str, caller: str = ALICE, text: str | None = None, color: bool = False, **settings: Any
    ) -> Result:
        if isinstance(self.transport, InMemory):
            self.transport.caller = caller
        state = Settings(
            **{
                "url": URL,
                "client_id": "acme",
                "credentials": CREDENTIALS,
                "transport": self.transport,
                "machine": self.hands.machine,
                **settings,
            }
        )
        return CliRunner().invoke(clockwork, arguments, obj=state, input=text, color=color, prog_name="clockwork")

    def json(self, *arguments: str, **more: Any) -> Any:
        ran = self("--output", "json", *arguments, **more)
        assert ran.exit_code == 0, ran.output
        return json.loads(ran.stdout)

    def body(self) -> Any:
        return json.loads(self.transport.sent[-1].body)


def with_dead(cli: Cli, *keys: str) -> None:
    """Make a DEAD execution of a named job for each key."""

    def fail(_: object) -> Outcome:
        at = cli.api.clockwork.clock.at
        return Outcome(State.FAILED, at, at, error="HTTP 500")

    cli.api.clockwork.targets._answer = fail
    for number, key in enumerate(keys):
        host = f"https://h{number // 5}.example.com/"  # a circuit opens after some failures of one host
        cli.json("job", "create", "--in", "1s", host, "--key", key, "--retry", '{"maxAttempts": 1}')
    cli.api.clockwork.run_until(cli.api.clockwork.clock.at + 60_000)
