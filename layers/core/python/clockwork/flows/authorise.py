"""Who may act for which client. An unknown client and somebody else's are the same answer."""

from __future__ import annotations

from clockwork.domain.clients import Client, principal_of
from clockwork.domain.errors import NotAllowed
from clockwork.flows.world import World


def is_admin(world: World, caller_arn: str) -> bool:
    """An admin may do everything for every client."""
    return principal_of(caller_arn) in world.settings.admin_principals


def authorise(world: World, caller_arn: str, client_id: str | None) -> Client:
    """The client for whom the caller acts: the one named, or else the only one that lists the caller's principal.

    Raises NotAllowed if it does not exist or does not list the caller, or if none is named and not just one does.
    """
    principal = principal_of(caller_arn)
    if client_id is None:
        clients = [client for c in world.clients.of_principal(principal) if (client := world.clients.get(c))]
        mine = [client for client in clients if principal in client.principals]
        if len(mine) != 1:
            raise NotAllowed("name the clientId: the caller does not act for exactly one client")
        return mine[0]
    client = world.clients.get(client_id)
    if client is None or not (principal in client.principals or is_admin(world, caller_arn)):
        raise NotAllowed("the caller may not act for this client")
    return client


def require_admin(world: World, caller_arn: str) -> None:
    """Raises NotAllowed unless the caller is an admin principal."""
    if not is_admin(world, caller_arn):
        raise NotAllowed("only an admin principal may do this")
