"""Options of a deployment, from `deployment.json` and `-c`, checked together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from constructs import Node

from clockwork.queue_names import pool_setting, private_queue_name, release_queue_name
from clockwork.settings import DEFAULTS, Settings
from infra import concurrency
from infra.deployment.document import InvalidDeployment, options_of
from infra.deployment.overrides import overrides
from infra.deployment.schema import OPTIONS, default_of
from infra.kafka.cluster import KafkaCluster
from infra.kafka.rules import faults_of_cluster
from infra.network import Network

#: The priorities of a pool that names none.
_PRIORITIES = tuple(OPTIONS["pools"]["items"]["properties"]["priorities"]["items"]["enum"])
#: A stack has at most 500 resources. With all alarms a further release queue is five of them, with a deliverer of its
#: own ten; a priority of a pool is four, and a pool has four more.
MOST_RESOURCES_OF_QUEUES = 270
STAGES = ("account", "local", "smoke")
#: The only name of a stack whose tables and queues go with it, although it is in an account.
SMOKE = "Clockwork-Smoke"


def service_of(arn: str) -> str:
    """The service that an ARN or a pattern of ARNs names."""
    return arn.split(":")[2] if arn.count(":") > 2 else ""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one deployment: the settings of the Lambdas, and values that only the stack needs."""

    settings: Settings
    #: The name of the stack.
    name: str = "Clockwork"
    #: The ARNs of the principals that may act for every client. Empty: nobody may.
    admin_principals: tuple[str, ...] = ()
    #: Patterns of the ARNs of the SQS queues that jobs may target. Empty: jobs may target none.
    target_queue_arns: tuple[str, ...] = ()
    #: Patterns of the ARNs of the resources of AWS services that jobs may target, and of the roles
    #: that a delivery may assume. Empty: none.
    target_arns: tuple[str, ...] = ()
    #: Patterns of the ARNs of the keys with which target queues, topics and signing secrets are encrypted.
    target_key_arns: tuple[str, ...] = ()
    #: The key of Clockwork's own tables and queues. Empty: DynamoDB's and SQS's own.
    key_arn: str = ""
    #: The Kafka cluster whose topics jobs may target. None: jobs may target no topic.
    kafka: KafkaCluster | None = None
    #: The network of private targets. None: deliveries have none.
    network: Network | None = None
    #: The priorities of each pool of workers, by its name. Empty: no job may target a pool.
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    #: The account's names of tables and queues that stayed from an earlier stack, by purpose.
    adopted_tables: Mapping[str, str] = field(default_factory=dict)
    adopted_queues: Mapping[str, str] = field(default_factory=dict)
    #: Whether tables, queues and logs stay when the stack is deleted. They stay in an account, except after a smoke.
    keeps: bool = True
    #: The options as they were given. The stack keeps them, so that the next deployment can tell which ones it drops.
    given: Mapping[str, Any] = field(default_factory=dict)

    def value(self, option: str) -> Any:
        """The value of an option that needs no reading: as it was given, or the default of its schema."""
        return _value(self.given, option)

    @property
    def ingests(self) -> bool:
        """Whether the deployment has an ingester: a queue or a topic whose messages create and cancel jobs."""
        return self.value("ingestionQueue") or (self.kafka is not None and self.kafka.ingestion_topic != "")

    @property
    def is_local(self) -> bool:
        """Whether the stack is for the emulator."""
        return self.settings.stage == "local"

    @property
    def shares(self) -> concurrency.Shares:
        """How the deliverers are divided among the event sources."""
        return concurrency.shares(self.settings.deliverer_concurrency, self.settings.release_queues)

    @staticmethod
    def chosen(node: Node, file: Path | None) -> Options:
        """The options of one environment of a file, where options of the CDK context take precedence.

        The context also has `environment`, its name, and `stage`. The stage `local`, for the emulator, reads no file,
        and its tables and queues are deleted with the stack unless `keep` is `true`. The stage `smoke`, for an account,
        reads no file either. Its stack has a name that no other may have, and is deleted completely. Raises
        InvalidDeployment with every fault.
        """
        stage = str(node.try_get_context("stage") or "account")
        if stage not in STAGES:
            raise InvalidDeployment([f"-c stage={stage}: give one of {', '.join(STAGES)}"])
        environment = str(node.try_get_context("environment") or "")
        sources: list[Callable[[], Mapping[str, Any]]] = [partial(overrides, node)]
        if file and stage == "account":
            sources.insert(0, partial(options_of, file, environment))
        given = {name: value for name, value in _merged(sources).items() if value is not None}
        if (stage == "smoke") != (given.get("name") == SMOKE):
            raise InvalidDeployment([f"the name {SMOKE} is that of -c stage=smoke, whose tables and queues go with it"])
        if faults := list(_faults(given, is_local=stage == "local")):
            raise InvalidDeployment(faults)
        settings = Settings.for_local() if stage == "local" else Settings.for_account()
        keeps = stage == "account" or node.try_get_context("keep") == "true"
        return replace(_options(given, settings), keeps=keeps)


def _merged(sources: Iterable[Callable[[], Mapping[str, Any]]]) -> dict[str, Any]:
    """The options of all sources; later ones take precedence. Raises InvalidDeployment with every fault of all."""
    found: dict[str, Any] = {}
    faults: list[str] = []
    for source in sources:
        try:
            found |= source()
        except InvalidDeployment as error:
            faults += error.faults
    if faults:
        raise InvalidDeployment(faults)
    return found


def _options(given: Mapping[str, Any], settings: Settings) -> Options:
    cluster, network, pools = given.get("kafka"), given.get("network"), _pools(given)
    return Options(
        settings=settings.with_(
            stack_name=_value(given, "name"),
            shards=given.get("shards", settings.shards),
            release_queues=given.get("releaseQueues", settings.release_queues),
            deliverer_concurrency=given.get("delivererConcurrency", settings.deliverer_concurrency),
            has_network="network" in given,
            pools=tuple(pool_setting(name, priorities) for name, priorities in pools.items()),
            takes_unsigned=given.get("unsignedCompletions", settings.takes_unsigned),
            tracing=_value(given, "tracing") == "xray",
            own_metrics=given.get("ownMetrics", settings.own_metrics),
            send_grid_ms=_grid_ms(given, settings),
        ),
        name=_value(given, "name"),
        admin_principals=tuple(_value(given, "adminPrincipals")),
        target_queue_arns=tuple(_value(given, "targetQueueArns")),
        target_arns=tuple(_value(given, "targetArns")),
        target_key_arns=tuple(_value(given, "targetKeyArns")),
        key_arn=given.get("keyArn", ""),
        kafka=KafkaCluster.of(cluster) if cluster is not None else None,
        network=Network.of(network) if network is not None else None,
        pools=pools,
        tags=given.get("tags", {}),
        adopted_tables=given.get("adopt", {}).get("tables", {}),
        adopted_queues=given.get("adopt", {}).get("queues", {}),
        given=given,
    )


def _grid_ms(given: Mapping[str, Any], settings: Settings) -> int:
    """The grid of aligned sends; the local stage has it only if it is asked for."""
    asked = given.get("alignedSends", settings.send_grid_ms > 0)
    return DEFAULTS.send_grid_ms if asked else 0


def _pools(given: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    return {one["name"]: tuple(one.get("priorities", _PRIORITIES)) for one in _value(given, "pools")}


def _value(given: Mapping[str, Any], option: str) -> Any:
    return given.get(option, default_of(option))


def _faults(given: Mapping[str, Any], *, is_local: bool) -> Iterator[str]:
    """The faults that lie between values, each of which is good for itself."""
    settings = Settings.for_local() if is_local else Settings.for_account()
    deliverers = given.get("delivererConcurrency", settings.deliverer_concurrency)
    yield from concurrency.faults(deliverers, _value(given, "releaseQueues"), _value(given, "queuePollers"))
    for use, queue in given.get("adopt", {}).get("queues", {}).items():
        derived = _derived_name(_value(given, "name"), use)
        if derived and queue != derived:
            yield f"adopt: {use} is {queue}, and would have to be {derived}: only a stack of the same name adopts it"
    yield from _faults_of_pools(given)
    for option, part in (("region", 3), ("account", 4)):
        of_key = given.get("keyArn", "").split(":")[part:][:1]
        if of_key and given.get(option, of_key[0]) != of_key[0]:
            yield f"keyArn: the key is of {of_key[0]}, and the {option} is {given[option]}"
    yield from _faults_of_function_url(given, is_local=is_local)
    if is_local and "network" in given:
        yield "network: the local stage has no network but that of this machine"
    cluster = given.get("kafka")
    if cluster is not None:
        prefix = settings.with_(stack_name=_value(given, "name")).secret_prefix
        yield from (f"kafka: {fault}" for fault in faults_of_cluster(cluster, prefix))
        if is_local and "bootstrapServers" not in cluster:
            yield "kafka: the local stage has no MSK: give bootstrapServers"


def _faults_of_function_url(given: Mapping[str, Any], *, is_local: bool) -> Iterator[str]:
    """A function URL leads to one Lambda, and asks every request for a signature."""
    if _value(given, "api") != "functionUrl":
        return
    if is_local:
        yield "api: the local stage has no function URL"
    if given.get("unsignedCompletions", False):
        yield "api: a function URL takes no unsigned request: leave unsignedCompletions out, or use httpApi"
    if _value(given, "pools"):
        yield "api: a function URL leads to one Lambda, and workers of pools have one of their own: use httpApi"


def _faults_of_pools(given: Mapping[str, Any]) -> Iterator[str]:
    names = [plain_name(one["name"]) for one in _value(given, "pools")]
    if alike := sorted({name for name in names if names.count(name) > 1}):
        yield f"pools: two have the name {alike[0]}, but for hyphens"
    of_queue = 10 if _value(given, "delivererForEachQueue") else 5
    further, pools = of_queue * _value(given, "releaseQueues"), sum(4 + 4 * len(one) for one in _pools(given).values())
    if further + pools > MOST_RESOURCES_OF_QUEUES:
        yield "pools: with so many releaseQueues they do not fit into one stack: give fewer of either"


def plain_name(pool: str) -> str:
    """A pool's name without hyphens, as the ids of a template have it."""
    return pool.replace("-", "")


def _derived_name(stack_name: str, use: str) -> str:
    """The name of a queue that the Lambdas know by it alone, see `Settings.release_queue_urls`; of others none."""
    if use.startswith(("Pool-", "PoolDead-")):
        return f"{stack_name}-{use}"
    number = use.removeprefix("Release")
    if number.isdecimal():
        return release_queue_name(stack_name, number)
    private = {"PrivateRelease": False, "PrivateOrderedRelease": True}
    return private_queue_name(stack_name, ordered=private[use]) if use in private else ""
