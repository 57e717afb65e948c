"""The faults of the chaos rounds. Each strikes while its jobs come due, and returns how often it struck."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.processes import send
from tests.chaos.scene import Scene
from tests.chaos.sender import Sender
from tests.e2e.waiting import await_value

OUTAGE_SECONDS = 6
#: Longer than a delivery takes on a slow machine, so that a deliverer killed during a delivery has not been answered
#: yet.
HOLD_SECONDS = 0.5
KILLS = 3
#: Longer than a lease.
SLEEP_SECONDS = 22
#: How often the shards are read to see whether a poller holds a lease: most pollers release theirs after some
#: hundredths of a second.
LOOK_SECONDS = 0.002
#: A fault without ticks strikes this long before the first of its jobs is due.
LATE_SECONDS = 6


@dataclass(frozen=True)
class Fault:
    """A fault and how to cause it: `strike` is called once the load runs.

    `may_repeat`: an attempt may be accepted twice, at record level `full`, too. `without_ticks`: the jobs of the round
    are created beyond every horizon, and no tick comes until the fault has struck.
    """

    name: str
    what: str
    strike: Callable[[Scene, Sender], int]
    may_repeat: bool
    without_ticks: bool = False


def nothing(scene: Scene, sender: Sender) -> int:
    """Runs the load without any fault, to compare the other rounds with."""
    return 1


def kill_deliverers(scene: Scene, sender: Sender, kills: int = KILLS) -> int:
    """Kills the deliverers, each time in the middle of a delivery."""
    scene.target.order(f"hold {HOLD_SECONDS}")
    killed = 0
    for _ in range(kills):
        scene.target.await_arrival()
        killed += scene.environments.signal("deliverer", signal.SIGKILL)
        time.sleep(1)
    scene.target.order("hold 0")
    return killed


def stop_deliverers(scene: Scene, sender: Sender) -> int:
    """Stops the deliverers for less than their time-out, so that they wake up in the middle of their work."""
    scene.target.await_arrival()
    stopped = scene.environments.signal("deliverer", signal.SIGSTOP)
    time.sleep(OUTAGE_SECONDS)
    scene.environments.signal("deliverer", signal.SIGCONT)
    return stopped


def kill_apis(scene: Scene, sender: Sender) -> int:
    """Kills the api environments, each time while they have a request."""
    killed = 0
    for _ in range(KILLS):
        sender.await_under_way()
        killed += scene.environments.signal("api", signal.SIGKILL)
        time.sleep(1)
    return killed


def kill_all(scene: Scene, sender: Sender) -> int:
    """Kills one Lambda after the other, whatever it is doing, and then all of them again."""
    killed = 0
    for _ in range(KILLS):
        for moment in scene.environments.functions:
            killed += scene.environments.signal(moment, signal.SIGKILL)
            time.sleep(0.5)
    return killed


def kill_target(scene: Scene, sender: Sender, seconds: float = OUTAGE_SECONDS) -> int:
    """Kills the target for a while: connections are refused."""
    scene.target.await_arrival()
    scene.target.die()
    time.sleep(seconds)
    scene.target.rise()
    return 1


def hang_target(scene: Scene, sender: Sender) -> int:
    """Stops the target for a while: it answers no connection, and handles the waiting ones when it wakes up."""
    scene.target.await_arrival()
    scene.target.freeze()
    time.sleep(OUTAGE_SECONDS)
    scene.target.thaw()
    return 1


def fail_target(scene: Scene, sender: Sender) -> int:
    """Lets the target answer 500 for a while."""
    scene.target.await_arrival()
    scene.target.order("status 500")
    time.sleep(OUTAGE_SECONDS)
    scene.target.order("status 200")
    return 1


def stop_emulator(scene: Scene, sender: Sender) -> int:
    """Stops the emulator for a while: queues, tables and api stand still."""
    scene.target.await_arrival()
    scene.freeze(OUTAGE_SECONDS)
    return 1


def restart_emulator(scene: Scene, sender: Sender) -> int:
    """Restarts the emulator: every Lambda environment and every request without an answer is gone."""
    scene.target.await_arrival()
    scene.stack.emulator.restart()
    return 1


def no_ticks(scene: Scene, sender: Sender) -> int:
    """Withholds ticks until some of the jobs are overdue."""
    time.sleep(OUTAGE_SECONDS + LATE_SECONDS)
    return 1


def kill_pollers(scene: Scene, sender: Sender) -> int:
    """Kills pollers while they hold leases."""
    leased = _stop_with_leases(scene)
    scene.environments.signal("poller", signal.SIGKILL)
    return leased


def put_poller_to_sleep(scene: Scene, sender: Sender) -> int:
    """Stops pollers until the leases they hold have ended; other pollers take over before they wake up."""
    leased = _stop_with_leases(scene)
    sleeping = [process.id for process in scene.environments.of("poller")]
    time.sleep(SLEEP_SECONDS)
    for process_id in sleeping:
        send(process_id, signal.SIGCONT)
    return leased


def _stop_with_leases(scene: Scene) -> int:
    """Starts all pollers and stops them while some hold a lease; returns how many leases are held."""
    scene.tick()

    def stopped() -> int | None:
        scene.environments.signal("poller", signal.SIGSTOP)
        if leased := scene.leased():
            return len(leased)
        scene.environments.signal("poller", signal.SIGCONT)
        return None

    return await_value(stopped, "a poller with a lease", 10, LOOK_SECONDS)


FAULTS = (
    Fault("warm_up", "nothing, and Lambda has run nothing yet", nothing, may_repeat=True),
    Fault("calm", "nothing", nothing, may_repeat=False),
    Fault("deliverers_killed", "deliverers are killed during deliveries", kill_deliverers, may_repeat=True),
    Fault("deliverers_stopped", "deliverers stand still for 6 s", stop_deliverers, may_repeat=True),
    Fault("apis_killed", "api environments are killed during requests", kill_apis, may_repeat=False),
    Fault("all_killed", "environments of every Lambda are killed, over and over", kill_all, may_repeat=True),
    Fault("target_down", "the target is killed, and back after 6 s", kill_target, may_repeat=True),
    Fault("target_hangs", "the target stands still for 6 s", hang_target, may_repeat=True),
    Fault("target_fails", "the target answers 500 for 6 s", fail_target, may_repeat=False),
    Fault("emulator_stopped", "queues, tables and api stand still for 6 s", stop_emulator, may_repeat=True),
    Fault("emulator_restarted", "everything is restarted but what was stored", restart_emulator, may_repeat=True),
    Fault("ticks_missed", "no tick for over a minute", no_ticks, may_repeat=False, without_ticks=True),
    Fault("pollers_killed", "pollers are killed with leases", kill_pollers, may_repeat=False, without_ticks=True),
    Fault(
        "pollers_asleep", "a poller sleeps past its lease", put_poller_to_sleep, may_repeat=False, without_ticks=True
    ),
)
