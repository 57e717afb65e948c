"""Events that end the server or prevent its start: signals, and errors with a message for the user."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from local.broker import BrokerFailed
from local.deployer import DeployFailed
from local.emulator import EmulatorFailed

_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ServerFailed(Exception):
    """The server cannot start, or the demonstration cannot go on; the message says why."""


#: The errors that may occur while the server starts, or the demonstration is played.
FAULTS = (
    ServerFailed,
    DeployFailed,
    EmulatorFailed,
    BrokerFailed,
    subprocess.CalledProcessError,
    OSError,
    BotoCoreError,
    ClientError,
    HTTPError,
)


class Ended(BaseException):
    """A signal asked for the end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def raise_on_signals(say: Callable[[str], None], waits_for: str) -> None:
    """From now on the first signal raises Ended in the main thread, after a line about the end's wait.

    Further signals do not interrupt the cleanup.
    """

    def end(number: int, _: FrameType | None) -> NoReturn:
        for one in _ENDING_SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        say(f"\nEnding: {waits_for}.")
        raise Ended(number)

    for one in _ENDING_SIGNALS:
        signal.signal(one, end)


def explain(error: Exception) -> str:
    """An error of FAULTS in words."""
    if isinstance(error, subprocess.CalledProcessError):
        return "the CDK app failed; what it said is above (is everything there? `make setup`)"
    return str(error)
