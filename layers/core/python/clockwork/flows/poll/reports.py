"""The reports of the visits of one invocation, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clockwork.flows.poll.visit import PollReport


def summed(reports: Sequence[PollReport]) -> PollReport:
    """One report of several visits: the sums of their counts, and the nearest horizon."""
    ahead_ms = [report.horizon_ahead_ms for report in reports if report.horizon_ahead_ms is not None]
    return PollReport(
        released=sum(report.released for report in reports),
        dead=sum(report.dead for report in reports),
        expired=sum(report.expired for report in reports),
        set_aside=sum(report.set_aside for report in reports),
        quarantined=sum(report.quarantined for report in reports),
        horizon_ahead_ms=min(ahead_ms, default=None),
    )


def by_outcome(reports: Mapping[str, PollReport]) -> Mapping[str, Sequence[str]]:
    """The shards by what became of their visits."""
    outcomes = sorted({report.outcome for report in reports.values()})
    return {outcome: [one for one, report in reports.items() if report.outcome == outcome] for outcome in outcomes}
