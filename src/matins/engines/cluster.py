"""The files of a PostgreSQL cluster: made once and whole, checked for their version."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from matins.domain.values.errors import EngineError
from matins.engines.accounts import Account
from matins.engines.folders import sync_folder, write_private
from matins.engines.processes import run

USER = "matins"
DATABASE = "matins"

INIT_S = 120.0
"""How long each step of making a cluster may take."""


async def make_cluster(
    programs: Path, data: Path, account: Account | None, password: str, *, synced: bool
) -> None:
    """Make the cluster beside its place and rename it, so that a cluster of that name is whole."""
    aside = _make_aside(data, account)
    try:
        await _fill(programs, aside, account, password, synced=synced)
        _put_in_place(aside, data)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


async def _fill(
    programs: Path, aside: Path, account: Account | None, password: str, *, synced: bool
) -> None:
    secret = aside.with_suffix(".password")
    write_private(secret, password + "\n", account=account)
    try:
        await run(_initdb(programs, aside, secret, synced=synced), account, within_s=INIT_S)
    finally:
        secret.unlink()
    single: list[str | Path] = [programs / "postgres", "--single", "-D", aside]
    single += ["-c", "exit_on_error=on", "postgres"]
    await run(single, account, within_s=INIT_S, stdin=_roles(password))


async def check_version(programs: Path, data: Path, account: Account | None) -> None:
    """Raise EngineError if another major version of PostgreSQL made the cluster."""
    output = await run([programs / "postgres", "--version"], account, within_s=20)
    ours = output.split()[-1].partition(".")[0]
    theirs = _version_of(data)
    if ours != theirs:
        raise EngineError(
            f"{data} was made by PostgreSQL {theirs}, but PostgreSQL {ours} is installed: start it"
            " with the Matins that made it and move its data by pg_dump, or give another folder"
        )


def _make_aside(data: Path, account: Account | None) -> Path:
    for old in data.parent.glob("init-*"):
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)  # an initdb may still be dying in it
        else:
            old.unlink()
    aside = Path(tempfile.mkdtemp(prefix="init-", dir=data.parent))
    if account is not None:
        os.chown(aside, account.uid, account.gid)
    return aside


def _initdb(programs: Path, data: Path, secret: Path, *, synced: bool) -> list[str | Path]:
    options = ["--auth-local=scram-sha-256", "--auth-host=scram-sha-256", f"--pwfile={secret}"]
    options += ["--no-locale", "--encoding=UTF8", "--username=postgres", "--no-instructions"]
    return [programs / "initdb", *options, *([] if synced else ["--no-sync"]), "-D", data]


def _roles(password: str) -> str:
    """Return what a managed PostgreSQL gives too: an owner of one database who is no superuser."""
    return (
        f"CREATE ROLE {USER} LOGIN CREATEDB PASSWORD '{password}'\n"
        f"GRANT pg_monitor, pg_checkpoint, pg_signal_backend TO {USER}\n"
        f"CREATE DATABASE {DATABASE} OWNER {USER}\n"
    )


def _put_in_place(aside: Path, data: Path) -> None:
    aside.rename(data)
    sync_folder(data.parent)


def _version_of(data: Path) -> str:
    try:
        return (data / "PG_VERSION").read_text().strip()
    except OSError as error:
        raise EngineError(f"{data} is no PostgreSQL cluster: {error}") from error
