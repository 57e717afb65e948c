"""The names of jobs and executions on a command line: ids, and the keys of named jobs."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

import click

from clockwork_client.cli.near import near
from clockwork_client.errors import NotFound

if TYPE_CHECKING:
    from clockwork_client.cli.state import State

_JOB_ID = re.compile(r"[a-z][A-Za-z0-9_-]+", re.ASCII)
_PATH = re.compile(r"[a-z0-9]+/", re.ASCII)
_EXECUTION_ID = re.compile(r"([^.]+)\.\d{13}\.[A-Za-z0-9_-]+", re.ASCII)
#: Keys of so many jobs are compared with one that is unknown.
_COMPARED = 200


def is_job_id(text: str) -> bool:
    """Whether the API made this text: a letter, and base64url of a path. Keys that people choose are hardly ever so."""
    if not _JOB_ID.fullmatch(text):
        return False
    part = text[1:]
    try:
        raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        is_path = _PATH.match(raw.decode()) is not None
    except ValueError:
        return False
    return is_path and base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == part


def id_of(state: State, job: str | None, key: str | None = None) -> str:
    """The id of the job that an argument, or `--key`, names. Raises UsageError, or NotFound for an unknown key."""
    if (job is None) == (key is None):
        raise click.UsageError("name the job: its key, or its id")
    if job is not None and is_job_id(job):
        return job
    wanted = key if job is None else job
    assert wanted is not None
    found = state.cw.jobs.find(wanted)
    if found is None:
        alike = [one.job_key or "" for one in state.cw.jobs.list(prefix=wanted[:1], page_size=_COMPARED).page()]
        raise NotFound(404, f"there is no named job {wanted!r} of this client.{near(wanted, alike)}")
    return found.job_id


def _unrecorded(state: State, text: str) -> str:
    """Why there may be none, of a job without records. Jobs with keys always have records."""
    if not is_job_id(text) or not state.cw.jobs.get(text).not_recorded:
        return ""
    return ", or none that was recorded: its level of record is none, and no attempt has failed"


def execution_of(state: State, text: str) -> str:
    """The execution that an argument names: its id, or the newest one of the job of this key or id.

    Raises NotFound.
    """
    match = _EXECUTION_ID.fullmatch(text)
    if match and is_job_id(match[1]):
        return text
    newest = next(state.cw.executions.list(id_of(state, text), page_size=1), None)
    if newest is None:
        raise NotFound(404, f"the job {text!r} has no execution yet{_unrecorded(state, text)}")
    return newest.execution_id
