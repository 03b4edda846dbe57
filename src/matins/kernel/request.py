"""What one HTTP request puts on the wire: the URL byte for byte, one head and its body. Pure."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

import idna

_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})
_URL_MARKS = "%:/?[]@!$&'()*+,;=~"
"""What RFC 3986 allows in a URL beside letters, digits and `-._`; `#` begins what is not sent."""

_OURS = frozenset({"content-length", "transfer-encoding", "connection"})
"""How a message is framed is not for its headers to say."""

_BREAKS = re.compile(r"[\r\n\0]")


class Origin(NamedTuple):
    """Where a request goes: the name is ASCII, an IPv6 address without its brackets."""

    host: str
    port: int
    tls: bool


class Url(NamedTuple):
    """A URL, as it is used on the wire."""

    origin: Origin
    host_header: str
    target: str
    """Path and query as they were written; only what may not stand in a URL is encoded."""
    authorization: str | None
    """Basic credentials out of the URL."""


def read_url(url: str) -> Url:
    """Read an absolute http or https URL. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not an absolute http or https URL")
    tls = parts.scheme == "https"
    host = parts.hostname if parts.hostname.isascii() else _ascii_name(parts.hostname)
    origin = Origin(host, parts.port or (443 if tls else 80), tls)
    host_text = f"[{host}]" if ":" in host else host
    is_usual = origin.port == (443 if tls else 80)
    # urlsplit takes a `?` with nothing behind it for none, so the text itself is cut.
    after_scheme = url.partition("://")[2].partition("#")[0]
    match = re.search(r"[/?]", after_scheme)
    target = after_scheme[match.start() :] if match else ""
    return Url(
        origin,
        host_text if is_usual else f"{host_text}:{origin.port}",
        quote(target if target.startswith("/") else f"/{target}", safe=_URL_MARKS),
        _basic(parts.username, parts.password),
    )


def request_bytes(
    method: str,
    url: Url,
    headers: Mapping[str, str],
    body: bytes | None,
    *,
    is_last: bool = True,
) -> bytes:
    """Return the whole request. Names of headers are unique whatever their case.

    `is_last`: the connection is to be closed after it. Raises ValueError where a header would break
    the head.
    """
    names = {name.lower() for name in headers}
    lines = [f"{method} {url.target} HTTP/1.1"]
    if "host" not in names:
        lines.append(f"Host: {url.host_header}")
    if url.authorization and "authorization" not in names:
        lines.append(f"Authorization: {url.authorization}")
    lines += [f"{name}: {value}" for name, value in headers.items() if name.lower() not in _OURS]
    if body is not None or method not in _BODILESS:
        lines.append(f"Content-Length: {len(body or b'')}")
    if is_last:
        lines.append("Connection: close")
    if broken := next((line for line in lines if _BREAKS.search(line)), None):
        raise ValueError(f"{broken.partition(':')[0]!r} holds a line break or NUL")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def _ascii_name(host: str) -> str:
    return idna.encode(host, uts46=True).decode("ascii")


def _basic(user: str | None, password: str | None) -> str | None:
    if user is None and password is None:
        return None
    pair = f"{unquote(user or '')}:{unquote(password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"
