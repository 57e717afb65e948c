"""The frame of the demonstration's scenes that call the API themselves: what went wrong, and the numbers shown."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from local.api import SignedApi
from local.demo.screen import Screen
from local.dev.running import Server

T = TypeVar("T")
_PATIENCE = 60.0


class Scene(ABC):
    """A part of the demonstration. A subclass has `_play`, whose TimeoutError becomes a fault."""

    def __init__(self, server: Server, screen: Screen) -> None:
        self._server = server
        self._screen = screen
        #: The faults of the demonstration, in words.
        self.faults: list[str] = []
        #: The numbers shown, by the name that the summary knows.
        self.shown = Counter[str]()

    def play(self) -> None:
        """Play this part. A wait that was in vain becomes a fault."""
        api = self._server.api()
        try:
            self._play(api)
        except TimeoutError as error:
            self.faults.append(str(error))
        finally:
            api.close()

    @abstractmethod
    def _play(self, api: SignedApi) -> None:
        """The calls of this part, and what it judges."""

    def _created(self, api: SignedApi, what: str, **body: Any) -> str:
        """The jobId of a new job, due in a second unless the body says so. Raises TimeoutError if it is refused."""
        answer = api.request("POST", "/v1/jobs", {"schedule": {"delaySeconds": 1}, **body})
        if answer.status != 201:
            raise TimeoutError(f"the API did not take {what}: {answer.status} {answer.body}")
        self.shown["jobs"] += 1
        return str(answer.body["jobId"])

    def _awaited(self, api: SignedApi, job_id: str, state: str, what: str) -> str:
        """The executionId of a job's execution, once it has this state. Raises TimeoutError."""
        return until(lambda: _in_state(api, job_id, state), f"{what} never was {state}")


def until(found: Callable[[], T | None], otherwise: str) -> T:
    """The first value that is not None. Raises TimeoutError, with these words, if there is none within a minute."""
    ends_at = time.monotonic() + _PATIENCE
    while time.monotonic() < ends_at:
        if (value := found()) is not None:
            return value
        time.sleep(0.2)
    raise TimeoutError(otherwise)


def _in_state(api: SignedApi, job_id: str, state: str) -> str | None:
    items = api.request("GET", f"/v1/jobs/{job_id}/executions").body["items"]
    return next((str(one["executionId"]) for one in items if one["state"] == state), None)
