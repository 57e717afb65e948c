"""Operations: changes of many that the deployment carries out, their progress, and the question before one begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from clockwork_client.console import words
from clockwork_client.console.context import Asked, Broken, Context, NoSuchPage, Page
from clockwork_client.console.problems import Problem
from clockwork_client.console.reads import Found, Seen
from clockwork_client.operations import Kind, Operation
from clockwork_client.results import Execution

KINDS: tuple[str, ...] = get_args(Kind)
#: Kind -> its verb.
VERBS = {"redriveDead": "redrive", "discardDead": "discard", "pauseJobs": "pause", "resumeJobs": "resume",
         "cancelJobs": "cancel"}  # fmt: skip
_OF_DEAD = ("prefix", "from", "to")
#: Kind -> the fields of its filter. All of them go to the API, so what a button does is what the page shows.
FILTERS: Mapping[str, tuple[str, ...]] = {
    "redriveDead": _OF_DEAD,
    "discardDead": _OF_DEAD,
    "pauseJobs": ("prefix", "tag"),
    "resumeJobs": ("prefix", "tag", "paused_reason"),
    "cancelJobs": ("prefix", "tag"),
}
LABELS = {"prefix": "Key begins with", "from": "Due from", "to": "Due to", "tag": "Tag",
          "paused_reason": "Paused for this reason"}  # fmt: skip
#: Place in a request -> the field of the form.
PLACES = {"/filter/pausedReason": "paused_reason", "/filter": "prefix", "/maxPerSecond": "max_per_second"}
_LONGEST = 1_024


def show(context: Context, asked: Asked) -> Page:
    """The list."""
    found = context.source.operations(asked.client)
    model = {"seen": found, "items": found.value.items if found.value else (), "verbs": VERBS}
    return Page("operations.html", "Operations", {**model, "can_act": not context.is_read_only})


def one(context: Context, asked: Asked, operation_id: str) -> Page:
    """The progress of one. Raises Broken if it cannot be read."""
    seen = context.source.operation(asked.client, operation_id)
    if seen.value is None:
        assert seen.problem is not None
        raise Broken(seen.problem)
    found = seen.value
    model = {"seen": seen, "one": found, "verb": VERBS.get(found.kind, found.kind), "noun": noun(found.kind)}
    model |= {"says": progress(found), "labels": LABELS, "can_act": not context.is_read_only}
    return Page("operation.html", f"{model['verb']} of many".capitalize(), model)


def progress(found: Operation) -> words.Why:
    """How far an operation is, in a sentence."""
    done = f"{found.changed:,} changed of {found.matched:,} found"
    if found.state == "RUNNING":
        return words.Why("wait" if found.fault else "run", f"Running. {done} so far, more to come.")
    if found.state == "STOPPING":
        return words.Why("wait", f"Stopping. {done} so far; the call that is under way may change up to 100 more.")
    if found.state == "DONE":
        return words.Why("ok", f"Done. {done}.")
    tone, verb = ("bad", "Given up") if found.state == "FAILED" else ("skip", "Stopped")
    return words.Why(tone, f"{verb}. {done}. The others are as they were.")


def noun(kind: str) -> str:
    """One of the things that an operation changes."""
    return "job" if kind.endswith("Jobs") else "dead run"


def begin(context: Context, asked: Asked, problem: Problem | None = None) -> Page:
    """The question before an operation begins, with the number that is meant. Raises NoSuchPage for another kind."""
    given = asked.form if problem is not None else asked.query
    kind = given.get("kind", "")
    if kind not in KINDS:
        raise NoSuchPage
    which, counted = chosen(kind, given), None
    if problem is None and (kind.endswith("Dead") or which):
        counted = _counted(context, asked.client, kind, which)
    texts = {name: given.get(name, "")[:_LONGEST] for name in ("prefix", "from", "to", "tag", "paused_reason")}
    texts |= {name: given.get(name, "")[:_LONGEST] for name in ("reason", "max_per_second", "waiting")}
    model = {
        "kind": kind,
        "which": which,
        "verbs": VERBS,
        "verb": VERBS[kind],
        "noun": noun(kind),
        "fields_": FILTERS[kind],
        "labels": LABELS,
        "texts": texts,
        "editable": dict.fromkeys(texts, True),
        "counted": counted,
        "problem": problem,
        "beside": beside(problem),
        "key": context.new_key(),
        "command": command(kind, which),
    }
    return Page("begin_operation.html", f"{VERBS[kind]} many".capitalize(), model, problem.status if problem else 200)


def chosen(kind: str, given: Mapping[str, str]) -> dict[str, str]:
    """The filter in a query or a form, without what is empty."""
    return {name: given[name].strip()[:_LONGEST] for name in FILTERS[kind] if given.get(name, "").strip()}


def beside(problem: Problem | None) -> dict[str, list[str]]:
    """The faults of a refused form, by its fields."""
    found: dict[str, list[str]] = {}
    for pointer, says in problem.faults if problem is not None else ():
        name = PLACES.get(pointer) or pointer.rpartition("/")[2]
        found.setdefault(name, []).append(says)
    return found


def command(kind: str, which: Mapping[str, str]) -> str:
    """The command that does the same."""
    options = [f"--{name.replace('_', '-')} {_quoted(value)}" for name, value in which.items()]
    return " ".join(["clockwork operation begin", kind, *options])


def _counted(context: Context, client: str, kind: str, which: Mapping[str, str]) -> tuple[str, Problem | None]:
    """The number that a filter means, in words, or why it cannot be told."""
    if kind.endswith("Jobs"):
        jobs = context.source.counts(client, which.get("prefix"), which.get("tag"))
        if jobs.value is None:
            return "all that match", jobs.problem
        more = "more than " if jobs.value.more else ""
        return f"{more}{words.plural(jobs.value.count, 'job')}", jobs.problem
    dead: Seen[Found[Execution]] = context.source.dead(client, *map(which.get, _OF_DEAD))
    if dead.value is None:
        return "all that match", dead.problem
    return f"{'more than ' if dead.value.more else ''}{words.plural(len(dead.value.items), 'dead run')}", dead.problem


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"
