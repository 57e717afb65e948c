"""The actions of buttons: one call of the API, and a true sentence about its result.

How it fails. A refusal is a sentence above the page, or beside its field. A call without a certain answer shows the
same button with the same idempotency key: a repeat does nothing twice. After each action all reads are made anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from clockwork_client.console import words
from clockwork_client.console.context import Asked, Context, NoSuchPage, Page
from clockwork_client.console.flashes import Flash, Repeat
from clockwork_client.console.forms import finite
from clockwork_client.console.pages import admin, confirm, operations
from clockwork_client.console.problems import Problem, problem_of
from clockwork_client.console.view import at
from clockwork_client.errors import ClockworkError, NotCertain, NotReached, UnexpectedAnswer
from clockwork_client.results import Execution

#: An idempotency key of the console.
KEY = re.compile(r"[0-9a-f]{32}")
#: Verb -> the words of its button.
LABELS = {"run": "Run now", "pause": "Pause", "resume": "Resume", "cancel": "Cancel", "redrive": "Redrive",
          "discard": "Discard"}  # fmt: skip


class Done(NamedTuple):
    """An action is over: its result stands on the page at `path`."""

    path: str
    flash: Flash


class Faulty(Exception):
    """The fields of a form have faults: the form is shown again, with each fault beside its field."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.says)
        self.problem = problem


def on_job(context: Context, asked: Asked, job_id: str, verb: str) -> Done | Page:
    """Run, pause, resume or cancel a job. Raises NoSuchPage for another verb."""
    jobs, reason = context.cw.jobs, asked.form.get("reason", "").strip() or None
    key = _key(context, asked)

    def run() -> Flash:
        jobs.run(job_id, idempotency_key=key)
        return Flash("ok", "A run was asked for. It starts within seconds.")

    def pause() -> Flash:
        jobs.pause(job_id, reason)
        return Flash("ok", "Paused. What was due before goes on. Nothing due later fires until somebody resumes it.")

    def resume() -> Flash:
        found = jobs.resume(job_id, reason)
        next_ = f" The next fire is at {words.instant(found.next_fire_at)}." if found.next_fire_at else ""
        return Flash("ok", f"Resumed.{next_}")

    def cancel() -> Flash:
        return Flash(*words.cancelled(jobs.cancel(job_id)))

    calls = {"run": run, "pause": pause, "resume": resume, "cancel": cancel}
    if verb not in calls:
        raise NoSuchPage
    repeat = Repeat(asked.path, LABELS[verb], {**_kept(asked.form), "key": key})
    try:
        return Done(at("jobs", job_id), _tried(context, calls[verb], repeat))
    except Faulty as error:
        return confirm.show(context, asked, job_id, verb, error.problem)


def on_execution(context: Context, asked: Asked, execution_id: str, verb: str) -> Done:
    """Cancel, redrive or discard one execution. Raises NoSuchPage for another verb."""
    executions = context.cw.executions

    def cancel() -> Flash:
        found = executions.cancel(execution_id)
        return Flash(*_cancelled(found))

    def redrive() -> Flash:
        if asked.form.get("from"):
            context.cw.runs.redrive(execution_id, from_=asked.form["from"])
            return Flash("ok", "Its nodes start again, as the question said.")
        executions.redrive(execution_id, as_it_was=asked.form.get("as_it_was") == "yes" or None)
        return Flash("ok", "It will be delivered again, with a fresh budget of attempts.")

    calls = {"cancel": cancel, "redrive": redrive, "discard": lambda: _discard(context, execution_id)}
    if verb not in calls:
        raise NoSuchPage
    path = at("executions", execution_id)
    repeat = Repeat(asked.path, LABELS[verb], _kept(asked.form))
    try:
        return Done(path, _tried(context, calls[verb], repeat))
    except Faulty as error:
        return Done(path, Flash("bad", f"{error.problem.title}: {error.problem.says}"))


def on_client(context: Context, asked: Asked, client_id: str, verb: str) -> Done | Page:
    """Pause or resume a client, as an admin. Raises NoSuchPage for another verb."""
    clients, reason = context.cw.clients, asked.form.get("reason", "").strip() or None

    def pause() -> Flash:
        clients.pause(client_id, reason=reason)
        return Flash("ok", f"{client_id} is paused. What comes due is parked.")

    def resume() -> Flash:
        clients.resume(client_id, reason=reason)
        return Flash("ok", f"{client_id} is resumed. What was parked starts on a ramp.")

    calls = {"pause": pause, "resume": resume}
    if verb not in calls:
        raise NoSuchPage
    try:
        return Done("/clients", _tried(context, calls[verb], Repeat(asked.path, LABELS[verb], _kept(asked.form))))
    except Faulty as error:
        return admin.confirm(context, asked, client_id, verb, error.problem)


def on_begin(context: Context, asked: Asked) -> Done | Page:
    """Begin an operation on many. Raises NoSuchPage for another kind."""
    kind = asked.form.get("kind", "")
    if kind not in operations.KINDS:
        raise NoSuchPage
    which = operations.chosen(kind, asked.form)
    filters = {"from_" if name == "from" else name: value for name, value in which.items()}
    key, begun = _key(context, asked), list[str]()
    rate = asked.form.get("max_per_second", "").strip()

    def begin() -> Flash:
        found = context.cw.operations.begin(
            kind,  # type: ignore[arg-type]
            **filters,
            waiting="cancel" if asked.form.get("waiting") == "cancel" else None,
            max_per_second=_number(rate),
            reason=asked.form.get("reason", "").strip() or None,
            client_id=asked.client,
            idempotency_key=key,
        )
        begun.append(found.operation_id)
        return Flash("ok", "It begins within a minute.")

    kept = {name: value for name, value in asked.form.items() if name != "_token"}
    repeat = Repeat(asked.path, LABELS[operations.VERBS[kind]], {**kept, "key": key})
    try:
        flash = _tried(context, begin, repeat)
    except Faulty as error:
        return operations.begin(context, asked, error.problem)
    return Done(at("operations", *begun), flash)


def on_stop(context: Context, asked: Asked, operation_id: str) -> Done:
    """Stop an operation."""

    def stop() -> Flash:
        found = context.cw.operations.stop(operation_id, client_id=asked.client)
        if found.state == "STOPPING":
            return Flash("wait", "It stops behind the call that is under way, of up to 100 items.")
        return Flash("ok", "Nothing more is changed.")

    path = at("operations", operation_id)
    return Done(path, _tried(context, stop, Repeat(asked.path, "Stop", {})))


def _number(text: str) -> float | None:
    """The number that somebody typed; 0, which the API refuses beside its field, if it is none."""
    try:
        return finite(text) if text else None
    except ValueError:
        return 0


def choose_client(context: Context, asked: Asked) -> Done:
    """From now on the pages are about another client, if it is one of the caller's."""
    client = asked.form.get("client", "")[:256]
    known = context.source.clients().value or ()
    if client not in known:
        return Done("/", Flash("bad", "You act for no client of that name."))
    context.choose(asked.session, client)
    return Done("/", Flash("ok", f"The pages are about {client} now."))


def _tried(context: Context, call: Callable[[], Flash], repeat: Repeat) -> Flash:
    """The result of a call. Raises Faulty if fields have faults."""
    try:
        return call()
    except NotReached as error:
        problem = problem_of(error, context.profile)
        return Flash("bad", "The API could not be reached, so nothing was done.", problem.command, repeat)
    except (NotCertain, UnexpectedAnswer):
        return Flash("wait", "Nobody knows whether it was done. A repeat is safe:", "", repeat)
    except ClockworkError as error:
        problem = problem_of(error, context.profile)
        if problem.status == 422:
            raise Faulty(problem) from error
        again = repeat if problem.kind in ("busy", "credentials") else None
        return Flash("bad", f"{problem.title}: {problem.says}", problem.command, again)
    finally:
        context.source.forget()


def _discard(context: Context, execution_id: str) -> Flash:
    """Discard one dead execution. The API discards by instant: others that share it would go with it."""
    one = context.cw.executions.get(execution_id)
    job = context.source.job(one.job_id).value
    prefix = job.job_key if job is not None else None
    client = job.client_id if job is not None else context.cw.client_id
    due = one.raw["dueAt"]
    meant = list(context.cw.dead.list(prefix=prefix, from_=due, to=due, client_id=client))
    if [each.execution_id for each in meant] != [execution_id]:
        return Flash("bad", f"Nothing was discarded: {words.plural(len(meant), 'dead execution')} would be meant, "
                     "since they share an instant. Discard them by a filter.", "clockwork dead discard")  # fmt: skip
    context.cw.dead.discard(prefix=prefix, from_=due, to=due, client_id=client)  # type: ignore[arg-type]
    return Flash("ok", "Discarded.")


def _cancelled(found: Execution) -> words.Why:
    last = found.attempts[-1] if found.attempts else None
    if found.result == "cancelled":
        return words.Why("ok", "Cancelled. No attempt of it starts after this moment.")
    if found.result == "running" and found.executions is not None:
        nodes = words.plural(sum(one.execution_id != found.execution_id for one in found.executions), "node")
        return words.Why("run", f"Stopped. {nodes} of it may still run. None starts after this moment.")
    if found.result == "running" and last is not None:
        return words.Why(
            "run", f"Attempt {last.number} started {words.instant(last.started_at)} and may still arrive. None follows."
        )
    return words.Why("skip", f"It had ended: {words.state(found.state)}.")


def _key(context: Context, asked: Asked) -> str:
    given = asked.form.get("key", "")
    return given if KEY.fullmatch(given) else context.new_key()


def _kept(form: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in form.items() if name in ("reason", "key", "as_it_was", "from")}
