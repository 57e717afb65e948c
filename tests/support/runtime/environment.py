"""A Lambda environment: the function's folders as Lambda lays them out, run by AWS's own runtime client."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import queue
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.runtime.api import Outcome, RuntimeApi

#: The packages that the client needs; in Lambda they are beside the interpreter.
_CLIENT = ("awslambdaric", "simplejson", "snapshot-restore-py")
PATIENCE_SECONDS = 240


def lay_out(folder: Path, code: Path, layers: Iterable[Path]) -> None:
    """`task` has the function's code, `opt` the layers one over the other in their order, `runtime` the client."""
    shutil.copytree(code, folder / "task")
    for layer in layers:
        shutil.copytree(layer, folder / "opt", dirs_exist_ok=True, copy_function=_linked)
    for name in _CLIENT:
        for file in importlib.metadata.files(name) or ():
            if ".." not in file.parts:
                (folder / "runtime" / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file.locate(), folder / "runtime" / file)


def files_of(folder: Path) -> set[Path]:
    """The files in which the function's code and layers lie."""
    return {path for part in ("task", "opt") for path in (folder / part).rglob("*")}


class Failed(Exception):
    """The handler raised, or the environment did not start; the message is what the client reported."""


class Environment:
    """A started environment. `end` it. It has these variables, and those that Lambda itself sets.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    """

    def __init__(self, folder: Path, function: Mapping[str, Any], variables: Mapping[str, str]) -> None:
        self._api = RuntimeApi(timeout_seconds=function["Timeout"])
        self._log = (folder / "log").open("ab")
        self._process = subprocess.Popen(
            # Without -S the packages of this environment would stand in for what a layer lacks.
            [sys.executable, "-S", "-m", "awslambdaric", function["Handler"]],
            cwd=folder / "task",
            env={
                "AWS_LAMBDA_RUNTIME_API": self._api.address,
                "AWS_LAMBDA_FUNCTION_NAME": "Clockwork-Function",
                "AWS_LAMBDA_FUNCTION_VERSION": "1",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function["MemorySize"]),
                "AWS_LAMBDA_LOG_GROUP_NAME": "log",
                "AWS_LAMBDA_LOG_STREAM_NAME": "stream",
                "AWS_EXECUTION_ENV": "AWS_Lambda_python3.14",
                "AWS_REGION": "us-east-1",
                "AWS_DEFAULT_REGION": "us-east-1",
                "LANG": "en_US.UTF-8",
                "TZ": ":UTC",
                "PYTHONPATH": os.pathsep.join(str(folder / part) for part in ("task", "opt/python", "runtime")),
                # Neither folder can be written to in Lambda.
                "PYTHONDONTWRITEBYTECODE": "1",
                **variables,
            },
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def invoke(self, event: dict[str, Any]) -> Any:
        """The answer of the handler. Raises Failed."""
        self._api.events.put(event)
        outcome = self._outcome()
        if outcome.kind == "error":
            raise Failed(str(outcome.body))
        if not self._api.waits.wait(PATIENCE_SECONDS):
            raise Failed("it does not ask for the next event")
        return outcome.body

    def freeze(self) -> None:
        """Stop its processes, as Lambda does between events."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitpid(self._process.pid, os.WUNTRACED)

    def thaw(self) -> None:
        """Let them go on."""
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Kill it, and close what served it."""
        self._process.kill()
        self._process.wait()
        self._log.close()
        self._api.close()

    def _outcome(self) -> Outcome:
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up_at and self._process.poll() is None:
            with contextlib.suppress(queue.Empty):
                return self._api.outcomes.get(timeout=1)
        said = Path(self._log.name).read_text(errors="replace")
        raise Failed(f"no outcome; the process ended with {self._process.poll()} and wrote: {said}")


def _linked(source: str, target: str) -> None:
    Path(target).unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
