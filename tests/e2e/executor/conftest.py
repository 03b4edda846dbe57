"""The executor's ground, with the repository's root on the path so that tests can import it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from tests.e2e.executor.ground import Commands, Processes  # noqa: E402

from matins.executor.keeper.frames import KeeperLimits  # noqa: E402
from matins.executor.keeper.link import Keeper  # noqa: E402
from matins.executor.targets.command import CommandRunner  # noqa: E402


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest.fixture
async def keeper() -> AsyncIterator[Keeper]:
    keeper = Keeper(KeeperLimits(cut_off_s=600.0, grace_s=0.3, drain_s=0.3))
    yield keeper
    await keeper.close()


@pytest.fixture
def commands(keeper: Keeper) -> Commands:
    return Commands(CommandRunner(keeper))
