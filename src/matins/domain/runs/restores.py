"""A database that was restored from a backup: how that is noticed, and what becomes of what it has
forgotten.

Due times between the backup and the last moment at which schedulers were seen may have run: they
are uncertain. What a job would catch up of them by its misfire policy `all` is skipped, with
`UNCERTAIN` as its reason, until an operator has decided.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, Final

import msgspec

from matins.domain.jobs.misfire import ON_TIME, Missed

UNCERTAIN: Final = "restore: it may have run before, in what the database has lost"
"""The reason of a due time that waits for the decision of an operator."""

LEFT_OUT: Final = "restore: left out by an operator"
"""The reason of a due time that is not run after all."""

LOST_MIN: Final = ON_TIME
"""A database that lacks less goes on by itself: what it lacks is still on time, and is claimed
again under the same names.
"""

FAR_BEHIND: Final = timedelta(days=1)
"""A database that has not been used for longer, and of which nothing else is known, may be an old
copy as well as one that nobody used.
"""

JITTER_MAX: Final = timedelta(days=1)
"""So much earlier than its fire time may a due time be."""


class Seen(msgspec.Struct, frozen=True):
    """What a scheduler knows to be committed, kept outside of the database.

    `watermark` is its own, `until` when at the latest it had to claim no more, unless it renewed
    its lease and noted that.
    """

    watermark: datetime
    until: datetime


class Watermarks(msgspec.Struct, frozen=True):
    """The watermarks that the database has: the oldest and the newest of all partitions."""

    oldest: datetime
    newest: datetime


class Restore(msgspec.Struct, frozen=True):
    """A restore: what was due from `lost_since` up to `seen_until` may have run."""

    lost_since: datetime
    seen_until: datetime
    noticed_at: datetime
    resolved_at: datetime | None = None


class Resumption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operator wants of uncertain due times: of each job `all`, the `last`, or none.

    What is due before `since` is left out in any case: it is known to have run.
    """

    EXAMPLE: ClassVar[str] = '{"missed": "all", "since": "2026-11-30T02:00:00Z"}'

    missed: Missed
    since: datetime | None = None


class Resumed(msgspec.Struct, frozen=True):
    """What became of the uncertain due times of the newest restore, or would become of them."""

    restore: Restore
    uncertain: int
    jobs: int
    """Of how many jobs they are."""
    to_run: int
    left_out: int


def find_restore(seen: Seen | None, recorded: Watermarks | None, now: datetime) -> Restore | None:
    """Return which due times may have been forgotten; None: the database knows all.

    A database in which nothing was ever recorded is a new one, and not an older copy.
    """
    if recorded is None:
        return None
    if seen is None:
        is_old = now - recorded.newest > FAR_BEHIND
        return Restore(recorded.oldest, now, now) if is_old else None
    if seen.watermark - recorded.newest <= LOST_MIN:
        return None
    return Restore(recorded.oldest, seen.until, now)
