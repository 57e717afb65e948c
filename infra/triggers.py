"""Triggers of the Lambdas that no client calls: two EventBridge rules by the clock, and the release queues."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk.aws_events_targets import LambdaFunction
from aws_cdk.aws_lambda_event_sources import SqsEventSource
from constructs import Construct, IConstruct

from infra import concurrency
from infra.functions import Functions
from infra.options import Options
from infra.queues import Queues, leave_behind

#: Lambda's largest batch without a batching window. The deliverer starts the deliveries of a batch all at once.
BATCH = 10
#: The least number of provisioned pollers that Lambda takes for a queue, as their most, too.
LEAST_POLLERS = 2


class Triggers(Construct):
    """The rules that start ticker and sweeper, and the mappings that hand released messages to the deliverers."""

    def __init__(
        self, scope: Construct, construct_id: str, *, options: Options, functions: Functions, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        self._every("Tick", options.settings.tick_seconds, functions.live(functions.ticker))
        self._every("Sweep", options.settings.sweep_seconds, functions.live(functions.sweeper))
        shares = {"deliverer": options.shares}
        if options.kafka:
            shares["kafka_deliverer"] = concurrency.shares(options.kafka.deliverer_concurrency, queues=1)
        if options.network:
            shares["private_deliverer"] = concurrency.shares(options.network.deliverer_concurrency, queues=1)
        for moment, pair in queues.pairs.items():
            pollers = options.value("queuePollers") if moment == "deliverer" else 0
            how = _how(shares[moment].plain, pollers=pollers)
            functions.by_moment[moment].add_event_source(SqsEventSource(pair.release, **how))
        for moment, pair in queues.ordered.items():
            # No batching window: FIFO queues allow none.
            source = SqsEventSource(
                pair.release,
                batch_size=BATCH,
                report_batch_item_failures=True,
                max_concurrency=shares[moment].ordered,
            )
            functions.by_moment[moment].add_event_source(source)
        for number in queues.further:
            self._feed_further(number, options, functions, queues)
        for function in functions.by_moment.values():
            _start_live(function, functions.live(function))

    def _feed_further(self, number: int, options: Options, functions: Functions, queues: Queues) -> None:
        """Hand a further queue's messages to its deliverer, even after the queue has left the template."""
        mapping = lambda_.EventSourceMapping(
            self,
            f"Deliverer{number}",
            target=functions.deliverer_of(number),
            event_source_arn=queues.further[number].queue_arn,
            **_how(options.shares.plain, pollers=options.value("queuePollers")),
        )
        _start_live(mapping, functions.live(functions.deliverer_of(number)))
        leave_behind(mapping)

    def _every(self, name: str, seconds: int, function: lambda_.IFunction) -> None:
        # An invocation that cannot start within a minute is dropped, since the next one overtakes it.
        target = LambdaFunction(function, max_event_age=cdk.Duration.seconds(60), retry_attempts=0)
        events.Rule(self, name, schedule=events.Schedule.rate(cdk.Duration.seconds(seconds)), targets=[target])


def _start_live(construct: IConstruct, live: lambda_.Alias) -> None:
    """Let the event sources below a construct start an alias.

    They are changed in place. A source that was made for the alias would have another logical id, and a queue would
    have two for a moment of an upgrade.
    """
    for child in construct.node.find_all():
        if isinstance(child, lambda_.CfnEventSourceMapping):
            child.function_name = live.function_arn


def _how(deliverers: int, *, pollers: int) -> dict[str, Any]:
    """The settings by which Lambda hands messages of a plain release queue to at most so many deliverers at once.

    `pollers`: the pollers that Lambda keeps ready. Their number bounds the number of deliverers; 0: none.
    """
    how: dict[str, Any] = {
        "batch_size": BATCH,
        "max_batching_window": cdk.Duration.seconds(0),
        "report_batch_item_failures": True,
    }
    if pollers:
        most = max(LEAST_POLLERS, deliverers // concurrency.OF_A_POLLER)
        how["provisioned_poller_config"] = lambda_.ProvisionedPollerConfig(
            minimum_pollers=pollers, maximum_pollers=most
        )
    else:
        how["max_concurrency"] = deliverers
    return how
