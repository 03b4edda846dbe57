"""The claims of one statement, and where each of their jobs stands once they have rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from matins.domain.runs.claims import Claim
from matins.scheduler.pieces import cut
from matins.scheduler.planning import NEVER_S, LoadedJob


class BatchStep(NamedTuple):
    """The claims of one job, and its due time after them, in seconds since 1970."""

    entry: LoadedJob
    claims: Sequence[Claim]
    next_s: int | None


class Batch:
    """Steps under the epochs with which they were planned."""

    def __init__(self, epochs: dict[int, int], steps: Iterable[BatchStep] = ()) -> None:
        self.epochs = epochs
        self.steps: list[BatchStep] = []
        self.claims: list[Claim] = []
        self.looked_at = 0
        self.oldest_s = NEVER_S
        """The oldest fire time in it."""
        self.ready_s = 0.0
        """When it is to be tried again, as `elapsed_s` tells it."""
        for step in steps:
            self.add(step)

    def add(self, step: BatchStep) -> None:
        """Add the claims of a job that is not in it yet."""
        self.steps.append(step)
        self.claims += step.claims
        self.oldest_s = min(self.oldest_s, step.entry.fire_s)

    def keep(self, partitions: set[int]) -> None:
        """Leave out all that is not of these partitions."""
        self.epochs = {key: self.epochs[key] for key in self.epochs.keys() & partitions}
        self.steps = [step for step in self.steps if step.entry.job.partition in partitions]
        self.claims = list(chain.from_iterable(step.claims for step in self.steps))

    def split(self, partitions: Collection[int]) -> Batch:
        """Take what is of these partitions out of it; return that as a batch of its own."""
        taken = [step for step in self.steps if step.entry.job.partition in partitions]
        rest = self.epochs.keys() - set(partitions)
        batch = Batch(self.epochs, taken)
        self.keep(rest)
        return batch

    def pieces(self) -> list[Batch]:
        """Return it cut into pieces, or itself if it is of one job."""
        if len(self.steps) == 1:
            return [self]
        return [Batch(self.epochs, steps) for steps in cut(self.steps)]
