"""The use cases of owners on PostgreSQL."""

from __future__ import annotations

from random import Random

from matins.alerts.channels.by_apprise import fault_by_apprise
from matins.api.dependencies import Deeds
from matins.domain.ports import Hints
from matins.kernel.sealing import Sealer
from matins.owners.channels import Channels
from matins.owners.checkins import Checkins
from matins.owners.owners import Owners, owners_on
from matins.owners.sign_ins import SignIns
from matins.store.backfills import PostgresBackfillChanges
from matins.store.calendars import PostgresCalendars
from matins.store.changes import PostgresJobChanges
from matins.store.channels import PostgresChannels
from matins.store.checkins import PostgresCheckins
from matins.store.database import Database
from matins.store.dead import PostgresDeadLetters
from matins.store.limits import PostgresLimits
from matins.store.manual import PostgresRunChanges
from matins.store.replays import PostgresReplayChanges
from matins.store.restores import PostgresRestores
from matins.store.sign_in_links import PostgresSignInLinks
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


def postgres_deeds(database: Database, hints: Hints, sealer: Sealer, rng: Random) -> Deeds:
    """Return all that owners do, on a pool. `rng` draws tokens, keys and codes."""
    return Deeds(
        postgres_owners(database, hints, rng),
        Channels(PostgresChannels(database), sealer, rng, fault_by_apprise),
        Checkins(PostgresCheckins(database), rng),
        SignIns(PostgresSignInLinks(database), rng),
    )
