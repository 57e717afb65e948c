"""The base of targets that are resources of AWS services: what is true of a service, and how a call of it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec

from clockwork.targets.message import Message, Payload, Told, envelope_of, json_of
from clockwork.targets.target import Asked, Asking, Earlier, StoredTarget

#: The option that opens targets, and roles that a delivery may assume: ARNs of this service.
TARGET_ARNS = "targetArns"
ROLES = "iam"
#: The shortest ExternalId that STS takes: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
SHORTEST_EXTERNAL_ID = 2
#: These services take 256 KB, of which the envelope around a payload needs some; their quotas differ and change.
LARGEST_ENVELOPED = 240 * 1024
#: The most bytes that the entries of a call may have together.
LARGEST_CALL = 999_999
#: The parameters of a message in a call.
Entry = dict[str, Any]


TELLS_NO_ENDS = "the service of this target does not say when that ends which a call begins"


class Undeliverable(Exception):
    """No retry can deliver this occurrence; the message says why."""


class Refused(Exception):
    """The service answered that it did not take the message; `code` and `reason` are its own words."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


#: The answer of a service to each message of a call, by its index: None if it took the message.
Taken = Mapping[int, Refused | None]


class Service(msgspec.Struct, frozen=True):
    """One service: its name in botocore, the words of error texts, and codes.

    `arn_field` is the field of a target with its ARN. `resource` is a pattern of the last part of that ARN. `a_thing`
    and `things` are words for what it names. `action` is the attempt's name in IAM, and `option` the deployment's
    option that allows it. `permanent` are the codes for a fault of the message itself. Every other cause (permissions,
    keys, a missing resource) can be mended by an operator.
    """

    name: str
    client: str
    arn_field: str
    resource: str
    a_thing: str
    things: str
    action: str
    permanent: frozenset[str]
    takes: str = "message"
    option: str = TARGET_ARNS
    #: The client's list that has to have its ARN.
    listed: str = "allowed_target_arns"
    #: Its name in ARNs, if botocore has another one.
    other_name: str = ""
    #: It asks for the key of an encrypted resource in the name of the sender.
    uses_keys: bool = False
    #: The condition key of IAM by which its actions are bound to the opened ARNs, beside the resources they act on.
    within: str = ""
    #: The service of AWS to which an attempt passes roles. The deployment has opened these as well.
    passes_roles_to: str = ""
    #: The actions by which ends are learned and brought about, by the ARN on which they act. It is made of the opened
    #: `arn`, of its `head` before the resource, and of the resource's `name`.
    of_ends: Mapping[str, Sequence[str]] = {}

    @property
    def in_arns(self) -> str:
        """Its name in ARNs."""
        return self.other_name or self.client

    @property
    def pattern(self) -> str:
        """The pattern of its resources' ARNs."""
        return rf"^arn:aws[a-z-]*:{self.in_arns}:[a-z0-9-]+:[0-9]{{12}}:{self.resource}\Z"

    def asked(self, max_length: int) -> Asked:
        """The field of the ARN, as requests name it."""
        return Asked(listed=self.listed, pattern=self.pattern, max_length=max_length)

    def check(self, arn: str, client: Any) -> None:
        """Raise Undeliverable for an ARN of another kind, or of another region than the client of the service."""
        if re.match(self.pattern, arn) is None:
            raise Undeliverable(f"{arn} is not the ARN of {self.a_thing}")
        region, ours = arn.split(":")[3], client.meta.region_name
        if region != ours:
            raise Undeliverable(f"{arn} is in {region}, Clockwork delivers to {self.things} in {ours} only")


def _goes_with_client(role_arn: str, asking: Asking, _: Earlier) -> str:
    client = asking.client
    if client is not None and len(client.client_id) < SHORTEST_EXTERNAL_ID:
        raise ValueError("needs a clientId of at least 2 characters, since that is the ExternalId")
    return role_arn


#: The IAM role that Clockwork assumes to send, with ExternalId = clientId.
RoleArn = Annotated[
    str | None,
    Asked(
        listed="allowed_target_arns",
        check=_goes_with_client,
        max_length=600,
        pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+\Z",
        description="taken on to send, with the clientId as the ExternalId; one of the client's allowedTargetArns",
    ),
]


def _is_false(envelope: bool, _: Any, __: Earlier) -> bool:
    if envelope:
        raise ValueError("must be false: the payload is always alone there, and the ids are beside it. Leave it out")
    return envelope


#: Whether the payload travels in an envelope with the ids, at a service that has no other place for them.
Envelope = Annotated[
    bool | None, Asked(description="false: the payload alone, without ids and without a token; true unless given")
]
#: The same at a service that has another place for the ids.
NoEnvelope = Annotated[
    bool | None, Asked(check=_is_false, description="false, if it is given: the payload is always alone")
]


class EndEvents(msgspec.Struct, frozen=True):
    """The events of a service that tell ends: their source and type, a field with an opened ARN, and more of them.

    `kind`: the beginning of the last part of these ARNs. `details`: patterns of EventBridge for fields of the detail.
    """

    source: str
    detail_type: str
    arn_field: str
    kind: str
    details: Mapping[str, Sequence[Any]]


class ServiceTarget(StoredTarget, frozen=True):
    """A target that is a resource of an AWS service: a field with its ARN, and `role_arn: RoleArn = None`.

    A transport makes an entry of each message, and sends those that may share a call.
    """

    service: ClassVar[Service]
    #: How many messages a call may have.
    most_in_call: ClassVar[int] = 1
    #: The ids and the token travel in an envelope around the payload, unless a job asks for none.
    is_enveloped: ClassVar[bool] = True
    #: The most bytes of a payload as JSON. None: as many as every job may have.
    largest: ClassVar[int | None] = LARGEST_ENVELOPED
    #: The events that tell its ends, where its service has them.
    end_events: ClassVar[EndEvents | None] = None

    @classmethod
    def fault_of_payload(cls, payload: Payload, asked: Any) -> str | None:  # noqa: ARG003 - its fields change nothing
        """Why the payload does not fit into an envelope."""
        if cls.largest is not None and len(json_of(payload)) > cls.largest:
            return f"is too large: {cls.__struct_config__.tag} targets take {cls.largest:,} bytes of JSON"
        return None

    @property
    def arn(self) -> str:
        """The ARN of the resource."""
        return str(getattr(self, self.service.arn_field))

    @property
    def role(self) -> str | None:
        """The ARN of the role under which it is called; None: the deliverer's own."""
        role: str | None = getattr(self, "role_arn", None)
        return role

    @property
    def is_bare(self) -> bool:
        """Whether the payload is to travel alone."""
        return getattr(self, "envelope", None) is False

    def body_of(self, message: Message) -> bytes:
        """The envelope of a message, or its payload alone, as JSON."""
        return json_of(message.payload) if self.is_bare else envelope_of(message)

    @property
    def destination(self) -> str | None:
        """Its ARN, if a call takes many messages."""
        return self.arn if self.most_in_call > 1 else None

    def entry(self, message: Message) -> Entry:
        """The parameters of a message in a call. Raises Undeliverable if the service never takes it."""
        raise NotImplementedError

    @classmethod
    def bytes_of(cls, entry: Entry) -> int:  # noqa: ARG003 - a call has room for whatever was gathered
        """The bytes of an entry, by which a call is filled up to LARGEST_CALL."""
        return 0

    def send(self, client: Any, entries: Sequence[Entry]) -> Taken:
        """Send the entries in one call of botocore's client: its own, and others' of its resource and role.

        An exception is a fault of all of them.
        """
        raise NotImplementedError

    def check_end(self, client: Any) -> None:  # noqa: ARG002 - none does, unless its type says so
        """Raise Undeliverable if the service does not say when that ends which this target begins."""
        raise Undeliverable(TELLS_NO_ENDS)

    def ask(self, client: Any, message: Message) -> Told:  # noqa: ARG002 - the same
        """How that goes which the attempts of an execution began last. Raises Undeliverable where nobody may ask."""
        raise Undeliverable(TELLS_NO_ENDS)

    def stop(self, client: Any, message: Message) -> None:  # noqa: ARG002 - the same
        """Stop it, if it runs. Raises Undeliverable where nobody may."""
        raise Undeliverable(TELLS_NO_ENDS)

    @classmethod
    def told_by(cls, detail: Mapping[str, Any]) -> Told | None:  # noqa: ARG003 - the same
        """The word of an event's detail; None if it names no execution. Raises ValueError for another detail."""
        raise ValueError(TELLS_NO_ENDS)
