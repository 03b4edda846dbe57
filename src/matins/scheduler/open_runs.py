"""Which unfinished runs are known beside those that the look from `open_since` on finds."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from uuid import UUID

from matins.domain.values.ids import partition_of


class KnownOpenRuns:
    """By job the runs due before its `open_since` that were unfinished when admission last looked,
    and the jobs that it is deciding about.
    """

    def __init__(self) -> None:
        self._runs: dict[UUID, tuple[UUID, ...]] = {}
        self._asked: set[UUID] = set()

    def of(self, job_id: UUID) -> tuple[UUID, ...]:
        """Return the runs of a job."""
        return self._runs.get(job_id, ()) if self._runs else ()

    def note(self, job_id: UUID, runs: tuple[UUID, ...]) -> None:
        """Note the runs of a job: these, and no others."""
        if runs:
            self._runs[job_id] = runs
        else:
            self._runs.pop(job_id, None)

    def must_ask(self, job_id: UUID) -> bool:
        """Return whether whatever is claimed of a job must be asked about."""
        if not self._asked and not self._runs:  # as a rule; ids take long to hash
            return False
        return job_id in self._asked or job_id in self._runs

    @contextmanager
    def asking(self, job_ids: Collection[UUID]) -> Iterator[None]:
        """Have what is claimed of these jobs meanwhile be asked about: who decides about a job has
        not seen it.
        """
        self._asked.update(job_ids)
        try:
            yield
        finally:
            self._asked.difference_update(job_ids)

    def drop_partitions(self, partitions: Collection[int]) -> None:
        """Forget all of some partitions."""
        for job_id in [job_id for job_id in self._runs if partition_of(job_id) in partitions]:
            del self._runs[job_id]
