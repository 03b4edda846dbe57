"""Style sheet, scripts and icon, under names that change with their content."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from matins.domain.values.errors import NotFoundError
from matins.kernel.http import Scope, Send, respond

PREFIX: Final = "/assets/"

_TYPES: Final = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
_FOREVER = {"cache-control": "public, max-age=31536000, immutable"}


class Asset(NamedTuple):
    """A file, and the media type under which it is sent."""

    content: bytes
    media_type: bytes


@cache
def _assets() -> dict[str, Asset]:
    """Return the files by the names under which they are asked for."""
    assets = {}
    for path in (files("matins.web") / "static").iterdir():
        name, dot, suffix = path.name.rpartition(".")
        content = path.read_bytes()
        mark = hashlib.sha256(content).hexdigest()[:12]
        assets[f"{name}.{mark}.{suffix}"] = Asset(content, _TYPES[dot + suffix])
    return assets


@cache
def asset_url(name: str) -> str:
    """Return the address of a file of `static/`."""
    stem, _, suffix = name.rpartition(".")
    [full] = [full for full in _assets() if full.startswith(f"{stem}.") and full.endswith(suffix)]
    return PREFIX + full


async def serve_asset(scope: Scope, send: Send) -> None:
    """Send a file. Raises NotFoundError."""
    asset = _assets().get(scope["path"].removeprefix(PREFIX))
    if asset is None:
        raise NotFoundError("there is no such asset; reload the page")
    await respond(send, 200, asset.content, asset.media_type, _FOREVER)
