"""How the commands of chaos and soak end: by themselves, by a signal, or because they cannot go on."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from types import FrameType

from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from local.deployer import DeployFailed
from local.emulator import EmulatorFailed
from local.stack import say_on_terminal
from tests.chaos.sender import Refused

#: The errors that end a run when the stack, its services or a wait for them fails.
FAILURES = (
    AssertionError,
    BotoCoreError,
    ClientError,
    DeployFailed,
    EmulatorFailed,
    HTTPError,
    OSError,
    Refused,
    subprocess.CalledProcessError,
)


def run(work: Callable[[], int], *failures: type[Exception]) -> int:
    """Runs `work` and returns its exit status; 2 if the work could not go on, 130 if a signal ended it.

    `failures` are further errors that end it so. By then `work` has ended all processes that it started.
    """
    ending: tuple[type[BaseException], ...] = (*FAILURES, *failures)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        return work()
    except KeyboardInterrupt:
        say_on_terminal("Stopped.")
        return 130
    except ending as error:
        say_on_terminal(f"Cannot go on: {type(error).__name__}: {error}")
        return 2


def _end(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
