"""Folders that the servers' account can come to, a cluster to spoil, and launchers.

The repository's root goes on the path, so that the tests can import what they share.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from tests.e2e.engines.running import FAST, Launcher  # noqa: E402
from tests.folders import make_folder  # noqa: E402

from matins.engines.postgres import EmbeddedPostgres  # noqa: E402


def _passable_folder() -> Iterator[Path]:
    """Yield an empty folder that everyone may pass: pytest's own belong to one account only."""
    folder = make_folder("matins-test-", 0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty folder that everyone may pass."""
    yield from _passable_folder()


@pytest.fixture(scope="session")
def _made() -> Iterator[Path]:
    for home in _passable_folder():
        with asyncio.Runner() as runner:
            server = EmbeddedPostgres(home / "pg")
            runner.run(server.start(FAST))
            runner.run(server.stop())
        yield home / "pg"


@pytest.fixture
def cluster(_made: Path, home: Path) -> Path:
    """The folder of a PostgreSQL that was started once and stopped."""
    subprocess.run(["cp", "-a", str(_made), str(home / "pg")], check=True)
    return home / "pg"


@pytest.fixture
def launch() -> Iterator[Callable[..., Launcher]]:
    """Start launchers that are gone at the end."""
    started: list[Launcher] = []

    def start(engine: str, folder: Path, account: str | None = None) -> Launcher:
        started.append(Launcher(engine, folder, account))
        return started[-1]

    yield start
    for launcher in started:
        if launcher.process.poll() is None:
            launcher.stop()
