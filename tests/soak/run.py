"""One soak: sends the load, samples memory, and cuts the results into windows."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.chaos.audit import Audit, audit
from tests.chaos.load import EVERY_SECONDS, Ask, Kind, plan
from tests.chaos.promises import Key
from tests.chaos.rounds import await_settled, ends_of_missing
from tests.chaos.scene import Scene
from tests.soak.windows import EMULATOR, Sample, Window, stretches, window

WINDOWS = 10
SAMPLE_SECONDS = 2
#: A window is shown this long after its end, when its last occurrences have arrived.
SHOWN_AFTER_MS = 5_000
#: Requests a second: most jobs are due soon, some so late that pollers release them.
NEAR_PER_SECOND, NEAR_MS = 1.5, (2_000, 10_000)
FAR_PER_SECOND, FAR_MS = 0.5, (72_000, 90_000)
#: How many jobs recur from the beginning to the end.
LASTING = 2
#: Requests stop this long before the end, so that their last occurrences, fires and batches included, are due before
#: it.
NEAR_TAIL_SECONDS, FAR_TAIL_SECONDS = 20, 100
SETTLE_SECONDS = 120
TARGET = "target"
#: Parts whose memory must be measured.
PARTS = frozenset({EMULATOR, TARGET, "api", "deliverer", "poller", "sweeper", "ticker"})


def load(rng: random.Random, seconds: float) -> list[Ask]:
    """A steady load whose last occurrence is due before `seconds` have passed."""
    lasting = [Ask(Kind.RECURRING, 0, 5_000, int(seconds / EVERY_SECONDS) - 5)] * LASTING
    near = plan(rng, seconds=seconds - NEAR_TAIL_SECONDS, per_second=NEAR_PER_SECOND, delays_ms=NEAR_MS)
    far = plan(rng, seconds=max(0, seconds - FAR_TAIL_SECONDS), per_second=FAR_PER_SECOND, delays_ms=FAR_MS)
    return sorted([*lasting, *near, *far], key=lambda ask: ask.offset_ms)


class Soak:
    """A soak of `seconds` on a scene; `show` is called with each window once it is over.

    The ticker and the sweeper run once before it, so that an environment of each exists from the beginning.
    """

    def __init__(self, scene: Scene, rng: random.Random, seconds: float, show: Callable[[int, Window], None]) -> None:
        scene.tick()
        scene.sweep()
        self._scene = scene
        self._asks = load(rng, seconds)
        self._show = show
        self._sender = scene.sender(f"soak-{rng.getrandbits(32):x}")
        self._samples: list[Sample] = []
        self._stretches = stretches(_now(), seconds, WINDOWS)

    def run(self) -> tuple[list[Window], Audit]:
        """Runs the soak; returns the windows as they look at the end, and the audit of the whole load."""
        with ThreadPoolExecutor(1) as thread:
            sending = thread.submit(self._sender.send, self._asks)
            try:
                self._watch()
                sending.result()
            finally:
                self._sender.stop()
        await_settled(self._scene, self._sender.promises, 0, time.monotonic() + SETTLE_SECONDS)
        promises, arrivals = self._sender.promises, self._scene.target.arrivals()
        ends = ends_of_missing(self._scene, promises, arrivals)
        return self._windows(self._stretches, ends), audit(promises, arrivals, ends)

    def _watch(self) -> None:
        """Samples memory until the last window is over, and shows each window when it is."""
        shown = 0
        while shown < len(self._stretches):
            self._sample()
            if _now() > self._stretches[shown][1] + SHOWN_AFTER_MS:
                [over] = self._windows(self._stretches[shown : shown + 1], {})
                shown += 1
                self._show(shown, over)
            time.sleep(SAMPLE_SECONDS)

    def _sample(self) -> None:
        at, environments = _now(), self._scene.environments
        self._samples.append(Sample(at, EMULATOR, environments.emulator().memory_bytes))
        self._samples.append(Sample(at, TARGET, environments.other(self._scene.target.process_id).memory_bytes))
        for moment in environments.functions:
            self._samples += [Sample(at, moment, process.memory_bytes) for process in environments.of(moment)]

    def _windows(self, some: Sequence[tuple[int, int]], ends: Mapping[Key, str]) -> list[Window]:
        promises, arrivals = self._sender.promises, self._scene.target.arrivals()
        return [window(promises, arrivals, ends, self._samples, stretch) for stretch in some]


def _now() -> int:
    return time.time_ns() // 1_000_000
