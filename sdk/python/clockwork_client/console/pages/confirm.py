"""The question before a job is paused or cancelled, and the form with its faults after a refusal."""

from __future__ import annotations

from clockwork_client.console.context import Asked, Broken, Context, NoSuchPage, Page
from clockwork_client.console.problems import Problem

#: Verb -> the command that does the same, before the id of its job.
COMMANDS = {
    "pause": "clockwork job pause",
    "cancel": "clockwork job cancel",
    "run": "clockwork job run",
    "resume": "clockwork job resume",
}


def show(context: Context, asked: Asked, job_id: str, verb: str, problem: Problem | None = None) -> Page:
    """The page. Raises NoSuchPage for another verb, and Broken if the job cannot be read."""
    if verb not in COMMANDS:
        raise NoSuchPage
    job = context.source.job(job_id)
    if job.value is None:
        assert job.problem is not None
        raise Broken(job.problem)
    model = {
        "j": job.value,
        "verb": verb,
        "reason": asked.form.get("reason", ""),
        "problem": problem,
        "command": f"{COMMANDS[verb]} {job_id}",
        "key": context.new_key(),
    }
    return Page("confirm_job.html", f"{verb.capitalize()} {job.value.job_key or 'this job'}", model,
                problem.status if problem else 200)  # fmt: skip
