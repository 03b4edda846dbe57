"""Load, a primary that dies, a standby that takes over; the old primary comes back.

    python -m tests.e2e.failover [--synchronous]

The suite runs a shorter form of it. Both run on the PostgreSQL of MATINS_POSTGRES_PROGRAMS.
"""

from __future__ import annotations

import argparse
import asyncio

from tests.e2e.failover.failover import fail_over, open_folder

from matins.engines.valkey import EmbeddedValkey


async def play(given: argparse.Namespace) -> dict[str, int]:
    """Play it with a Valkey of its own."""
    with open_folder("matins-vk-") as folder:
        valkey = EmbeddedValkey(folder / "valkey")
        try:
            async with fail_over(await valkey.start(), given.pace) as played:
                return await played.run(
                    synchronous=given.synchronous, jobs=given.jobs, schedulers=2
                )
        finally:
            await valkey.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--synchronous", action="store_true")
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--pace", type=float, default=3.0)
    counts = asyncio.run(play(parser.parse_args()))
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    print("Every promise was kept.")
