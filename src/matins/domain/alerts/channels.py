"""Channels: where a team is told, and what is kept of that."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final, Literal
from urllib.parse import urlsplit

import msgspec

from matins.domain.values.errors import Problem
from matins.domain.values.names import name_problems

ChannelKind = Literal["webhook", "apprise"]

_URL_MAX: Final = 2000

LOCAL: Final = frozenset(
    {"dbus", "glib", "gnome", "growl", "kde", "macosx", "qt", "syslog", "windows"}
)
"""Schemes of Apprise that act on the host of the API itself."""


class Channel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A channel as its owner writes it: the URL of a `webhook`, or one that `apprise` reads, as
    `mailto://` or `slack://`.
    """

    EXAMPLE: ClassVar[str] = "{name: oncall, webhook: https://hooks.example.com/matins}"

    name: str
    webhook: str | None = None
    apprise: str | None = None

    @property
    def kind(self) -> ChannelKind:
        """What sends to it."""
        return "apprise" if self.webhook is None else "webhook"

    @property
    def url(self) -> str:
        """Where it leads; a secret."""
        return self.webhook or self.apprise or ""

    @property
    def scheme(self) -> str:
        """What of its URL may be shown."""
        return self.url.partition("://")[0].lower()

    def problems(self) -> list[Problem]:
        """Return all that is wrong with it; no message repeats the URL."""
        problems = name_problems("name", self.name)
        if (self.webhook is None) == (self.apprise is None):
            return [*problems, Problem("webhook", "write either webhook or apprise, with a URL")]
        if len(self.url) > _URL_MAX:
            return [*problems, Problem(self.kind, f"is longer than {_URL_MAX} characters")]
        if self.webhook is not None and not _is_http(self.webhook):
            message = "is no URL of HTTP; write it as https://hooks.example.com/matins"
            problems.append(Problem("webhook", message))
        if self.apprise is not None and "://" not in self.apprise:
            message = (
                "is no URL; write it as mailto://user:password@example.com?to=oncall@example.com"
            )
            problems.append(Problem("apprise", message))
        if self.apprise is not None and self.scheme in LOCAL:
            message = f"is of {self.scheme}, which would act on the host of the API"
            problems.append(Problem("apprise", message))
        return problems


class Secrets(msgspec.Struct, frozen=True):
    """What is encrypted of a channel: whose it is, its URL, and the keys of a webhook, the newest
    first.
    """

    team: str
    name: str
    url: str
    keys: list[str] = []


class ChannelRecord(msgspec.Struct, frozen=True):
    """A channel as it is shown: never its URL, of which `scheme` is the beginning.

    `failing_since`: what was sent since then has not arrived, and `failure` says why.
    """

    name: str
    kind: ChannelKind
    scheme: str
    made_at: datetime
    delivered_at: datetime | None = None
    failing_since: datetime | None = None
    failure: str = ""
    waiting: int = 0


class ChannelChanged(msgspec.Struct, frozen=True):
    """What a request did to a channel.

    `key`: the new key of a webhook, shown this once; receivers check signatures by it.
    """

    channel: ChannelRecord
    change: Literal["created", "changed", "unchanged", "rotated", "deleted"]
    key: str = ""


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
