"""What sends messages, by kind of channel: a line for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from matins.domain.alerts.channels import ChannelKind, Secrets
from matins.domain.alerts.deliveries import Notice, Taken
from matins.domain.alerts.texts import Message


class Outgoing(NamedTuple):
    """A message that is to be sent, and what it is about: the first notices of so many."""

    taken: Taken
    message: Message
    notices: Sequence[Notice]
    total: int


class UndeliveredError(Exception):
    """A message has not arrived, or nobody knows; its text says why, and holds no secret."""


Send = Callable[[Secrets, Outgoing], Awaitable[None]]
"""Sends a message. Raises UndeliveredError. It is cancelled at the deadline of the try."""

Senders = Mapping[ChannelKind, Send]
