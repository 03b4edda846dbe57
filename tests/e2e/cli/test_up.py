"""`matins up`, started and stopped with Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.folders import make_folder

PATIENCE_S = 90.0


@pytest.fixture
async def folder() -> AsyncIterator[Path]:
    """A data folder that servers may own."""
    folder = make_folder("matins-up-")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


async def up(folder: Path) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "matins", "up"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
        env={**os.environ, "MATINS_DATA": str(folder), "MATINS_PORT": "0", "COLUMNS": "200"},
    )


async def read_until(process: Process, words: str) -> str:
    """Return the line of its output that holds these words."""
    assert process.stdout
    async with asyncio.timeout(PATIENCE_S):
        async for line in process.stdout:
            if words in line.decode():
                return line.decode()
    raise AssertionError(f"it ended before it said {words!r}")


def has_postgres(folder: Path) -> bool:
    """Return whether an engine of this folder runs, or has left its address behind."""
    return (folder / "postgres" / "address").exists()


async def interrupted(process: Process) -> str:
    """Press Ctrl-C; return what it says until it has ended."""
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(PATIENCE_S):
        said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode()


async def test_ctrl_c_while_it_starts_ends_the_start(folder: Path) -> None:
    process = await up(folder)
    await read_until(process, "Starting")
    said = await interrupted(process)
    assert "Stopping" in said
    assert "Next runs" not in said
    assert not has_postgres(folder)


async def test_a_free_port_stays_the_same(folder: Path) -> None:
    """The jobs of the demo have it in their URLs."""
    ports = []
    for _ in range(2):
        process = await up(folder)
        found = re.search(r"http://127.0.0.1:(\d+)", await read_until(process, "API  "))
        assert found
        ports.append(found[1])
        await interrupted(process)
    assert ports[0] == ports[1]
