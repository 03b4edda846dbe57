"""How the call recorder answers: well, slowly, wrongly, or not at all, as the path says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

import msgspec


class Request(msgspec.Struct):
    """A whole request; header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    keep_alive: bool

    def number(self, name: str, default: float) -> float:
        """Return a number from the query; raises ValueError."""
        return float(dict(parse_qsl(urlsplit(self.path).query)).get(name, default))

    def text(self, name: str, default: str) -> str:
        """Return a text from the query."""
        return dict(parse_qsl(urlsplit(self.path).query)).get(name, default)


class AnswerBrokenError(Exception):
    """The connection is to be reset here."""


Answer = Callable[[Request], AsyncIterator[bytes]]


def answer_to(request: Request) -> AsyncIterator[bytes]:
    """Return the parts of the answer; raises AnswerBrokenError where a reset is wanted."""
    return ANSWERS.get(urlsplit(request.path).path.split("/")[1], _unknown)(request)


async def _ok(_request: Request) -> AsyncIterator[bytes]:
    """`/ok`: 200 at once."""
    yield _whole(200, b"ok\n")


async def _accepted(_request: Request) -> AsyncIterator[bytes]:
    """`/202`: accepted."""
    yield _whole(202)


async def _slow(request: Request) -> AsyncIterator[bytes]:
    """`/slow?s=2`: 200, after so many seconds without a byte."""
    await asyncio.sleep(request.number("s", 1))
    yield _whole(200, b"slow\n")


async def _status(request: Request) -> AsyncIterator[bytes]:
    """`/status/503`: that status."""
    yield _whole(int(urlsplit(request.path).path.split("/")[2]))


async def _flaky(request: Request) -> AsyncIterator[bytes]:
    """`/flaky?fail=2`: 503 to the attempts up to this number, 200 to later ones."""
    attempt = int(request.headers.get("matins-attempt", "1"))
    yield _whole(503 if attempt <= request.number("fail", 1) else 200)


async def _mended(request: Request) -> AsyncIterator[bytes]:
    """`/mended?at=1796000000`: 503 to runs due before that instant, 200 to those from then on."""
    due_at = datetime.fromisoformat(request.headers["matins-due-at"])
    yield _whole(503 if due_at.timestamp() < request.number("at", 0) else 200)


async def _drip(request: Request) -> AsyncIterator[bytes]:
    """`/drip?s=0.5&n=100`: a body of n bytes, one every s seconds."""
    number = int(request.number("n", 100))
    yield _head(200, {"Content-Length": str(number)})
    for _ in range(number):
        await asyncio.sleep(request.number("s", 0.5))
        yield b"."


async def _endless(_request: Request) -> AsyncIterator[bytes]:
    """`/endless`: a body as fast as it is taken, that never ends."""
    yield _head(200, {"Transfer-Encoding": "chunked"})
    while True:
        yield b"1000\r\n" + b"." * 0x1000 + b"\r\n"
        await asyncio.sleep(0)


async def _reset(_request: Request) -> AsyncIterator[bytes]:
    """`/reset`: the connection is reset after the body was read, before an answer."""
    yield b""
    raise AnswerBrokenError


async def _redirect(request: Request) -> AsyncIterator[bytes]:
    """`/redirect?to=/ok`: 302 to there."""
    yield _whole(302, headers={"Location": request.text("to", "/ok")})


async def _echo(request: Request) -> AsyncIterator[bytes]:
    """`/echo`: 200 with the request's headers and body, as JSON."""
    echo = {"headers": request.headers, "body": request.body.decode(errors="replace")}
    yield _whole(200, msgspec.json.encode(echo), {"Content-Type": "application/json"})


async def _junk(request: Request) -> AsyncIterator[bytes]:
    """`/junk`: bytes that are no HTTP."""
    request.keep_alive = False
    yield bytes(range(256)) * 4


async def _unknown(_request: Request) -> AsyncIterator[bytes]:
    """Anything else: 404."""
    yield _whole(404, b"the call recorder knows: " + " ".join(ANSWERS).encode() + b"\n")


ANSWERS: dict[str, Answer] = {
    "ok": _ok,
    "202": _accepted,
    "slow": _slow,
    "status": _status,
    "flaky": _flaky,
    "mended": _mended,
    "drip": _drip,
    "endless": _endless,
    "reset": _reset,
    "redirect": _redirect,
    "echo": _echo,
    "junk": _junk,
}
"""The kinds of answer, by the first part of the path."""

_PHRASES = {status.value: status.phrase for status in HTTPStatus}


def _whole(status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
    length = {} if status < 200 or status in {204, 304} else {"Content-Length": str(len(body))}
    return _head(status, length | (headers or {})) + body


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, '')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()
