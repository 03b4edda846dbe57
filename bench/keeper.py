"""How many short commands a keeper runs beside long ones: `python -m bench.keeper [OTHER_SRC]`.

OTHER_SRC is the `src` folder of another version, which then takes turns with this one.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from matins.domain.runs.states import Outcome
from matins.executor.keeper.frames import KeeperLimits
from matins.executor.keeper.link import Command, Keeper

LONG = (0, 100, 300, 800)
"""How many long commands run beside the short ones."""

SECONDS = 5.0
WORKERS = 4
"""How many short commands are under way at once."""

HERE = Path(__file__).parents[1]


def command(*argv: str) -> Command:
    """Return a command with a minute and a quarter of an hour to spare."""
    env = {"MATINS_RUN_ID": str(uuid4()), "MATINS_ATTEMPT": "1", "PATH": "/usr/bin:/bin"}
    return Command(list(argv), env, None, 1000.0)


async def measure(long: int) -> tuple[float, float, float]:
    """Return long commands started a second, then short ones run a second, and the longest of these
    in seconds.
    """
    keeper = Keeper(KeeperLimits(cut_off_s=600.0))
    await keeper.start()
    stopping = asyncio.Event()
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        script = f"touch {folder}/$MATINS_RUN_ID; exec sleep 900"
        beside = [
            asyncio.create_task(keeper.run(command("sh", "-c", script), stopping))
            for _ in range(long)
        ]
        while len(os.listdir(folder)) < long:  # noqa: PTH208 # nothing tells of them
            await asyncio.sleep(0.01)
        starts = long / (time.perf_counter() - began)
    took: list[float] = []
    end = time.perf_counter() + SECONDS

    async def work() -> None:
        while (began := time.perf_counter()) < end:
            result = await keeper.run(command("true"), asyncio.Event())
            assert result.outcome is Outcome.SUCCEEDED, result
            took.append(time.perf_counter() - began)

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    await keeper.close()
    await asyncio.gather(*beside)
    return starts, len(took) / SECONDS, max(took)


def main(other: str | None) -> None:
    """Print the figures; each in a process of its own."""
    sources = {"this version": str(HERE / "src")} | ({"the other": other} if other else {})
    print(f"\n{'long commands':>14}{'':>16}{'starts/s':>10}{'short ones/s':>14}{'longest, ms':>14}")
    for long in LONG:
        for name, source in sources.items():
            environ = os.environ | {"PYTHONPATH": f"{source}:{HERE}"}
            words = [sys.executable, "-m", "bench.keeper", "--one", str(long)]
            told = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
            starts, rate, longest = map(float, told.stdout.splitlines()[-1].split())
            figures = f"{starts:10.0f}{rate:14.0f}{longest * 1e3:14.0f}"
            print(f"{long:14}{name:>16}{figures}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(*asyncio.run(measure(int(sys.argv[2]))))
    else:
        main(sys.argv[1] if sys.argv[1:] else None)
