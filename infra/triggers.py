"""Triggers of the Lambdas that no client calls: two EventBridge rules by the clock, and the release queues."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk.aws_events_targets import LambdaFunction
from aws_cdk.aws_lambda_event_sources import SqsEventSource
from constructs import Construct

from infra.functions import Functions
from infra.options import Options
from infra.queues import Queues, leave_behind

#: Lambda's largest batch without a batching window. The deliverer starts the deliveries of a batch all at once.
BATCH = 10
#: The emulator works on at most this many batches of one queue at once (its own default is 5). The stack of an account
#: has no such cap.
LOCAL_BATCHES = 10


class Triggers(Construct):
    """The rules that start ticker and sweeper, and the mappings that hand released messages to the deliverers."""

    def __init__(
        self, scope: Construct, construct_id: str, *, options: Options, functions: Functions, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        self._every("Tick", options.settings.tick_seconds, functions.ticker)
        self._every("Sweep", options.settings.sweep_seconds, functions.sweeper)
        for moment, pair in queues.pairs.items():
            how = _how(options, pollers=options.queue_pollers if moment == "deliverer" else 0)
            functions.by_moment[moment].add_event_source(SqsEventSource(pair.release, **how))
        for moment, pair in queues.ordered.items():
            # No batching window: FIFO queues allow none.
            source = SqsEventSource(
                pair.release,
                batch_size=BATCH,
                report_batch_item_failures=True,
                max_concurrency=LOCAL_BATCHES if options.is_local else None,
            )
            functions.by_moment[moment].add_event_source(source)
        for number in queues.further:
            self._feed_further(number, options, functions, queues)

    def _feed_further(self, number: int, options: Options, functions: Functions, queues: Queues) -> None:
        """Hand a further queue's messages to its deliverer, even after both have left the template."""
        mapping = lambda_.EventSourceMapping(
            self,
            f"Deliverer{number}",
            target=functions.further[number],
            event_source_arn=queues.further[number].queue_arn,
            **_how(options, pollers=options.queue_pollers),
        )
        leave_behind(mapping)

    def _every(self, name: str, seconds: int, function: lambda_.Function) -> None:
        # An invocation that cannot start within a minute is dropped, since the next one overtakes it.
        target = LambdaFunction(function, max_event_age=cdk.Duration.seconds(60), retry_attempts=0)
        events.Rule(self, name, schedule=events.Schedule.rate(cdk.Duration.seconds(seconds)), targets=[target])


def _how(options: Options, *, pollers: int) -> dict[str, Any]:
    """How Lambda hands over the messages of a plain release queue. `pollers`: so many are kept ready; 0: none."""
    how: dict[str, Any] = {
        "batch_size": BATCH,
        "max_batching_window": cdk.Duration.seconds(0),
        "report_batch_item_failures": True,
    }
    if options.is_local:
        how["max_concurrency"] = LOCAL_BATCHES
    elif pollers:
        how["provisioned_poller_config"] = lambda_.ProvisionedPollerConfig(minimum_pollers=pollers)
    return how
