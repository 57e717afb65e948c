"""Ingestion: clients create and cancel jobs by messages to a FIFO queue, to a topic of the MSK cluster, or to both.

The ingester takes these messages, and puts a message that it rejects into a queue of its own.

https://docs.aws.amazon.com/lambda/latest/dg/with-msk.html
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_lambda_event_sources import SqsEventSource
from constructs import Construct

from clockwork.queue_names import queue_name
from clockwork.settings import Settings
from infra.kafka.cluster import KafkaCluster
from infra.kafka.msk import GET_BROKERS
from infra.network import INTERFACES
from infra.options import Options
from infra.permissions import SEND, allow
from infra.queues import RETENTION, adopted, encrypt, leave_behind

#: The largest batch that Lambda takes from a FIFO queue.
QUEUE_BATCH = 10
TOPIC_BATCH = 100
#: Provisioned pollers of the topic. Lambda accepts partial batch responses only with these; without them it would
#: forget the messages that the ingester wants to receive again.
#: https://docs.aws.amazon.com/lambda/latest/dg/kafka-retry-configurations.html
TOPIC_POLLERS = lambda_.CfnEventSourceMapping.ProvisionedPollerConfigProperty(minimum_pollers=1, maximum_pollers=4)
#: The consumer group under which Lambda reads the topic.
GROUP = "clockwork-ingestion"
_CONSUME = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes")


class Ingestion(Construct):
    """The ingester's queues: `rejected`, and `inbound` with its `dead_letters` if jobs may come through a queue.

    `names` has the names of all three by their use.
    """

    def __init__(self, scope: Construct, construct_id: str, *, options: Options) -> None:
        super().__init__(scope, construct_id)
        self._options = options
        uses = ("Rejected", "Inbound", "InboundDeadLetters")
        derived = {use: queue_name(options.name, use) for use in uses}
        self.names = derived | {use: options.adopted_queues[use] for use in uses if use in options.adopted_queues}
        self.rejected = self._queue("Rejected")
        self.dead_letters = self._queue("InboundDeadLetters", fifo=True) if options.value("ingestionQueue") else None
        self.inbound = self._inbound(options.settings, self.dead_letters) if self.dead_letters else None

    def feed(self, ingester: lambda_.Function, live: lambda_.Alias, cluster: KafkaCluster | None) -> None:
        """Let the alias of the ingester take messages from its sources, and send rejected ones to `rejected`."""
        allow(ingester, SEND, self.rejected.queue_arn)
        if self.inbound:
            allow(ingester, _CONSUME, self.inbound.queue_arn)
            source = SqsEventSource(
                self.inbound,
                batch_size=QUEUE_BATCH,
                report_batch_item_failures=True,
                max_concurrency=self._options.shares.ingester,
            )
            ingester.add_event_source(source)
        if cluster and cluster.ingestion_topic:
            _feed_from_topic(self, ingester, live, cluster)

    def _inbound(self, settings: Settings, dead_letters: sqs.IQueue) -> sqs.IQueue:
        redrive = sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=settings.max_receive_count)
        return self._queue("Inbound", settings.visibility_seconds, fifo=True, redrive=redrive)

    def _queue(
        self,
        name: str,
        visibility_seconds: int = 300,
        *,
        fifo: bool = False,
        redrive: sqs.DeadLetterQueue | None = None,
    ) -> sqs.IQueue:
        if name in self._options.adopted_queues:
            return adopted(self, name, self._options.adopted_queues[name])
        made = sqs.Queue(
            self,
            name,
            queue_name=self.names[name],
            fifo=fifo or None,
            # High throughput: SQS limits the messages per second of each message group, not those of the queue.
            deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP if fifo else None,
            fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID if fifo else None,
            visibility_timeout=cdk.Duration.seconds(visibility_seconds),
            retention_period=RETENTION,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=redrive,
        )
        encrypt(made, self._options.key_arn)
        if self._options.keeps:
            leave_behind(made)
        return made


def _feed_from_topic(scope: Construct, ingester: lambda_.Function, live: lambda_.Alias, cluster: KafkaCluster) -> None:
    """Make the topic a source of the ingester.

    Lambda itself reads the topic: in the cluster's own network, with the ingester's role.
    """
    topic = cluster.ingestion_topic
    allow(ingester, ["kafka:DescribeClusterV2"], cluster.cluster_arn)
    allow(ingester, [GET_BROKERS], "*")
    allow(ingester, [*INTERFACES, "ec2:DescribeSecurityGroups", "ec2:DescribeVpcs"], "*")
    if cluster.auth == "iam":
        allow(ingester, ["kafka-cluster:Connect"], cluster.cluster_arn)
        allow(ingester, ["kafka-cluster:DescribeTopic", "kafka-cluster:ReadData"], cluster.arn_of("topic", topic))
        allow(ingester, ["kafka-cluster:AlterGroup", "kafka-cluster:DescribeGroup"], cluster.arn_of("group", GROUP))
    mapping = lambda_.CfnEventSourceMapping(
        scope,
        "Topic",
        function_name=live.function_arn,
        event_source_arn=cluster.cluster_arn,
        topics=[topic],
        starting_position="TRIM_HORIZON",
        amazon_managed_kafka_event_source_config=lambda_.CfnEventSourceMapping.AmazonManagedKafkaEventSourceConfigProperty(
            consumer_group_id=GROUP
        ),
        batch_size=TOPIC_BATCH,
        function_response_types=["ReportBatchItemFailures"],
        provisioned_poller_config=TOPIC_POLLERS,
    )
    mapping.node.add_dependency(ingester.role or ingester)
