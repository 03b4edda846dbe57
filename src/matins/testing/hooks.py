"""What a proxy does with one message: which are looked for, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum

import msgspec

from matins.testing.messages import Direction


class ReceivedMessage(msgspec.Struct, frozen=True):
    """One message on its way; see `Part` for kind and text."""

    direction: Direction
    kind: str
    text: str
    payload: bytes
    index: int
    """Its number among all messages of its direction, from 1."""
    number: int
    """Its number among all messages of the proxy, from 1."""
    connection: int
    """The number of its connection, from 1."""


class Fate(Enum):
    """What becomes of a message: it goes on, it vanishes, or its connection is reset."""

    PASS = "pass"  # noqa: S105 # no password
    DROP = "drop"
    CUT = "cut"


Action = Fate | Callable[[ReceivedMessage], Awaitable[Fate | None]]
"""A verdict, or what to do before the message goes on; None lets it pass."""

Predicate = Callable[[ReceivedMessage], bool]


class Hold:
    """An action: keeps messages back, and all that come after them on their way, until released."""

    def __init__(self) -> None:
        self._released = asyncio.Event()

    async def __call__(self, _message: ReceivedMessage) -> None:
        """Wait for the release."""
        await self._released.wait()

    def release(self) -> None:
        """Let the held message go on, and all later ones."""
        self._released.set()


class Hook:
    """Acts on the messages that it looks for: on each, or only on the n-th of them."""

    def __init__(self, predicate: Predicate, action: Action, nth: int | None) -> None:
        self._predicate = predicate
        self._action = action
        self._nth = nth
        self._is_removed = False
        self._acting: set[asyncio.Future[Fate]] = set()
        self.matches = 0
        """How many messages it was looking for have come."""
        self.reached = asyncio.Event()
        """Set when it acts for the first time, before its action is done."""
        self.errors: list[Exception] = []
        """What its action raised; the connection is reset then."""

    async def judge(self, message: ReceivedMessage) -> Fate:
        """Act on a message if it is one to act on."""
        if self._is_removed or not self._predicate(message):
            return Fate.PASS
        self.matches += 1
        if self._nth not in {None, self.matches}:
            return Fate.PASS
        self.reached.set()
        if isinstance(self._action, Fate):
            return self._action
        acting = asyncio.ensure_future(self._act(self._action, message))
        self._acting.add(acting)
        acting.add_done_callback(self._acting.discard)
        # who kills a process resets its connection, and must not be stopped half-way by that
        return await asyncio.shield(acting)

    async def _act(
        self, action: Callable[[ReceivedMessage], Awaitable[Fate | None]], message: ReceivedMessage
    ) -> Fate:
        try:
            return await action(message) or Fate.PASS
        except Exception as error:  # the proxy raises it at its end
            self.errors.append(error)
            return Fate.CUT

    def remove(self) -> None:
        """Look no longer; what is being done goes on."""
        self._is_removed = True

    async def close(self) -> None:
        """Look no longer, and stop what is being done."""
        self.remove()
        acting = list(self._acting)
        for task in acting:
            task.cancel()
        await asyncio.gather(*acting, return_exceptions=True)


def executes(fragment: str) -> Predicate:
    """Return a client's message that starts a statement whose SQL holds the fragment."""
    return lambda message: (
        message.direction is Direction.TO_SERVER
        and message.kind in {"E", "Q"}
        and fragment in message.text
    )


def completes(fragment: str) -> Predicate:
    """Return the server's word that such a statement is done."""
    return lambda message: (
        message.direction is Direction.TO_CLIENT
        and message.kind == "C"
        and fragment in message.text
    )


def requests(route: str) -> Predicate:
    """Return a request of this route, as in "POST /v1/jobs"."""
    return lambda message: message.kind == "request" and message.text == route


def answers(route: str) -> Predicate:
    """Return the answer to a request of this route."""
    return lambda message: message.kind == "response" and message.text == route
