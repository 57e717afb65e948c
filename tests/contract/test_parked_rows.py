"""Parked rows on DynamoDB: those of a host whose circuit is open cost no read, however many there are."""

from __future__ import annotations

from clockwork.domain.lifecycle.parking import parked_row
from clockwork.flows.sweep.parked_rows import ParkedRows
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from tests.contract.faults import Wire
from tests.contract.worlds import AwsWorld
from tests.support.examples import occurrence, release

SHUT, OPEN = "shut.example.com", "open.example.com"


def test_the_rows_of_hosts_that_are_shut_are_not_read(aws_world: AwsWorld) -> None:
    world = MemoryClockwork().world.with_(timeline=aws_world.timeline)
    for host, count in ((SHUT, 350), (OPEN, 50)):
        of_host = occurrence(target=HttpTarget(f"https://{host}/"))
        releases = [release(job_id=f"job-{number}", occurrence=of_host) for number in range(count)]
        aws_world.timeline.put([parked_row(one, host) for one in releases])
    wire = Wire(aws_world.aws.client("dynamodb"), "Query")
    reading, found = ParkedRows(world, "acme", shut=[SHUT]), 0
    while not reading.is_over:
        found += len(reading.page(100))
    assert (found, wire.sent) == (50, 2)
    everything, found = ParkedRows(world, "acme"), 0
    while not everything.is_over:
        found += len(everything.page(100))
    assert found == 400
