"""A server process is heard to its last words, ended within bounds, and its log stays small."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from matins.domain.values.errors import EngineError
from matins.engines import processes
from matins.engines.processes import ServerProcess, is_running, run


async def test_the_log_of_a_server_is_kept_small_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LOG_MAX", 1000)
    argv = ["sh", "-c", "head -c 2000 /dev/zero; exec sleep 60"]
    server = ServerProcess(argv, None, tmp_path / "log")
    waiting = asyncio.create_task(server.wait())
    await processes.until((tmp_path / "log.1").exists)
    assert (tmp_path / "log").stat().st_size == 0
    await server.stop([(signal.SIGTERM, 5.0)])
    assert await waiting == -signal.SIGTERM


async def test_a_server_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    stubborn = "trap '' TERM; echo deaf; while :; do sleep 0.05; done"
    server = ServerProcess(["sh", "-c", stubborn], None, tmp_path / "log")
    await processes.until(lambda: "deaf" in server.last_words())
    assert await server.stop([(signal.SIGTERM, 0.1)]) == -signal.SIGKILL


async def test_a_program_that_does_not_end_is_killed_and_named() -> None:
    with pytest.raises(EngineError, match="sleep did not end within 0 s"):
        await run(["sleep", "60"], None, within_s=0)


async def test_a_program_that_fails_is_quoted() -> None:
    with pytest.raises(EngineError, match="sh failed with code 3:\ntoo bad"):
        await run(["sh", "-c", "echo too bad; exit 3"], None, within_s=10)


async def test_a_missing_program_is_named() -> None:
    with pytest.raises(EngineError, match="/no/such can't be started: No such file"):
        await run(["/no/such"], None, within_s=10)


async def test_a_process_is_known_by_account_and_command_line(tmp_path: Path) -> None:
    server = ServerProcess(["sleep", "61"], None, tmp_path / "log")
    uid = os.geteuid()
    await processes.until(lambda: is_running(server.pid, uid, ["sleep", "61"]))
    assert not is_running(server.pid, uid + 1, ["sleep", "61"])
    assert not is_running(server.pid, uid, ["sleep", "62"])
    await server.stop([(signal.SIGTERM, 5.0)])
    assert not is_running(server.pid, uid, ["sleep", "61"])
