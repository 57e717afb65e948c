"""Schedules a message for each line of a file, and goes on where it was when it is started again.

python examples/campaign/send.py FILE URL
"""

from __future__ import annotations

import sys
from pathlib import Path

from clockwork_client import Clockwork, http, job

path, url = Path(sys.argv[1]), sys.argv[2]
cw = Clockwork()
names = path.read_text().splitlines()
messages = (job(http(url), {"to": name}, in_=2 + position / 50) for position, name in enumerate(names))
accepted = refused = 0
# Under one key the same jobs are the same jobs, for 24 hours: a second run creates nothing twice.
for result in cw.schedule_many(messages, key=f"campaign-{path.stem}"):
    if result.error is None:
        accepted += 1
    else:
        refused += 1
        print(names[result.position], result.error.faults)
print(f"accepted {accepted}, refused {refused}")
