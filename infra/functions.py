"""The Lambda functions: each has a role and a log of its own, and its settings as environment variables.

Only the deliverers of further release queues share the role and the log of the first deliverer.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from clockwork.queue_names import DERIVED, queue_name
from clockwork.settings import LIVE, Settings
from infra.ingestion import Ingestion
from infra.kafka.cluster import KafkaCluster
from infra.kafka.functions import reach
from infra.network import Network, place
from infra.options import Options
from infra.packaging.bundle import handler
from infra.packaging.layers import ARCHITECTURES, RUNTIME, Layers
from infra.permissions import TELLS, allow, grant, kind_of
from infra.queues import Queues, leave_behind
from infra.shapes import Shape, ingester_shape, kafka_shape, private_shape, shapes, workers_shape
from infra.storage import Storage

#: Nothing but its concurrency throttles a Lambda with a URL. Requests of 20 ms are 2,000 a second then, as many as an
#: HTTP API lets pass.
API_EXECUTIONS = 40
#: Where there is Kafka, this setting says so.
_OF_KAFKA = {"kafka_release_queue_url": "KafkaRelease"}


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
        self._by_url = options.value("api") == "functionUrl"
        self._platform_logs = options.value("platformLogs")
        self._removal_policy = cdk.RemovalPolicy.RETAIN if options.keeps else cdk.RemovalPolicy.DESTROY
        kept = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        self._version_policy = kept if options.keeps else cdk.RemovalPolicy.DESTROY
        settings = _with_resources(options, storage, queues)
        if options.kafka:
            settings = settings.with_(ingestion_topic=options.kafka.ingestion_topic)
        of = shapes(settings)
        self.poller = self._function("poller", of["poller"], settings)
        settings = settings.with_(poller_function=f"{self.poller.function_name}:{LIVE}")
        counting = ingestion.names["InboundDeadLetters"] if ingestion and ingestion.dead_letters else ""
        of_sweeper = settings.with_(inbound_dead_letter_queue_url=counting)
        self.sweeper = self._function("sweeper", of["sweeper"], of_sweeper)
        sweeping = settings.with_(sweeper_function=f"{self.sweeper.function_name}:{LIVE}")
        self.api = self._function("api", of["api"], sweeping)
        self.ticker = self._function("ticker", of["ticker"], settings)
        self.deliverer = self._function("deliverer", of["deliverer"], settings)
        self.by_moment = {moment: getattr(self, moment) for moment in of}
        if options.kafka:
            self.by_moment["kafka_deliverer"] = self._kafka_deliverer(settings, options.kafka)
        if options.network:
            self.by_moment["private_deliverer"] = self._private_deliverer(settings, options.network)
        if ingestion:
            rejecting = settings.with_(rejected_queue_url=ingestion.names["Rejected"])
            self.by_moment["ingester"] = self._function("ingester", ingester_shape(settings), rejecting)
            ingester = self.by_moment["ingester"]
            ingestion.feed(ingester, self.live(ingester), options.kafka)
        if options.pools:
            self.by_moment["workers"] = self._function("workers", workers_shape(settings), settings)
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
        if ingestion and ingestion.dead_letters:
            allow(self.sweeper, ["sqs:GetQueueAttributes"], ingestion.dead_letters.queue_arn)

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
        function = self._function("kafka_deliverer", kafka_shape(settings), settings)
        reach(function, cluster)
        return function

    def _private_deliverer(self, settings: Settings, network: Network) -> lambda_.Function:
        function = self._function("private_deliverer", private_shape(settings), settings.with_(in_network=True))
        place(function, network.subnet_ids, network.security_group_ids)
        return function

    def _further_deliverer(self, number: int, settings: Settings) -> lambda_.Function:
        """The deliverer of one further queue. It has the first deliverer's role and log.

        It stays in the account when it leaves the template, as its queue does.
        """
        role, log = self.deliverer.role, self.deliverer.log_group
        assert role is not None
        shape = shapes(settings)["deliverer"]
        function = self._make(f"Deliverer{number}", "deliverer", shape, settings, role=role, log=log)
        leave_behind(function)
        leave_behind(self.live(function))
        return function

    def _function(self, moment: str, shape: Shape, settings: Settings) -> lambda_.Function:
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
        self, name: str, folder: str, shape: Shape, settings: Settings, *, role: iam.IRole, log: logs.ILogGroup
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
            # Which lines are written is up to POWERTOOLS_LOG_LEVEL.
            application_log_level_v2=lambda_.ApplicationLogLevel.DEBUG,
            timeout=cdk.Duration.seconds(shape.timeout_seconds),
            memory_size=shape.memory_mb,
            reserved_concurrent_executions=self._reserved(folder, shape),
            tracing=lambda_.Tracing.ACTIVE if settings.tracing else None,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if shape.recursive else None,
            environment=_environment(settings),
            # Earlier versions stay, so that the alias can go back to one; not that of a deployment that failed.
            current_version_options=lambda_.VersionOptions(removal_policy=self._version_policy),
        )
        self._live[function] = lambda_.Alias(self, f"{name}Live", alias_name=LIVE, version=function.current_version)
        return function

    def _reserved(self, folder: str, shape: Shape) -> int | None:
        if not self._reserves:
            return None
        return API_EXECUTIONS if folder == "api" and self._by_url else shape.reserved


def construct_name(moment: str) -> str:
    """The name of a Lambda in the template, for example KafkaDeliverer for kafka_deliverer."""
    return "".join(part.capitalize() for part in moment.split("_"))


def _with_resources(options: Options, storage: Storage, queues: Queues) -> Settings:
    """The settings with the names that a Lambda cannot derive from the stack's: of tables, and of some queues.

    A queue that was adopted may have any name.
    """
    names = {f"{name}_table": table.table_name for name, table in storage.tables.items()}
    names["release_queue_url"] = queues.by_use["Release"].queue_url
    for name, use in {**DERIVED, **_OF_KAFKA}.items():
        derived = queue_name(options.name, use)
        named = options.adopted_queues.get(use, derived)
        if use in queues.by_use and (name in _OF_KAFKA or named != derived):
            names[name] = named
    return options.settings.with_(**names)


def _environment(settings: Settings) -> dict[str, str]:
    # With an empty PYTHONTZPATH, time zones come from the tzdata package of the vendor layer: its rules are pinned and
    # the same on every machine.
    return {**settings.to_environment(), "PYTHONTZPATH": ""}
