"""The keeper process: `python -m matins.executor.keeper LIMITS`, its executor on descriptor 0.

It imports the standard library only and is started by `matins.executor.keeper.link`. All of the
keeper's own processes hold its standard output, a pipe that says nothing: it is at its end when the
last of them is.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys

from matins.executor.keeper.frames import KeeperLimits
from matins.executor.keeper.loop import Loop
from matins.executor.keeper.nursery import Nursery
from matins.executor.keeper.proc import hide
from matins.executor.keeper.signals import outlive_signals, react_by_default

DESCRIPTORS_MAX = 1 << 20
"""How many descriptors are closed at the start at most, where the limit on them is higher."""


def main() -> None:
    """Keep commands until the executor's end of the socket is closed."""
    hide()
    outlive_signals()
    react_by_default()
    limits = KeeperLimits(**json.loads(sys.argv[1]))
    # uvloop leaves copies behind, this socket's among them, which commands would inherit.
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), DESCRIPTORS_MAX))
    executor = socket.socket(fileno=os.dup(0))
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)  # takes the place of descriptor 0
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        executor.close()
        Nursery(theirs, limits).run()
        os._exit(0)
    theirs.close()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # two for each command
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    Loop(executor, ours, limits).run()


main()
