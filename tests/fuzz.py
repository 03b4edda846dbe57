"""Look for new inputs that break a property, and for tests that hang on their order.

    python -m tests.fuzz --minutes 10

The required command plays the same inputs each time; this draws others, pass after pass, until the
time is over or a test fails. Make an example of what it finds: the next pass draws others again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from random import SystemRandom
from time import monotonic

PROPERTIES = ("-m", "hypothesis", "--hypothesis-profile=fuzz")
SHUFFLED = ("-p", "randomly")


def passed(seed: int) -> bool:
    """Run every property once on inputs, and in an order, that the seed chooses."""
    chosen = (f"--hypothesis-seed={seed}", f"--randomly-seed={seed % 2**32}")
    command = (sys.executable, "-m", "pytest", "-x", "-n", "2", *PROPERTIES, *SHUFFLED, *chosen)
    return subprocess.run(command, check=False).returncode == 0


def main() -> int:
    """Return the exit code: 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to look")
    end_s = monotonic() + 60 * parser.parse_args().minutes
    passes = 0
    while monotonic() < end_s:
        seed = SystemRandom().getrandbits(32)
        print(f"pass {passes + 1}, seed {seed}", flush=True)
        if not passed(seed):
            print("found: make an example of it (@example, or a test of its own)")
            return 1
        passes += 1
    print(f"{passes} passes found nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
