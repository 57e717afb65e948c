"""The steps of the form of a job: back to the form, a review, and then the write.

How it fails. A field with a fault, or one that the API refuses, is shown beside its field, with everything that was
typed. Somebody else has changed the job meanwhile: the form shows both versions, and nothing was written. The answer of
the write is lost: a new job has its key, so a repeat makes no second one. A change names its revision. A repeat of a
change that was made is refused as a conflict, and the form shows that nothing differs.
"""

from __future__ import annotations

from collections.abc import Callable

from clockwork_client.console import forms, words
from clockwork_client.console.actions import KEY, Done
from clockwork_client.console.context import Asked, Broken, Context, Page
from clockwork_client.console.flashes import Flash, Repeat
from clockwork_client.console.pages import edit
from clockwork_client.console.problems import Problem, problem_of
from clockwork_client.console.view import at
from clockwork_client.errors import ClockworkError, NotCertain, UnexpectedAnswer
from clockwork_client.results import Job

Again = Callable[[Problem], Page]


def on_new(context: Context, asked: Asked) -> Done | Page:
    """A step of the form of a new job."""

    def again(problem: Problem | None = None) -> Page:
        return edit.new(context, asked, problem)

    if asked.form.get("step") == "back":
        return again()
    try:
        after = forms.definition_of({**dict.fromkeys(forms.NAMES, ""), **asked.form})
    except forms.Faulty as faulty:
        return again(_problem(faulty))
    body = {**after, "clientId": asked.client}
    if name := asked.form.get("key", "").strip():
        body["jobKey"] = name
    key = asked.form.get("idempotency_key", "")
    key = key if KEY.fullmatch(key) else context.new_key()
    if asked.form.get("step") != "write":
        return _foretold(
            context,
            lambda: context.cw.create(body, dry_run=True),
            lambda found: edit.review(context, asked, None, {}, after, found),
            again,
        )

    def written() -> Done:
        made = context.cw.create(body, idempotency_key=key)
        return Done(at("jobs", made.job_id), Flash("ok", _made(made)))

    return _done(context, written, again, Repeat(asked.path, "Create", _again(asked, key)), "/jobs")


def on_edit(context: Context, asked: Asked, job_id: str) -> Done | Page:
    """A step of the form of a named job. Raises Broken if the job cannot be read."""
    job = edit.readable(context, job_id)

    def again(problem: Problem | None = None) -> Page:
        if problem is not None and problem.status == 409:
            return edit.conflict(context, asked, edit.readable(context, job_id), problem)
        return edit.edit(context, asked, job_id, problem)

    if asked.form.get("step") == "back":
        return again()
    revision, now = asked.form.get("revision", ""), forms.fields_of(job)
    if revision != f"{job.revision}":
        says = f"You opened revision {revision or 'unknown'}, and it is at revision {job.revision} now."
        return again(Problem("refused", "Somebody changed it meanwhile", says, status=409))
    try:
        before, after = forms.definition_of(now), forms.definition_of(forms.merged(asked.form, now))
    except forms.Faulty as faulty:
        return again(_problem(faulty))
    patch = forms.patch_of(before, after)
    if asked.form.get("step") != "write":
        return _foretold(
            context,
            lambda: context.cw.jobs.patch(job_id, patch, if_revision=job.revision, dry_run=True),
            lambda found: edit.review(context, asked, job, before, after, found),
            again,
        )

    def written() -> Done:
        found = context.cw.jobs.patch(job_id, patch, if_revision=job.revision)
        return Done(at("jobs", job_id), Flash("ok", _changed(found)))

    return _done(context, written, again, Repeat(asked.path, "Write", _again(asked, "")), at("jobs", job_id))


def _foretold(context: Context, ask: Callable[[], Job], show: Callable[[Job], Page], again: Again) -> Page:
    """The review by the answer to a dry run, or the form with the refusal."""
    try:
        return show(ask())
    except ClockworkError as error:
        return again(problem_of(error, context.profile))


def _done(context: Context, write: Callable[[], Done], again: Again, repeat: Repeat, path: str) -> Done | Page:
    try:
        return write()
    except (NotCertain, UnexpectedAnswer):
        return Done(path, Flash("wait", "Nobody knows whether it was done. A repeat is safe:", "", repeat))
    except ClockworkError as error:
        problem = problem_of(error, context.profile)
        if problem.is_of_all:
            raise Broken(problem) from error
        return again(problem)
    finally:
        context.source.forget()


def _again(asked: Asked, key: str) -> dict[str, str]:
    more = {"step": "write", "revision": asked.form.get("revision", ""), "idempotency_key": key}
    return {**edit.kept(asked.form), **more}


def _problem(faulty: forms.Faulty) -> Problem:
    return Problem("refused", "Some fields have faults", "Nothing was written.", status=422, faults=faulty.faults)


def _made(job: Job) -> str:
    due = job.next_fire_at or job.due_at
    return f"It was created. It fires first at {words.instant(due)}." if due else "It was created."


def _changed(job: Job) -> str:
    if job.changed is False:
        return "It was so already: nothing was written."
    due = f" The next fire is at {words.instant(job.next_fire_at)}." if job.next_fire_at else ""
    return f"It was changed: revision {job.revision}.{due}"
