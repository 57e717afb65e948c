"""Memory of each Lambda, MB: AWS bills a Lambda's time by its memory, and its share of a core grows with it.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
"""

from __future__ import annotations

MEMORY_MB = 512
POLLER_MEMORY_MB = 384
DELIVERER_MEMORY_MB = 384
