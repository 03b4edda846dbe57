"""How much processor time commands take, and the modules of roles, from nothing to their end.

    python -m bench.startup [--times 11] [--beside ../other/.venv/bin/python]

The commands ask a real API, that of `matins up` with its demo jobs. With `--beside` those of
another installation are run by turns with ours, so that a busy machine slows both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.ground import folder, spread

COMMANDS = (
    *("--version", "--help", "jobs --help", "jobs list --help", "jobs list", "jobs list --json"),
    *(
        "jobs show demo/every-minute",
        "runs show RUN",
        "runs list",
        "executors list",
        "windows list",
    ),
    *("calendars list", "audit --team demo", "forecast", "preview 0&2&*&*&*", "apply -f FILE"),
)
ROLES = ("api", "scheduler", "executor")


def main(pythons: Sequence[str], times: int) -> None:
    """Measure and print."""
    with folder() as path, everything(path) as environment:
        run = json.loads(_matins("jobs trigger demo/every-minute --json", environment))["id"]
        file = path / "jobs.yaml"
        file.write_text("team: bench\njobs:\n  - {name: a, target: {command: {argv: [ls]}}}\n")
        for command in COMMANDS:
            words = command.replace("RUN", run).replace("FILE", str(file)).split()
            given = ["-m", "matins", *(word.replace("&", " ") for word in words)]
            _measure(f"matins {command.replace('&', ' ')}", given, pythons, times, environment)
        for role in ROLES:
            given = ["-c", f"import matins.cli.app, matins.roles.{role}"]
            _measure(f"modules of {role}", given, pythons, times, environment)


@contextmanager
def everything(path: Path) -> Iterator[dict[str, str]]:
    """Run `matins up` until the end of the block; gives the environment of its commands."""
    environment = os.environ | {"MATINS_DATA": str(path), "MATINS_PORT": "0"}
    for name in ("MATINS_URL", "PYTHONDONTWRITEBYTECODE"):  # as installed: with compiled modules
        environment.pop(name, None)
    up = subprocess.Popen(
        [sys.executable, "-m", "matins", "up"], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert up.stdout is not None
    try:
        while "Ctrl-C" not in (line := up.stdout.readline()):
            assert line, "`matins up` has ended"
        yield environment
    finally:
        up.terminate()
        up.wait()


def _measure(
    name: str, given: list[str], pythons: Sequence[str], times: int, environment: dict[str, str]
) -> None:
    spent: dict[str, list[float]] = {python: [] for python in pythons}
    for python in pythons:
        _cpu_s([python, *given], environment)  # it compiles what is not compiled yet
    for _ in range(times):
        for python, values in spent.items():
            values.append(1000 * _cpu_s([python, *given], environment))
    print(f"{name:36}" + "  ".join(f"{spread(values):>16} ms" for values in spent.values()))


def _cpu_s(command: list[str], environment: dict[str, str]) -> float:
    """Run a command and return the processor time that it took, in seconds."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return usage.ru_utime + usage.ru_stime


def _matins(words: str, environment: dict[str, str]) -> str:
    command = [sys.executable, "-m", "matins", *words.split()]
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout.decode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=11)
    parser.add_argument("--beside", metavar="PYTHON", help="that of another installation")
    given = parser.parse_args()
    main([sys.executable, *([given.beside] if given.beside else [])], given.times)
