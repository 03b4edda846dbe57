"""The embedded PostgreSQL starts, stops, and starts again whatever a crash left behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest
from tests.e2e.engines.running import (
    FAST,
    Launcher,
    ask,
    command_lines,
    running_postgres,
    sleeper,
)

from matins.domain.values.errors import EngineError
from matins.engines.accounts import server_account
from matins.engines.binaries import postgres_programs
from matins.engines.folders import own_folder
from matins.engines.postgres import EmbeddedPostgres
from matins.engines.processes import is_running, until


async def test_its_user_owns_a_utf8_database_and_is_no_superuser(postgres: str) -> None:
    assert await ask(postgres, "SELECT current_user || '@' || current_database()") == (
        "matins@matins"
    )
    assert await ask(postgres, "SHOW server_encoding") == "UTF8"
    assert await ask(postgres, "SHOW is_superuser") == "off"
    assert await ask(postgres, "SELECT rolcreatedb FROM pg_roles WHERE rolname = 'matins'")


async def test_it_listens_on_no_network_address(postgres: str) -> None:
    assert await ask(postgres, "SHOW listen_addresses") == ""


async def test_a_wrong_password_is_refused_on_the_socket_for_every_role(postgres: str) -> None:
    for user in ("matins", "postgres"):
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(postgres, user=user, password="guessed")


async def test_no_password_lies_in_a_command_line(postgres: str, engine_folder: Path) -> None:
    shown = command_lines()
    assert str(engine_folder / "postgres") in shown
    assert (engine_folder / "postgres" / "password").read_text().strip() not in shown


async def test_a_second_launcher_is_refused_with_the_pid_of_the_first(
    postgres: str, engine_folder: Path
) -> None:
    with pytest.raises(EngineError, match=f"in use by process {os.getpid()}:"):
        await EmbeddedPostgres(engine_folder / "postgres").start()
    assert await ask(postgres, "SELECT 1") == 1


async def test_a_second_start_finds_the_data_of_the_first(cluster: Path) -> None:
    async with running_postgres(cluster) as dsn:
        await ask(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    async with running_postgres(cluster) as dsn:
        assert await ask(dsn, "SELECT answer FROM kept") == 42


async def test_settings_go_above_ours_and_for_one_start_only(cluster: Path) -> None:
    async with running_postgres(cluster, max_connections="17") as dsn:
        assert await ask(dsn, "SHOW max_connections") == "17"
    async with running_postgres(cluster) as dsn:
        assert await ask(dsn, "SHOW max_connections") == "200"


async def test_two_run_side_by_side_in_different_folders(cluster: Path, postgres: str) -> None:
    async with running_postgres(cluster) as dsn:
        await ask(dsn, "CREATE TABLE only_here (id int)")
        assert await ask(dsn, "SELECT to_regclass('only_here')::text") == "only_here"
        assert await ask(postgres, "SELECT to_regclass('only_here')::text") is None


async def test_who_waits_is_told_when_the_server_dies(cluster: Path) -> None:
    server = EmbeddedPostgres(cluster)
    await server.start(FAST)
    waiting = asyncio.create_task(server.wait())
    os.kill(server.pid, signal.SIGKILL)
    assert await waiting == -signal.SIGKILL
    await server.stop()


async def test_committed_data_survive_a_killed_postmaster(cluster: Path) -> None:
    server = EmbeddedPostgres(cluster)
    dsn = await server.start(FAST)
    busy = await asyncpg.connect(dsn)
    sleeping = asyncio.create_task(busy.execute("SELECT pg_sleep(60)"))
    await ask(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(server.pid, signal.SIGKILL)
    await server.stop()
    dsn = await server.start(FAST)
    assert await ask(dsn, "SELECT answer FROM kept") == 42
    await server.stop()
    with pytest.raises((asyncpg.PostgresError, OSError, asyncpg.InterfaceError)):
        await sleeping


async def test_a_server_that_outlived_its_launcher_is_replaced(
    cluster: Path, launch: Callable[..., Launcher]
) -> None:
    launcher = launch("postgres", cluster)
    await ask(launcher.address, "CREATE TABLE kept AS SELECT 42 AS answer")
    launcher.kill()
    assert await ask(launcher.address, "SELECT answer FROM kept") == 42
    async with running_postgres(cluster) as dsn:
        assert await ask(dsn, "SELECT answer FROM kept") == 42
    assert not is_running(launcher.server_pid, (cluster / "data").stat().st_uid, ["-D"])


async def test_a_frozen_server_that_outlived_its_launcher_is_replaced(
    cluster: Path, launch: Callable[..., Launcher]
) -> None:
    launcher = launch("postgres", cluster)
    os.kill(launcher.server_pid, signal.SIGSTOP)
    launcher.kill()
    async with running_postgres(cluster) as dsn:
        assert await ask(dsn, "SELECT 1") == 1


async def test_a_stale_pid_file_that_names_an_alien_process_hurts_neither(cluster: Path) -> None:
    async with running_postgres(cluster):
        pidfile = cluster / "data" / "postmaster.pid"
        lines = pidfile.read_text().splitlines()
        owner = pidfile.stat().st_uid
    alien = sleeper(owner if os.geteuid() == 0 else None)
    try:
        pidfile.write_text("\n".join([str(alien.pid), *lines[1:], ""]))
        async with running_postgres(cluster) as dsn:
            assert await ask(dsn, "SELECT 1") == 1
        assert alien.poll() is None
    finally:
        alien.kill()
        alien.wait()


async def test_an_empty_pid_file_does_not_hinder_a_start(cluster: Path) -> None:
    (cluster / "data" / "postmaster.pid").write_text("")
    async with running_postgres(cluster) as dsn:
        assert await ask(dsn, "SELECT 1") == 1


async def test_a_half_made_cluster_is_made_again(home: Path) -> None:
    own_folder(home / "pg")
    (home / "pg" / "init-killed").mkdir()
    (home / "pg" / "init-killed" / "PG_VERSION").write_text("18\n")
    (home / "pg" / "init-killed.password").write_text("secret\n")
    async with running_postgres(home / "pg") as dsn:
        assert await ask(dsn, "SELECT 1") == 1
    assert list((home / "pg").glob("init-*")) == []


async def test_a_cancelled_first_start_leaves_no_process_and_the_next_one_works(
    home: Path,
) -> None:
    server = EmbeddedPostgres(home / "pg")
    starting = asyncio.create_task(server.start(FAST))
    await until(lambda: bool(list((home / "pg").glob("init-*/PG_VERSION"))))
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert f"initdb {home}" not in command_lines()
    async with running_postgres(home / "pg") as dsn:
        assert await ask(dsn, "SELECT 1") == 1


async def test_a_deep_and_odd_folder_gets_its_socket_elsewhere_and_leaves_nothing_there(
    home: Path,
) -> None:
    deep = home / ("d" * 60) / 'it\'s, "odd" \\ näh' / ("e" * 60)
    async with running_postgres(deep) as dsn:
        assert await ask(dsn, "SELECT 1") == 1
        elsewhere = (deep / "run").resolve()
        assert not elsewhere.is_relative_to(home)
        assert elsewhere.stat().st_mode & 0o777 == 0o700
    assert not elsewhere.exists()


async def test_another_major_version_is_refused_by_name(cluster: Path) -> None:
    (cluster / "data" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EngineError, match="made by PostgreSQL 17, but PostgreSQL 18 is installed"):
        await EmbeddedPostgres(cluster).start(FAST)


async def test_a_failed_start_tells_the_end_of_the_log_and_leaves_the_lock_free(
    cluster: Path,
) -> None:
    server = EmbeddedPostgres(cluster)
    with pytest.raises(EngineError, match="unrecognized configuration parameter"):
        await server.start({"no_such_setting": "1"})
    await server.start(FAST)
    await server.stop()


async def test_a_start_is_bounded(cluster: Path) -> None:
    with pytest.raises(EngineError, match="was not ready within 0 s"):
        await EmbeddedPostgres(cluster, start_s=0).start(FAST)


async def test_a_lost_password_is_told(cluster: Path) -> None:
    (cluster / "password").unlink()
    with pytest.raises(EngineError, match=r"does .*password belong to this cluster"):
        await EmbeddedPostgres(cluster).start(FAST)


async def test_the_programs_of_another_postgresql_are_run(home: Path) -> None:
    programs = await postgres_programs(home, server_account())
    server = EmbeddedPostgres(home / "pg", programs=programs)
    dsn = await server.start(FAST)
    try:
        assert await ask(dsn, "SELECT 1") == 1
        assert f"{programs}/postgres -D {home}" in command_lines()
        assert list((home / "pg").glob("install-*")) == []
    finally:
        await server.stop()


async def test_a_folder_without_programs_is_refused_by_name(home: Path) -> None:
    with pytest.raises(EngineError, match=f"{home} is no folder of PostgreSQL's programs"):
        await EmbeddedPostgres(home / "pg", programs=home).start(FAST)
