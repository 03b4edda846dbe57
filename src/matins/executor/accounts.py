"""Whom commands are run as, when an executor runs as root and is told to be nobody for them."""

from __future__ import annotations

import os
import pwd
import re
from collections import deque
from typing import NamedTuple

from matins.domain.values.errors import SettingsError
from matins.executor.keeper.frames import RunAs

_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")


class Identity(NamedTuple):
    """An account with what its owner finds in the environment."""

    account: RunAs
    env: dict[str, str]


class Accounts:
    """One account for all commands, one for each out of a range, or the executor's own.

    `run_as` is a user's name or number, a range of numbers that belong to nobody, or None. Raises
    SettingsError for what is not there, not permitted, or too narrow for `slots` commands.
    """

    def __init__(self, run_as: str | None = None, slots: int = 1) -> None:
        self._fixed: Identity | None = None
        self._free: deque[int] = deque()
        self._is_range = False
        if run_as is None:
            return
        if os.geteuid() != 0:
            raise SettingsError("MATINS_RUN_AS needs an executor that runs as root")
        if match := _RANGE.fullmatch(run_as):
            self._is_range = True
            self._free.extend(range(int(match[1]), int(match[2]) + 1))
            if len(self._free) < slots or not self._free[0]:
                hint = f"give {slots} numbers above 0 or more, one for each of MATINS_SLOTS"
                raise SettingsError(f"MATINS_RUN_AS={run_as!r} is too narrow: {hint}")
        else:
            self._fixed = _find(run_as)

    def take(self) -> Identity | None:
        """Return an identity for one command; None: the executor's own. Give it back afterwards."""
        if not self._is_range:
            return self._fixed
        number = self._free.popleft()
        env = {"HOME": "/", "USER": str(number), "LOGNAME": str(number), "SHELL": "/bin/sh"}
        return Identity(RunAs(number, number, [], is_its_own=True), env)

    def give_back(self, identity: Identity | None) -> None:
        """Say that nothing is left of its command. It is used again after all others."""
        if identity is not None and self._is_range:
            self._free.append(identity.account.uid)


def _find(user: str) -> Identity:
    try:
        entry = pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except (KeyError, OverflowError) as error:
        hint = "name a user of this host, or a range of numbers as 200000-200999"
        raise SettingsError(f"MATINS_RUN_AS={user[:60]!r} is no user here; {hint}") from error
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    env = {
        "HOME": entry.pw_dir,
        "USER": entry.pw_name,
        "LOGNAME": entry.pw_name,
        "SHELL": entry.pw_shell or "/bin/sh",
    }
    return Identity(RunAs(entry.pw_uid, entry.pw_gid, groups), env)
