"""Names that are functions of what they name, so that whoever repeats a step repeats its name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from uuid import UUID

PARTITIONS = 256
"""The fixed number of partitions; a job never changes its partition."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION_8 = 0x8 << 76
_VARIANT = 0b10 << 62
_MASK_12 = (1 << 12) - 1
_MASK_62 = (1 << 62) - 1
_MS = timedelta(milliseconds=1)
_LAST_MS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MS


def whole_ms(instant: datetime) -> datetime:
    """Cut an instant to whole milliseconds: due times have no finer grain."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def run_id(job_id: UUID, due_at: datetime, kind: str) -> UUID:
    """Name the run of (job, due time, kind): a time-ordered UUID of version 8 (RFC 9562, 5.8).

    48 bits of due time in milliseconds since 1970, then 74 bits of a hash of the three.
    `due_at` is aware and whole milliseconds.
    """
    ms = (due_at - _EPOCH) // _MS
    digest = blake2b(
        b"%b%d%b" % (job_id.bytes, ms, kind.encode()), digest_size=10, person=b"matins.run"
    ).digest()
    bits = int.from_bytes(digest, "big")
    return UUID(
        int=(ms << 80) | _VERSION_8 | ((bits >> 62 & _MASK_12) << 64) | _VARIANT | (bits & _MASK_62)
    )


def names_instant(run: UUID) -> bool:
    """Return whether an id's due time lies within year 9999; with any other, no run can exist."""
    return run.int >> 80 <= _LAST_MS


def due_of(run: UUID) -> datetime:
    """Return the due time in a run's id, so that lookups by id touch one day of runs.

    Raises OverflowError for an id that does not satisfy `names_instant`.
    """
    return _EPOCH + _MS * (run.int >> 80)


def id_before(instant: datetime) -> UUID:
    """Return an id above those of all runs that are due before an instant, and below all others.

    By `due_of` it lies before the instant too.
    """
    return UUID(int=((instant - _EPOCH) // _MS << 80) - 1)


def hashed_id(purpose: bytes, words: bytes) -> UUID:
    """Name something by what it is made of. `purpose`, of 16 bytes at most, keeps kinds apart."""
    return UUID(bytes=blake2b(words, digest_size=16, person=purpose).digest(), version=5)


def partition_of(name: UUID) -> int:
    """Return the partition, 0 to 255, of a job; also of an executor, for who watches it."""
    return blake2b(name.bytes, digest_size=1, person=b"matins.part").digest()[0]
