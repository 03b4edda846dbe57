"""Owners who change everything while processes of all roles are killed.

    python -m tests.e2e.turmoil --seconds 120 --seed 1

The suite runs a shorter form of it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from tests.e2e.turmoil.turmoil import turmoil

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--owners", type=int, default=4)
    parser.add_argument("--every", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    broken, counts = asyncio.run(
        turmoil(given.seconds, given.jobs, given.owners, given.every, given.seed)
    )
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    print(*(broken or ["Every promise was kept."]), sep="\n")
    sys.exit(bool(broken))
