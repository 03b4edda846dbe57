"""Stable hashes that spread load: the same words give the same number on every host, for ever."""

from __future__ import annotations

from hashlib import blake2b


def stable_number(size: int, *words: str) -> int:
    """Return a number from 0 to `size` - 1 that depends on nothing but the words."""
    digest = blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) % size
