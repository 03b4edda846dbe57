"""The keeper's clock.

The one reader of time beside the kernel's clock: the keeper is a process of its own that has to
start within milliseconds and to survive anything, so it imports the standard library only.
"""

from __future__ import annotations

import time

_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_s() -> float:
    """Seconds since boot, sleep of the host included, just as the executor's clock reads them."""
    return time.clock_gettime(_BOOT)
