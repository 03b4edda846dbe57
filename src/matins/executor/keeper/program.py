"""What a command executes, as the operating system takes it."""

from __future__ import annotations

import os
from typing import NamedTuple

from matins.executor.keeper.frames import Order


class StartError(Exception):
    """A command could not be started. `permanent`: another try would end the same way."""

    def __init__(self, reason: str, permanent: bool) -> None:
        super().__init__(reason)
        self.permanent = permanent


class Program(NamedTuple):
    """What is executed, in bytes as the operating system takes it."""

    argv: list[bytes]
    env: dict[bytes, bytes]
    cwd: bytes | None


def program_of(order: Order) -> Program:
    """Encode what is to be executed. Raises StartError for what no program can be given."""
    names = _encode_all(list(order.env))
    env = dict(zip(names, _encode_all(list(order.env.values())), strict=True))
    return Program(_encode_all(order.argv), env, _encode_all([order.cwd])[0] if order.cwd else None)


def _encode_all(texts: list[str]) -> list[bytes]:
    try:
        encoded = [os.fsencode(text) for text in texts]
    except UnicodeEncodeError as error:
        raise StartError(f"{error.object!r} is not valid text", True) from error
    for text in encoded:
        if b"\0" in text:
            raise StartError(f"{text!r} holds a NUL, which no command can be given", True)
    return encoded
