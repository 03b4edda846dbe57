"""Encrypts what is a secret and has to be stored, by Fernet. A key is 64 hexadecimal digits."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from matins.domain.values.errors import ConflictError

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


class SealedError(Exception):
    """What was encrypted can't be read with the keys that there are."""


class Sealer:
    """Encrypts by the first of some keys, and decrypts by any of them.

    The package behind it is imported by whoever first has something to hide.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys)

    def seal(self, secret: bytes) -> str:
        """Encrypt. Raises ConflictError where there is no key."""
        if not self._keys:
            message = "there is no key to encrypt with: set MATINS_SECRET_KEYS of the API"
            raise ConflictError(message)
        return self._fernet.encrypt(secret).decode()

    def open(self, sealed: str) -> bytes:
        """Decrypt. Raises SealedError."""
        from cryptography.fernet import InvalidToken  # noqa: PLC0415 # 60 ms that most never need

        if not self._keys:
            raise SealedError("there is no key to decrypt with: set MATINS_SECRET_KEYS of the API")
        try:
            return self._fernet.decrypt(sealed)
        except InvalidToken:
            message = "none of the keys in MATINS_SECRET_KEYS has encrypted it"
            raise SealedError(message) from None

    @cached_property
    def _fernet(self) -> MultiFernet:
        from cryptography.fernet import Fernet, MultiFernet  # noqa: PLC0415 # as above

        return MultiFernet([Fernet(urlsafe_b64encode(bytes.fromhex(key))) for key in self._keys])
