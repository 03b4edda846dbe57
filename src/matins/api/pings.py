"""Pings of what something else runs: /ping/TOKEN. Who has the token needs no other."""

from __future__ import annotations

from typing import Final

from matins.domain.alerts.checkins import HEAD_MAX, TAIL_MAX, read_ping
from matins.domain.values.errors import NotFoundError
from matins.executor.output import HeadTail
from matins.kernel.http import MethodError, Receive, Scope, Send, respond, whole_body
from matins.owners.checkins import Checkins

PREFIX: Final = "/ping/"
_METHODS: Final = ("GET", "HEAD", "POST")


class Pings:
    """Takes pings."""

    def __init__(self, checkins: Checkins) -> None:
        self._checkins = checkins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a ping. Raises what `Checkins.ping` does, InvalidInputError and MethodError."""
        if scope["method"] not in _METHODS:
            raise MethodError(scope["method"], _METHODS)
        ping = read_ping(scope["path"], scope["query_string"])
        if ping is None:
            raise NotFoundError("there is no such check-in")
        output = await _read(receive)
        await self._checkins.ping(ping, output.text(), output.cut)
        await respond(send, 200, b"ok\n")


async def _read(receive: Receive) -> HeadTail:
    """Read a body of any length; keep the first and the last of it."""
    output, is_more, receive = HeadTail(HEAD_MAX, TAIL_MAX), True, whole_body(receive)
    while is_more:
        message = await receive()
        output.append(message.get("body", b""))
        is_more = message.get("more_body", False)
    return output
