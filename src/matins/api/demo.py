"""The targets of the demo's jobs, so that it needs nothing but itself: /demo/ok, flaky, broken."""

from __future__ import annotations

from matins.kernel.http import Receive, Scope, Send, respond

PREFIX = "/demo/"
_FLAKY_FAILS = 2


async def demo(scope: Scope, receive: Receive, send: Send) -> None:
    """`ok` succeeds, `flaky` fails the first two attempts, `broken` always fails."""
    while (await receive()).get("more_body", False):
        pass
    status, text = _answer(scope["path"].removeprefix(PREFIX), _attempt(scope))
    await respond(send, status, f"{text}\n".encode())


def _answer(name: str, attempt: int) -> tuple[int, str]:
    match name:
        case "ok":
            return 200, "fine"
        case "flaky" if attempt > _FLAKY_FAILS:
            return 200, f"fine at attempt {attempt}"
        case "flaky":
            return 503, f"attempt {attempt} fails, for the demo"
        case "broken":
            return 500, "this one always fails, for the demo"
    return 404, "the demo has ok, flaky and broken"


def _attempt(scope: Scope) -> int:
    told = next((value for key, value in scope["headers"] if key == b"matins-attempt"), b"")
    return int(told) if told.isdigit() else 1
