"""The release queues, in which occurrences that are due soon wait for their instant, and their dead-letter queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from clockwork.queue_names import pool_queue_name, private_queue_name, queue_name, release_queue_name
from clockwork.settings import Settings
from infra.options import Options

#: The longest retention that SQS offers. `Settings.queue_retention_seconds` says the same to the Lambdas.
RETENTION = cdk.Duration.days(14)


#: How long (s) a ticket is hidden while its worker asks the API for the job: a call takes less than half of it.
POOL_VISIBILITY = 60
#: Removal policy of a queue, and of the resources that belong to a further one: they stay when they leave the template,
#: so that messages which wait are not lost. A queue whose creation fails goes again.
LEFT_BEHIND = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


@dataclass(frozen=True)
class Pair:
    """A release queue and its dead-letter queue, to which SQS moves a message that was received too often."""

    release: sqs.IQueue
    dead_letters: sqs.IQueue
    #: Whether the dead-letter queue belongs to another pair.
    shares_dead_letters: bool = False


@dataclass(frozen=True)
class PoolQueues:
    """The queues of a pool by name (`Settings.pool_queue_urls`), and the dead-letter queue that they share."""

    by_name: Mapping[str, sqs.IQueue]
    dead_letters: sqs.IQueue


class Queues(Construct):
    """All release queues of a deployment, and the queues of its pools, with their dead-letter queues.

    `pairs` (standard queues) and `ordered` (FIFO queues) are by the Lambda that takes from them, the deliverer's first.
    `further` has the deliverer's further standard queues, by number from 1 on, for loads that its first is not enough
    for. `pools` has the queues of each pool, from which its workers receive. `by_use` has every queue by the use that
    the option `adopt` names. All queues refuse plain HTTP, are encrypted, and stay when they leave the template.
    """

    def __init__(self, scope: Construct, construct_id: str, *, options: Options) -> None:
        super().__init__(scope, construct_id)
        settings = options.settings
        self._is_disposable = not options.keeps
        self._adopted = options.adopted_queues
        self._key_arn = options.key_arn
        self.by_use: dict[str, sqs.IQueue] = {}
        prefixes = {"deliverer": ""}
        if options.kafka:
            # A deliverer with queues of its own, so that only the Lambda that delivers to Kafka is in its network.
            prefixes["kafka_deliverer"] = "Kafka"
        self.pairs = {moment: self._pair(prefix, settings) for moment, prefix in prefixes.items()}
        self.ordered = {moment: self._pair(f"{p}Ordered", settings, fifo=True) for moment, p in prefixes.items()}
        if options.network:
            # So, too, are deliveries to private targets. Their names are derived, as those of the further queues are.
            self.pairs["private_deliverer"] = self._private(settings, self.pairs["deliverer"])
            self.ordered["private_deliverer"] = self._private(settings, self.ordered["deliverer"], fifo=True)
        self.further = {number: self._further(number, settings) for number in range(1, settings.release_queues)}
        self.pools = {pool: self._pool(pool, settings) for pool in options.pools}

    @property
    def every(self) -> Sequence[Pair]:
        """All pairs: standard queues first, then FIFO queues."""
        return [*self.pairs.values(), *self.ordered.values()]

    def _pair(self, prefix: str, settings: Settings, *, fifo: bool = False) -> Pair:
        """A release queue and its dead-letter queue, whose names are derived."""
        stack = cdk.Stack.of(self).stack_name
        letters, releases = f"{prefix}DeadLetters", f"{prefix}Release"
        dead_letters = self._queue(letters, named=queue_name(stack, letters), fifo=fifo, policed=False)
        # The head of a message group that fails is received again and again, since it is never sent anew.
        receives = settings.ordered_max_receive_count if fifo else settings.max_receive_count
        redrive = sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=receives)
        name, hidden_for = queue_name(stack, releases), settings.visibility_seconds
        release = self._queue(releases, hidden_for, redrive, name, fifo=fifo, policed=False)
        self._refuse_plain_http(f"{prefix}Pair", [dead_letters, release])
        return Pair(release, dead_letters)

    def _private(self, settings: Settings, like: Pair, *, fifo: bool = False) -> Pair:
        """A queue of deliveries to private targets.

        Its dead letters go to the dead-letter queue of the deliverer's queue.
        """
        receives = settings.ordered_max_receive_count if fifo else settings.max_receive_count
        redrive = sqs.DeadLetterQueue(queue=like.dead_letters, max_receive_count=receives)
        name = private_queue_name(cdk.Stack.of(self).stack_name, ordered=fifo)
        use = "PrivateOrderedRelease" if fifo else "PrivateRelease"
        queue = self._queue(use, settings.visibility_seconds, redrive, name, fifo=fifo)
        return Pair(queue, like.dead_letters, shares_dead_letters=True)

    def _further(self, number: int, settings: Settings) -> sqs.IQueue:
        """A queue like the deliverer's first, whose name is derived from its number.

        The Lambdas derive its URL from the name: their environment has no room for so many URLs.
        """
        shared = self.pairs["deliverer"].dead_letters
        redrive = sqs.DeadLetterQueue(queue=shared, max_receive_count=settings.max_receive_count)
        name = release_queue_name(cdk.Stack.of(self).stack_name, number)
        queue = self._queue(f"Release{number}", settings.visibility_seconds, redrive, name)
        leave_behind(queue)
        return queue

    def _pool(self, pool: str, settings: Settings) -> PoolQueues:
        """The queues of a pool, whose names are derived."""
        stack = cdk.Stack.of(self).stack_name
        dead_letters = self._queue(f"PoolDead-{pool}", named=pool_queue_name(stack, pool), policed=False)
        redrive = sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=settings.max_receive_count)
        names = {one: pool_queue_name(stack, pool, one) for one in settings.pool_queue_urls[pool]}
        made = {
            one: self._queue(f"Pool-{pool}-{one}", POOL_VISIBILITY, redrive, name, policed=False)
            for one, name in names.items()
        }
        self._refuse_plain_http(f"Pool-{pool}", [dead_letters, *made.values()])
        return PoolQueues(made, dead_letters)

    def _refuse_plain_http(self, name: str, queues: Sequence[sqs.IQueue]) -> None:
        """One policy for queues that come and go together, in place of one for each: they may be many.

        A queue that was adopted keeps its own.
        """
        made = [queue.queue_url for queue in queues if isinstance(queue, sqs.Queue)]
        if not made:
            return
        denied = iam.PolicyStatement(
            effect=iam.Effect.DENY,
            principals=[iam.AnyPrincipal()],
            actions=["sqs:*"],
            # A queue's policy is about that queue alone.
            resources=["*"],
            conditions={"Bool": {"aws:SecureTransport": "false"}},
        )
        document = iam.PolicyDocument(statements=[denied])
        policy = sqs.CfnQueuePolicy(self, f"{name}Policy", queues=made, policy_document=document)
        if not self._is_disposable:
            leave_behind(policy)

    def _queue(
        self,
        name: str,
        visibility_seconds: int = 300,
        dead_letter_queue: sqs.DeadLetterQueue | None = None,
        named: str | None = None,
        *,
        fifo: bool = False,
        policed: bool = True,
    ) -> sqs.IQueue:
        """A queue. `policed`: it has a policy of its own that refuses plain HTTP."""
        if name in self._adopted:
            self.by_use[name] = adopted(self, name, self._adopted[name])
            return self.by_use[name]
        queue = self.by_use[name] = sqs.Queue(
            self,
            name,
            queue_name=named,
            visibility_timeout=cdk.Duration.seconds(visibility_seconds),
            retention_period=RETENTION,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=policed,
            dead_letter_queue=dead_letter_queue,
            fifo=True if fifo else None,
            # AWS calls both together high throughput: its limits then count by message group.
            deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP if fifo else None,
            fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID if fifo else None,
        )
        encrypt(queue, self._key_arn)
        if not self._is_disposable:
            leave_behind(queue)
        return queue


def adopted(scope: Construct, name: str, queue_name: str) -> sqs.IQueue:
    """A queue that stayed from a stack before, with the properties that it has."""
    stack = cdk.Stack.of(scope)
    arn = stack.format_arn(service="sqs", resource=queue_name, arn_format=cdk.ArnFormat.NO_RESOURCE_NAME)
    url = f"https://sqs.{stack.region}.{stack.url_suffix}/{stack.account}/{queue_name}"
    is_fifo = queue_name.endswith(".fifo")
    return sqs.Queue.from_queue_attributes(
        scope, name, queue_arn=arn, queue_name=queue_name, queue_url=url, fifo=is_fifo
    )


def leave_behind(construct: IConstruct) -> None:
    """Let a construct, with all its resources, stay in the account when it leaves the template."""
    for child in construct.node.find_all():
        if isinstance(child, cdk.CfnResource):
            child.apply_removal_policy(LEFT_BEHIND)


def encrypt(queue: sqs.Queue, key_arn: str) -> None:
    """Let a queue be encrypted by a key of the deployment, if there is one, in place of SQS's own.

    The key is set at the CloudFormation resource: with a construct the CDK would let each consumer use the key for any
    purpose.
    """
    if key_arn:
        resource = queue.node.default_child
        assert isinstance(resource, sqs.CfnQueue)
        resource.add_property_override("KmsMasterKeyId", key_arn)
        resource.add_property_deletion_override("SqsManagedSseEnabled")
