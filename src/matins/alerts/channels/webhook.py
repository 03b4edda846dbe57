"""Webhooks, signed as Standard Webhooks says, by both of the keys that live."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from matins.alerts.channels import Outgoing, UndeliveredError
from matins.domain.alerts.channels import Secrets
from matins.domain.alerts.deliveries import DeliveryKind, Notice
from matins.kernel.connection import ConnectError
from matins.kernel.http_client import HttpClient, LostAnswerError

EXCHANGE_S: Final = 15.0
"""The longest that a receiver may take to answer."""


class Data(msgspec.Struct, frozen=True):
    """What a message is about: the first notices of `count`."""

    team: str
    turn: DeliveryKind
    title: str
    text: str
    count: int
    notices: list[Notice]


class WebhookEvent(msgspec.Struct, frozen=True):
    """The body of a webhook."""

    type: str
    timestamp: datetime
    data: Data


class WebhookSender:
    """Posts messages; an answer of 2xx means that it has arrived. No redirect is followed."""

    def __init__(self) -> None:
        self._http = HttpClient({"Content-Type": "application/json"})

    async def __call__(self, secrets: Secrets, outgoing: Outgoing) -> None:
        """Send one. Raises UndeliveredError."""
        taken = outgoing.taken
        data = Data(
            taken.team,
            taken.kind,
            outgoing.message.title,
            outgoing.message.text,
            outgoing.total,
            list(outgoing.notices),
        )
        body = msgspec.json.encode(WebhookEvent(f"alert.{taken.kind}", taken.made_at, data))
        headers = signed(secrets.keys, taken.id, taken.taken_at, body)
        try:
            status, _ = await self._http.exchange("POST", secrets.url, body, EXCHANGE_S, headers)
        except ValueError as error:
            raise UndeliveredError("the URL of the channel can't be used") from error
        except ConnectError as error:
            raise UndeliveredError(f"no connection: {error}") from error
        except LostAnswerError as error:
            raise UndeliveredError(str(error)) from error
        if not 200 <= status < 300:
            raise UndeliveredError(f"the receiver answered HTTP {status}")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def signed(keys: list[str], message: UUID, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers by which a receiver knows a message again, and that it is ours."""
    from standardwebhooks import Webhook  # noqa: PLC0415 # where nothing is sent, nobody needs it

    text = body.decode()
    signatures = [Webhook(key).sign(str(message), at, text) for key in keys]
    return {
        "webhook-id": str(message),
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
