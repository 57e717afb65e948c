"""Checks of the stack itself: its deployment, its Lambdas, its queues, its metrics, its bill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from bench.arrivals.percentiles import percentile
from tests.smoke.evidence import Evidence
from tests.smoke.plan import Kind
from tests.smoke.scale import Bounds

#: The metrics that Lambdas write whatever they have to do, and that every smoke asks for.
METRICS = frozenset(
    {
        *("Accepted", "LatenessMs", "OwnLatenessMs", "Delivered", "Failed", "Released", "WaitedOrderedMs"),
        *("Ticks", "PollersStarted", "Polls", "CursorLagMs", "HorizonAheadMs", "Sweeps"),
    }
)
#: Metrics that are defects wherever nobody dies.
DEFECTS = ("FaultsContained", "Stuck", "SetAside", "SettingsRefused", "ChainsRepaired")
#: An invocation may last for so long after one of its deliveries has arrived.
HANDS_MS = 5_000


def deploy(seen: Evidence) -> Iterator[str]:
    """While the version of every Lambda changes nothing is lost or delivered twice at level full."""
    upgrade = seen.upgrade
    same = [moment for moment, version in upgrade.before.items() if upgrade.after.get(moment) == version]
    if same or not upgrade.before:
        yield f"no other version of {', '.join(same) or 'any Lambda'} is live after the deployment"
    meanwhile = [p for p in seen.promises if upgrade.meets(p.key.due_at)]
    if not meanwhile:
        yield "nothing was due meanwhile"
    found = seen.audit_of(meanwhile)
    if found.lost:
        yield f"{len(found.lost)} of {len(meanwhile)} that were due meanwhile are lost"
    if found.duplicates["full"]:
        yield f"{len(found.duplicates['full'])} of {len(meanwhile)} that were due meanwhile came twice at level full"


def fellows(seen: Evidence) -> Counter[int]:
    """Invocations of deliverers by the number of their messages."""
    return Counter(count for _, count in seen.told.deliveries if count)


def fellows_of_the_herd(seen: Evidence) -> Counter[int]:
    """The same of the invocations that may have held messages of a herd."""
    herd = {promise.key for promise in seen.of(Kind.HERD)}
    ends: dict[int, int] = {}
    for arrival in seen.arrivals:
        if arrival.key in herd:
            ends[arrival.key.due_at] = arrival.at + HANDS_MS
    return Counter(
        n for at, n in seen.told.deliveries if n and any(due_at <= at <= end for due_at, end in ends.items())
    )


def messages_per_invocation(seen: Evidence, bounds: Bounds) -> Iterator[str]:
    """The messages of a herd share invocations: what a herd costs is reckoned like that."""
    some = list(fellows_of_the_herd(seen).elements())
    if not some:
        yield "no deliverer had a message of the herd in hand"
    elif (mean := sum(n * n for n in some) / sum(some)) < bounds.herd_messages:
        yield f"a message of the herd was one of {mean:.1f} in its invocation, fewer than {bounds.herd_messages:g}"


def sqs_delay(seen: Evidence, bounds: Bounds) -> Iterator[str]:
    """SQS shows a delayed message about when its delay ends: a deliverer holds what comes up to a second early."""
    errors = seen.delay_errors_ms
    if len(errors) < seen.delays or not errors:
        yield f"{len(errors)} of {seen.delays} delayed messages came"
        return
    if errors[0] < -bounds.delay_early_ms:
        yield f"a delay ended {-errors[0]} ms early, more than {bounds.delay_early_ms}"
    if (late := percentile(errors, 0.99)) > bounds.delay_late_ms:
        yield f"p99 of delays ended {late:.0f} ms late, more than {bounds.delay_late_ms}"


def fifo_hiding(seen: Evidence) -> Iterator[str]:
    """While the head of a message group is hidden the group is hidden, and other groups are not."""
    if not seen.hiding.looks:
        yield "nobody looked in time"
    if overtaking := [body for body in seen.hiding.meanwhile if body.startswith("a")]:
        yield f"while the head of its group was hidden came {', '.join(overtaking)}"
    if "b1" not in seen.hiding.meanwhile:
        yield "the other group was hidden, too"
    if seen.hiding.first_after != "a1":
        yield f"after the head was hidden came {seen.hiding.first_after or 'nothing'} first"


def init_duration(seen: Evidence, bounds: Bounds) -> Iterator[str]:
    """Each Lambda starts as fast as it is reckoned with."""
    if not seen.told.init_ms:
        yield "no report of Lambda has an Init Duration"
    for moment, values in seen.told.init_ms.items():
        if (half := percentile(sorted(values), 0.5)) > bounds.init_ms:
            yield f"half of {moment}'s environments took more than {half:.0f} ms to start, {bounds.init_ms} at most"


def metrics_written(seen: Evidence) -> Iterator[str]:
    """The Lambdas write every metric that such a load must have, and none of a defect."""
    if missing := sorted(METRICS - seen.told.metrics.keys()):
        yield f"nobody wrote {', '.join(missing)}"
    defects = {name: seen.told.metrics[name] for name in DEFECTS if seen.told.metrics.get(name)}
    yield from (f"{name} is {value:.0f}" for name, value in defects.items())


def metrics_in_cloudwatch(seen: Evidence) -> Iterator[str]:
    """CloudWatch has every metric that the Lambdas wrote."""
    if missing := sorted(seen.told.metrics.keys() - (seen.metrics or frozenset())):
        yield f"CloudWatch has no {', '.join(missing)}"


def access(seen: Evidence) -> Iterator[str]:
    """Nobody is refused anything."""
    yield from list(dict.fromkeys(seen.told.denied))[:5]


def invocations(seen: Evidence) -> Iterator[str]:
    """No invocation fails."""
    failed: Mapping[str, float] = seen.invocation_errors or {}
    yield from (f"{count:.0f} invocations of {moment} failed" for moment, count in failed.items() if count)


def dollars(seen: Evidence, bounds: Bounds) -> Iterator[str]:
    """The metered bill is the reckoned one, about, and small."""
    assert seen.bill is not None
    reckoned, metered = sum(seen.bill.reckoned.values()), sum(seen.bill.metered.values())
    if metered > bounds.dollars:
        yield f"${metered:.2f} were spent, more than ${bounds.dollars:.2f}"
    if not 1 / bounds.dollars_ratio <= metered / max(reckoned, 1e-9) <= bounds.dollars_ratio:
        yield f"${metered:.4f} were metered where ${reckoned:.4f} were reckoned"


def destroyed(seen: Evidence) -> Iterator[str]:
    """Nothing of the smoke is left."""
    yield from seen.left
