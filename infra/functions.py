"""The Lambda functions: each has a role and a log of its own, and its settings as environment variables.

Only the deliverers of further release queues share the role and the log of the first deliverer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from clockwork.settings import LIVE, Settings
from infra.ingestion import Ingestion
from infra.kafka.cluster import KafkaCluster
from infra.kafka.functions import reach
from infra.memory import DELIVERER_MEMORY_MB, MEMORY_MB, POLLER_MEMORY_MB
from infra.network import Network, place
from infra.options import Options
from infra.packaging.bundle import handler
from infra.packaging.layers import ARCHITECTURES, RUNTIME, Layers
from infra.permissions import TELLS, grant, kind_of
from infra.queues import Pair, Queues, leave_behind
from infra.storage import Storage


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """The properties in which one Lambda differs from the others."""

    purpose: str
    timeout_seconds: int
    memory_mb: int = MEMORY_MB
    #: Concurrency that the option `reserve` keeps for this Lambda alone. None: the Lambda uses the account's unreserved
    #: concurrency.
    reserved: int | None = None
    #: The Lambda's own work comes back to it, for example through the release queue. Lambda's recursion detection
    #: would stop such a chain at the 16th time, so it is switched off.
    recursive: bool = False
    #: A caller starts the Lambda asynchronously, and again within a minute, so a late start is worthless. Lambda drops
    #: an event after 60 s and repeats no failed one.
    perishable: bool = False
    #: The layers of third-party packages that only this Lambda needs, besides the layers of every Lambda.
    layers: tuple[str, ...] = ()
    #: The folder of its handler below lambdas/. Empty: the folder of its own name.
    folder: str = ""


def _shapes(settings: Settings) -> dict[str, _Shape]:
    return {
        "api": _Shape(purpose="Answers the HTTPS API", timeout_seconds=settings.api_timeout_seconds, layers=("edge",)),
        "ticker": _Shape(
            purpose="Starts one poller per shard, every minute",
            timeout_seconds=settings.ticker_timeout_seconds,
            reserved=2,
            perishable=True,
        ),
        "poller": _Shape(
            purpose="Releases what one shard holds due",
            timeout_seconds=settings.poller_timeout_seconds,
            memory_mb=POLLER_MEMORY_MB,
            # An ordered shard's poller stays while work is near, and its successor starts before it ends: two at once.
            reserved=settings.shards + 2 * settings.ordered_shards,
            recursive=True,
            perishable=True,
        ),
        "deliverer": _Shape(
            purpose="Delivers released occurrences to their targets, on time",
            timeout_seconds=settings.deliverer_timeout_seconds,
            memory_mb=DELIVERER_MEMORY_MB,
            recursive=True,
        ),
        "sweeper": _Shape(
            purpose="Repairs what was left behind",
            timeout_seconds=settings.sweeper_timeout_seconds,
            recursive=True,
            perishable=True,
        ),
    }


def _kafka_shape(settings: Settings) -> _Shape:
    return _Shape(
        purpose="Delivers released occurrences to Kafka topics, on time",
        timeout_seconds=settings.deliverer_timeout_seconds,
        memory_mb=DELIVERER_MEMORY_MB,
        recursive=True,
        layers=("kafka",),
        folder="deliverer",
    )


def _private_shape(settings: Settings) -> _Shape:
    return replace(
        _shapes(settings)["deliverer"],
        purpose="Delivers released occurrences to private targets, on time",
        folder="deliverer",
    )


def _workers_shape(settings: Settings) -> _Shape:
    return replace(
        _shapes(settings)["api"],
        purpose="Answers the workers of pools, apart from the HTTPS API's other routes",
        folder="api",
    )


def _ingester_shape(settings: Settings) -> _Shape:
    return _Shape(
        purpose="Takes messages that create and cancel jobs",
        timeout_seconds=settings.ingester_timeout_seconds,
        recursive=True,
        layers=("edge",),
    )


class Functions(Construct):
    """All Lambda functions of a deployment.

    `by_moment` has the Lambda of each moment, with `kafka_deliverer`, `private_deliverer`, `ingester` and `workers` if
    the options ask for them. The five Lambdas of every deployment are attributes, too. `further` has the deliverers of
    further release queues, by the number of the queue, if the options ask for one each. Every caller names the Lambda's
    alias, see `live`.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        options: Options,
        storage: Storage,
        queues: Queues,
        layers: Layers,
        ingestion: Ingestion | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._layers = layers
        self._live: dict[lambda_.Function, lambda_.Alias] = {}
        self._architecture = ARCHITECTURES[options.value("architecture")]
        self._reserves = options.value("reserve")
        self._platform_logs = options.value("platformLogs")
        self._removal_policy = cdk.RemovalPolicy.RETAIN if options.keeps else cdk.RemovalPolicy.DESTROY
        kept = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        self._version_policy = kept if options.keeps else cdk.RemovalPolicy.DESTROY
        settings = _with_resources(options.settings, storage, queues)
        if options.kafka:
            settings = settings.with_(ingestion_topic=options.kafka.ingestion_topic)
        shapes = _shapes(settings)
        self.poller = self._function("poller", shapes["poller"], settings)
        settings = settings.with_(poller_function=f"{self.poller.function_name}:{LIVE}")
        letters = _letters(queues)
        self.sweeper = self._function("sweeper", shapes["sweeper"], settings.with_(**letters))
        sweeping = settings.with_(sweeper_function=f"{self.sweeper.function_name}:{LIVE}")
        self.api = self._function("api", shapes["api"], sweeping)
        self.ticker = self._function("ticker", shapes["ticker"], settings)
        self.deliverer = self._function("deliverer", shapes["deliverer"], settings)
        self.by_moment = {moment: getattr(self, moment) for moment in shapes}
        if options.kafka:
            self.by_moment["kafka_deliverer"] = self._kafka_deliverer(settings, options.kafka)
        if options.network:
            self.by_moment["private_deliverer"] = self._private_deliverer(settings, options.network)
        if ingestion:
            rejecting = settings.with_(rejected_queue_url=ingestion.rejected.queue_url)
            self.by_moment["ingester"] = self._function("ingester", _ingester_shape(settings), rejecting)
            ingester = self.by_moment["ingester"]
            ingestion.feed(ingester, self.live(ingester), options.kafka)
        if options.pools:
            self.by_moment["workers"] = self._function("workers", _workers_shape(settings), settings)
        # Lambda adds at most 1,000 environments to a function in ten seconds, whatever the number of the queues that it
        # takes from. A deployment that needs more has a deliverer for each queue.
        own = queues.further if options.value("delivererForEachQueue") else ()
        self.further = {number: self._further_deliverer(number, settings) for number in own}
        for function in (*self.by_moment.values(), *self.further.values()):
            # The Lambdas derive the URLs of these queues from names, a dependency that CloudFormation cannot see.
            function.node.add_dependency(*queues.further.values())
            for pool in queues.pools.values():
                function.node.add_dependency(pool.dead_letters, *pool.by_name.values())
        grant(
            self.by_moment,
            tables=storage.tables,
            queues=queues,
            target_queue_arns=options.target_queue_arns,
            target_arns=options.target_arns,
            secret_prefix=settings.secret_prefix,
            target_key_arns=options.target_key_arns,
            key_arn=options.key_arn,
        )

    def deliverer_of(self, number: int) -> lambda_.Function:
        """The deliverer of a further release queue."""
        return self.further.get(number, self.deliverer)

    def live(self, function: lambda_.Function) -> lambda_.Alias:
        """The alias of a Lambda's present version. A deployment moves the alias once the version is complete.

        A version has code, layers and settings of one deployment. Without versions an update changes them one after the
        other, and a Lambda that starts meanwhile gets a mixture.
        """
        return self._live[function]

    def _kafka_deliverer(self, settings: Settings, cluster: KafkaCluster) -> lambda_.Function:
        settings = settings.with_(
            kafka_bootstrap_servers=cluster.bootstrap_servers, kafka_auth=cluster.auth, kafka_secret=cluster.secret
        )
        function = self._function("kafka_deliverer", _kafka_shape(settings), settings)
        reach(function, cluster)
        return function

    def _private_deliverer(self, settings: Settings, network: Network) -> lambda_.Function:
        function = self._function("private_deliverer", _private_shape(settings), settings.with_(in_network=True))
        place(function, network.subnet_ids, network.security_group_ids)
        return function

    def _further_deliverer(self, number: int, settings: Settings) -> lambda_.Function:
        """The deliverer of one further queue. It has the first deliverer's role and log.

        It stays in the account when it leaves the template, as its queue does.
        """
        role, log = self.deliverer.role, self.deliverer.log_group
        assert role is not None
        shape = _shapes(settings)["deliverer"]
        function = self._make(f"Deliverer{number}", "deliverer", shape, settings, role=role, log=log)
        leave_behind(function)
        leave_behind(self.live(function))
        return function

    def _function(self, moment: str, shape: _Shape, settings: Settings) -> lambda_.Function:
        name = construct_name(moment)
        log = logs.LogGroup(
            self, f"{name}Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=self._removal_policy
        )
        role = iam.Role(
            self,
            f"{name}Role",
            # Policies of queues, keys and roles elsewhere name it. Roles belong to an account, hence the region in it.
            role_name=f"{cdk.Stack.of(self).stack_name}-{cdk.Aws.REGION}-{name}" if kind_of(moment) in TELLS else None,
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        log.grant_write(role)
        function = self._make(name, shape.folder or moment, shape, settings, role=role, log=log)
        if shape.perishable:
            self.live(function).configure_async_invoke(max_event_age=cdk.Duration.seconds(60), retry_attempts=0)
        return function

    def _make(
        self, name: str, folder: str, shape: _Shape, settings: Settings, *, role: iam.IRole, log: logs.ILogGroup
    ) -> lambda_.Function:
        function = lambda_.Function(
            self,
            name,
            description=shape.purpose,
            runtime=RUNTIME,
            architecture=self._architecture,
            handler="handler.lambda_handler",
            code=lambda_.Code.from_asset(str(handler(folder))),
            layers=[self._layers.of[layer] for layer in ("vendor", *shape.layers, "core")],
            role=role,
            log_group=log,
            # JSON is the format in which Lambda's own lines have levels. Clockwork's lines are as they were written.
            logging_format=lambda_.LoggingFormat.JSON,
            system_log_level_v2=lambda_.SystemLogLevel[self._platform_logs],
            application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
            timeout=cdk.Duration.seconds(shape.timeout_seconds),
            memory_size=shape.memory_mb,
            reserved_concurrent_executions=shape.reserved if self._reserves else None,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if shape.recursive else None,
            environment=_environment(settings),
            # Earlier versions stay, so that the alias can go back to one; not that of a deployment that failed.
            current_version_options=lambda_.VersionOptions(removal_policy=self._version_policy),
        )
        self._live[function] = lambda_.Alias(self, f"{name}Live", alias_name=LIVE, version=function.current_version)
        return function


def construct_name(moment: str) -> str:
    """The name of a Lambda in the template, for example KafkaDeliverer for kafka_deliverer."""
    return "".join(part.capitalize() for part in moment.split("_"))


def _with_resources(settings: Settings, storage: Storage, queues: Queues) -> Settings:
    names = {f"{name}_table": table.table_name for name, table in storage.tables.items()}
    for prefix, plain, ordered in _lanes(queues):
        names[f"{prefix}release_queue_url"] = plain.release.queue_url
        names[f"{prefix}ordered_release_queue_url"] = ordered.release.queue_url
    return settings.with_(**names)


def _letters(queues: Queues) -> dict[str, str]:
    """The settings that the sweeper alone has: the dead-letter queues."""
    urls = {}
    for prefix, plain, ordered in _lanes(queues):
        urls[f"{prefix}release_dead_letter_queue_url"] = plain.dead_letters.queue_url
        urls[f"{prefix}ordered_release_dead_letter_queue_url"] = ordered.dead_letters.queue_url
    return urls


def _lanes(queues: Queues) -> Iterator[tuple[str, Pair, Pair]]:
    """The prefix of the settings, the plain pair and the ordered pair of each deliverer whose queues need settings."""
    for moment, pair in queues.pairs.items():
        if moment != "private_deliverer":
            yield moment.removesuffix("deliverer"), pair, queues.ordered[moment]


def _environment(settings: Settings) -> dict[str, str]:
    # With an empty PYTHONTZPATH, time zones come from the tzdata package of the vendor layer: its rules are pinned and
    # the same on every machine.
    return {**settings.to_environment(), "PYTHONTZPATH": ""}
