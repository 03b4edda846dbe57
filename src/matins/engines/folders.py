"""The folders that are ours: chosen, made, marked and locked. What isn't ours is never changed."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from matins.domain.values.errors import EngineError
from matins.engines.accounts import Account, server_account
from matins.engines.processes import succeeds

MARKER = "matins-data"
FORMAT = 1
"""The format of the data folder; a higher number is refused."""

ROOTS_DATA = Path("/var/lib/matins")
"""The data folder of root."""

_HALF_MARKED = "matins-data.new"


def default_data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where data lies without MATINS_DATA: /var/lib for root, XDG_DATA_HOME for a user."""
    if os.geteuid() == 0:
        return ROOTS_DATA
    data_home = environ.get("XDG_DATA_HOME", "")
    # The XDG Base Directory specification says that a relative path is to be ignored.
    base = Path(data_home) if data_home.startswith("/") else Path.home() / ".local" / "share"
    return base / "matins"


def own_folder(folder: Path) -> Account | None:
    """Make the folder ours, or see that it is, and tell the account that its servers run as.

    A folder that is missing or empty becomes ours: private, but for root passable by the group of
    that account. Raises EngineError, and has changed nothing, when it holds something else, belongs
    to someone else, or was written by a newer Matins.
    """
    try:
        _check_passable(folder, server_account())
        if not folder.exists():
            _make(folder)
        owner = folder.stat().st_uid
        if owner != os.geteuid():
            raise EngineError(
                f"the data folder {folder} belongs to another account (uid {owner}): give a folder"
                f" of your own, for instance {folder / 'matins'}"
            )
        if (folder / MARKER).exists():
            return _read_marker(folder)
        return _mark(folder)
    except OSError as error:
        raise EngineError(
            f"the data folder {folder} can't be used: {error.strerror}: give another by MATINS_DATA"
        ) from error


def _check_passable(folder: Path, account: Account | None) -> None:
    """Raise EngineError if the servers' account can't come to the folder: its parents are not ours.

    The kernel is asked, by test(1), because access lists count too.
    """
    parents = [parent for parent in folder.parents if parent.exists()]
    if account is None or not parents or _may_pass(parents[0], account):
        return
    blocked = next(parent for parent in reversed(parents) if not _may_pass(parent, account))
    raise EngineError(
        f"started by root, the servers run as the account {account.name}, which may not pass"
        f" {blocked}: give a folder outside of it by MATINS_DATA, for instance {ROOTS_DATA}"
    )


def _may_pass(folder: Path, account: Account) -> bool:
    return succeeds(["test", "-x", folder], account)


def _make(folder: Path) -> None:
    """Make the folder and its missing parents; those of root are made passable for all."""
    for parent in [*reversed(folder.parents), folder]:
        if not parent.exists():
            parent.mkdir(exist_ok=True)
            parent.chmod(0o755 if os.geteuid() == 0 and parent != folder else 0o700)


def _read_marker(folder: Path) -> Account | None:
    words = (folder / MARKER).read_text().split()
    if len(words) != 3 or words[0] != MARKER or not words[1].isdecimal():
        raise EngineError(f"{folder / MARKER} is damaged: it should read '{MARKER} {FORMAT} -'")
    if int(words[1]) > FORMAT:
        raise EngineError(
            f"the data folder {folder} has format {words[1]}, written by a newer Matins;"
            f" this one knows up to {FORMAT}"
        )
    return server_account(None if words[2] == "-" else words[2])


def _mark(folder: Path) -> Account | None:
    if {entry.name for entry in folder.iterdir()} - {_HALF_MARKED}:
        raise EngineError(
            f"the folder {folder} is not empty and not made by Matins, so it is left alone:"
            " give an empty or a new folder"
        )
    account = server_account()
    if account is not None:
        os.chown(folder, -1, account.gid)
    folder.chmod(0o700 if account is None else 0o710)
    name = "-" if account is None else account.name
    write_private(folder / MARKER, f"{MARKER} {FORMAT} {name}\n")
    return account


def write_private(path: Path, text: str, *, account: Account | None = None) -> None:
    """Put a file in place, whole and synced, readable by us (and by that account) only.

    With an account the file becomes its own when it lies in its folder, else readable by its group.
    """
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        if account is not None and path.parent.stat().st_uid == account.uid:
            os.fchown(descriptor, account.uid, account.gid)
        elif account is not None:
            os.fchown(descriptor, -1, account.gid)
            os.fchmod(descriptor, 0o640)
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in the folder survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_or_make_secret(path: Path) -> str:
    """Return the secret that the file holds, made on first use: 256 random bits in hex."""
    if not path.exists():
        write_private(path, secrets.token_hex(32) + "\n")
    return path.read_text().strip()


class FolderLock:
    """An exclusive lock (flock) on a folder that is ours; the kernel drops it when we die."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock or raise EngineError that names the process which has it."""
        path = self._folder / "lock"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise EngineError(f"{path} can't be opened: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 20).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise EngineError(
                f"the folder {self._folder} is in use by process {holder}: stop that first,"
                " or give another folder by MATINS_DATA"
            ) from error
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor

    def release(self) -> None:
        """Drop the lock, if it is held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class DataFolder:
    """The data folder of `matins up`: made on first use and locked while it is entered."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.postgres = self.path / "postgres"
        self.valkey = self.path / "valkey"
        self._lock = FolderLock(self.path)

    def __enter__(self) -> Self:
        """Raise EngineError when the folder is not ours or in use."""
        own_folder(self.path)
        self._lock.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
