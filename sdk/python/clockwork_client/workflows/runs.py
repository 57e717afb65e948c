"""`cw.runs`: the runs of workflows. A run is one execution of a job whose target is a workflow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clockwork_client import objects, results
from clockwork_client.calls import segment
from clockwork_client.pages import Resource
from clockwork_client.states import ENDED
from clockwork_client.workflows.answers import RunNodes
from clockwork_client.workflows.mermaid import Drawn, mermaid
from clockwork_client.workflows.workflow import Step


class Runs(Resource):
    """Runs of workflows, each named by its executionId."""

    def get(self, execution_id: str) -> results.Execution:
        """The run as an execution. Its `run` counts the nodes by their outcomes."""
        return results.Execution(self._call("GET", _run(execution_id)))

    def nodes(self, execution_id: str) -> RunNodes:
        """The nodes of a run with their states; none if it has not begun, or is no run of a workflow."""
        return RunNodes(self._call("GET", _run(execution_id, "/nodes")))

    def cancel(self, execution_id: str) -> results.Execution:
        """Cancel a run. Its `result` is the truth; `executions` are the run and its nodes that still run."""
        return results.Execution(self._call("POST", _run(execution_id, "/cancel")))

    def redrive(
        self, execution_id: str, *, from_: str | Step | Iterable[str | Step] | None = None
    ) -> results.Execution:
        """Let the failed nodes of a DEAD run start again, with all that comes after them, and so those of `from_`.

        All others keep their results. Conflict if the run is not DEAD, Invalid for a name that is none.
        """
        given = [] if from_ is None else [from_] if isinstance(from_, str | Step) else list(from_)
        names = [one.name if isinstance(one, Step) else one for one in given]
        body = objects.fields(from_=names or None) or None
        return results.Execution(self._call("POST", _run(execution_id, "/redrive"), body))

    def mermaid(self, execution_id: str) -> str:
        """The nodes of a run and their states as a flowchart of mermaid."""
        return drawn(self.nodes(execution_id))

    def watch(self, execution_id: str, *, every: float = 2.0) -> Iterator[RunNodes]:
        """The nodes of a run, now and after each change, until the run has ended. Asked for each `every` seconds."""
        before: RunNodes | None = None
        while True:
            has_ended = self.get(execution_id).state in ENDED
            if (found := self.nodes(execution_id)) != before:
                yield found
            if has_ended:
                return
            before = found
            self._machine.sleep(every)


def drawn(nodes: RunNodes) -> str:
    """The nodes of a run as a flowchart of mermaid."""
    return mermaid(Drawn(one.name, one.after, one.when, one.state) for one in nodes.items)


def _run(execution_id: str, rest: str = "") -> str:
    return f"/v1/executions/{segment(execution_id)}{rest}"
