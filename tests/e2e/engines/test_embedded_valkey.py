"""The embedded Valkey starts, stops, and starts again whatever a crash left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.engines.running import Launcher, command_lines, running_valkey, valkey_client
from valkey.exceptions import ValkeyError

from matins.domain.values.errors import EngineError
from matins.engines.processes import is_running
from matins.engines.valkey import EmbeddedValkey


async def test_it_starts_again_and_starts_empty(home: Path) -> None:
    async with running_valkey(home / "vk") as url, valkey_client(url) as client:
        await client.set("kept", "no")
    async with running_valkey(home / "vk") as url, valkey_client(url) as client:
        assert await client.get("kept") is None


async def test_its_memory_is_bounded_and_nothing_goes_to_disk(valkey: str) -> None:
    async with valkey_client(valkey) as client:
        told = await client.config_get("*")
    assert told["maxmemory"] == str(128 * 2**20)
    assert told["maxmemory-policy"] == "allkeys-lru"
    assert (told["save"], told["appendonly"]) == ("", "no")


async def test_a_wrong_password_is_refused(valkey: str, engine_folder: Path) -> None:
    password = (engine_folder / "valkey" / "password").read_text().strip()
    async with valkey_client(valkey.replace(password, "guessed")) as client:
        with pytest.raises(ValkeyError, match="invalid username-password pair"):
            await client.ping()


async def test_a_client_without_a_password_is_refused(valkey: str, engine_folder: Path) -> None:
    password = (engine_folder / "valkey" / "password").read_text().strip()
    async with valkey_client(valkey.replace(f":{password}@", "")) as client:
        with pytest.raises(ValkeyError, match="Authentication required"):
            await client.ping()


async def test_no_password_lies_in_a_command_line(valkey: str, engine_folder: Path) -> None:
    shown = command_lines()
    assert str(engine_folder / "valkey") in shown
    assert (engine_folder / "valkey" / "password").read_text().strip() not in shown


async def test_it_starts_after_a_crash_that_left_its_socket(home: Path) -> None:
    server = EmbeddedValkey(home / "vk")
    await server.start()
    os.kill(server.pid, signal.SIGKILL)
    assert await server.wait() == -signal.SIGKILL
    assert (home / "vk" / "run" / "valkey.sock").exists()
    await server.stop()
    async with running_valkey(home / "vk") as url, valkey_client(url) as client:
        assert await client.ping()


async def test_a_server_that_outlived_its_launcher_is_replaced(
    home: Path, launch: Callable[..., Launcher]
) -> None:
    launcher = launch("valkey", home / "vk")
    owner = (home / "vk" / "run").stat().st_uid
    launcher.kill()
    assert is_running(launcher.server_pid, owner, ["--dir"])
    async with running_valkey(home / "vk") as url, valkey_client(url) as client:
        assert await client.ping()
    assert not is_running(launcher.server_pid, owner, ["--dir"])


async def test_two_run_side_by_side_in_different_folders(home: Path, valkey: str) -> None:
    async with running_valkey(home / "vk") as url, valkey_client(url) as client:
        await client.set("only", "here")
        async with valkey_client(valkey) as other:
            assert await other.get("only") is None


async def test_a_second_launcher_is_refused(valkey: str, engine_folder: Path) -> None:
    with pytest.raises(EngineError, match="in use by process"):
        await EmbeddedValkey(engine_folder / "valkey").start()
    async with valkey_client(valkey) as client:
        assert await client.ping()
