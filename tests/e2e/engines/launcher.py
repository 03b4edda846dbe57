"""A launcher in a process of its own: it starts an engine, prints its address, waits for a line.

`launcher.py postgres|valkey FOLDER [ACCOUNT]`; started by root it becomes that account first.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import sys
from pathlib import Path

from matins.engines.postgres import EmbeddedPostgres
from matins.engines.valkey import EmbeddedValkey


async def launch(engine: str, folder: Path) -> None:
    """Start, tell the address and the server's pid, wait, stop."""
    server = EmbeddedPostgres(folder) if engine == "postgres" else EmbeddedValkey(folder)
    address = await server.start()
    try:
        print(address, server.pid, flush=True)
        sys.stdin.readline()
    finally:
        await server.stop()
    print("stopped", flush=True)


def become(name: str) -> None:
    """Drop to an ordinary account for good. Python itself need not be readable by it."""
    entry = pwd.getpwnam(name)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        become(sys.argv[3])
    asyncio.run(launch(sys.argv[1], Path(sys.argv[2])))
