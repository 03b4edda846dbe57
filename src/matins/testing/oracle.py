"""Due times for the history checker, by plain arithmetic and apart from the product's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from matins.testing.evidence import Due

MINUTE = timedelta(minutes=1)


def due_every(
    job_id: UUID, job: str, seconds: int, *, anchor: datetime, since: datetime, until: datetime
) -> list[Due]:
    """Return when a job with `every: <seconds>s` is due: after `since`, before `until`.

    It is due at its anchor and after each whole number of steps from there.
    """
    step = timedelta(seconds=seconds)
    number = max(0, (since - anchor) // step + 1)
    dues = []
    while (at := anchor + number * step) < until:
        dues.append(Due(job_id, job, at))
        number += 1
    return dues


def due_after_end(
    job_id: UUID,
    job: str,
    seconds: int,
    *,
    made: datetime,
    ends: Mapping[datetime, datetime | None],
    until: datetime,
) -> list[Due]:
    """Return when a job with `every: <seconds>s, after: end` is due before `until`.

    `ends` has the end of each run by its due time; None or none while it has not ended.
    """
    dues = []
    at = _whole_second(made) + timedelta(seconds=seconds)
    while at < until:
        dues.append(Due(job_id, job, at))
        ended = ends.get(at)
        if ended is None:
            break
        at = _whole_second(ended) + timedelta(seconds=seconds)
    return dues


def _whole_second(instant: datetime) -> datetime:
    """Return the first whole second that is no earlier."""
    return instant + timedelta(microseconds=-instant.microsecond % 1_000_000)


def due_cron(
    job_id: UUID, job: str, expression: str, *, since: datetime, until: datetime
) -> list[Due]:
    """Return when a job with a simple cron expression in UTC is due: after `since`, before `until`.

    Minutes and hours may be `*`, numbers, ranges, steps and lists of these; the other three fields
    must be `*`. Looks at every minute. Raises ValueError.
    """
    minutes, hours, *rest = expression.split()
    if rest != ["*", "*", "*"]:
        raise ValueError(f"{expression!r}: write minutes, hours and three stars")
    wanted_minutes, wanted_hours = _numbers(minutes, 60), _numbers(hours, 24)
    return [
        Due(job_id, job, at)
        for at in _minutes(since, until)
        if at.minute in wanted_minutes and at.hour in wanted_hours
    ]


def _minutes(since: datetime, until: datetime) -> Iterator[datetime]:
    at = since.astimezone(UTC).replace(second=0, microsecond=0) + MINUTE
    while at < until:
        yield at
        at += MINUTE


def _numbers(field: str, size: int) -> set[int]:
    """Return the numbers that a field names, all below `size`."""
    numbers: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        if low == "*":
            first, last = 0, size - 1
        else:
            first = int(low)
            last = int(high) if high else (size - 1 if step else first)
        if not 0 <= first <= last < size:
            raise ValueError(f"{part!r} is not within 0-{size - 1}")
        numbers.update(range(first, last + 1, int(step or 1)))
    return numbers
