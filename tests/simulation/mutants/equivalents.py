"""Random mutants that change no observable behaviour, each with the reason. No other change is excluded."""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {
    "domain/cron/parser.py: for month in range(1, 13): 13 -> 14": "no set of months has a thirteenth",
    "domain/cron/engine.py: return match is not None and match < gap_end: match < gap_end -> match <= gap_end": (
        "what matches at the very end of a gap fires at that instant anyway"
    ),
    "domain/cron/zones.py: repeats_until = reached if 0 < reached - begins <= LONGEST_SHIFT_SECONDS else begins:"
    " 0 -> 1": ("no clock is set back by one second"),
    "flows/deliver/slots.py: known = world.environment.slots.get(client_id, Reserved(0, 0)): 0 -> 1 (no. 2)": (
        "of the slots that an environment remembers nobody asks how many there were"
    ),
    "flows/deliver/slots.py: known = Reserved(given.first_at + int(given.count * interval_ms), 0, given.line_until):"
    " 0 -> 1": "of the slots that an environment remembers nobody asks how many there were",
    "flows/deliver/slots.py: world.environment.slots[client_id] = Reserved(known.first_at, 0, line_until): 0 -> 1": (
        "of the slots that an environment remembers nobody asks how many there were"
    ),
    "domain/lifecycle/awaiting.py: lease_until = 0 if running.claim is None else running.claim.until: 0 -> 1": (
        "either is long over"
    ),
    "domain/storage/retention.py: return max(record.waits.next_attempt_at or 0,"
    " 0 if record.claim is None else record.claim.until, unparked_at): 0 -> 1": "either is long over",
    "domain/storage/retention.py: return max(record.waits.next_attempt_at or 0,"
    " 0 if record.claim is None else record.claim.until, unparked_at): 0 -> 1 (no. 2)": "either is long over",
    "domain/lifecycle/transitions.py: return 0 if record.claim is None else record.claim.until: 0 -> 1": (
        "another guard of the same arrow asks for the claimant"
    ),
    "domain/fires/chains.py: after_at = fire.base_at - 1 if fire.after_at is None else fire.after_at: 1 -> 2": (
        "the fires of a zone's rule are whole seconds apart"
    ),
}
