"""The checks before a deployment: the account's facts against the template's needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollout.removals import refused, removals
from rollout.sizes import too_large
from rollout.template import CDK_BOOTSTRAP, Template

#: https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
KEPT_UNRESERVED = 100
#: The event sources together may have so much of the account's concurrency; the rest is for the api, for pollers and
#: for the functions of others.
SHARE = 0.8
#: The CDK's synthesizer asks for this version of its bootstrap stack.
BOOTSTRAP = 6
#: Lambda runs an async invoke, a request and a poller even of an account with ten; fewer deliverers than this are slow.
_READY = frozenset(
    {
        "CREATE_COMPLETE",
        "UPDATE_COMPLETE",
        "UPDATE_ROLLBACK_COMPLETE",
        "IMPORT_COMPLETE",
        "IMPORT_ROLLBACK_COMPLETE",
    }
)
#: Advice for a stack in a state that CloudFormation does not update. Only a stack that was never complete may be
#: deleted without a further look: any other may be in use.
_NEVER_COMPLETE = "delete the stack in CloudFormation: it was never complete"
_CONTINUE = "the stack is in use, do not delete it. In CloudFormation: continue the rollback"
_STUCK = {
    "CREATE_FAILED": _NEVER_COMPLETE,
    "ROLLBACK_COMPLETE": _NEVER_COMPLETE,
    "ROLLBACK_FAILED": _NEVER_COMPLETE,
    "DELETE_FAILED": "its events say what could not be deleted: mend that, and `make destroy` again",
    "UPDATE_FAILED": "the stack is in use, do not delete it. In CloudFormation: roll it back",
}
#: The name that allows removals of which nobody can tell.
UNKNOWN_REMOVALS = "unknown"
OK, WARN, REFUSED, UNKNOWN = "ok", "warn", "refused", "unknown"


class Unknown(str):
    """A fact that could not be asked for; its text says why."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The account's facts. Each value may be `Unknown`."""

    account: str
    region: str
    #: The version of the bootstrap stack; 0: there is none.
    bootstrap: int | Unknown
    #: The ARN of the managed policy that is to bound the roles; empty: none is asked for, or there is none.
    boundary: str | Unknown = ""
    #: The account's quota of concurrent executions, and its unreserved part.
    concurrency: int | Unknown
    unreserved: int | Unknown
    #: The state of the stack; empty: there is none.
    status: str | Unknown
    #: The template of the stack; None: there is no stack.
    live: Template | Unknown | None
    #: Which of the queues that the template names exist.
    queues: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Row:
    """A line of the table. `state` is ok, warn (it can be deployed, and lacks something), refused or unknown."""

    what: str
    state: str
    found: str
    needed: str
    then: str = ""


def judge(facts: Facts, wanted: Template, allowed: Iterable[str] = ()) -> list[Row]:
    """Every check, in the order of the table."""
    options = wanted.options
    return [
        _place("account", facts.account, options),
        _place("region", facts.region, options),
        _bootstrap(facts, wanted),
        *_boundary(facts, options),
        _stack(facts),
        _admins(options),
        _alarms(facts, options),
        *_key(facts, options),
        *_sizes(wanted),
        *_function_url(options),
        *_concurrency(facts, wanted),
        *_names(facts, wanted),
        *_removed(facts, wanted, frozenset(allowed)),
    ]


def may_deploy(rows: Sequence[Row]) -> bool:
    """Whether nothing is refused."""
    return all(row.state != REFUSED for row in rows)


def _place(name: str, found: str, options: Mapping[str, Any]) -> Row:
    wanted = str(options.get(name, found))
    if wanted == found:
        return Row(name, OK, found, wanted if name in options else "any")
    return Row(name, REFUSED, found, wanted, f"use credentials for {wanted}, or change `{name}` in deployment.json")


def _bootstrap(facts: Facts, wanted: Template) -> Row:
    if isinstance(facts.bootstrap, Unknown):
        return Row("bootstrap stack", UNKNOWN, facts.bootstrap, str(BOOTSTRAP))
    if facts.bootstrap >= BOOTSTRAP:
        return Row("bootstrap stack", OK, f"version {facts.bootstrap}", f"version {BOOTSTRAP}")
    found = f"version {facts.bootstrap}" if facts.bootstrap else "none"
    qualifier = wanted.bootstrap.split("/")[2]
    own = "" if wanted.bootstrap == CDK_BOOTSTRAP else f"--qualifier {qualifier} --toolkit-stack-name CDK-{qualifier} "
    command = f"node_modules/.bin/cdk bootstrap {own}aws://{facts.account}/{facts.region}"
    return Row("bootstrap stack", REFUSED, found, f"version {BOOTSTRAP}", command)


def _boundary(facts: Facts, options: Mapping[str, Any]) -> Iterator[Row]:
    """The managed policy that bounds the roles. CloudFormation makes the first role, and fails without it."""
    if named := options.get("permissionsBoundary"):
        what, needed = "permissions boundary", str(named)
        if isinstance(facts.boundary, Unknown):
            yield Row(what, UNKNOWN, facts.boundary, needed)
        elif facts.boundary:
            yield Row(what, OK, facts.boundary, needed)
        else:
            yield Row(what, REFUSED, "none of this name", needed, "make the policy, or change `permissionsBoundary`")


def _stack(facts: Facts) -> Row:
    if isinstance(facts.status, Unknown):
        return Row("stack", UNKNOWN, facts.status, "at rest")
    if not facts.status:
        return Row("stack", OK, "none", "at rest", "it will be created")
    if facts.status in _READY:
        return Row("stack", OK, facts.status, "at rest")
    wait = facts.status.endswith("_IN_PROGRESS")
    then = "wait until it has ended" if wait else _STUCK.get(facts.status, _CONTINUE)
    return Row("stack", REFUSED, facts.status, "at rest", then)


def _admins(options: Mapping[str, Any]) -> Row:
    """Without an admin nobody can make a client, and without a client nobody can make a job."""
    if count := len(options.get("adminPrincipals", ())):
        return Row("admins", OK, str(count), "1 at least")
    then = "name them in deployment.json (`adminPrincipals`), or: make deploy ADMIN_PRINCIPALS=arn:aws:iam::..."
    return Row("admins", REFUSED, "none", "1 at least", then)


def _alarms(facts: Facts, options: Mapping[str, Any]) -> Row:
    """CloudWatch refuses an alarm that is to notify a topic of another region."""
    topic = str(options.get("alarmTopicArn", ""))
    then = "name one in deployment.json: `alarmTopicArn`"
    if not topic:
        return Row("alarms", WARN, "notify nobody", "an SNS topic", then)
    if topic.split(":")[3] != facts.region:
        return Row("alarms", REFUSED, topic, f"an SNS topic of {facts.region}", then)
    return Row("alarms", OK, topic, "an SNS topic")


def _key(facts: Facts, options: Mapping[str, Any]) -> Iterator[Row]:
    """DynamoDB takes a key of its own region alone, and the stack one of its own account."""
    arn = str(options.get("keyArn", ""))
    if arn and arn.split(":")[3:5] != [facts.region, facts.account]:
        then = "name a key of this account and region in deployment.json: `keyArn`"
        yield Row("key", REFUSED, arn, f"a key of {facts.account}, {facts.region}", then)


def _sizes(wanted: Template) -> Iterator[Row]:
    for one in too_large(wanted):
        yield Row(one.what, REFUSED, f"{one.size} characters", f"{one.most} at most", one.then)


def _function_url(options: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of a function URL: what callers may, and what throttles them."""
    if options.get("api") != "functionUrl":
        return
    then = "a caller of IAM may call every path: the principals of clients, and admins, are all that divides them"
    yield Row("paths of the API in IAM", WARN, "not told apart", "by route, if a viewer is to be one in IAM", then)
    if not options.get("reserve"):
        then = "set `reserve`, or a flood of requests takes the account's concurrency"
        yield Row("throttle of the API", WARN, "the account's concurrency", "a part of it", then)


def _concurrency(facts: Facts, wanted: Template) -> Iterator[Row]:
    needs = wanted.concurrency
    if isinstance(facts.concurrency, Unknown) or isinstance(facts.unreserved, Unknown):
        yield Row("concurrent executions", UNKNOWN, str(facts.concurrency), str(needs.sources))
        return
    room = int(facts.concurrency * SHARE)
    enough = needs.sources <= room
    raise_to = -(-needs.sources * 10 // 8)
    yield Row(
        "concurrent executions",
        OK if enough else WARN,
        f"{facts.concurrency}, 80% is {room}",
        f"{needs.sources} by event sources",
        "" if enough else f"ask Lambda for {raise_to} (quota L-B99A9384), or lower delivererConcurrency",
    )
    if needs.reserved:
        had = facts.live.concurrency.reserved if isinstance(facts.live, Template) else 0
        left = facts.unreserved + had - needs.reserved
        short = left < KEPT_UNRESERVED
        yield Row(
            "reserved executions",
            _refused_if_known(facts) if short else OK,
            f"{facts.unreserved + had} to reserve from",
            f"{needs.reserved}, and {KEPT_UNRESERVED} left",
            f"ask Lambda for {facts.concurrency + KEPT_UNRESERVED - left}, or leave `reserve` out" if short else "",
        )


def _names(facts: Facts, wanted: Template) -> Iterator[Row]:
    ours = facts.live.queue_names if isinstance(facts.live, Template) else frozenset()
    for name in sorted((wanted.queue_names & facts.queues) - ours):
        then = f"it stayed from an earlier deployment: once it is empty, delete it, or set `adopt` ({name})"
        yield Row(f"queue {name}", _refused_if_known(facts), "exists", "to be made", then)


def _refused_if_known(facts: Facts) -> str:
    """The state of a resource that blocks the deployment, unless the live stack owns it."""
    return UNKNOWN if isinstance(facts.live, Unknown) else REFUSED


def _removed(facts: Facts, wanted: Template, allowed: frozenset[str]) -> Iterator[Row]:
    if isinstance(facts.live, Unknown):
        state = UNKNOWN if UNKNOWN_REMOVALS in allowed else REFUSED
        then = f"use credentials that may read its template, or: make deploy ALLOW_REMOVAL='{UNKNOWN_REMOVALS}'"
        yield Row("removals", state, facts.live, "to be known", then if state == REFUSED else "allowed")
        return
    if not facts.live:
        return
    found = removals(facts.live, wanted)
    dropped = refused(found, allowed)
    for one in found:
        state = REFUSED if one in dropped else OK
        then = f"put it back, or: make deploy ALLOW_REMOVAL='{one.name}'" if state == REFUSED else "allowed"
        yield Row(f"removal of {one.name}", state, one.what, "to be kept", then)
