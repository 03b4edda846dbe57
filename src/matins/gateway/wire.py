"""Reading requests and writing answers of the executors' protocol, as raw ASGI messages."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from matins.domain.values.errors import InvalidInputError, MatinsError
from matins.kernel.http import DisconnectedError, Receive, Scope, Send, respond

BODY_MAX = 8 * 1024 * 1024
"""The longest body of a request, in bytes."""

JSON = "application/json"
MSGPACK = "application/msgpack"

T = TypeVar("T", bound=msgspec.Struct)

_WRITE_JSON = msgspec.json.Encoder()
_WRITE_MSGPACK = msgspec.msgpack.Encoder()
_PLACE = re.compile(r"(?P<message>.*?)(?: - at `\$?\.?(?P<where>.*)`)?", re.DOTALL)


class MediaTypeError(MatinsError):
    """The body is in a form that can't be read here."""

    code = "media-type"
    status = 415
    title = "The media type is not known"


class TooLongError(MatinsError):
    """The body is longer than BODY_MAX."""

    code = "too-long"
    status = 413
    title = "The body is too long"


def header(scope: Scope, name: bytes) -> bytes:
    """Return the value of a request's header, by its lower-case name; empty if there is none."""
    return next((value for key, value in scope["headers"] if key == name), b"")


def media_type(scope: Scope) -> str:
    """Return the media type of body and answer: JSON unless told otherwise. Raises
    MediaTypeError.
    """
    content_type = (
        header(scope, b"content-type").decode("latin-1").partition(";")[0].strip().lower()
    )
    if content_type in ("", JSON):
        return JSON
    if content_type == MSGPACK:
        return MSGPACK
    raise MediaTypeError(f"{content_type!r} is neither {JSON} nor {MSGPACK}")


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the whole body. Raises TooLongError, DisconnectedError."""
    declared = header(scope, b"content-length")
    if declared.isdigit() and int(declared) > BODY_MAX:
        raise TooLongError(f"a body may have at most {BODY_MAX} bytes")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        body += message.get("body", b"")
        if len(body) > BODY_MAX:
            raise TooLongError(f"a body may have at most {BODY_MAX} bytes")
        if not message.get("more_body", False):
            return bytes(body)


def decode(kind: type[T], body: bytes, media: str) -> T:
    """Read a body as one of the protocol's Structs. Raises InvalidInputError with the place."""
    read = msgspec.msgpack.decode if media == MSGPACK else msgspec.json.decode
    try:
        return read(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        match = _PLACE.fullmatch(str(error))
        assert match, "the pattern matches every text"
        raise InvalidInputError.at(match["where"] or "", match["message"]) from error


async def answer(send: Send, value: msgspec.Struct, media: str) -> None:
    """Send a value of the protocol."""
    encoder = _WRITE_MSGPACK if media == MSGPACK else _WRITE_JSON
    await respond(send, 200, encoder.encode(value), media.encode())
