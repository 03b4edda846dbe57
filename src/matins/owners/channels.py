"""What owners do to channels. The URL is encrypted before it is stored, and never shown again."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable
from random import Random
from uuid import UUID

import msgspec

from matins.domain.alerts.channels import Channel, ChannelChanged, Secrets
from matins.domain.alerts.deliveries import Delivery
from matins.domain.ports.alerts import ChannelStore, Resealed
from matins.domain.values.errors import ConflictError, InvalidInputError, check
from matins.domain.values.names import check_name
from matins.kernel.sealing import SealedError, Sealer

_KEY_BYTES = 24


class Channels:
    """Makes channels, tests them and deletes them."""

    def __init__(
        self,
        store: ChannelStore,
        sealer: Sealer,
        rng: Random,
        fault_of: Callable[[str], Awaitable[str]],
    ) -> None:
        """`rng` draws keys and the ids of tests: one that nobody can guess. `fault_of` tells why
        Apprise could not send to a URL, and repeats nothing of it.
        """
        self._store = store
        self._sealer = sealer
        self._rng = rng
        self._fault_of = fault_of

    async def put(self, team: str, channel: Channel) -> ChannelChanged:
        """Make a channel or change its URL. A webhook keeps its keys. In any case it is sealed by
        the newest key. Raises InvalidInputError.
        """
        check_name("team", team)
        check(channel.problems())
        if channel.apprise is not None and (fault := await self._fault_of(channel.apprise)):
            message = f"{fault}; how it is written: https://github.com/caronc/apprise/wiki"
            raise InvalidInputError.at("apprise", message)
        key, is_changed = "", True

        def seal(sealed: str | None) -> Resealed:
            nonlocal key, is_changed
            before = None if sealed is None else self._open(sealed)
            keys = before.keys if before and channel.kind == "webhook" else []
            if channel.kind == "webhook" and not keys:
                key = self._new_key()
                keys = [key]
            after = Secrets(team, channel.name, channel.url, keys)
            is_changed = after != before
            return Resealed(self._seal(after), is_changed)

        record, was_there = await self._store.put(team, channel, seal)
        if not is_changed:
            return ChannelChanged(record, "unchanged")
        return ChannelChanged(record, "changed" if was_there else "created", key)

    async def rotate(self, team: str, name: str) -> ChannelChanged:
        """Give a webhook a new key. The one before signs as well until the next rotation.

        Raises NotFoundError, and ConflictError for a channel that is no webhook.
        """
        check_name("team", team)
        check_name("name", name)
        key = self._new_key()

        def seal(sealed: str) -> str:
            before = self._open(sealed)
            if before is None:
                raise ConflictError("what is stored of the channel can't be read; put it again")
            if not before.keys:
                raise ConflictError(f"the channel {name!r} is no webhook; only those have keys")
            return self._seal(msgspec.structs.replace(before, keys=[key, before.keys[0]]))

        return ChannelChanged(await self._store.reseal(team, name, seal), "rotated", key)

    async def delete(self, team: str, name: str) -> ChannelChanged:
        """Delete a channel; what waits for it is never sent. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        return ChannelChanged(await self._store.delete(team, name), "deleted")

    async def test(self, team: str, name: str) -> Delivery:
        """Send a message that tests a channel; its delivery says what came of it.

        Raises NotFoundError.
        """
        check_name("team", team)
        check_name("name", name)
        return await self._store.add_test(team, name, self._new_id())

    def _new_key(self) -> str:
        return f"whsec_{b64encode(self._rng.randbytes(_KEY_BYTES)).decode()}"

    def _new_id(self) -> UUID:
        return UUID(bytes=self._rng.randbytes(16), version=4)

    def _seal(self, secrets: Secrets) -> str:
        return self._sealer.seal(msgspec.json.encode(secrets))

    def _open(self, sealed: str) -> Secrets | None:
        """Return what is stored; None where the key is gone."""
        try:
            return msgspec.json.decode(self._sealer.open(sealed), type=Secrets)
        except SealedError:
            return None
