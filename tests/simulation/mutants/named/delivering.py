"""Mutants of delivery (claim, hold, start, record, retry): each leaves out a step that must stay."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_DEFER = 'Action.DEFER, "another deliverer\'s claim is live", release=again'
_FOLLOW_UP = 'return Plan(Action.FOLLOW_UP, f"attempt {again.attempt} waits and this is not it", release=again)'

DELIVERING = (
    Mutant(
        "nothing is claimed",
        "flows/deliver/claim.py",
        (
            ("unrecorded = [item for item in items if not item.release.is_recorded]", "unrecorded = items"),
            ("open_items = [item for item in items if item.release.is_recorded]", "open_items: list[Item] = []"),
        ),
        "I4",
    ),
    Mutant(
        "retries at level none are not claimed",
        "domain/releases.py",
        (('return self.occurrence.record == "full" or self.attempt > 1', 'return self.occurrence.record == "full"'),),
        "I4",
    ),
    Mutant(
        "a first failure at level none is recorded though its retry was not taken",
        "flows/deliver/outcome.py",
        (
            (
                "for item, record in batch.first_failures if id(item) not in left]",
                "for _, record in batch.first_failures]",
            ),
        ),
        "L1",
        scene="healed",
    ),
    Mutant(
        "a first failure at level none is recorded before its retry is sent",
        "flows/deliver/outcome.py",
        (("        if plan.release is None or plan.execution is None:\n", "        if True:\n"),),
        "L1",
        tests="tests/unit/flows/deliver/test_first_failures.py",
    ),
    Mutant(
        "a claim that got no answer is taken for ours",
        "flows/deliver/batch.py",
        (
            (
                "                self.fail(plans[index][0], saved.unavailable)\n",
                "                yield index, Saved(ok=True)\n",
            ),
        ),
        "I4",
    ),
    Mutant(
        "live claims are ignored",
        "domain/lifecycle/attempts.py",
        (("    if not is_claimed(stored, claim.now):", "    if True:"),),
        "I4",
    ),
    Mutant(
        "clocks are taken to agree on when a claim ends",
        "domain/lifecycle/awaiting.py",
        (("CLAIM_GRACE_MS = 4_000", "CLAIM_GRACE_MS = -1_000"),),
        "I4",
    ),
    Mutant(
        "what loses to a live claim is acknowledged",
        "domain/lifecycle/attempts.py",
        ((_DEFER, _DEFER.split(", release=")[0]),),
        "L1",
    ),
    Mutant(
        "a recorded retry is not released again",
        "domain/lifecycle/attempts.py",
        ((_FOLLOW_UP, _FOLLOW_UP.replace(", release=again", "")),),
        "L1",
    ),
    Mutant(
        "lost workers never count",
        "domain/lifecycle/retries.py",
        (("min(lost_workers, FORGIVEN_LOST_WORKERS)", "lost_workers"),),
        "L1",
    ),
    Mutant(
        "attempts are not bounded",
        "domain/lifecycle/retries.py",
        (("counted >= policy.max_attempts", "counted < 0"),),
        "L1",
    ),
    Mutant(
        "nothing is held",
        "flows/deliver/start.py",
        (("        batch.world.clock.hold_until(claimed[slot].release.run_at)\n", ""),),
        "I2",
    ),
    Mutant(
        "held to the second",
        "flows/deliver/start.py",
        (("hold_until(claimed[slot].release.run_at)", "hold_until(claimed[slot].release.run_at // 1000 * 1000)"),),
        "I2",
    ),
    Mutant(
        "what is early is started",
        "flows/deliver/start.py",
        (("release.run_at <= now", "release.run_at <= now + 2000"),),
        "I2",
    ),
    Mutant(
        "a retry does not wait",
        "domain/lifecycle/attempts.py",
        (
            ("following(release, ended, retry.retry_at))", "following(release, ended, now))"),
            (" or release.run_at < (stored.waits.next_attempt_at or 0):", ":"),
        ),
        "I2",
    ),
    Mutant(
        "held too long",
        "flows/deliver/start.py",
        (("hold_until(claimed[slot].release.run_at)", "hold_until(claimed[slot].release.run_at + 3_000)"),),
        "I3",
    ),
    Mutant(
        "a stale outcome is planned anew",
        "flows/deliver/outcome.py",
        (
            (
                "elif saved.actual is not None and saved.actual.claimant == item.seen.claimant:",
                "elif saved.actual is not None:",
            ),
        ),
        "I4",
    ),
    Mutant(
        "a refused stale outcome is acknowledged",
        "flows/deliver/outcome.py",
        (
            (
                '        batch.fail(item, "our claim had ended, so its outcome is refused")\n',
                "        item.left = True\n",
            ),
        ),
        "I12",
        "taken_over",
    ),
    Mutant(
        "records are stored over whatever is there",
        "memory/executions.py",
        (("if (stored and stored.revision) != (before and before.revision):", "if False:"),),
        "I4",
    ),
    Mutant(
        "a retry is sent though its failure was not recorded",
        "flows/deliver/batch.py",
        (("self.fail(plans[index][0], saved.unavailable)\n", "self.apply_plan(*plans[index])\n"),),
        "I4",
    ),
    Mutant(
        "a message is acknowledged before what follows is released",
        "flows/deliver/deliver.py",
        (("        batch.fail(waiting.following[index][0], why_not)\n", "        pass\n"),),
        "L1",
    ),
    Mutant(
        "what goes back is acknowledged though refused",
        "flows/deliver/batch.py",
        (("        for failed, why_not in failing:\n", "        for failed, why_not in ():\n"),),
        "I1",
    ),
    Mutant(
        "what fails of a bundle is acknowledged with the others",
        "flows/deliver/inbox.py",
        (("    items = batch.failed_of_bundles\n", "    items = []\n"),),
        "I1",
    ),
    Mutant(
        "of a bundle only the first is delivered",
        "flows/deliver/inbox.py",
        (("for one in releases]\n        if bundled", "for one in releases[:1]]\n        if bundled"),),
        "I1",
    ),
    Mutant(
        "dead letters are deleted unread",
        "flows/sweep/dead_letters.py",
        (("        if is_done := _sweep_all(", "        if (is_done := True) or _sweep_all("),),
        "I1",
    ),
    Mutant(
        "dead letters are deleted though the queue refused them",
        "flows/sweep/dead_letters.py",
        (("        return not refused\n", "        return True\n"),),
        "I1",
    ),
    Mutant(
        "dead letters come back for ever",
        "flows/sweep/dead_letters.py",
        (("sweeps=release.sweeps + 1", "sweeps=0"),),
        "L1",
    ),
    Mutant(
        "a dead letter in use is buried",
        "domain/lifecycle/awaiting.py",
        (
            (
                "return stored.state is State.RUNNING and now < ends_at(stored) + CLAIM_GRACE_MS",
                "return False",
            ),
        ),
        "I4",
    ),
    Mutant(
        "what its client may not call any more is called",
        "flows/deliver/admission.py",
        (("                item.refusal = reason\n", "                item.refusal = reason = None\n"),),
        "I9",
    ),
    Mutant(
        "a defect in one item ends the batch",
        "flows/deliver/batch.py",
        (("        except Exception as error:", "        except ZeroDivisionError as error:"),),
        "L1",
    ),
    Mutant(
        "a defect in one record fails all that are saved with it",
        "flows/containment.py",
        (
            (
                "    return [*for_each(call, items[:half], failed), *for_each(call, items[half:], failed)]",
                "    raise SystemError",
            ),
        ),
        "L1",
    ),
    Mutant(
        "a decision that raises for one item ends the batch",
        "flows/deliver/inform.py",
        (
            (
                "    late = [item for item, is_late in batch.each(items, partial(_is_late, batch)) if is_late]\n",
                "    late = [item for item in items if _is_late(batch, item)]\n",
            ),
        ),
        "L1",
    ),
    Mutant(
        "one record that is not answered fails the whole batch",
        "flows/deliver/batch.py",
        (
            (
                "                self.fail(plans[index][0], saved.unavailable)\n",
                "                return [self.fail(one, saved.unavailable) for one, _ in plans]\n",
            ),
        ),
        "I3",
    ),
)
