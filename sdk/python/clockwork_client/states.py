"""The states of jobs and executions, as the API names them, and what they mean to a reader."""

from __future__ import annotations

from typing import Literal

#: Of a named job.
JobState = Literal["ACTIVE", "PAUSED", "COMPLETED", "CANCELLED"]
#: Of an execution.
ExecutionState = Literal[
    "PENDING",
    "RUNNING",
    "FAILED",
    "TIMED_OUT",
    "HANDED_BACK",
    "WORKER_LOST",
    "PARKED",
    "SUCCEEDED",
    "CANCELLED",
    "EXPIRED",
    "SKIPPED",
    "DEAD",
]
#: Of a pause or resume: what becomes of executions that were due before and wait.
WhatWaits = Literal["keep", "cancel"]
#: States of executions that change no more.
ENDED = frozenset({"SUCCEEDED", "DEAD", "EXPIRED", "CANCELLED", "SKIPPED"})
#: States after which nothing of a job or of an execution starts, unless somebody asks for it.
FINAL = ENDED | {"COMPLETED"}
#: State of a job or an execution -> its tone, by which shape and colour are chosen.
_TONES = {
    "ACTIVE": "ok",
    "SUCCEEDED": "ok",
    "DEAD": "bad",
    "EXPIRED": "bad",
    "RUNNING": "run",
    "RELEASED": "run",
    "SKIPPED": "skip",
    "CANCELLED": "skip",
    "UNREACHED": "bad",
    "COMPLETED": "skip",
}


def tone(state: str) -> str:
    """`ok`, `bad`, `run`, `skip` or `wait`. A state of a later version waits, as far as this version knows."""
    return _TONES.get(state, "wait")
