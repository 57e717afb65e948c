"""The form of a job, new or changed: its preview while somebody types, and the review before anything is written."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from clockwork_client.console import forms, prices, words
from clockwork_client.console.context import Asked, Broken, Context, Page
from clockwork_client.console.pages.job import fires
from clockwork_client.console.problems import Problem, problem_of
from clockwork_client.errors import ClockworkError
from clockwork_client.results import Job

#: The fires that the preview and the review show.
FIRES = 10
_NEW = {**dict.fromkeys(forms.NAMES, ""), "way": "cron", "timezone": "UTC", "payload": "{}"}
#: Words for the fields whose version the other person and the reader have.
LABELS = {
    "key": "Name",
    "way": "When",
    "cron": "Cron expression",
    "timezone": "Time zone",
    "every": "Seconds between runs",
    "at": "Instant",
    "overlap": "Overlap",
    "catch_up": "After a pause",
    "target": "Target",
    "payload": "Payload",
    "tags": "Tags",
    "rest": "Everything else",
}


class Both(NamedTuple):
    """A field that two people have: its name, the text that is stored now, and the reader's."""

    label: str
    now: str
    yours: str


def new(context: Context, asked: Asked, problem: Problem | None = None) -> Page:
    """The form of a job that does not exist yet."""
    return _form(context, asked, None, _NEW, problem)


def edit(context: Context, asked: Asked, job_id: str, problem: Problem | None = None) -> Page:
    """The form of a named job. Raises Broken if the job cannot be read, or has no definition to change."""
    job = readable(context, job_id)
    return _form(context, asked, job, forms.fields_of(job), problem)


def readable(context: Context, job_id: str) -> Job:
    """The named job as it is now. Raises Broken."""
    try:
        job = context.cw.jobs.get(job_id)
    except ClockworkError as error:
        raise Broken(problem_of(error, context.profile)) from error
    if job.job_key is None or job.state == "CANCELLED" or job.schedule is None:
        raise Broken(Problem("missing", "This job cannot be changed", "Only a named job that exists can.", status=404))
    return job


def preview(context: Context, asked: Asked) -> Page:
    """The words, the next fires and the price of the schedule in the query. Nothing is saved, or asked twice."""
    texts = {**_NEW, **{name: asked.text(name) for name in forms.NAMES if name in asked.query}}
    model: dict[str, Any] = {"says": "", "fires": [], "price": "", "problem": None}
    if not texts.get(texts["way"], "").strip():
        return Page("preview.html", "Preview", model)
    try:
        schedule = forms.definition_of({**texts, "target": "-", "payload": "", "tags": "", "rest": ""})["schedule"]
    except forms.Faulty as fault:
        model["problem"] = Problem("refused", "Not yet a schedule", fault.faults[0][1], status=422)
        return Page("preview.html", "Preview", model)
    seen = context.source.preview(schedule, FIRES)
    model["problem"] = seen.problem
    if seen.value is not None:
        listed = seen.value.next_fires
        at = [one.at for one in listed]
        model |= {"says": seen.value.description, "fires": fires(listed) if listed else []}
        model["price"] = prices.price(recurs=texts["way"] != "at", overlap=texts["overlap"], fires=at).says
    return Page("preview.html", "Preview", model)


def review(context: Context, asked: Asked, job: Job | None, before: Any, after: Any, foretold: Job) -> Page:
    """The change, the fires that would follow, and the fate of executions in flight."""
    listed = foretold.next_fires or ()
    recurs = "at" not in after["schedule"] and "delaySeconds" not in after["schedule"]
    priced = prices.price(
        recurs=recurs,
        overlap=after["schedule"].get("overlap", "allow"),
        is_pooled=after["target"].get("type") == "pool",
        fires=[one.at for one in listed],
    )
    model = {
        "job": job,
        "foretold": foretold,
        "differences": list(forms.differences(before, after)),
        "fires": fires(listed) if listed else [],
        "price": priced.says,
        "flight": in_flight(foretold),
        "command": command(job, before, after, asked.form.get("key", "")),
        "fields": kept(asked.form),
        "revision": job.revision if job else "",
        "key": asked.form.get("idempotency_key") or context.new_key(),
        "is_same": job is not None and before == after,
    }
    return Page("review.html", f"Review {job.job_key}" if job else "Review a new job", model)


def in_flight(foretold: Job) -> list[str]:
    """The fate of executions in flight, in sentences."""
    counts = (
        (foretold.executions_count, "is under way, and goes on", "are under way, and go on"),
        (foretold.goes_on_count, "waits, and goes on by the new definition", "wait, and go on by the new definition"),
        (foretold.ended_count, "waits, and ends without an attempt", "wait, and end without an attempt"),
        (foretold.released_count, "is due, and starts before the change", "are due, and start before the change"),
    )
    return [
        f"{words.plural(count, 'execution')} {one if count == 1 else many}." for count, one, many in counts if count
    ]


def conflict(context: Context, asked: Asked, job: Job, problem: Problem) -> Page:
    """The form again, with both versions of each field that the reader or somebody else has changed."""
    now = forms.fields_of(job)
    yours = forms.merged(asked.form, now)
    both = [Both(LABELS[name], now[name], yours[name]) for name in forms.NAMES if now[name] != yours[name]]
    trail = context.source.trail(job.client_id).value
    last = next((one for one in (trail.items if trail else ()) if one.job_id == job.job_id and not one.refused), None)
    return _form(context, asked, job, now, problem, {"both": both, "last": last})


def command(job: Job | None, before: Any, after: Any, key: str) -> str:
    """The command that does the same."""
    if job is None:
        named = f" --key {shlex.quote(key)}" if key else ""
        return f"clockwork job create{named} ..."
    patch = json.dumps(forms.patch_of(before, after), ensure_ascii=True)
    return f"clockwork job update {job.job_id} --if-revision {job.revision} --patch {shlex.quote(patch)}"


def kept(form: Mapping[str, str]) -> dict[str, str]:
    """The fields of the form that go on to the next step."""
    names = {*forms.NAMES, *(f"was_{name}" for name in forms.NAMES)}
    return {name: value for name, value in form.items() if name in names}


def _form(
    context: Context,
    asked: Asked,
    job: Job | None,
    now: Mapping[str, str],
    problem: Problem | None,
    more: Mapping[str, Any] | None = None,
) -> Page:
    typed = forms.merged(asked.form, now) if asked.form else dict(now)
    beside: dict[str, list[str]] = {}
    for pointer, says in problem.faults if problem else ():
        beside.setdefault(forms.field_of(pointer), []).append(says)
    model = {
        "job": job,
        "texts": typed,
        "was": {name: forms.digest(now[name]) for name in forms.NAMES},
        "editable": {name: forms.is_editable(typed[name]) for name in forms.NAMES},
        "beside": beside,
        "problem": problem,
        "labels": LABELS,
        "key": asked.form.get("idempotency_key") or context.new_key(),
        "both": [],
        "last": None,
        **(more or {}),
    }
    title = f"Change {job.job_key}" if job else "New job"
    return Page("edit.html", title, model, problem.status if problem else 200)
