"""The use cases of owners on PostgreSQL."""

from __future__ import annotations

from random import Random

from matins.domain.ports import Hints
from matins.owners.owners import Owners, owners_on
from matins.store.backfills import PostgresBackfillChanges
from matins.store.calendars import PostgresCalendars
from matins.store.changes import PostgresJobChanges
from matins.store.database import Database
from matins.store.dead import PostgresDeadLetters
from matins.store.limits import PostgresLimits
from matins.store.manual import PostgresRunChanges
from matins.store.replays import PostgresReplayChanges
from matins.store.restores import PostgresRestores
from matins.store.timings import KnownCalendars
from matins.store.windows import PostgresWindows


def postgres_owners(database: Database, hints: Hints, rng: Random) -> Owners:
    """Return the use cases of owners on a pool."""
    known = KnownCalendars()
    database.server.when_changed(known.forget)
    return owners_on(
        PostgresJobChanges(database, known),
        PostgresCalendars(database),
        PostgresRunChanges(database),
        PostgresWindows(database),
        PostgresBackfillChanges(database, known),
        PostgresDeadLetters(database),
        PostgresReplayChanges(database),
        PostgresLimits(database),
        PostgresRestores(database),
        hints,
        rng,
    )
