"""All that owners do through an API, on PostgreSQL."""

from __future__ import annotations

from random import Random

from matins.alerts.channels.by_apprise import fault_by_apprise
from matins.api.dependencies import Deeds
from matins.domain.ports import Hints
from matins.kernel.sealing import Sealer
from matins.owners.channels import Channels
from matins.owners.checkins import Checkins
from matins.owners.sign_ins import SignIns
from matins.roles.owners import postgres_owners
from matins.store.channels import PostgresChannels
from matins.store.checkins import PostgresCheckins
from matins.store.database import Database
from matins.store.sign_in_links import PostgresSignInLinks


def postgres_deeds(database: Database, hints: Hints, sealer: Sealer, rng: Random) -> Deeds:
    """Return all that owners do, on a pool. `rng` draws tokens, keys and codes."""
    return Deeds(
        postgres_owners(database, hints, rng),
        Channels(PostgresChannels(database), sealer, rng, fault_by_apprise),
        Checkins(PostgresCheckins(database), rng),
        SignIns(PostgresSignInLinks(database), rng),
    )
