"""Ports of a dry run: reads reach the store, and a write is answered as if it had been made.

How it fails. A flow makes a call that is neither in `READS` nor answered here: the call raises, and the dry run is
refused with 500. A new write therefore never reaches a store by way of a dry run. Another writer comes between the
reads: the answer is about the state that was read, as any answer about the future is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from clockwork.domain.executions import Execution
from clockwork.domain.workflows.progress import Marks, Sets
from clockwork.ports.tables import Saved

#: The calls that change nothing, by port.
READS: dict[str, frozenset[str]] = {
    "timeline": frozenset({"find", "read"}),
    "shards": frozenset({"list", "all", "get"}),
    "jobs": frozenset({"get", "list"}),
    "executions": frozenset({"find", "get", "list", "between", "dead", "retrying"}),
    "clients": frozenset({"get", "list", "of_principal", "admins"}),
    "pools": frozenset({"get"}),
    "turnstiles": frozenset({"get"}),
    "runs": frozenset({"get"}),
    "regulation": frozenset({"circuits", "created", "taken"}),
    "signing_secrets": frozenset({"exists"}),
    "backlog": frozenset({"waiting"}),
}


class NotDry(Exception):
    """A dry run came to a call that might change something, and for which no answer is known."""


def dry(name: str, inner: Any) -> Any:
    """The port of this name, over the port `inner`, for a dry run."""
    return _DRY.get(name, Dry)(name, inner)


class Dry:
    """Any port of a dry run: its reads alone."""

    def __init__(self, name: str, inner: Any) -> None:
        self._name = name
        self._inner = inner

    def __getattr__(self, call: str) -> Callable[..., Any]:
        if call not in READS.get(self._name, ()):
            raise NotDry(f"{self._name}.{call}")
        return getattr(self._inner, call)  # type: ignore[no-any-return]


def _nothing(*_: object, **__: object) -> None:
    """A write that has no answer."""


def _taken(*_: object, **__: object) -> bool:
    """A write that no other writer came before."""
    return True


class _Timeline(Dry):
    put = put_new = forget = staticmethod(_nothing)

    def cancel(self, partition_id: str, key: str, element: int) -> bool:  # noqa: ARG002 - as the port has it
        return self._inner.find([(partition_id, key)])[0] is not None


class _Shards(Dry):
    register = staticmethod(_nothing)
    change = staticmethod(_taken)

    def ordered_count(self, first: int) -> int:
        return first


class _Executions(Dry):
    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        return [Saved(ok=True) for _ in changes]


class _Jobs(Dry):
    save = staticmethod(_taken)


class _Turnstiles(Dry):
    put = staticmethod(_taken)


class _Releases(Dry):
    def send(self, *_: object) -> Sequence[Any]:
        return ()


class _Runs(Dry):
    """Sets of runs as they would be: whoever adds a mark goes on by the answer of its own addition."""

    def __init__(self, name: str, inner: Any) -> None:
        super().__init__(name, inner)
        self._written: dict[str, Sets] = {}

    def put_new(self, sets: Sets) -> bool:
        return self._written.setdefault(sets.run_id, sets) is sets

    def stop(self, run_id: str, generation: int) -> Sets | None:
        found = self._found(run_id)
        return found and self._put(msgspec.structs.replace(found, stop=max(found.stop, generation)))

    def add(self, run_id: str, marks: Marks) -> Sets | None:
        found = self._found(run_id)
        return found and self._put(msgspec.structs.replace(found, marks=found.marks | marks))

    def _put(self, sets: Sets) -> Sets:
        self._written[sets.run_id] = sets
        return sets

    def _found(self, run_id: str) -> Sets | None:
        if run_id not in self._written and isinstance(stored := self._inner.get([run_id])[0], Sets):
            self._written[run_id] = stored
        return self._written.get(run_id)


class _Invoker(Dry):
    poll = poll_together = sweep = staticmethod(_nothing)


class _Regulation(Dry):
    count_created = staticmethod(_taken)
    note_parked = staticmethod(_nothing)


class _Trail(Dry):
    note = staticmethod(_nothing)


class _KeyRows(Dry):
    def claim(self, row: Any, now: int) -> Any:  # noqa: ARG002 - as the port has it
        return row


_DRY: dict[str, type[Dry]] = {
    "timeline": _Timeline,
    "shards": _Shards,
    "executions": _Executions,
    "jobs": _Jobs,
    "turnstiles": _Turnstiles,
    "releases": _Releases,
    "runs": _Runs,
    "invoker": _Invoker,
    "regulation": _Regulation,
    "trail": _Trail,
    "key_rows": _KeyRows,
}
