"""Mutants of completion: each leaves out a rule of tokens, of the claims of receivers, of watches, or of ends."""

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
        (("until=renewed_until(running, now), started_at", "until=running.claim.until, started_at"),),
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
_ENDS = "tests/unit/flows/ends/test_ends.py"
_TASKS = "tests/contract/test_targets_ecs.py"
_BARE, _BARE_SENT = "tests/handlers/test_bare_targets.py", "tests/contract/test_targets_bare.py"
#: Each leaves out a rule of ends that AWS tells: of names, watches, stops or silence.
ENDING = (
    Mutant(
        "nobody asks how that goes which an attempt began",
        "domain/lifecycle/reports.py",
        (
            (
                '"accepted: its service tells its end", accepted, watch)',
                '"accepted: its service tells its end", accepted)',
            ),
        ),
        "I12",
        tests=_ENDS,
    ),
    Mutant(
        "a deadline ends an attempt though its execution runs",
        "domain/lifecycle/attempts.py",
        (("if stored.is_accepted and is_asked(stored):", "if False:"),),
        "E1",
        tests=_ENDS,
    ),
    Mutant(
        "an event of an earlier attempt counts",
        "domain/ends/telling.py",
        (("if not occurrence.target.began(told.name, stored.execution_id, stored.budget.begun):", "if False:"),),
        "E2",
        tests=_ENDS,
    ),
    Mutant(
        "an event counts before its execution has ended",
        "domain/ends/telling.py",
        (("if told.status not in _ENDS or stored is None", "if stored is None"),),
        "E2",
        tests=_ENDS,
    ),
    Mutant(
        "a retry takes the name of an execution that has ended",
        "domain/lifecycle/awaiting.py",
        (("begun=budget.begun + 1", "begun=budget.begun"),),
        "I1",
        tests=_ENDS,
    ),
    Mutant(
        "an attempt without an answer uses its name up",
        "domain/lifecycle/awaiting.py",
        (
            (
                "if is_asked(running) and (running.is_accepted or running.end.report is not None):",
                "if is_asked(running):",
            ),
        ),
        "E1",
        tests=_ENDS,
    ),
    Mutant(
        "a cancel stops no execution",
        "domain/lifecycle/awaiting.py",
        (
            (
                "        return running.cancel_noted_at\n    return running.awaited",
                "        pass\n    return running.awaited",
            ),
        ),
        "I5",
        tests=_ENDS,
    ),
    Mutant(
        "an execution is not stopped at its deadline",
        "domain/ends/telling.py",
        (("return Errand.ASK if stops_since(running, now) is None else Errand.STOP", "return Errand.ASK"),),
        "E1",
        tests=_ENDS,
    ),
    Mutant(
        "an attempt stays for as long as its service is silent",
        "domain/ends/telling.py",
        (("if since is not None and claim.now >= since + GIVE_UP_MS:", "if False:"),),
        "L1",
        tests=_ENDS,
    ),
    Mutant(
        "an execution that is not known yet is lost",
        "domain/lifecycle/awaiting.py",
        (("UNKNOWN_FOR_MS = 60_000", "UNKNOWN_FOR_MS = 0"),),
        "E1",
        tests=_ENDS,
    ),
    Mutant(
        "an answer that tells nothing ends an attempt",
        "domain/ends/telling.py",
        (
            (
                "if answer.told and answer.state in (State.SUCCEEDED, State.FAILED):",
                "if answer.state in (State.SUCCEEDED, State.FAILED):",
            ),
        ),
        "E2",
        tests=_ENDS,
    ),
    Mutant(
        "a token of an attempt leaves though AWS tells its end",
        "flows/deliver/deliver.py",
        (("token, begun = None, item.seen.budget.begun", "begun = item.seen.budget.begun"),),
        "P2",
        tests=_ENDS,
    ),
    Mutant(
        "an EXPRESS state machine begins, and nobody hears of its end",
        "targets/step_functions.py",
        ((""".get("type") == "EXPRESS":""", """.get("type") == "NONE":"""),),
        "L1",
        tests="tests/contract/test_targets_step_functions.py",
    ),
    Mutant(
        "a state machine is for ever what it was once",
        "aws/targets/service_attempts.py",
        (("now + KNOWN_FOR_MS", "now + KNOWN_FOR_MS * 1_000"),),
        "L1",
        tests="tests/contract/test_targets_step_functions.py",
    ),
    Mutant(
        "an attempt starts a second task where the answer to the first was lost",
        "targets/ecs.py",
        (("if message.token is not None else max(1, message.attempt - MOST_TOKENS + 1)", "if True else 0"),),
        "E1",
        tests=_TASKS,
    ),
    Mutant(
        "an attempt has no token but that of one which found no room",
        "targets/ecs.py",
        (("in range(first, message.attempt + 1)", "in range(first, first + 1)"),),
        "L1",
        tests=_TASKS,
    ),
    Mutant(
        "a task that was broken off has succeeded",
        "targets/ecs.py",
        (("if code == 0 and stop_code == _ENDED:", "if code == 0:"),),
        "E2",
        tests=_TASKS,
    ),
    Mutant(
        "a task that was refused for good is tried again",
        "targets/ecs.py",
        (("not refused.code.startswith(_PASSING)", "False"),),
        "L1",
        tests=_TASKS,
    ),
    Mutant(
        "a receiver waits for a token that travels in no envelope",
        "edge/requests/policies.py",
        (("has_envelope and asked.envelope is False", "False"),),
        "I1",
        tests=_BARE,
    ),
    Mutant(
        "a job without an envelope has one",
        "targets/service.py",
        (('return getattr(self, "envelope", None) is False', "return False"),),
        "I1",
        tests=_BARE_SENT,
    ),
    Mutant(
        "a bare event that is no object is sent",
        "targets/eventbridge.py",
        (("if self.is_bare and not _is_object(message.payload):", "if False:"),),
        "L1",
        tests=_BARE_SENT,
    ),
    Mutant(
        "a conflict without a task counts as a start",
        "targets/ecs.py",
        (('return None if fault.response.get("resourceIds") else', "return None if True else"),),
        "I1",
        tests=_TASKS,
    ),
)
