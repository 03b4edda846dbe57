"""Ordinary mistakes of setting up are one line that says what would be right, and an exit code."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import msgspec
import pytest
from tests.contract.gateway_http import served as gateway

SECRET = "s3cret-canary"


class Told(msgspec.Struct, frozen=True):
    """What a command said, and how it ended."""

    code: int | None
    lines: list[str]


async def try_it(command: str, settings: dict[str, str]) -> Told:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("MATINS_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "matins", *command.split()),
        stdout=PIPE,
        stderr=PIPE,
        env={**inherited, "MATINS_LOG_LEVEL": "error", **settings},
    )
    try:
        async with asyncio.timeout(60):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return Told(process.returncode, (out + err).decode().splitlines())


@pytest.fixture
def valid(dsn: str, valkey: str, tmp_path: Path) -> dict[str, str]:
    """Settings with which every role runs."""
    return {
        "MATINS_DATA": str(tmp_path),
        "MATINS_POSTGRES": dsn,
        "MATINS_VALKEY": valkey,
        "MATINS_PORT": "0",
        "MATINS_ADMIN_TOKEN": SECRET,
        "MATINS_EXECUTOR_TOKEN": SECRET,
    }


async def test_ordinary_mistakes_are_one_line(
    valid: dict[str, str], dsn: str, postgres: str
) -> None:
    at, _, rest = dsn.partition("?")
    elsewhere = f"{at.rpartition('/')[0]}/nowhere?{rest}"
    host = at.rpartition("@")[2].removeprefix("postgresql://")
    nobody = f"postgresql://nobody:{SECRET}@{host}?{rest}"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = f"nothing can listen on 127.0.0.1, port {port}: Address already in use; choose"
        no_database = 'MATINS_POSTGRES: database "nowhere" does not exist; make it (createdb)'
        mistakes = [
            ("api", {"MATINS_PORT": str(port)}, f"MATINS_PORT: {refused}"),
            ("scheduler", {"MATINS_HEALTH_PORT": str(port)}, f"MATINS_HEALTH_PORT: {refused}"),
            ("api", {"MATINS_POSTGRES": nobody}, "MATINS_POSTGRES: PostgreSQL refuses to let us"),
            ("migrate", {"MATINS_POSTGRES": elsewhere}, no_database),
            ("scheduler", {"MATINS_POSTGRES": postgres}, "the database is empty, and this version"),
        ]
        tries = [try_it(command, valid | settings) for command, settings, _ in mistakes]
        found = await asyncio.gather(*tries)
    for (command, _, line), told in zip(mistakes, found, strict=True):
        assert len(told.lines) == 1, (command, told)
        assert told.lines[0].startswith(f"matins: {line}")
        assert (told.code in (1, 2), SECRET in told.lines[0]) == (True, False)


async def test_a_wrong_token_of_an_executor_is_one_line(tmp_path: Path) -> None:
    async with gateway.serve() as served:
        wrong = {"MATINS_DATA": str(tmp_path), "MATINS_URL": served.url, "MATINS_TOKEN": SECRET}
        told = await try_it("executor", wrong)
    assert told.code == 1
    assert len(told.lines) == 1
    assert told.lines[0].startswith(f"matins: HTTP 401 from {served.url}: ")
    assert told.lines[0].endswith("set MATINS_TOKEN to the executors' token")
