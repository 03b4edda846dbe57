"""Engines run for an ordinary user, and for root as an unprivileged account."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.engines.running import (
    Launcher,
    ask,
    running_postgres,
    running_valkey,
    valkey_client,
)

from matins.domain.values.errors import EngineError
from matins.engines.accounts import server_account
from matins.engines.binaries import readable
from matins.engines.folders import own_folder

ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")


@ONLY_ROOT
async def test_an_ordinary_user_runs_postgres(home: Path, launch: Callable[..., Launcher]) -> None:
    folder = home / "nobodys"
    folder.mkdir()
    shutil.chown(folder, "nobody")
    launcher = launch("postgres", folder, "nobody")
    assert await ask(launcher.address, "SELECT 1") == 1
    assert (folder / "data").owner() == "nobody"
    assert launcher.stop() == "stopped"


@ONLY_ROOT
async def test_an_ordinary_user_runs_valkey(home: Path, launch: Callable[..., Launcher]) -> None:
    folder = home / "nobodys"
    folder.mkdir()
    shutil.chown(folder, "nobody")
    launcher = launch("valkey", folder, "nobody")
    async with valkey_client(launcher.address) as client:
        assert await client.ping()
    assert launcher.stop() == "stopped"


@ONLY_ROOT
async def test_for_root_the_servers_run_as_another_account(cluster: Path, home: Path) -> None:
    async with running_postgres(cluster), running_valkey(home / "vk"):
        for folder in (cluster / "run", home / "vk" / "run"):
            assert folder.owner() in ("postgres", "nobody")
            assert all(path.owner() == folder.owner() for path in folder.iterdir())


@ONLY_ROOT
async def test_that_account_can_read_no_secret_of_root(cluster: Path) -> None:
    async with running_postgres(cluster):
        for name in ("password", "address"):
            assert (cluster / name).stat().st_mode & 0o777 == 0o600
            assert (cluster / name).owner() == "root"


@ONLY_ROOT
def test_a_folder_that_the_account_cannot_come_to_is_refused_and_its_parents_stay(
    home: Path,
) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(EngineError, match=f"may not pass {closed}: give a folder outside of it"):
        own_folder(closed / "data")
    assert closed.stat().st_mode & 0o777 == 0o700
    assert list(closed.iterdir()) == []


@ONLY_ROOT
async def test_programs_that_the_account_cannot_read_are_copied_once(home: Path) -> None:
    account = server_account()
    assert account is not None
    site = home / "site"
    (site / "package").mkdir(parents=True)
    shutil.copy("/bin/ls", site / "package" / "program")
    site.chmod(0o700)
    kept = home / "install-1"
    for _ in range(2):
        program = await readable(site, ["package"], Path("package/program"), kept, account)
        assert program == kept / "package" / "program"
    assert pwd.getpwuid(program.stat().st_uid).pw_name == "root"


@ONLY_ROOT
async def test_programs_that_the_account_can_read_stay_where_they_are(home: Path) -> None:
    account = server_account()
    assert account is not None
    kept = home / "install-1"
    program = await readable(Path("/"), ["bin"], Path("bin/ls"), kept, account)
    assert program == Path("/bin/ls")
    assert not kept.exists()
