"""The workflow that stands for a job at Temporal; the sandbox imports this file again for each run, so it is small."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow

#: How long a run of a job may take before it is started again. Temporal has no default.
TIMEOUT = timedelta(seconds=15)


@workflow.defn
class Deliver:
    """One activity, which posts to the job's url; without a url nothing, to show that a worker is there."""

    @workflow.run
    async def run(self, url: str) -> None:
        """Do it."""
        if url:
            await workflow.execute_activity("deliver", url, start_to_close_timeout=TIMEOUT)
