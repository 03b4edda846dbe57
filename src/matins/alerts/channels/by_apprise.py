"""Mail, chats, pagers and the rest: whatever Apprise reads from a URL.

It blocks and takes half a second to import, so each message has a thread of its own, and nothing
imports it before the first one.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Thread

from matins.alerts.channels import Outgoing, UndeliveredError
from matins.domain.alerts.channels import Secrets


async def send_by_apprise(secrets: Secrets, outgoing: Outgoing) -> None:
    """Send one. Raises UndeliveredError.

    A thread that is given up ends by the time-outs of Apprise itself; nobody waits for it.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()
    text = f"{outgoing.message.text}\n\nDelivery: {outgoing.taken.id}"

    def finish(error: str) -> None:
        if not answer.done():
            answer.set_result(error)

    def work() -> None:
        try:
            error = _notify(secrets.url, outgoing.message.title, text)
        except Exception as raised:  # whatever a plugin raises; its text may hold the URL
            error = f"apprise failed: {type(raised).__name__}"
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(finish, error)

    Thread(target=work, name=f"deliver {outgoing.taken.id}", daemon=True).start()
    if error := await answer:
        raise UndeliveredError(error)


def _notify(url: str, title: str, text: str) -> str:
    """Send by Apprise; return what it has logged of a failure, and nothing of a success."""
    import apprise  # noqa: PLC0415 # half a second

    plugin = apprise.Apprise.instantiate(url)
    if plugin is None:
        return "apprise can't read the URL of the channel"
    with apprise.LogCapture(  # type: ignore[no-untyped-call]
        level=apprise.logging.WARNING, fmt="%(message)s"
    ) as output:
        if plugin.notify(body=text, title=title):
            return ""
        lines = output.getvalue().strip().splitlines()
    return _without(
        url, lines[-1] if lines else "it was not delivered, and apprise does not say why"
    )


def _without(url: str, line: str) -> str:
    """Return a line of Apprise's log without anything of the URL that may be secret."""
    import apprise  # noqa: PLC0415 # imported already

    parts = apprise.URLBase.parse_url(url, verify_host=False) or {}  # type: ignore[no-untyped-call]
    for secret in (url, *(parts.get(name) for name in ("password", "user", "fullpath", "query"))):
        if isinstance(secret, str) and len(secret) > 2:
            line = line.replace(secret, "…")
    return line
