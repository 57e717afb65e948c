"""Mutants of create, repeat and cancel, and of the checks of the caller: each leaves out a step that must stay."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_MARK = "    world.timeline.cancel(job.job_ref.partition_id, job.job_ref.key, job.job_ref.element)\n"
_WORK = "tests/handlers/test_work_of_requests.py"
_TOKENS = "tests/unit/domain/requests/test_page_tokens.py"
_LISTING = "tests/unit/flows/test_listing_of_runs.py"
_UNRECORDED = "        return _cancel_unrecorded(world, job)\n"

ASKING = (
    Mutant(
        "a keyed create puts over what is there",
        "flows/requests/create.py",
        (("ids_are_new=request.idempotency_key is None", "ids_are_new=True"),),
        "I5",
    ),
    Mutant(
        "ids are drawn, not derived from the key row",
        "flows/requests/create.py",
        (
            (
                "row_ids = ids.derive_each((origin.client_id, origin.seed), occurrences)",
                "row_ids = (world.random.token() for _ in occurrences)",
            ),
        ),
        "I10",
    ),
    Mutant(
        "which jobs share a row depends on which are valid",
        "flows/requests/create.py",
        (
            (
                "groups_of(request.outlines,",
                "groups_of([o for o in request.outlines if o.index in occurrences],",
            ),
        ),
        "I10",
    ),
    Mutant(
        "a job that its shared row lacks gets none",
        "flows/requests/create.py",
        (("for index in _left_out(world, shared)", "for index in ()"),),
        "I1",
    ),
    Mutant(
        "one cancelled job takes its whole row along",
        "flows/poll/expand.py",
        (("if index in row.cancelled and", "if row.cancelled and"),),
        "I1",
    ),
    Mutant(
        "instants are those of the repeat",
        "flows/requests/create.py",
        (
            (
                "occurrence_of(new_job, request.client, origin.created_at)",
                "occurrence_of(new_job, request.client, world.clock.now())",
            ),
        ),
        "I10",
    ),
    Mutant(
        "another request under the key is accepted",
        "flows/idempotency.py",
        (("kept.digest != digest", "False"),),
        "I10",
    ),
    Mutant(
        "no key row is written",
        "flows/idempotency.py",
        (("kept = world.key_rows.claim(drawn, now)", "kept = drawn"),),
        "I10",
    ),
    Mutant(
        "key rows are forgotten at once",
        "memory/clients.py",
        (("stored.expires_at <= now", "stored.expires_at > now"),),
        "I10",
    ),
    Mutant("key rows are remembered for ever", "memory/clients.py", (("or stored.expires_at <= now", ""),), "I10"),
    Mutant(
        "anybody's job is shown",
        "flows/access.py",
        ((" or not caller.may_act_for(element.client_id)", ""),),
        "I9",
    ),
    Mutant(
        "anybody's named job is shown",
        "flows/access.py",
        (("if not caller.may_act_for(job_ref.client_id):", "if False:"),),
        "I9",
    ),
    Mutant(
        "a named client need not list the caller",
        "flows/access.py",
        (("client is None or not (caller.is_admin or caller.principal in client.principals)", "client is None"),),
        "I9",
    ),
    Mutant(
        "a cancel replaces a claim",
        "domain/lifecycle/cancels.py",
        (("if stored.state is State.RUNNING:", "if False:"),),
        "I4",
    ),
    Mutant(
        "cancelled is answered without reading the shard",
        "domain/lifecycle/cancels.py",
        (("if horizon < key:", "if True:"),),
        "I5",
    ),
    Mutant(
        "a cancel compares an element's instant with the horizon, not its row's key",
        "flows/requests/cancel.py",
        (("shard.horizon, job.job_ref.key)", 'shard.horizon, f"{job.occurrence.due_at:013d}#")'),),
        "I5",
    ),
    Mutant("the row is not marked", "flows/requests/cancel.py", ((_MARK, ""),), "I5"),
    Mutant(
        "the row is marked last",
        "flows/requests/cancel.py",
        ((_MARK, ""), (_UNRECORDED, _UNRECORDED.replace("return", "answer =") + f"    {_MARK}        return answer\n")),
        "I5",
    ),
    Mutant(
        "a noted cancel does not end the retries",
        "domain/lifecycle/attempts.py",
        (("if running.cancel_noted_at is not None:", "if False:"),),
        "I5",
    ),
    Mutant(
        "a record that got no answer counts as cancelled",
        "flows/records.py",
        (
            (
                "replace_all(world, [(stored, planned.execution)])",
                "world.executions.save([(stored, planned.execution)])",
            ),
            ("        if saved.ok:\n", "        if saved.ok or saved.unavailable:\n"),
        ),
        "I5",
    ),
    Mutant(
        "what has not failed yet is listed among what is tried again",
        "domain/storage/attention.py",
        (
            (
                "if execution.is_final or not any(one.state in _FAILED for one in execution.attempts):",
                "if execution.is_final:",
            ),
        ),
        "I8",
        tests="tests/handlers/test_attention.py",
    ),
    Mutant(
        "what has failed for good stays among what is tried again",
        "domain/storage/attention.py",
        (("if execution.is_final or not any(", "if not any("),),
        "I12",
        tests="tests/handlers/test_attention.py",
    ),
    Mutant(
        "a run leaves the index once it is changed",
        "domain/storage/runs_index.py",
        (("        if (before is not None and before.end.indexed)\n        or (after", "        if (after"),),
        "I12",
        tests="tests/handlers/test_indexed_runs.py",
    ),
    Mutant(
        "runs of clients without an index come into one",
        "domain/storage/runs_index.py",
        (("after.client_id in listing and ", ""),),
        "I12",
        tests=_LISTING,
    ),
    Mutant(
        "an end waits for a failed read of each client",
        "flows/hardening.py",
        (
            (
                "                if isinstance(error, Unavailable):\n                    return found",
                "                if 0:\n                    return found",
            ),
        ),
        "I3",
        tests=_LISTING,
    ),
    Mutant(
        "what is listed of an earlier client is shown to the next one",
        "flows/activity/runs.py",
        ((" and is_of_client_since(self._client.since_at, run)", ""),),
        "I9",
        tests="tests/handlers/test_indexed_runs.py",
    ),
    Mutant(
        "a place of the index tells whose run it is",
        "flows/activity/runs.py",
        (("run.client_id == self._client.client_id and ", ""),),
        "I9",
        tests="tests/handlers/test_indexed_runs.py",
    ),
    Mutant(
        "a page of one run reads record by record",
        "flows/activity/runs.py",
        (("begin, count = begin + len(some), 2 * count", "begin += len(some)"),),
        "L1",
        tests="tests/handlers/test_indexed_runs.py",
    ),
    Mutant(
        "a name may hold characters that nobody sees",
        "domain/ids.py",
        ((" <= LONGEST_JOB_KEY and not hidden_in(text)\n", " <= LONGEST_JOB_KEY\n"),),
        "I9",
        tests="tests/unit/domain/test_instants_keys_ids.py",
    ),
    Mutant(
        "letters that nobody sees are no hidden characters",
        "domain/ids.py",
        (("not one.isprintable() or _IGNORABLE.match(one)", "not one.isprintable()"),),
        "I9",
        tests="tests/unit/domain/test_instants_keys_ids.py",
    ),
    Mutant(
        "a host is normalised however long it is",
        "targets/web/urls.py",
        (
            (
                "        if not _is_bounded(host) or not _is_bounded(unicodedata",
                "        if not _is_bounded(unicodedata",
            ),
        ),
        "I9",
        tests=_WORK,
    ),
    Mutant(
        "hosts that are not ASCII cost as little as others",
        "targets/web/urls.py",
        ((" + COST_OF_CHARACTER * _costly(url)\n", "\n"),),
        "I9",
        tests=_WORK,
    ),
    Mutant(
        "exclusions are compiled without a count",
        "edge/requests/schedules.py",
        (('    checks.spend(cost_of_exclude(entries), "/schedule/exclude")\n', ""),),
        "I9",
        tests=_WORK,
    ),
    Mutant(
        "a batch goes on once its work is done with",
        "edge/operations/creates.py",
        (("            batches.require_work(checks.work, index)\n", ""),),
        "I9",
        tests=_WORK,
    ),
    Mutant(
        "a page token shows its position",
        "domain/requests/page_tokens.py",
        (("    return (int.from_bytes(text) ^ int.from_bytes(stream)).to_bytes(len(text))\n", "    return text\n"),),
        "I9",
        tests=_TOKENS,
    ),
    Mutant(
        "a page token opens in any list",
        "domain/requests/page_tokens.py",
        (("    return ids.netstrings(part.encode() for part in place)\n", '    return b""\n'),),
        "I9",
        tests=_TOKENS,
    ),
    Mutant(
        "a page token is as long as its position",
        "domain/requests/page_tokens.py",
        (("_GRAIN = 256\n", "_GRAIN = 1\n"),),
        "I9",
        tests=_TOKENS,
    ),
)
