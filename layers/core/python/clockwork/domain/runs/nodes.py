"""The nodes of a run: their ids, their releases, and the contexts of their payloads and conditions.

Ids derive from run, generation and index. The release of a node can therefore be repeated by anybody, and its claim
absorbs the repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.domain.ids import NodeJob, only_execution
from clockwork.domain.instants import to_text
from clockwork.domain.jobs import NodeOf, Occurrence
from clockwork.domain.releases import Deliver, Of, Watch
from clockwork.domain.runs.beginning import WINDS_DOWN_MS, deadline_of, occurrence_of
from clockwork.domain.workflows.contexts import ancestors_named
from clockwork.domain.workflows.graph import Mark, ancestors_of, counted, is_unreached
from clockwork.domain.workflows.progress import Marks, Sets
from clockwork.targets.message import Payload

#: The state of a node that has no record, in contexts and answers.
SKIPPED, UNREACHED, NOT_STARTED = "SKIPPED", "UNREACHED", "CANCELLED"
#: By index: the records of nodes, or None for one that has none.
Records = Mapping[int, Execution | None]


def ref_of(run: Execution, sets: Sets, index: int) -> tuple[str, str]:
    """The jobId and executionId of a node in its generation. The shard of a named job may be another one by now."""
    job_id = NodeJob(sets.partition_id, sets.run_id, sets.generations[index], index).job_id
    return job_id, only_execution(job_id, run.due_at)


def watch_of_end(made: Deliver, ended: Execution, now: int) -> Watch:
    """The watch by which a deliverer notes that a node has ended. `made`: a release of the node without payload."""
    return Watch(made.of, made.occurrence, now, ended.attempt)


def mark_of(record: Execution) -> Mark:
    """The mark of a node whose execution has ended."""
    return "ok" if record.state is State.SUCCEEDED else "bad"


def marks_of(found: Mapping[int, Mark]) -> Marks:
    """Marks by number, as they are added."""
    sets: dict[Mark, set[int]] = {"ok": set(), "bad": set(), "off": set()}
    for number, mark in found.items():
        sets[mark].add(number)
    return Marks(frozenset(sets["ok"]), frozenset(sets["bad"]), frozenset(sets["off"]))


def read_by(run: Execution, indexes: Collection[int]) -> frozenset[int]:
    """The nodes whose records the contexts of these nodes need: those that they name, or else all that come before."""
    _, target = occurrence_of(run)
    names = list(target.nodes)
    after = {name: node.after for name, node in target.nodes.items()}
    needed: set[str] = set()
    for index in indexes:
        node = target.nodes[names[index]]
        needed |= ancestors_named(node)
        if node.payload is None:
            needed |= ancestors_of(after, names[index])
    return frozenset(names.index(name) for name in needed)


def context_of(run: Execution, sets: Sets, records: Records, index: int) -> dict[str, Any]:
    """The context of a node: the input, the run, and the ancestors of which records were read."""
    occurrence, target = occurrence_of(run)
    names = list(target.nodes)
    before = ancestors_of({name: node.after for name, node in target.nodes.items()}, names[index])
    facts = {"executionId": run.execution_id, "dueAt": to_text(run.due_at), "generation": sets.generation}
    nodes = {names[one]: _facts_of(run, sets, one, records[one]) for one in records if names[one] in before}
    return {"input": _input_of(occurrence.payload), "run": facts, "nodes": nodes}


def _input_of(payload: Payload) -> Any:
    return payload.body.decode() if payload.is_text else msgspec.json.decode(payload.body)


def _facts_of(run: Execution, sets: Sets, index: int, record: Execution | None) -> dict[str, Any]:
    """The facts of an ancestor. It has no executionId if it did not run, and no result if its record is gone."""
    marks = sets.outcomes()
    mark = marks.get(index)
    if mark == "off":
        unreached = is_unreached(sets.nodes, counted(sets.nodes, marks), index)
        return {"state": UNREACHED if unreached else SKIPPED}
    facts: dict[str, Any] = {"executionId": ref_of(run, sets, index)[1]}
    if record is None:
        return {**facts, "state": str(State.SUCCEEDED) if mark == "ok" else NOT_STARTED}
    facts["state"] = str(record.state)
    report = record.end.report
    if record.state is State.SUCCEEDED:
        return facts if report is None or report.result is None else {**facts, "result": _json(report.result)}
    error = record.attempts[-1].error if record.attempts else None
    return {**facts, "error": error or record.reason}


def _json(result: bytes) -> Any:
    return msgspec.json.decode(result)


def release_node(run: Execution, sets: Sets, index: int, payload: Payload, now: int, retention_days: int) -> Deliver:
    """The release of a node. Its window, its age and its lateness count from the end of its delay.

    `now` (ms): when the client of the run was asked for. `retention_days`: how long records are kept if the client does
    not say. A node's record is kept for as long as its run may still read it.
    """
    occurrence, target = occurrence_of(run)
    name, node = list(target.nodes.items())[index]
    delay_ms = round(node.delay_seconds * 1000)
    window, policy = node.relevancy_window_seconds, node.retry_policy
    left_days = -(-max(0, deadline_of(run) + WINDS_DOWN_MS - now) // DAY_MS)
    job_id, _ = ref_of(run, sets, index)
    due = Occurrence(
        client_id=run.client_id,
        due_at=run.due_at,
        created_at=now,
        target=node.target,
        payload=payload,
        retry_policy=msgspec.structs.replace(policy, max_age_seconds=policy.max_age_seconds + node.delay_seconds),
        signing_secrets=occurrence.signing_secrets if node.target.is_signed else (),
        tags=occurrence.tags,
        relevancy_window_seconds=None if window is None else window + node.delay_seconds,
        precision=occurrence.precision,
        retention_days=left_days + (occurrence.retention_days or retention_days),
        completion=node.completion,
        held_from=now + delay_ms if delay_ms else None,
    )
    # Another deliverer may have begun the run, by a clock that is ahead of this one.
    return Deliver(Of(job_id, node=NodeOf(run.execution_id, name)), due, max(now, run.due_at) + delay_ms)
