"""Mutants of completion by callback: each leaves out a rule of tokens, claims of receivers, or watches."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_ITS_CLAIM = """\
    is_its_attempt = stored.execution_id == token.execution_id and stored.attempt == token.attempt
    return is_its_attempt and token.belongs_to(stored.claim.claimant)
"""
COMPLETING = (
    Mutant(
        "an accepted attempt is not watched",
        "domain/lifecycle/reports.py",
        ((", accepted, watch_of(release, accepted))", ", accepted)"),),
        "I12",
    ),
    Mutant(
        "a watch that meets a live claim lets go",
        "domain/lifecycle/attempts.py",
        ((", release=watch_of(release, stored))", ")"),),
        "I12",
    ),
    Mutant(
        "a token outlives its claim",
        "domain/lifecycle/reports.py",
        (
            (_ITS_CLAIM, "    return True\n"),
            (" or stored.attempt != token.attempt:", ":"),
        ),
        "P2",
    ),
    Mutant(
        "heartbeats keep a claim past its deadline",
        "domain/lifecycle/awaiting.py",
        (
            (
                "min(now + running.awaited.heartbeat_ms, running.awaited.deadline_at)",
                "now + running.awaited.heartbeat_ms",
            ),
        ),
        "P4",
    ),
    Mutant(
        "the answer of a target that accepted ends the attempt",
        "flows/deliver/outcome.py",
        (("    if item.secret is not None:\n        return plan_answer", "    if False:\n        return plan_answer"),),
        "I1",
    ),
    Mutant(
        "a receiver's claim ends with the deliverer's",
        "domain/lifecycle/reports.py",
        (("renewed_until(running, now), outcome.started_at", "running.claim.until, outcome.started_at"),),
        "P4",
    ),
    Mutant(
        "a receiver has no time to hear of a cancel",
        "domain/lifecycle/awaiting.py",
        (("CANCEL_GRACE_MS = 60_000", "CANCEL_GRACE_MS = -10_000"),),
        "I4",
    ),
    Mutant(
        "a receiver may stop though nobody asked it to",
        "domain/lifecycle/reports.py",
        (("if report.state is State.CANCELLED and stored.cancel_noted_at is None:", "if False:"),),
        "I1",
    ),
    Mutant(
        "a token has many spellings",
        "domain/lifecycle/tokens.py",
        (("[1-9][0-9]{{0,8}}", "[0-9]{{1,9}}"),),
        "P2",
        tests="tests/handlers/test_completion.py",
    ),
    Mutant(
        "the executions of a deleted client take reports",
        "flows/requests/reporting.py",
        (
            (
                "    if client.deleting_at is not None or not is_of_client_since(client.since_at, execution):\n",
                "    if False:\n",
            ),
        ),
        "I5",
        tests="tests/handlers/test_completion.py",
    ),
    Mutant(
        "unsigned reports have no pace by address",
        "edge/operations/reports.py",
        (("        self._paced(Kind.ADDRESS, request.source)\n", ""),),
        "I9",
        tests="tests/handlers/test_pace_of_unsigned_reports.py",
    ),
    Mutant(
        "repeats of one unsigned report have no pace",
        "edge/operations/reports.py",
        (("        self._paced(Kind.REPORT, ids.decode_execution(token.execution_id).job_id)\n", ""),),
        "I9",
        tests="tests/handlers/test_pace_of_unsigned_reports.py",
    ),
)
