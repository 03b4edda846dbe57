"""A stand-in for an executor, to be frozen and killed: it runs one command and tells its result.

Called with T1 in seconds and the command's arguments. Reports contact ten times a second.
"""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec

from matins.executor.keeper.frames import KeeperLimits
from matins.executor.keeper.link import Command, Keeper
from matins.kernel.logs import set_up_logs


async def main(cut_off_s: float, argv: list[str]) -> None:
    set_up_logs("executor", level="critical")  # on stderr
    keeper = Keeper(KeeperLimits(cut_off_s=cut_off_s))
    await keeper.start()
    env = {"PATH": os.environ["PATH"], "MATINS_RUN_ID": f"of-{os.getpid()}", "MATINS_ATTEMPT": "1"}
    command = Command(argv=argv, env=env, cwd=None, timeout_s=60.0)
    running = asyncio.create_task(keeper.run(command, asyncio.Event()))
    while not running.done():
        keeper.contact()
        await asyncio.wait({running}, timeout=0.1)
    sys.stdout.buffer.write(msgspec.json.encode(await running) + b"\n")
    await keeper.close()


asyncio.run(main(float(sys.argv[1]), sys.argv[2:]))
