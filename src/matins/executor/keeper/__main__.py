"""The keeper process: `python -m matins.executor.keeper LIMITS`, its executor on descriptor 0.

It imports the standard library only and is started by `matins.executor.keeper.link`.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from matins.executor.keeper.frames import Limits
from matins.executor.keeper.loop import Loop
from matins.executor.keeper.proc import adopt_orphans

DESCRIPTORS_MAX = 1 << 20
"""How many descriptors are closed at the start at most, where the limit on them is higher."""


def main() -> None:
    """Keep commands until the executor's end of the socket is closed."""
    limits = Limits(**json.loads(sys.argv[1]))
    # uvloop leaves copies behind, this socket's among them, which commands would inherit.
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), DESCRIPTORS_MAX))
    adopt_orphans()
    with socket.socket(fileno=os.dup(0)) as executor:
        os.close(0)
        os.open(os.devnull, os.O_RDONLY)  # takes the place of descriptor 0
        Loop(executor, limits).run()


main()
