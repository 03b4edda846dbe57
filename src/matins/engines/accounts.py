"""The account that the servers run as: our own, or an unprivileged one when we are root."""

from __future__ import annotations

import os
import pwd

import msgspec

from matins.domain.values.errors import EngineError

PREFERRED = ("postgres", "nobody")
"""Accounts that exist on most systems, best first. We never make one."""


class Account(msgspec.Struct, frozen=True):
    """An account of this host."""

    name: str
    uid: int
    gid: int


def server_account(name: str | None = None) -> Account | None:
    """Tell the account for servers started by root (of that name, when given); None: our own.

    Raises EngineError when the host has no such account.
    """
    if os.geteuid() != 0:
        return None
    wanted = PREFERRED if name is None else (name,)
    for candidate in wanted:
        try:
            entry = pwd.getpwnam(candidate)
        except KeyError:
            continue
        return Account(candidate, entry.pw_uid, entry.pw_gid)
    raise EngineError(
        f"PostgreSQL refuses to run as root, and this host has no account {' or '.join(wanted)}:"
        " run Matins as an ordinary user"
    )
