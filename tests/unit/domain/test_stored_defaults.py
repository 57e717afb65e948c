"""Defaults of stored structs never change: a stored struct leaves out its defaults, so they are part of the format."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clockwork import domain
from clockwork.domain.errors import Undecodable
from clockwork.domain.executions import Execution, State
from clockwork.domain.storage import codec
from clockwork.targets.message import Payload
from clockwork.targets.registry import TARGETS

#: By struct: the value of each field that is left out. The default of a field that is not listed is None, or empty. A
#: type of target need not be listed if it has no other defaults.
LEFT_OUT: dict[str, dict[str, Any]] = {
    "Attempt": {"lateness_ms": 0},
    "Awaited": {"watched_again": False, "is_run": False},
    "Budget": {"start": 0, "handbacks": 0, "lost_workers": 0, "unclaimed": False, "begun": 0},
    "Check": {"attempt": 1, "sweeps": 0},
    "Checkpoint": {"revision": 1, "fence": 1, "expires_at": 0},
    "Claimed": {},
    "Counts": {},
    "Client": {
        "revision": 0,
        "record": "full",
        "min_interval_seconds": 1,
        "runs_index": False,
        "paused": False,
        "since_at": 0,
    },
    "Completion": {"mode": "callback", "heartbeat_seconds": 300, "timeout_seconds": 86_400},
    "CompiledCron": {
        "seconds": 1,
        "days": 0xFFFF_FFFE,
        "nearest_working_days": 0,
        "last_day": False,
        "last_working_day": False,
        "months": 0b1_1111_1111_1110,
        "weekdays": 0b111_1111,
        "nth_weekdays": 0,
        "last_weekdays": 0,
        "either_day": False,
        "follows_clock": False,
        "dst_gap": "run_at_gap_end",
        "dst_overlap": "first",
    },
    "Definition": {
        "catch_up": "latest",
        "catch_up_window_seconds": 86_400,
        "overlap": "allow",
        "precision": "millisecond",
    },
    "Condition": {},
    "Deliver": {"attempt": 1, "sweeps": 0, "checked": False, "spilled": False},
    "End": {"indexed": False},
    "Entry": {},
    "Exclusion": {},
    "Execution": {"attempt": 0},
    "Fire": {},
    "HttpTarget": {"method": "POST", "timeout_seconds": 15, "private": False, "traceparent": ""},
    "Kept": {"source": "job"},
    "Meant": {},
    "NamedJob": {
        "chain_ordinal": 0,
        "series": "",
        "boundary_at": 0,
        "skips_from": 0,
        "skips_from_at": 0,
        "skips_until": 0,
        "expires_at": 0,
    },
    "Node": {"when": "succeeded", "optional": False, "delay_seconds": 0},
    "Place": {"when": "succeeded"},
    "Occurrence": {"record": "full", "sequence": 0, "is_hint": False, "precision": "millisecond"},
    "Operation": {
        "since_at": 0,
        "cancels_waiting": False,
        "stage": "RUNNING",
        "revision": 1,
        "matched": 0,
        "changed": 0,
        "passed_count": 0,
        "calls": 0,
        "uncertain": 0,
        "lease": "",
        "leased_until": 0,
        "next_at": 0,
        "failures": 0,
    },
    "Of": {"run": "0", "source": "job"},
    "Parked": {"rate": 5.0, "by_hand": False, "noted_at": 0, "swept_until": 0},
    "Parking": {"number": 0},
    "Payload": {"is_text": False},
    "Pointer": {"read_at": 0},
    "Pool": {"revision": 0, "lease_seconds": 90},
    "Present": {"by": ""},
    "PoolTarget": {"timeout_seconds": 3_600, "priority": "normal"},
    "Recurrence": {"timezone": "UTC", "jitter_seconds": 0},
    "Release": {"attempt": 1, "sweeps": 0},
    "Report": {"retryable": True},
    "RetryPolicy": {
        "max_attempts": 5,
        "backoff": "exponential",
        "initial_seconds": 5,
        "max_seconds": 3_600,
        "jitter": "full",
        "max_age_seconds": 86_400,
    },
    "Travels": {"parkings": 0, "came_back": False, "alone": False},
    "Tally": {
        "started": 0,
        "succeeded": 0,
        "failed": 0,
        "dead": 0,
        "skipped": 0,
        "expired": 0,
        "cancelled": 0,
    },
    "Turnstile": {"ended_before": "", "skips_from": 0, "revision": 1, "expires_at": 0},
    "Waited": {"cap": 0, "permit": 0, "pause": 0, "circuit": 0, "ordered": 0},
    "Waiting": {"paced": False},
    "Waits": {"paced": False, "permits": 0, "meets": 0},
    "Watch": {"attempt": 1, "sweeps": 0},
    "WorkflowTarget": {"timeout_seconds": 86_400},
}


def stored_structs() -> Iterator[type[msgspec.Struct]]:
    """All structs of the domain that leave out fields at their default, and all types of targets."""
    yield from TARGETS
    yield Payload
    for found in pkgutil.walk_packages(domain.__path__, "clockwork.domain."):
        module = importlib.import_module(found.name)
        for one in vars(module).values():
            is_own = isinstance(one, type) and issubclass(one, msgspec.Struct) and one.__module__ == found.name
            if is_own and one.__struct_config__.omit_defaults:
                yield one


STORED = {struct.__name__: struct for struct in stored_structs()}


def test_every_struct_that_leaves_something_out_is_listed() -> None:
    assert LEFT_OUT.keys() <= STORED.keys()
    assert STORED.keys() - LEFT_OUT.keys() <= {target.__name__ for target in TARGETS}


@pytest.mark.parametrize("name", STORED)
def test_what_is_left_out_means_what_it_always_has(name: str) -> None:
    defaults = {f.name: f.default for f in msgspec.structs.fields(STORED[name]) if f.default is not msgspec.NODEFAULT}
    # A default that is itself a struct is checked under its own name in the list.
    telling = {
        field: value
        for field, value in defaults.items()
        if value is not None and value != () and not isinstance(value, msgspec.Struct)
    }
    assert telling == LEFT_OUT.get(name, {})


def test_a_state_that_no_version_knows_is_not_read() -> None:
    stored = codec.encode(Execution("a000x", "a000x.1.0", "acme", 1, State.PARKED, 1, 2))
    with pytest.raises(Undecodable):
        codec.decode(stored.replace(b"\xa6PARKED", b"\xa6PORKED"), Execution)
