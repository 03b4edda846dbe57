"""The targets of the demo's jobs, so that it needs nothing but itself, and no token."""

from __future__ import annotations

import asyncio

from matins.kernel.http import Receive, Scope, Send, respond

PREFIX = "/demo/"
SLOW_S = 2.0
"""How long the slow target takes."""

_FLAKY_FAILS = 2


async def demo(scope: Scope, receive: Receive, send: Send) -> None:
    """`ok` succeeds, `slow` does in a while, `flaky` fails twice before, `broken` always fails."""
    while (await receive()).get("more_body", False):
        pass
    name = scope["path"].removeprefix(PREFIX)
    if name == "slow":
        await asyncio.sleep(SLOW_S)
    status, text = _answer(name, _attempt(scope))
    await respond(send, status, f"{text}\n".encode())


def _answer(name: str, attempt: int) -> tuple[int, str]:
    match name:
        case "ok" | "slow":
            return 200, "fine"
        case "flaky" if attempt > _FLAKY_FAILS:
            return 200, f"fine at attempt {attempt}"
        case "flaky":
            return 503, f"attempt {attempt} fails, for the demo"
        case "broken":
            return 500, "this one always fails, for the demo"
    return 404, "the demo has ok, slow, flaky and broken"


def _attempt(scope: Scope) -> int:
    header = next((value for key, value in scope["headers"] if key == b"matins-attempt"), b"")
    return int(header) if header.isdigit() else 1
