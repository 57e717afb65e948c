"""One execution: its state, what it waits for, its attempts, and its waits by cause."""

from __future__ import annotations

from clockwork_client.console import shapes, words
from clockwork_client.console.context import Asked, Broken, Context, Page
from clockwork_client.console.pages import run


def show(context: Context, asked: Asked, execution_id: str) -> Page:  # noqa: ARG001 - as all pages
    """The page. Raises Broken if the execution cannot be read."""
    source = context.source
    execution = source.execution(execution_id)
    one = execution.value
    if one is None:
        assert execution.problem is not None
        raise Broken(execution.problem)
    # The job of an old execution may be forgotten. Its page is then without a name, and still has everything else.
    job = source.job(one.job_id)
    model = {
        "execution": execution,
        "one": one,
        "job": job.value,
        "causes": words.causes(one),
        "bars": shapes.shares(words.causes(one)),
        "is_final": one.state in words.FINAL,
        "can_act": not context.is_read_only,
        **run.parts(context, one),
    }
    return Page(
        "execution.html", f"{job.value.job_key if job.value and job.value.job_key else 'One-off job'}: a run", model
    )
