"""The base of all types of targets: their fields as requests name them, and the lists of a client that allow them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, Self, get_args, get_origin

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.pools.pool import Pool
from clockwork.settings import Settings
from clockwork.targets.message import Payload

#: How long an attempt may take (s) at a service that answers at once, or not at all.
SERVICE_SECONDS = 5.0


class Asking(Protocol):
    """A request that names a target: who asks, in which deployment, and where its faults are reported."""

    @property
    def settings(self) -> Settings:
        """The settings of the deployment."""

    @property
    def client(self) -> Client | None:
        """The client for which the job is; None if it is not known."""

    @property
    def pool_named(self) -> Callable[[str], Pool | None]:
        """The pool of a name, as admins have written it. Raises Unavailable."""

    @property
    def traceparent(self) -> str:
        """The trace context to which the deliveries belong; empty: each delivery has its own."""

    def spend(self, units: int, pointer: str) -> None:
        """Count work of the request, before it is done. Raises InvalidRequest once none is left."""

    def report(self, pointer: str, detail: str, name: str = "") -> None:
        """Add a fault of the request, at a pointer or at the member `name` below it.

        `detail` is the end of a sentence that begins with the field.
        """


#: Gives an earlier field of the same target by its name: None if it has none, or it has faults.
Earlier = Callable[[str], Any]
#: Takes the value of a field and gives it as it is kept. Raises ValueError, or reports a fault. Never sees None.
Check = Callable[[Any, Any, Earlier], Any]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a field that requests name, in its annotation: `topic: Annotated[str, Asked(...)]`.

    `listed`: the list of the client that has to have the value. `check`: rules beyond bounds. `values`: the only
    ones. All others are the bounds and the description of `msgspec.Meta`. They bind requests, and not what is stored.
    """

    listed: str | None = None
    check: Check | None = None
    values: tuple[str, ...] = ()
    ge: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    description: str | None = None

    @property
    def is_checked(self) -> bool:
        """Whether a request's value has to pass more than its bounds."""
        return self.check is not None or self.listed is not None


class AskedField(NamedTuple):
    """A field of a target that requests name. `kind`: its type if it is not None. `default`: NODEFAULT: it has none."""

    name: str
    kind: Any
    asked: Asked
    default: Any

    @property
    def may_be_left_out(self) -> bool:
        """Whether an answer leaves it out if nothing was asked for: there is nothing to show then."""
        return self.default is None or self.default == {}


class StoredTarget(msgspec.Struct, frozen=True, tag_field="type", rename="camel", omit_defaults=True, gc=False):
    """A target as it is stored; its docstring describes it as requests name it.

    A subclass has a `tag`, and fields with `Asked` in their annotations. A field without it is kept and never asked.
    """

    #: How answers describe it.
    shown_as: ClassVar[str]
    #: Its deliveries are signed.
    is_signed: ClassVar[bool] = False
    #: Its attempts end by a report under their token, since the target only takes them.
    is_reported: ClassVar[bool] = False
    #: Its service says when that ends which an attempt begins: jobs may have the completion `end`.
    tells_end: ClassVar[bool] = False

    @classmethod
    def is_supported(cls, settings: Settings) -> bool:  # noqa: ARG003 - by every deployment
        """Whether jobs of this deployment may name such targets."""
        return True

    @classmethod
    def fault_of_payload(cls, payload: Payload, asked: Any) -> str | None:  # noqa: ARG003 - it takes every payload
        """Why such a target never takes the payload, as the end of a sentence; None if it may.

        `asked`: the target as its request names it.
        """
        return None

    @classmethod
    def kept(cls, asked: Any, asking: Asking) -> dict[str, Any]:  # noqa: ARG003 - it has no such field
        """The fields that are kept and never asked, of a target as a request names it."""
        return {}

    def faults(self, asking: Asking) -> Iterable[tuple[str, str]]:  # noqa: ARG002 - there are none
        """The faults of its fields together, each with the field and the end of a sentence."""
        return ()

    def against(self, client: Client | None) -> str | None:
        """Why the client, as it is now, may not send to what it could name once: a whole sentence, or None."""
        for name, listed in _lists_of(type(self)).items():
            value = getattr(self, name)
            if value is not None and (reason := why_unlisted(client, listed, value)) is not None:
                return f"{value} {reason}"
        return None

    def in_order(self, ordering_key: str) -> Self:  # noqa: ARG002 - it keeps no order
        """The target of a job in an order: with its key, if the target keeps an order and the client chose no key."""
        return self

    def began(self, name: str, execution_id: str, begun: int) -> bool:  # noqa: ARG002 - nothing has a name
        """Whether an attempt of the execution began what has this name; `begun`: so many had ended before."""
        return False

    def hint(self) -> Self:
        """As much of it as a message needs whose job's row has the rest."""
        return self

    @property
    def destination(self) -> str | None:
        """Equal for targets that may share a call. None: it takes one message at a time."""
        return None

    @property
    def lane(self) -> str:
        """The deliverer with queues of its own that delivers to it, if the deployment has that one; empty: any."""
        return ""

    @property
    def host(self) -> str | None:
        """The host that its circuit is about; None if it has no circuit."""
        return None

    def seconds(self, settings: Settings) -> float:  # noqa: ARG002 - the same in all
        """How long an attempt may take (s)."""
        return SERVICE_SECONDS


def why_unlisted(client: Client | None, listed: str, name: str) -> str | None:
    """Why the client may not name this, by one of its lists, as the end of a sentence; None if it may."""
    if client is not None and client.allows(listed, name):
        return None
    first, *rest = listed.split("_")
    return f"is not among the client's {first}{''.join(map(str.title, rest))}"


@cache
def fields_of(target: type[StoredTarget]) -> tuple[AskedField, ...]:
    """The fields that requests name, in their order."""
    found = []
    for field in msgspec.structs.fields(target):
        if get_origin(field.type) is not Annotated:
            continue
        kind, asked = get_args(field.type)
        if NoneType in get_args(kind):
            kind, _ = get_args(kind)
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        found.append(AskedField(field.name, kind, asked, default))
    return tuple(found)


@cache
def _lists_of(target: type[StoredTarget]) -> Mapping[str, str]:
    return {field.name: field.asked.listed for field in fields_of(target) if field.asked.listed is not None}
