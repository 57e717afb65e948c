"""The next fires of one job, with the shifts of the clock among them."""

from __future__ import annotations

from clockwork_client.console.context import Asked, Broken, Context, Page
from clockwork_client.console.pages.job import fires


def show(context: Context, asked: Asked, job_id: str) -> Page:  # noqa: ARG001 - as all pages
    """The page. Raises Broken if the job cannot be read."""
    job = context.source.job(job_id)
    if job.value is None:
        assert job.problem is not None
        raise Broken(job.problem)
    found = context.source.fires(job.value)
    if found.value is None:
        assert found.problem is not None
        raise Broken(found.problem)
    listed = [one for one in fires(found.value.items) if one.at >= context.now()]
    model = {"j": job.value, "seen": found, "fires": listed, "more": found.value.more}
    return Page("fires.html", f"Fires of {job.value.job_key}", model)
