"""The words on the channel `admission`: what a scheduler is to ask about at once."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple
from uuid import UUID

CHANNEL: Final = "admission"
_JOB: Final = "job:"
_GATE: Final = "gate:"


class Heard(NamedTuple):
    """Partitions in which runs were made that wait, and jobs of which a run has ended."""

    partitions: set[int]
    jobs: set[UUID]


def partition_word(partition: int) -> str:
    """Return the word for a partition in which a run was made that is to be asked about."""
    return str(partition)


def job_word(job_id: UUID) -> str:
    """Return the word for a job of which a run has ended, for which others may wait."""
    return f"{_JOB}{job_id}"


def gate_word(gate_id: int) -> str:
    """Return the word for a gate that may have room for who stands first in its line."""
    return f"{_GATE}{gate_id}"


def gate_of(word: str) -> int | None:
    """Return which gate a word is for; None: it says something else."""
    number = word.removeprefix(_GATE)
    return int(number) if number != word and number.isdecimal() else None


def hear(words: Iterable[str]) -> Heard:
    """Return what words say; others are passed over: they may come from newer senders."""
    heard = Heard(set(), set())
    for word in words:
        with suppress(ValueError):
            if word.startswith(_JOB):
                heard.jobs.add(UUID(word.removeprefix(_JOB)))
            else:
                heard.partitions.add(int(word))
    return heard
