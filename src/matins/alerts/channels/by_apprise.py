"""Mail, chats, pagers and the rest: whatever Apprise reads from a URL.

It blocks and takes half a second to import, so each message has a thread of its own, and nothing
imports it before the first one, or the first channel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread
from typing import Any
from uuid import UUID

from matins.alerts.channels import Outgoing, UndeliveredError
from matins.domain.alerts.channels import Secrets
from matins.domain.alerts.texts import Message


async def send_by_apprise(secrets: Secrets, outgoing: Outgoing) -> None:
    """Send one. Raises UndeliveredError."""
    await notify_by_apprise(secrets.url, outgoing.taken.id, outgoing.message)


async def notify_by_apprise(url: str, name: UUID, message: Message) -> None:
    """Send a message of that name. Raises UndeliveredError."""
    text = f"{message.text}\n\nDelivery: {name}"
    if error := await _in_thread(f"deliver {name}", lambda: _notify(url, message.title, text)):
        raise UndeliveredError(error)


async def fault_by_apprise(url: str) -> str:
    """Return why nothing could be sent to a URL, whoever listens there; empty if it can be read."""
    return await _in_thread("read a URL", lambda: _read(url)[1])


async def _in_thread(name: str, work: Callable[[], str]) -> str:
    """Return what comes of it; an error is one, too.

    A thread that is given up ends by the time-outs of Apprise itself; nobody waits for it.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def finish(error: str) -> None:
        if not answer.done():
            answer.set_result(error)

    def run() -> None:
        try:
            error = work()
        except Exception as raised:  # whatever a plugin raises; its text may hold the URL
            error = f"apprise failed: {type(raised).__name__}"
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(finish, error)

    Thread(target=run, name=name, daemon=True).start()
    return await answer


def _notify(url: str, title: str, text: str) -> str:
    """Send by Apprise; return what it has logged of a failure, and nothing of a success."""
    plugin, fault = _read(url)
    if plugin is None:
        return fault
    library = _imported()
    with library.LogCapture(level=library.logging.WARNING, fmt="%(message)s") as output:
        if plugin.notify(body=text, title=title):
            return ""
        lines: list[str] = output.getvalue().strip().splitlines()
    reason = lines[-1] if lines else "it was not delivered, and apprise does not say why"
    return _without(library.URLBase.parse_url(url, verify_host=False) or {}, url, reason)


def _read(url: str) -> tuple[Any, str]:
    """Return what sends to a URL, or None and why nothing does."""
    plugin = _imported().Apprise.instantiate(url)
    return plugin, "" if plugin else "apprise can't read the URL of the channel"


def _imported() -> Any:  # noqa: ANN401 # half of it is untyped
    """Import Apprise."""
    import apprise  # noqa: PLC0415 # half a second

    return apprise


def _without(parts: Mapping[str, object], url: str, line: str) -> str:
    """Return a line of Apprise's log without anything of the URL that may be secret."""
    for secret in (url, *(parts.get(name) for name in ("password", "user", "fullpath", "query"))):
        if isinstance(secret, str) and len(secret) > 2:
            line = line.replace(secret, "…")
    return line
