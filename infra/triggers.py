"""What starts the Lambdas that nobody calls: two clocks and the release queues."""

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

#: Lambda's largest batch without a window; all of a batch is started at once.
BATCH = 10
#: The emulator has at most this many batches of one queue under way (its own default is 5); an account has no such cap.
LOCAL_BATCHES = 10


class Triggers(Construct):
    """The minute's tick, the sweep, and the deliveries."""

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
            # No window: FIFO queues know none.
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
        """Hand a further queue's messages to its deliverer, also when the template knows both no more."""
        mapping = lambda_.EventSourceMapping(
            self,
            f"Deliverer{number}",
            target=functions.further[number],
            event_source_arn=queues.further[number].queue_arn,
            **_how(options, pollers=options.queue_pollers),
        )
        leave_behind(mapping)

    def _every(self, name: str, seconds: int, function: lambda_.Function) -> None:
        # What cannot be started within a minute is overtaken by the next one.
        target = LambdaFunction(function, max_event_age=cdk.Duration.seconds(60), retry_attempts=0)
        events.Rule(self, name, schedule=events.Schedule.rate(cdk.Duration.seconds(seconds)), targets=[target])


def _how(options: Options, *, pollers: int) -> dict[str, Any]:
    """How the messages of a plain release queue are handed over. `pollers`: so many are ready at any time."""
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
