"""What healing leaves alone in PostgreSQL; the contract of its port is tested with the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim, on_postgres

from matins.domain.values.ids import partition_of
from matins.store.database import Database
from matins.store.healing import PostgresRepairs
from matins.testing.virtual import VirtualClock, VirtualTime
from matins.upkeep.healing import Healing

HOLDER, JOB, EXECUTOR = UUID(int=1), UUID(int=2), UUID(int=3)


class Scene:
    """A job, its executor, and the upkeep of rows."""

    def __init__(self, ground: Ground, database: Database, session: asyncpg.Connection) -> None:
        self.ground = ground
        self.session = session
        self._healing = Healing(
            PostgresRepairs(database), VirtualClock(VirtualTime()), asyncio.Event()
        )

    async def claim(self, count: int = 1) -> list[UUID]:
        """Claim so many due times."""
        epochs = await self.ground.all_leases(HOLDER)
        claims = [claim(JOB, START + timedelta(minutes=number)) for number in range(count)]
        await self.ground.agenda.claim(HOLDER, epochs, claims)
        return [claim.run_id for claim in claims]

    async def heal(self, after_s: float = 120) -> None:
        """Let so much time pass, and the upkeep do its turn."""
        self.ground.clock.move(after_s)
        await self._healing.heal()

    async def count(self, table: str) -> int:
        """Return how many rows a table has."""
        count: int = await self.session.fetchval(f"SELECT count(*) FROM {table}")
        return count


@pytest.fixture
async def scene(dsn: str) -> AsyncIterator[Scene]:
    ground, database = on_postgres(dsn)
    upkeep = Database(dsn, name="history", size=1, now=ground.clock.now)
    session = await asyncpg.connect(dsn)
    await ground.rows.add_job(JOB, SPEC)
    scene = Scene(ground, upkeep, session)
    yield scene
    await session.close()
    await upkeep.close()
    await database.close()


async def test_what_waits_in_its_place_is_left_alone(scene: Scene) -> None:
    await scene.claim(3)
    before = await scene.session.fetch("SELECT * FROM dispatch ORDER BY rank, run_id")
    await scene.heal()
    assert await scene.session.fetch("SELECT * FROM dispatch ORDER BY rank, run_id") == before


async def test_a_run_that_a_window_holds_is_left_alone(scene: Scene) -> None:
    await scene.claim()
    await scene.session.execute(
        "WITH held AS (DELETE FROM dispatch RETURNING run_id, due_at)"
        " INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)"
        " SELECT $1, due_at + interval '1 day', run_id, due_at, 1, 'window' FROM held",
        partition_of(JOB),
    )
    await scene.session.execute("UPDATE runs SET state = 'waiting'")
    await scene.heal()
    assert (await scene.count("dispatch"), await scene.count("waiting")) == (0, 1)
