"""All checks by name, and what is told at the end. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from bench.arrivals.percentiles import percentile
from tests.smoke.evidence import Evidence
from tests.smoke.judging import jobs, stack
from tests.smoke.plan import TARGETS, Kind
from tests.smoke.scale import Bounds

OK, NOT_HERE, FAILED = "ok", "not here", "failed: "
#: Classes of the histogram of SQS's delays (ms).
_CLASS_MS = 50


def judge(seen: Evidence, bounds: Bounds, not_here: Iterable[str]) -> dict[str, str]:
    """The word of each check; those that cannot be made where the smoke ran are `not here`."""
    absent = frozenset(not_here)
    checks: dict[str, Callable[[], Iterable[str]]] = {
        "lost": lambda: jobs.lost(seen),
        "early": lambda: jobs.early(seen, bounds),
        "duplicates": lambda: jobs.duplicates(seen),
        "lateness": lambda: jobs.lateness(seen, bounds),
        "order": lambda: jobs.order(seen),
        "retries": lambda: jobs.retries(seen),
        "cancels": lambda: jobs.cancels(seen),
        "cron": lambda: jobs.cron(seen),
        "herd": lambda: jobs.herd(seen),
        "target http": lambda: jobs.target(seen, None),
        **{f"target {kind}": partial(jobs.target, seen, kind) for kind in TARGETS},
        "deployUnderLoad": lambda: stack.deploy(seen),
        "messagesPerInvocation": lambda: stack.messages_per_invocation(seen, bounds),
        "sqsDelay": lambda: stack.sqs_delay(seen, bounds),
        "fifoHiding": lambda: stack.fifo_hiding(seen),
        "initDuration": lambda: stack.init_duration(seen, bounds),
        "metricsWritten": lambda: stack.metrics_written(seen),
        "metricsInCloudWatch": lambda: stack.metrics_in_cloudwatch(seen),
        "accessDenied": lambda: stack.access(seen),
        "invocations": lambda: stack.invocations(seen),
        "dollars": lambda: stack.dollars(seen, bounds),
        "destroyed": lambda: stack.destroyed(seen),
    }
    if unknown := absent - checks.keys():
        raise ValueError(f"no check has the name {', '.join(sorted(unknown))}")
    return {name: NOT_HERE if name in absent else _verdict(check()) for name, check in checks.items()}


def _verdict(wrong: Iterable[str]) -> str:
    sentences = list(wrong)
    return FAILED + "; ".join(sentences) if sentences else OK


def told(stage: str, seen: Evidence, checks: Mapping[str, str]) -> dict[str, Any]:
    """The last line."""
    found = seen.audit
    return {
        "stage": stage,
        "jobs": len(seen.promises),
        "lost": len(found.lost),
        "early": len(found.early),
        "duplicates": found.repeated,
        "latenessMs": found.as_json()["latenessMs"],
        "checks": dict(checks),
    }


def failed(checks: Mapping[str, str]) -> list[str]:
    """The names of the checks that failed."""
    return [name for name, said in checks.items() if said.startswith(FAILED)]


def figures(seen: Evidence) -> dict[str, Any]:
    """The measured figures, for `docs/measured/`."""
    upgrade = seen.upgrade
    meanwhile = seen.audit_of([p for p in seen.promises if upgrade.meets(p.key.due_at)])
    otherwise = seen.audit_of([p for p in seen.promises if not upgrade.meets(p.key.due_at)])
    lone = seen.audit_of([p for p in seen.of(Kind.LONE) if not upgrade.meets(p.key.due_at)])
    errors = list(seen.delay_errors_ms)
    return {
        "deployUnderLoad": {
            "seconds": round((upgrade.ended_at - upgrade.began_at) / 1_000, 1),
            "failedRequests": sum(upgrade.meets(failure.at) for failure in seen.failures),
            **meanwhile.as_json(),
            "latenessMsOtherwise": otherwise.as_json()["latenessMs"],
        },
        "loneLatenessMs": lone.as_json()["latenessMs"] if lone.delivered else None,
        "messagesPerInvocation": _by_size(stack.fellows(seen)),
        "messagesPerInvocationOfHerd": _by_size(stack.fellows_of_the_herd(seen)),
        "sqsDelayErrorMs": {"classMs": _CLASS_MS, "counts": _histogram(errors), "of": len(errors)},
        "initMs": {
            moment: {"count": len(some), **{f"p{p}": round(percentile(sorted(some), p / 100)) for p in (50, 99)}}
            for moment, some in seen.told.init_ms.items()
        },
        "dollars": {"reckoned": dict(seen.bill.reckoned), "metered": dict(seen.bill.metered)} if seen.bill else None,
        "requestsThatFailed": len(seen.failures),
    }


def _by_size(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(size): count for size, count in sorted(counts.items())}


def _histogram(errors: Iterable[int]) -> dict[str, int]:
    counts: dict[int, int] = {}
    for error in errors:
        lower = error // _CLASS_MS * _CLASS_MS
        counts[lower] = counts.get(lower, 0) + 1
    return {str(lower): count for lower, count in sorted(counts.items())}
