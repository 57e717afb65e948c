"""The CloudWatch alarms. By default there are only those of states that must wake a person, whatever the options are.

The option `alarms: all` adds one for each queue, table and Lambda. Every alarm has its meaning, and the first place to
look, in its description.

An alarm on silence has no data before its Lambda ran for the first time, and rings once data stop to come: it notifies
as it becomes INSUFFICIENT_DATA. A first deployment therefore wakes nobody.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from clockwork.settings import Settings
from infra.api import Api
from infra.function_url import FunctionUrl
from infra.functions import Functions, construct_name
from infra.ingestion import Ingestion
from infra.observability.metrics import metric
from infra.options import Options, plain_name
from infra.queues import Pair, PoolQueues, Queues
from infra.storage import Storage

_MINUTE = cdk.Duration.minutes(1)
_SILENCE = cloudwatch.TreatMissingData.MISSING
_FINE = cloudwatch.TreatMissingData.NOT_BREACHING

LATE_MS = 1_000
#: As `GET /v1/health` has it: pollers visit each shard once a minute.
SHARD_STANDS_MS = 120_000
#: As long as a poller may run: in this time each shard is polled at least once, however far behind it is.
POLL_MINUTES = 5
#: Room for the longest delay of SQS (900 s) and two visibility timeouts.
QUEUE_AGE_SECONDS = 1_200
#: Two thirds of the messages of one queue that may be in flight: SQS refuses to hand out more than 120,000 at a time.
IN_FLIGHT = 80_000
#: Half of the messages of a FIFO queue that SQS looks at:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/avoid-backlog-with-the-same-message-group-id.html
ORDERED_BACKLOG = 60_000
#: Early enough for a person to resume a client before its ordered jobs end DEAD (`Settings.ordered_wait_seconds`).
ORDERED_AGE_DAYS = 10
#: A fleet may be away for a night. If jobs wait for longer, their workers do not come.
TICKET_AGE_SECONDS = 86_400
API_FAULTS = 5
#: If more executions than this end DEAD in five minutes, twice in a quarter of an hour, no single job is the trouble.
DEAD_IN_FIVE_MINUTES = 500


class Alarms(Construct):
    """All alarms of a deployment. They notify the SNS topic that the options name, if they name one.

    `waking` has those that a person must get up for.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        options: Options,
        storage: Storage,
        queues: Queues,
        functions: Functions,
        api: Api | FunctionUrl,
        ingestion: Ingestion | None,
    ) -> None:
        super().__init__(scope, construct_id)
        topic = options.value("alarmTopicArn")
        self._action = actions.SnsAction(sns.Topic.from_topic_arn(self, "Topic", topic)) if topic else None
        self._all = options.value("alarms") == "all"
        self.waking: list[cloudwatch.Alarm] = []
        self._watch_heartbeats(functions, polls=options.settings.own_metrics == "none")
        if options.settings.own_metrics != "none":
            self._watch_time(options)
            self._watch_work(options.settings)
            if queues.pools:
                self._watch_workers(options.settings)
        for moment, pair in queues.pairs.items():
            self._watch_queues(pair, construct_name(moment).removesuffix("Deliverer"))
        self._watch_further(queues, functions)
        for moment, pair in queues.ordered.items():
            self._watch_ordered(pair, construct_name(moment).removesuffix("Deliverer"))
        for pool, of_pool in queues.pools.items():
            self._watch_pool(pool, of_pool)
        if ingestion:
            self._watch_ingestion(ingestion, wakes=options.settings.own_metrics == "none")
        for moment, function in functions.by_moment.items():
            self._watch_function(construct_name(moment), function, wakes=moment == "deliverer")
        for name, table in storage.tables.items():
            throttled = table.metric("WriteThrottleEvents", statistic="Sum", period=_MINUTE)
            # `TablesThrottled` tells of all tables, their indexes and their reads, if there are own metrics.
            wakes = options.settings.own_metrics == "none" and name in ("timeline", "executions")
            means = "DynamoDB refuses writes"
            self._alarm(f"{name.capitalize()}Throttled", throttled, above=0, of=5, means=means, wakes=wakes)
        means = "The API answers 5xx: see the api Lambda's log"
        self._alarm("ApiFaults", api.faults, above=API_FAULTS, of=5, means=means, wakes=True)

    def _watch_time(self, options: Options) -> None:
        settings = options.settings
        third_of_retention_ms = settings.row_retention_seconds * 1_000 // 3
        means = "Deliveries start late (p99), and no limit, pause, target or order of their clients explains it"
        self._alarm("Late", metric(settings, "OwnLatenessMs"), above=LATE_MS, of=5, means=means, wakes=True)
        self._alarm("Early", metric(settings, "Early"), above=0, means="A delivery started before it was due: a defect")
        self._alarm(
            "FaultsContained",
            metric(settings, "FaultsContained"),
            above=0,
            means="A defect failed an item alone: search the logs for the action fault_contained, which says where",
            wakes=True,
        )
        self._alarm(
            "CursorLag",
            metric(settings, "CursorLagMs"),
            above=third_of_retention_ms,
            means="A shard is behind by a third of the time for which waiting rows are kept: jobs will be lost",
        )
        standing, lag = "A shard does not move: what is due there starts late. The poller's log says why", "CursorLagMs"
        self._alarm("ShardStands", metric(settings, lag), above=SHARD_STANDS_MS, of=3, means=standing, wakes=True)
        passed = "Rows are in quarantine: no table or queue answered for them, or a newer version wrote them"
        self._alarm("Quarantined", metric(settings, "Quarantined"), above=0, of=5, means=passed, wakes=True)
        throttled = (
            "DynamoDB refuses reads or writes of a table or an index: CloudWatch's ThrottledRequests says of which"
        )
        self._alarm("TablesThrottled", metric(settings, "TablesThrottled"), above=0, of=5, means=throttled, wakes=True)
        aside = "A queue refuses releases: they wait, and the poller's log says for which shards"
        self._alarm("SetAside", metric(settings, "SetAside"), above=0, of=5, means=aside)
        near = "Jobs were parked for 13 days: they end DEAD after 14. Resume their client, or mend its target"
        self._alarm("ParkedNearEnd", metric(settings, "ParkedNearEnd"), above=0, means=near, wakes=True)
        refused = metric(settings, "SettingsRefused")
        means = "ordered_shards is not what the stack was made with, so ordered jobs are refused: set it back"
        self._alarm("SettingRefused", refused, above=0, means=means)

    def _watch_heartbeats(self, functions: Functions, *, polls: bool) -> None:
        """Silence of the Lambdas that run by the clock. AWS counts invocations and failures free of charge.

        `polls`: of the poller as well, since no metric of its own tells of silence (`FewPolls`).
        """
        beating = [("Ticks", functions.ticker), ("Sweeps", functions.sweeper)]
        for beats, function in [*beating, ("Polls", functions.poller)] if polls else beating:
            invoked = function.metric_invocations(statistic="Sum", period=_MINUTE)
            means = f"Nothing starts {beats.lower()}: the scheduler stands still"
            self._alarm(f"No{beats}", invoked, below=1, of=3, missing=_SILENCE, means=means, wakes=True)

    def _watch_work(self, settings: Settings) -> None:
        if settings.own_metrics == "all":
            polls = metric(settings, "Polls", minutes=POLL_MINUTES)
            means = "There were fewer polls than there are shards: one of them is left alone"
            self._alarm("FewPolls", polls, below=settings.shards, of=2, missing=_SILENCE, means=means)
        left = "Dead letters stay: the sweeper's log says why, or the ingester's if they lie in InboundDeadLetters"
        self._alarm("DeadLettersLeft", metric(settings, "DeadLettersLeft"), above=0, of=5, means=left, wakes=True)
        many = "Many executions end DEAD: a target refuses everything, or a client sends what no target takes"
        dead = metric(settings, "Dead", minutes=5)
        self._alarm("ManyDead", dead, above=DEAD_IN_FIVE_MINUTES, of=3, means=many, wakes=True)

    def _watch_workers(self, settings: Settings) -> None:
        lost = metric(settings, "WorkersLost")
        means = "Workers are lost minute by minute: their work is done again, from its last checkpoint if it has one"
        self._alarm("WorkersLost", lost, above=0, of=5, means=means, wakes=True)

    def _watch_queues(self, pair: Pair, kind: str) -> None:
        self._watch_releases(pair.release, kind)
        if pair.shares_dead_letters:
            return
        dead = pair.dead_letters.metric_approximate_number_of_messages_visible(statistic="Maximum", period=_MINUTE)
        left = "Releases failed again and again; the sweeper takes them up"
        self._alarm("DeadLetters", dead, above=0, means=left, kind=kind)

    def _watch_further(self, queues: Queues, functions: Functions) -> None:
        for number, queue in queues.further.items():
            self._watch_releases(queue, f"Further{number}")
        for number, function in functions.further.items():
            self._watch_function(f"Further{number}Deliverer", function)

    def _watch_releases(self, queue: sqs.IQueue, kind: str) -> None:
        age = queue.metric_approximate_age_of_oldest_message(statistic="Maximum", period=_MINUTE)
        flying = queue.metric_approximate_number_of_messages_not_visible(statistic="Maximum", period=_MINUTE)
        unread, many = "Releases are not taken: see the deliverer", "Too many deliveries at once; SQS stops at 120,000"
        self._alarm("QueueAge", age, above=QUEUE_AGE_SECONDS, of=3, means=unread, kind=kind)
        self._alarm("InFlight", flying, above=IN_FLIGHT, means=many, kind=kind)

    def _watch_ordered(self, pair: Pair, kind: str) -> None:
        """Alarms of an ordered queue. A head may wait for hours, and so do the messages behind it: that is no fault."""
        age = pair.release.metric_approximate_age_of_oldest_message(statistic="Maximum", period=_MINUTE)
        means = f"An ordered job waits for {ORDERED_AGE_DAYS} days: it ends DEAD after 13. Resume its client"
        self._alarm("OrderedAge", age, above=ORDERED_AGE_DAYS * 86_400, means=means, kind=kind)
        # Two alarms rather than one on their sum: the emulator's CloudFormation knows no metric math.
        waiting = pair.release.metric_approximate_number_of_messages_visible(statistic="Maximum", period=_MINUTE)
        hidden = pair.release.metric_approximate_number_of_messages_not_visible(statistic="Maximum", period=_MINUTE)
        means = "SQS looks at the first 120,000 messages of a FIFO queue alone: keys behind them wait for others' heads"
        self._alarm("OrderedBacklog", waiting, above=ORDERED_BACKLOG, means=means, kind=kind)
        self._alarm("OrderedHidden", hidden, above=ORDERED_BACKLOG, means=means, kind=kind)
        if pair.shares_dead_letters:
            return
        dead = pair.dead_letters.metric_approximate_number_of_messages_visible(statistic="Maximum", period=_MINUTE)
        left = "Ordered releases failed again and again; the sweeper takes them up, out of their order"
        self._alarm("OrderedDeadLetters", dead, above=0, means=left, kind=kind)

    def _watch_pool(self, pool: str, queues: PoolQueues) -> None:
        """Alarms of a pool. Its tickets may wait for hours while its workers are busy: that is no fault."""
        kind = f"Pool{plain_name(pool).capitalize()}"
        for name, queue in queues.by_name.items():
            age = queue.metric_approximate_age_of_oldest_message(statistic="Maximum", period=_MINUTE)
            means = f"Work of the pool {pool} waits for a day: it has no workers, or too few"
            use = "".join(part.capitalize() for part in name.split("-"))
            self._alarm(f"{use}OldestTicket", age, above=TICKET_AGE_SECONDS, means=means, kind=kind)
        dead = queues.dead_letters.metric_approximate_number_of_messages_visible(statistic="Maximum", period=_MINUTE)
        means = f"Workers of the pool {pool} received tickets again and again and never asked for their jobs"
        self._alarm("DeadLetters", dead, above=0, means=means, kind=kind)

    def _watch_ingestion(self, ingestion: Ingestion, *, wakes: bool) -> None:
        """Nobody gets up for a message that asks for what cannot be: its sender does.

        `wakes`: for messages that could not be handled. The sweeper counts them in `DeadLettersLeft`, if it counts.
        """
        for name, queue, means, is_waking in (
            ("Rejected", ingestion.rejected, "Messages ask for what cannot be: each lies there with its reason", False),
            (
                "InboundDeadLetters",
                ingestion.dead_letters,
                "Messages were not handled: see the ingester's log",
                wakes,
            ),
        ):
            if queue:
                found = queue.metric_approximate_number_of_messages_visible(statistic="Maximum", period=_MINUTE)
                self._alarm(name, found, above=0, means=means, wakes=is_waking)

    def _watch_function(self, name: str, function: lambda_.Function, *, wakes: bool = False) -> None:
        errors = function.metric_errors(statistic="Sum", period=_MINUTE)
        throttles = function.metric_throttles(statistic="Sum", period=_MINUTE)
        failing, starved = "Invocations fail: see the Lambda's log", "The account has no concurrency left for it"
        self._alarm(f"{name}Errors", errors, above=0, of=3, means=failing, wakes=wakes)
        self._alarm(f"{name}Throttles", throttles, above=0, of=5, means=starved, wakes=wakes)

    def _alarm(
        self,
        name: str,
        watched: cloudwatch.Metric,
        *,
        means: str,
        above: float | None = None,
        below: float | None = None,
        of: int = 1,
        missing: cloudwatch.TreatMissingData = _FINE,
        kind: str = "",
        wakes: bool = False,
    ) -> None:
        """Make an alarm that rings when most of the last `of` periods were beyond the bound (for a heartbeat: all).

        `kind` stands before its name and says which of several queues alike it watches. Without `wakes` the alarm is
        made only where the options ask for all.
        """
        if not (wakes or self._all):
            return
        operator = cloudwatch.ComparisonOperator
        alarm = cloudwatch.Alarm(
            self,
            kind + name,
            alarm_description=means,
            metric=watched,
            threshold=above if above is not None else (below or 0),
            comparison_operator=operator.LESS_THAN_THRESHOLD if above is None else operator.GREATER_THAN_THRESHOLD,
            evaluation_periods=of,
            datapoints_to_alarm=of if missing is _SILENCE else of // 2 + 1,
            treat_missing_data=missing,
        )
        if wakes:
            self.waking.append(alarm)
        if self._action:
            alarm.add_alarm_action(self._action)
            alarm.add_ok_action(self._action)
            if missing is _SILENCE:
                alarm.add_insufficient_data_action(self._action)
