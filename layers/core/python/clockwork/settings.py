"""Settings: the CDK app writes the environment of every Lambda from one frozen `Settings`, the Lambdas read it back.

An environment variable is the upper-case name of its field. Durations say their unit. Nothing here is secret.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from clockwork.queue_names import (
    DERIVED,
    DERIVED_ALWAYS,
    pool_of,
    pool_queue_name,
    private_queue_name,
    queue_name,
    release_queue_name,
)
from clockwork.variables import from_text, to_text

#: The alias of every Lambda's version that works at the moment. Every caller that starts a Lambda names it.
LIVE = "live"
#: Own metrics that have values whenever there is work. CloudWatch bills a metric for every hour in which it has one.
#: AWS counts the messages of the release queue and the invocations free of charge.
USUAL_METRICS = ("CursorLagMs", "LatenessMs", "OwnLatenessMs")
#: Own metrics that count what should not happen. They are written only when it has happened.
FAULT_METRICS = (
    *("Failed", "Dead", "Early", "FaultsContained", "Stuck", "SetAside", "Quarantined", "SettingsRefused"),
    *("PollersNotStarted", "TablesThrottled", "WorkersLost", "ForcedCancels", "StaleTokens", "LookaheadNarrowed"),
    *("MessagesFailed", "MessagesRejected", "DeadLettersReleased", "DeadLettersLeft", "ChainsRepaired", "ChainsLeft"),
    *("ParkedNearEnd", "ParkedTooLong"),
)
#: The own metrics that are written unless the deployment asks for others: alarms and dashboard look at each.
FEW_METRICS = (*USUAL_METRICS, *FAULT_METRICS)
#: The sets of own metrics that a deployment may ask for. None: all metrics are written, those that are 0 as well.
OWN_METRICS: Mapping[str, Collection[str] | None] = {"few": FEW_METRICS, "all": None, "none": ()}

_TABLES = ("timeline_table", "jobs_table", "executions_table", "shards_table", "clients_table")
#: The names of all tables in an environment, in their order: a variable for each would be longer.
_OF_TABLES = "TABLES"
_OF_INGESTION = ("rejected_queue_url", "inbound_dead_letter_queue_url")


class InvalidSettings(Exception):
    """The environment lacks a setting or holds a value that cannot be read; the message names every one."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one deployment; the defaults are an account's. The stack fills in names and URLs."""

    stage: str = "account"
    #: The number of plain shards. May change at any time; ids made before stay valid. With fewer, new jobs no longer go
    #: to the surplus shards, and the sweeper retires these once they hold nothing.
    shards: int = 16
    #: The number of ordered shards. FIXED for the life of a stack: with another number, later jobs of an ordering key
    #: would go to another shard than those that wait, and overtake them. For that reason Clockwork refuses ordered jobs
    #: while the number is not the first one.
    ordered_shards: int = 16
    tick_seconds: int = 60
    sweep_seconds: int = 60
    #: How far ahead a poller releases: never more than 900 s (the longest SQS delay) minus a minute.
    lookahead_seconds: int = 240
    #: A poller sends a message so many whole seconds before its due instant, less this margin (ms). It has to cover the
    #: way of a message through its queue to the deliverer, and its claim.
    send_margin_ms: int = 150
    #: ... at the instants of this grid within the second (ms), which divides 1,000. 0: at once, up to a second early.
    send_grid_ms: int = 250
    #: A message that is sent at once may come so late (ms): its delay is rounded up then, not down. 0: never. With
    #: `delaySeconds: 30` some milliseconds less than thirty seconds are left when it is sent, and it would come at 29.
    late_tolerance_ms: int = 100
    #: With more messages than this visible or held in a release queue, pollers release less far ahead: backpressure.
    backpressure_messages: int = 40_000
    #: How far ahead pollers release then: from one poll to the next but one, and never more than `lookahead_seconds`.
    backpressure_lookahead_seconds: int = 130
    #: How many quiet shards share one invocation of a poller.
    shards_together: int = 16
    lease_seconds: int = 20
    #: A poller commits its cursor after this many occurrences or seconds, whichever comes first.
    commit_occurrences: int = 500
    commit_seconds: int = 5
    #: A create starts its shard's poller if its job is due this soon and lies beyond the shard's horizon.
    poller_invoke_seconds: int = 120
    api_timeout_seconds: int = 29
    ticker_timeout_seconds: int = 30
    poller_timeout_seconds: int = 300
    sweeper_timeout_seconds: int = 300
    deliverer_timeout_seconds: int = 60
    ingester_timeout_seconds: int = 60
    visibility_seconds: int = 120
    max_receive_count: int = 100
    #: The same of the ordered queue: a head that fails is received again and again, since it is never sent anew.
    ordered_max_receive_count: int = 1_000
    #: The most deliverer environments. Clients without a concurrency limit who crowd others share 3 of 4.
    deliverer_concurrency: int = 100
    #: This many attempts at a target, half of them failing, open a circuit in an environment. Retries do not count.
    circuit_least_outcomes: int = 20
    #: How long an open circuit keeps all deliveries from a target before the first probe; it doubles up to ten minutes.
    circuit_cooldown_seconds: int = 30
    #: The longest `timeoutSeconds` a target may ask for.
    target_timeout_seconds: int = 30
    #: Timeline rows live this long past their due instant. An outage must be shorter.
    row_retention_seconds: int = 3 * 86_400
    execution_retention_seconds: int = 30 * 86_400
    #: How long the release queues and their dead-letter queues keep a message: the longest that SQS offers.
    queue_retention_seconds: int = 14 * 86_400
    #: A message that has waited in an ordered queue for this long ends DEAD, before the queue deletes it without a
    #: trace. A head may be hidden for 12 hours meanwhile, and those behind it are seen only after it.
    ordered_wait_seconds: int = 13 * 86_400
    #: A ticket of a pool is made again after this long if no worker has claimed it. An environment has no room for it.
    ticket_check_seconds: int = 3 * 86_400
    idempotency_seconds: int = 86_400
    #: Each of so many api environments admits an even share of a client's createsPerSecond. More of them admit more.
    api_environments: int = 4
    #: How long an environment may act on a client's row as it last read it.
    client_cache_seconds: int = 10
    #: True: the release queue treats every client as a group of its own. SQS bills it: 0.10 USD per million requests.
    fair_queue: bool = False
    #: Whether receivers may report unsigned, by the token of their attempt alone (`POST /v1/completions/{token}`).
    takes_unsigned: bool = False
    #: An environment has the names of the tables as one list, and those of most queues not at all, see `named`.
    timeline_table: str = ""
    jobs_table: str = ""
    executions_table: str = ""
    shards_table: str = ""
    clients_table: str = ""
    #: The number of plain release queues over which the shards are spread. May change at any time: a queue that is
    #: given up is left to its deliverer.
    release_queues: int = 1
    #: The first of them. The names of the others derive from the stack's name, see `release_queue_name`.
    release_queue_url: str = ""
    release_dead_letter_queue_url: str = ""
    ordered_release_queue_url: str = ""
    ordered_release_dead_letter_queue_url: str = ""
    #: The pools of workers with the priorities of each, such as `batch-etl=high,low`, or `gpu` for all. The names of
    #: their queues derive from the stack's name, see `pool_queue_name`.
    pools: tuple[str, ...] = ()
    #: Whether deliveries to private targets have queues and a deliverer of their own, by the option `network`.
    has_network: bool = False
    #: Whether this Lambda is the deliverer in that network.
    in_network: bool = False
    #: host:port of Lambda's runtime, where this runs in Lambda: no target may have it.
    runtime_api: str = ""
    poller_function: str = ""
    #: The api alone has it: it starts a sweep when a client is resumed.
    sweeper_function: str = ""
    stack_name: str = "Clockwork"
    metrics_namespace: str = "Clockwork"
    #: Whether each webhook tells the trace of its delivery (`traceparent`).
    tracing: bool = False
    #: Which own metrics are written, see `OWN_METRICS`.
    own_metrics: str = "few"
    #: The queue to which the ingester sends messages that it rejects. No other Lambda has it.
    rejected_queue_url: str = ""
    #: The dead-letter queue of the queue of ingestion. The sweeper alone has it, and counts its messages.
    inbound_dead_letter_queue_url: str = ""
    #: How long a Kafka topic may take to acknowledge a message. Well below the deliverer's timeout.
    kafka_timeout_seconds: int = 10
    #: Empty: this deployment has no Kafka. The names of its other queues derive, see `named`.
    kafka_release_queue_url: str = ""
    kafka_release_dead_letter_queue_url: str = ""
    kafka_ordered_release_queue_url: str = ""
    kafka_ordered_release_dead_letter_queue_url: str = ""
    #: host:port, separated by commas. Only the Lambda that delivers to Kafka, and to nothing else, has them.
    kafka_bootstrap_servers: str = ""
    #: `plain`, `tls`, `scram` or `iam`.
    kafka_auth: str = "plain"
    #: The topic of that cluster from which the ingester takes jobs. Empty: none.
    ingestion_topic: str = ""
    #: With `scram`: the name of the secret {"username": ..., "password": ...} in Secrets Manager.
    kafka_secret: str = ""

    @property
    def secret_prefix(self) -> str:
        """With what the names of the secrets begin that this deployment may read; parameters have a slash before it."""
        return f"{self.stack_name.lower()}/"

    @property
    def has_kafka(self) -> bool:
        """Whether jobs may target Kafka topics."""
        return self.kafka_release_queue_url != ""

    @property
    def lanes(self) -> Mapping[str, tuple[str, str]]:
        """The plain and the ordered release queue of each deliverer that has its own: to Kafka, to private targets."""
        urls = {"kafka": (self.kafka_release_queue_url, self.kafka_ordered_release_queue_url)} if self.has_kafka else {}
        if self.has_network:
            names = (private_queue_name(self.stack_name, ordered=is_ordered) for is_ordered in (False, True))
            plain, ordered = map(self._beside, names)
            urls["private"] = plain, ordered
        return urls

    @property
    def reaches_private(self) -> bool:
        """Whether this Lambda, as a deliverer, may connect to private addresses. On one's own machine it always may."""
        return self.in_network or self.stage == "local"

    @property
    def release_queue_urls(self) -> list[str]:
        """The URLs of all plain release queues, derived from the first: all would not fit into an environment."""
        names = (release_queue_name(self.stack_name, index) for index in range(1, self.release_queues))
        return [self.release_queue_url, *map(self._beside, names)]

    @property
    def pool_queue_urls(self) -> Mapping[str, Mapping[str, str]]:
        """The URLs of the pools' queues by pool and name, derived as those of the further release queues are."""
        return {
            pool: {one: self._beside(pool_queue_name(self.stack_name, pool, one)) for one in queues}
            for pool, queues in map(pool_of, self.pools)
        }

    @property
    def pool_dead_letter_queue_urls(self) -> Mapping[str, str]:
        """The URLs of their dead-letter queues, by pool: all priorities of a pool share one."""
        return {pool: self._beside(pool_queue_name(self.stack_name, pool)) for pool, _ in map(pool_of, self.pools)}

    def named(self) -> Settings:
        """A copy in which all queues have URLs.

        The names of queues that have none derive from the stack's name. A name in place of a URL is that of a queue
        beside the release queue: an environment tells so of Kafka's, of ingestion's, and of adopted queues.
        """
        others = DERIVED if self.has_kafka else DERIVED_ALWAYS
        names = {one: getattr(self, one) or queue_name(self.stack_name, use) for one, use in others.items()}
        told = (one for one in ("kafka_release_queue_url", *_OF_INGESTION) if getattr(self, one))
        names |= {one: getattr(self, one) for one in told}
        return self.with_(**{one: name if "/" in name else self._beside(name) for one, name in names.items()})

    def _beside(self, queue: str) -> str:
        return f"{self.release_queue_url.rpartition('/')[0]}/{queue}"

    @staticmethod
    def for_account() -> Settings:
        """The settings that `cdk deploy` deploys into an AWS account."""
        return Settings()

    @staticmethod
    def for_local() -> Settings:
        """The settings that `make run` deploys into the emulator: the same algorithm on a shorter scale."""
        return Settings(
            stage="local",
            shards=4,
            ordered_shards=2,
            lookahead_seconds=70,
            backpressure_lookahead_seconds=65,
            send_grid_ms=0,  # no time is paid for here
            late_tolerance_ms=0,
            poller_invoke_seconds=60,
            ticker_timeout_seconds=20,
            poller_timeout_seconds=60,
            sweeper_timeout_seconds=60,
            deliverer_timeout_seconds=20,
            ingester_timeout_seconds=20,
            visibility_seconds=30,
            target_timeout_seconds=15,
            deliverer_concurrency=10,
            circuit_least_outcomes=10,
            circuit_cooldown_seconds=5,
            takes_unsigned=True,
            own_metrics="all",
        )

    def with_(self, **changes: object) -> Settings:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    def to_environment(self) -> dict[str, str]:
        """The environment variables from which `from_environment` reads the same settings back.

        A default is left out: an environment holds 4 KB, and belongs to one version with its code and its defaults.
        """
        texts = {one.upper(): to_text(own) for one in TOLD if (own := getattr(self, one)) != getattr(DEFAULTS, one)}
        return texts | {_OF_TABLES: ",".join(getattr(self, name) for name in _TABLES)}

    @staticmethod
    def from_environment(environment: Mapping[str, str]) -> Settings:
        """Settings from environment variables, with defaults and derived names for those that are not set.

        Raises InvalidSettings naming every unreadable one, and every missing one without which no Lambda works.
        """
        values: dict[str, object] = dict(zip(_TABLES, environment.get(_OF_TABLES, "").split(","), strict=False))
        faults = [f"{_OF_TABLES} has no {name}" for name in _TABLES if not values.get(name)]
        faults += [] if environment.get("RELEASE_QUEUE_URL") else ["RELEASE_QUEUE_URL is not set"]
        for one, name in ((one, one.upper()) for one in TOLD if one.upper() in environment):
            try:
                values[one] = from_text(environment[name], getattr(DEFAULTS, one))
            except KeyError:
                faults.append(f"{name} is not 1 or 0")
            except ValueError as error:
                faults.append(f"{name} is {environment[name]!r}: {error}")
        if faults:
            raise InvalidSettings("; ".join(faults))
        return Settings(**values).named()  # type: ignore[arg-type]


DEFAULTS = Settings()
#: The settings that an environment tells by a variable of their own. It does not tell those two.
TOLD = tuple(one for one in Settings.__struct_fields__ if one not in (*_TABLES, "ticket_check_seconds", "runtime_api"))
