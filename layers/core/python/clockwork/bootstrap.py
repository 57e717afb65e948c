"""The composition root: the only place where ports meet their AWS adapters.

Inside Lambda, an environment wires its ports when it starts, so that its AWS clients are ready before the first event.
Elsewhere nothing happens before the first call, so that importing a handler needs no environment and no botocore.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from clockwork import cold_start, ports, telemetry
from clockwork.flows.activity.note import note_counts
from clockwork.flows.containment import without_text
from clockwork.flows.hardening import hardened
from clockwork.flows.world import Environment, World
from clockwork.settings import DEFAULTS, LIVE, OWN_METRICS, Settings

if TYPE_CHECKING:
    import ssl

Handler = Callable[[dict[str, Any], Any], Any]
#: For how long an environment may go by the keys of tickets that it has read (s).
TICKET_KEYS_SECONDS = 300


class NotWired:
    """Stands for a port that this Lambda does not use, and says so if it is used."""

    def __init__(self, port: str) -> None:
        self._port = port

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"the port {self._port} is not wired in this Lambda, so {name} cannot be asked")


class App(msgspec.Struct, frozen=True):
    """One Lambda environment."""

    world: World
    #: `flows.requests.ingest.Rejects`, of the ingester alone.
    rejects: Any = NotWired("rejects")

    def deadline_at(self, context: Any) -> int:
        """The instant (ms) at which this invocation is ended."""
        return self.world.clock.now() + int(context.get_remaining_time_in_millis())

    def emit(self, metrics: Mapping[str, telemetry.Value], **properties: object) -> None:
        """Write one line of those metrics that the deployment has, if any, with `properties` that can be searched.

        The line also counts the defects that were contained since the last one, and the calls that were throttled.
        """
        settings, environment = self.world.settings, self.world.environment
        met = {"FaultsContained": environment.faults.take(), "TablesThrottled": environment.throttled.take()}
        metrics = {**metrics, **{name: count for name, count in met.items() if count}}
        if metrics := telemetry.chosen(metrics, OWN_METRICS[settings.own_metrics]):
            self.write(telemetry.metrics_line(settings.metrics_namespace, settings.stack_name, metrics, properties))

    def delay_errors_ms(self, records: Sequence[Mapping[str, Any]]) -> list[int]:
        """By how much the messages of an event of SQS came later than their delays say (ms)."""
        return telemetry.delay_errors_ms(records)

    def write(self, line: str) -> None:
        """Write a line into the log, in one call: `print` makes two, and a line of another thread could come between.

        CloudWatch does not extract metrics from a line that is broken.
        """
        sys.stdout.write(f"{line}\n")


def entry_point(make_handler: Callable[[App], Handler], *, delivers: bool = False) -> Handler:
    """The function that Lambda calls. `delivers`: it needs targets, whose imports the others are spared."""

    def make() -> Handler:
        app = _wire(delivers)
        return noting(app, make_handler(app))

    return begun(make)


def noting(app: App, handler: Handler) -> Handler:
    """The handler `without_text` of defects; behind each invocation, also one that fails, due counts are noted."""

    def handle(event: dict[str, Any], context: Any) -> Any:
        try:
            with without_text():
                return handler(event, context)
        finally:
            note_counts(app.world, app.deadline_at(context))

    return handle


def begun(make: Callable[[], Handler]) -> Handler:
    """The handler that an environment makes when it starts or, outside Lambda, with the first call."""
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        return _logged(make)
    made = cache(lambda: _logged(make))
    return lambda event, context: made()(event, context)


def _logged(make: Callable[[], Handler]) -> Handler:
    """The handler, made once logs have their form: each line names the invocation, and none tells its event."""
    try:
        logger = telemetry.make_logger(os.environ.get("STACK_NAME", DEFAULTS.stack_name), os.environ)
        return logger.inject_lambda_context(make(), log_event=False)
    finally:
        cold_start.end()


def _wire(delivers: bool) -> App:
    runtime_api = os.environ.get("AWS_LAMBDA_RUNTIME_API", "")
    settings = Settings.from_environment(os.environ).with_(runtime_api=runtime_api)
    world = aws_world(settings, delivers=delivers)
    return App(world, _rejects(settings)) if settings.rejected_queue_url else App(world)


def aws_world(settings: Settings, aws: Any = None, *, delivers: bool = False) -> World:
    """All ports on AWS. `aws`: a session of one's own, as tests and benchmarks have."""
    # Imported here: whoever tests a handler on memory needs no botocore.
    from clockwork.aws.clock import OsRandom, SystemClock
    from clockwork.aws.queues.pool_queues import AwsPoolQueues
    from clockwork.aws.session import Aws
    from clockwork.aws.stores.clients import AwsClients, CachedClients
    from clockwork.aws.stores.executions import AwsExecutions, AwsTurnstiles
    from clockwork.aws.stores.jobs import AwsJobs
    from clockwork.aws.stores.operations import AwsOperations
    from clockwork.aws.stores.pools import AwsPools, CachedPools
    from clockwork.aws.stores.regulation import AwsRegulation
    from clockwork.aws.stores.requests import AwsActivity, AwsKeyRows, AwsTrail
    from clockwork.aws.stores.runs import AwsRuns
    from clockwork.aws.stores.shards import AwsShards
    from clockwork.aws.stores.signing_secrets import AwsSigningSecrets
    from clockwork.aws.stores.ticket_keys import AwsTicketKeys, CachedTicketKeys
    from clockwork.aws.stores.timeline import AwsTimeline
    from clockwork.aws.stores.workers import AwsCheckpoints, AwsWorkers
    from clockwork.aws.targets.notices import AwsNotices

    aws = aws or Aws()
    environment = Environment(name=OsRandom().token())
    aws.on_unreadable = environment.faults.add
    aws.on_throttled = environment.throttled.add_one
    aws.meter_of_requests = environment.meter
    clock = SystemClock()
    return hardened(
        World(
            settings=settings,
            clock=clock,
            random=OsRandom(),
            timeline=AwsTimeline(aws, settings.timeline_table),
            shards=AwsShards(aws, settings.shards_table),
            jobs=AwsJobs(aws, settings.jobs_table),
            executions=AwsExecutions(aws, settings.executions_table),
            releases=_releases(aws, settings),
            backlog=_backlog(aws, settings),
            dead_letters=_dead_letters(aws, settings),
            notices=AwsNotices(aws),
            visibility=_visibility(aws, settings) if delivers else NotWired("visibility"),
            invoker=_invoker(aws, settings),
            targets=_targets(aws, settings, clock) if delivers else NotWired("targets"),
            clients=CachedClients(AwsClients(aws, settings.clients_table), clock, settings.client_cache_seconds),
            pools=CachedPools(AwsPools(aws, settings.clients_table), clock, settings.client_cache_seconds),
            checkpoints=AwsCheckpoints(aws, settings.executions_table),
            turnstiles=AwsTurnstiles(aws, settings.executions_table),
            runs=AwsRuns(aws, settings.executions_table),
            workers=AwsWorkers(aws, settings.executions_table),
            key_rows=AwsKeyRows(aws, settings.jobs_table),
            regulation=AwsRegulation(aws, settings.clients_table, clock),
            trail=AwsTrail(aws, settings.executions_table),
            operations=AwsOperations(aws, settings.clients_table),
            activity=AwsActivity(aws, settings.executions_table),
            signing_secrets=AwsSigningSecrets(aws),
            pool_queues=AwsPoolQueues(aws, settings.pool_queue_urls),
            ticket_keys=CachedTicketKeys(AwsTicketKeys(aws, settings.clients_table), clock, TICKET_KEYS_SECONDS),
            environment=environment,
        )
    )


def clients_in(table: str) -> ports.Clients:
    """The clients of a table, for the Lambda that a deployment runs, which has no settings."""
    from clockwork.aws.session import Aws
    from clockwork.aws.stores.clients import AwsClients

    return AwsClients(Aws(), table)


def trust() -> ssl.SSLContext:
    """The certificates by which this process knows whom it calls."""
    from clockwork.aws.trust import trusting

    return trusting(os.environ.get("AWS_CA_BUNDLE"))


def _rejects(settings: Settings) -> Any:
    from clockwork.aws.queues.rejects import AwsRejects
    from clockwork.aws.session import Aws

    return AwsRejects(Aws(), settings.rejected_queue_url)


def _invoker(aws: Any, settings: Settings) -> ports.Invoker:
    from clockwork.aws.invoker import AwsInvoker

    # The poller starts its own successor, and does not know its name from its settings.
    poller = settings.poller_function or f"{os.environ.get('AWS_LAMBDA_FUNCTION_NAME', '')}:{LIVE}"
    return AwsInvoker(aws, poller, settings.sweeper_function)


def _releases(aws: Any, settings: Settings) -> ports.ReleaseQueue:
    from clockwork.aws.queues.ordered_queue import AwsOrderedQueue
    from clockwork.aws.queues.release_queue import AwsReleaseQueue
    from clockwork.ports.routing import Routed, by_lane, by_order, by_shard

    def plain(url: str) -> AwsReleaseQueue:
        return AwsReleaseQueue(aws, url, fair=settings.fair_queue, late_tolerance_ms=settings.late_tolerance_ms)

    queues = [plain(url) for url in settings.release_queue_urls]
    releases: ports.ReleaseQueue = Routed(by_shard(queues)) if len(queues) > 1 else queues[0]
    ordered: ports.ReleaseQueue = AwsOrderedQueue(aws, settings.ordered_release_queue_url)
    if lanes := settings.lanes:
        releases = Routed(by_lane(releases, {lane: plain(url) for lane, (url, _) in lanes.items()}))
        ordered = Routed(by_lane(ordered, {lane: AwsOrderedQueue(aws, url) for lane, (_, url) in lanes.items()}))
    return Routed(by_order(releases, ordered))


def _backlog(aws: Any, settings: Settings) -> ports.Backlog:
    from clockwork.aws.queues.backlog import AwsBacklog

    return AwsBacklog(aws, [*settings.release_queue_urls, *(plain for plain, _ in settings.lanes.values())])


def _dead_letters(aws: Any, settings: Settings) -> ports.DeadLetters:
    from clockwork.aws.queues.dead_letters import AwsDeadLetters

    urls = [settings.release_dead_letter_queue_url, settings.ordered_release_dead_letter_queue_url]
    if settings.has_kafka:
        urls += [settings.kafka_release_dead_letter_queue_url, settings.kafka_ordered_release_dead_letter_queue_url]
    # The sweeper alone has their addresses, and takes letters from them.
    swept = [*filter(None, urls), *settings.pool_dead_letter_queue_urls.values()]
    return AwsDeadLetters(aws, swept, beside=[*filter(None, [settings.inbound_dead_letter_queue_url])])


def _visibility(aws: Any, settings: Settings) -> ports.Visibility:
    from clockwork.aws.queues.ordered_queue import AwsVisibility

    # Who delivers to Kafka, or in the network, takes from queues of its own.
    lane = "kafka" if settings.kafka_bootstrap_servers else "private" if settings.in_network else ""
    return AwsVisibility(aws, settings.lanes[lane][1] if lane else settings.ordered_release_queue_url)


def _targets(aws: Any, settings: Settings, clock: ports.Clock) -> ports.Targets:
    return (
        _kafka_targets(aws, settings, clock) if settings.kafka_bootstrap_servers else _aws_targets(aws, settings, clock)
    )


def _kafka_targets(aws: Any, settings: Settings, clock: ports.Clock) -> ports.Targets:
    from clockwork.targets.kafka.producer import make_producer
    from clockwork.targets.kafka.targets import KafkaTargets

    secrets = aws.client("secretsmanager")
    return KafkaTargets(lambda: make_producer(settings, secrets, secrets.meta.region_name), clock)


def _traces() -> dict[str, Any]:
    from clockwork.targets.web.traces import headers_of

    # Lambda tells the trace of each invocation in the environment.
    return {"traced": lambda message, kept: headers_of(message, kept, os.environ)}


def _aws_targets(aws: Any, settings: Settings, clock: Any) -> ports.Targets:
    from clockwork.aws.targets.gathering import Gathering
    from clockwork.aws.targets.http import HttpTransport
    from clockwork.aws.targets.roles import RoleClients
    from clockwork.aws.targets.secrets import Secrets
    from clockwork.aws.targets.service_attempts import ServiceTransport
    from clockwork.aws.targets.threads import ThreadedTargets, Transport
    from clockwork.targets.http import HttpTarget
    from clockwork.targets.registry import SERVICE_TARGETS
    from clockwork.targets.web.addresses import check_own

    stores = aws.client_later("secretsmanager"), aws.client_later("ssm")
    secrets = Secrets(*stores, clock, prefix=settings.secret_prefix)
    refuses = None if settings.stage == "local" else partial(check_own, runtime=settings.runtime_api)
    traced = _traces() if settings.tracing else {}
    http = HttpTransport(clock, secrets, reaches_private=settings.reaches_private, refuses=refuses, **traced)
    clients = RoleClients(aws, clock)
    transports: dict[type, Transport] = {HttpTarget: http}
    for kind in SERVICE_TARGETS:
        transport = ServiceTransport(kind, clients, clock)
        transports[kind] = Gathering(transport) if kind.most_in_call > 1 else transport
    return ThreadedTargets(transports, clock)
