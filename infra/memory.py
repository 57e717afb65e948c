"""How much memory each Lambda has, MB: Lambda's time is billed by it, and its share of a core goes with it.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
"""

from __future__ import annotations

MEMORY_MB = 512
POLLER_MEMORY_MB = 1_024
DELIVERER_MEMORY_MB = 1_024
