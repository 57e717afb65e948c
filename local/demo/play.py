"""Plays the demonstration on a running server, and prints its result."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from local.demo.scene import scene
from local.demo.scenes.fleet import FleetScene
from local.demo.scenes.long_work import LongWorkScene
from local.demo.scenes.orders import OrderScene
from local.demo.scenes.services import ServicesScene
from local.demo.screen import Screen
from local.demo.summary import OF_KAFKA, POOL_SHOWN, Summary
from local.demo.tour import Tour
from local.dev.running import Server


def play(screen: Screen, server: Server) -> Summary:
    """Play the tour and print its result. Raises ServerFailed if the API refuses a job."""
    with scene(screen, server) as ready:
        tour = Tour(ready, screen)
        summary = tour.run(random.Random())  # noqa: S311 - which job is due when is no secret
        further, shown = list(summary.further_faults), Counter[str]()
        for kind in (FleetScene, LongWorkScene, OrderScene, ServicesScene):
            one = kind(server, screen)
            one.play()
            further += one.faults
            shown += one.shown
        names = [name for name in POOL_SHOWN if name != OF_KAFKA or server.kafka is not None]
        summary = replace(summary, further_faults=tuple(further), pool={name: shown[name] for name in names})
        report(screen, tour, summary)
    return summary


def report(screen: Screen, tour: Tour, summary: Summary) -> None:
    """Print the faults, the paths and the verdict."""
    for job, fault in summary.faults:
        screen.say(f"Job {job.planned.number} ({job.planned.kind}, {job.planned.channel}) {fault}: {tour.view_of(job)}")
    for fault in summary.further_faults:
        screen.say(f"Beside the jobs: {fault}")
    for path, count in summary.paths.items():
        screen.say(f"  {path.replace('_', ', ')}: {count}")
    verdict = "Every job arrived once, none early." if summary.ok else "Not all went as it must."
    late = summary.lateness
    screen.say(f"{verdict} Late by p50 {late.p50}, p99 {late.p99}, max {late.max} ms.")
