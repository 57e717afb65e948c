"""Idempotency-Keys: a request that is repeated under its key gets the ids, instants and shard of the first time."""

from __future__ import annotations

from clockwork.domain.errors import KeyReused
from clockwork.domain.requests.packing import NOT_PACKED
from clockwork.flows.world import World
from clockwork.ports import KeyRow


def claim_key(
    world: World, client_id: str, key: str | None, digest: str, seed: str, partition_id: str, packing: int = NOT_PACKED
) -> KeyRow:
    """The key row from which a request derives ids and instants: the stored one if an earlier request claimed the key.

    Otherwise a new one of the given values, which is stored under the key for `idempotency_seconds`; without a key it
    is not stored. `seed` is a token drawn for this request, `digest` is that of the request.
    Raises KeyReused if the stored row has another digest, Unavailable if it is not certain whether the row is stored.
    """
    now = world.clock.now()
    drawn = KeyRow(
        client_id=client_id,
        key=key or "",
        digest=digest,
        created_at=now,
        seed=seed,
        partition_id=partition_id,
        expires_at=now + world.settings.idempotency_seconds * 1000,
        packing=packing,
    )
    if key is None:
        return drawn
    kept = world.key_rows.claim(drawn, now)
    if kept.digest != digest:
        raise KeyReused(f"the Idempotency-Key {key!r} was used for another request")
    return kept
