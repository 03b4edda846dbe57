"""What has been read of each partition, and where reading it goes on: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from matins.domain.runs.claims import BEGINNING, Mark

PAGE: Final = 2_000
"""About how many jobs or waiting runs are read at once."""

LATE: Final = timedelta(minutes=1)
"""How far a reading begins before the one before it: no write is under way for so long."""

_SWEEP: Final = timedelta(minutes=10)
_STEP: Final = timedelta(seconds=15)
"""Marks move on in such steps: some hundred of them each second would cost more than it saves."""
_FIRST: Final = UUID(int=0)


class _Read(NamedTuple):
    epoch: int
    begun_at: datetime
    sweep_at: datetime
    mark: Mark


class Coverage:
    """Where to begin with each partition, so that no reading walks over all that was before.

    What a partition held when it was read last is in memory. What was written since then falls due
    after it was written, so the next reading begins shortly before. Only after the partition was
    gained, and every ten minutes or so, is it swept from the beginning: for what came in otherwise.
    """

    def __init__(self) -> None:
        self._read: dict[int, _Read] = {}

    def begin(self, partitions: Mapping[int, int], now: datetime) -> Reading:
        """Begin to read these partitions, that come with the epochs of their leases."""
        return Reading(self, partitions, now)

    def mark(self, partition: int, epoch: int, now: datetime) -> Mark:
        """Return where to begin with a partition."""
        read = self._read.get(partition)
        if read is None or read.epoch != epoch or read.sweep_at <= now:
            return BEGINNING
        return read.mark if read.begun_at <= now else Mark(now - LATE, _FIRST)

    def note(self, partition: int, epoch: int, begun_at: datetime) -> None:
        """Note that a partition was read to the end, from its mark on."""
        read = self._read.get(partition)
        if read is None or read.epoch != epoch:
            # Of its last holder something may still be under way: swept soon again.
            sweep_at = begun_at + LATE
        elif read.sweep_at <= begun_at:
            sweep_at = begun_at + _SWEEP * (1 + partition % 8 / 8)  # not all at once
        elif abs(begun_at - read.begun_at) < _STEP:
            return
        else:
            sweep_at = read.sweep_at
        self._read[partition] = _Read(epoch, begun_at, sweep_at, Mark(begun_at - LATE, _FIRST))

    def forget(self, partitions: Collection[int]) -> None:
        """Forget what is known of some partitions."""
        for partition in partitions:
            self._read.pop(partition, None)

    def forget_all_but(self, partitions: Mapping[int, int]) -> None:
        """Forget what is known of other partitions, or of these under other leases."""
        self._read = {
            partition: read
            for partition, read in self._read.items()
            if partitions.get(partition) == read.epoch
        }


class Reading:
    """One reading of some partitions, a page at a time, of which each gives its share."""

    def __init__(self, coverage: Coverage, partitions: Mapping[int, int], now: datetime) -> None:
        self.marks = {
            partition: coverage.mark(partition, epoch, now)
            for partition, epoch in partitions.items()
        }
        """Where each partition that is not read to the end goes on."""
        self._coverage = coverage
        self._epochs = dict(partitions)
        self._begun_at = now

    @property
    def share(self) -> int:
        """The most that each partition gives to the next page."""
        return -(-PAGE // len(self.marks))

    def turn(self, page: Iterable[tuple[int, Mark]], loaded: Mapping[int, int]) -> dict[int, int]:
        """Go on after a page; gives the partitions that were read to the end with it.

        The page is told by its places, in the order in which each partition gave them. What is no
        longer loaded under its epoch is not read on.
        """
        places = list(page)
        count, last, share = Counter(partition for partition, _ in places), dict(places), self.share
        kept = {mark for mark in self.marks if loaded.get(mark) == self._epochs[mark]}
        done = {
            partition: self._epochs[partition] for partition in kept if count[partition] < share
        }
        for partition, epoch in done.items():
            self._coverage.note(partition, epoch, self._begun_at)
        self.marks = {key: last[key] for key in kept - done.keys()}
        return done
