"""Idempotency keys: a request that is repeated under its Idempotency-Key gets the ids, instants and shard as before."""

from __future__ import annotations

from clockwork.domain.errors import KeyReused
from clockwork.flows.world import World
from clockwork.ports import KeyRow


def claim_key(
    world: World,
    client_id: str,
    key: str | None,
    digest: str,
    seed: str,
    partition_id: str,
    since_at: int,
) -> KeyRow:
    """The key row from which a request derives ids and instants: the stored one if an earlier request claimed the key.

    If none has claimed it, returns a new row of the given values, which is stored under the key for
    `idempotency_seconds`. Without a key nothing is stored. `seed` is a token drawn for this request, `digest` that of
    the request. `since_at`: when the client was made that has this id now (ms), if it is not the first: the keys of the
    one before are not its own. Raises KeyReused if the stored row has another digest, Unavailable if it is not certain
    whether the row is stored.
    """
    now = world.clock.now()
    drawn = KeyRow(
        client_id=client_id,
        key=_key_of(key or "", since_at),
        digest=digest,
        created_at=now,
        seed=seed,
        partition_id=partition_id,
        expires_at=now + world.settings.idempotency_seconds * 1000,
    )
    if key is None:
        return drawn
    kept = world.key_rows.claim(drawn, now)
    if kept.digest != digest:
        raise KeyReused(f"the Idempotency-Key {key!r} was used for another request")
    return kept


def _key_of(key: str, since_at: int) -> str:
    """The key under which it is stored. A caller's own has no control character."""
    return key if since_at == 0 else f"\x01{since_at}\x01{key}"
