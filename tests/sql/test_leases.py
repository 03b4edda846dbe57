"""Leases in PostgreSQL: one row a scheduler, beside the version before, and under foreign locks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import asyncpg
import pytest
from tests.ids import numbered
from tests.sql.owned import NOON

from matins.domain.runs.cluster import Figures
from matins.domain.values.errors import UnavailableError
from matins.store.cluster import PostgresCluster
from matins.store.database import Database
from matins.store.leases import PostgresLeases
from matins.store.reads import PostgresReads

A, B = numbered(1), numbered(2)
SECOND = timedelta(seconds=1)

# As the version with migration 2 holds leases: with their terms in the rows of the partitions.
OLD_ACQUIRE = """
WITH free AS (
    SELECT partition
    FROM partitions
    WHERE holder IS NULL OR expires_at <= $3
    ORDER BY partition
    LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE partitions p
SET epoch = p.epoch + 1, holder = $1, expires_at = $3::timestamptz + interval '10 seconds'
FROM free
WHERE p.partition = free.partition
RETURNING p.partition
"""
OLD_ALIVE = "INSERT INTO schedulers (id, renewed_at) VALUES ($1, $2)"


class World:
    """Leases under virtual time, and a session beside them."""

    def __init__(self, dsn: str, session: asyncpg.Connection) -> None:
        self.now = NOON
        self.session = session
        self.database = Database(dsn, name="leases", by_key_only=True, now=lambda: self.now)
        self.leases = PostgresLeases(self.database)

    async def watermarks(self) -> dict[int, datetime | None]:
        """Return what owners are shown."""
        return {
            partition.partition: partition.watermark
            for partition in await PostgresReads(self.database).partitions()
        }


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[World]:
    """Leases that nobody holds."""
    session = await asyncpg.connect(dsn)
    world = World(dsn, session)
    yield world
    await world.database.close()
    await session.close()


async def test_renewals_write_no_row_of_a_partition(world: World) -> None:
    held = await world.leases.acquire(A, 256, 10)
    written = "SELECT array_agg(xmin::text ORDER BY partition) FROM partitions"
    before = await world.session.fetchval(written)
    for _ in range(3):
        world.now += 3 * SECOND
        assert await world.leases.renew(A, held, world.now, 10) == held.keys()
    assert await world.session.fetchval(written) == before


async def test_a_locked_partition_costs_its_holder_no_renewal(world: World) -> None:
    held = await world.leases.acquire(A, 256, 10)
    async with world.session.transaction():
        await world.session.execute("SELECT FROM partitions WHERE partition = 7 FOR UPDATE")
        assert await world.leases.renew(A, held, None, 10) == held.keys()
        await world.leases.release(A, held)
        assert (await world.leases.acquire(B, 256, 10)).keys() == held.keys() - {7}
    assert (await world.leases.acquire(B, 256, 10)).keys() == {7}


async def test_a_watermark_is_of_the_partitions_that_it_was_told_of(world: World) -> None:
    held = await world.leases.acquire(A, 2, 10)
    await world.leases.renew(A, held, NOON, 10)
    await world.leases.acquire(A, 1, 10)
    assert await world.watermarks() == dict.fromkeys(range(256)) | {0: NOON, 1: NOON}


async def test_a_watermark_never_goes_back(world: World) -> None:
    held = await world.leases.acquire(A, 1, 10)
    await world.leases.renew(A, held, NOON, 10)
    held |= await world.leases.acquire(A, 1, 10)
    await world.leases.renew(A, held, NOON - 5 * SECOND, 10)
    marks = await world.watermarks()
    assert (marks[0], marks[1]) == (NOON, None)
    await world.leases.renew(A, held, NOON + SECOND, 10)
    marks = await world.watermarks()
    assert (marks[0], marks[1]) == (NOON + SECOND, NOON + SECOND)


@pytest.mark.parametrize("how", ["released", "some released", "retired", "run out", "unnamed"])
async def test_a_watermark_outlives_its_lease(world: World, how: str) -> None:
    held = await world.leases.acquire(A, 2, 10)
    await world.leases.renew(A, held, NOON, 10)
    match how:
        case "released":
            await world.leases.release(A, held)
        case "some released":
            await world.leases.release(A, {1: held[1]})
            await world.leases.acquire(B, 1, 10)
            await world.leases.renew(A, {0: held[0]}, NOON + SECOND, 10)
        case "retired":
            await world.leases.retire(A)
        case "run out":
            world.now += 10 * SECOND
            await world.leases.acquire(B, 2, 10)
        case "unnamed":
            await world.leases.renew(A, {0: held[0]}, NOON + SECOND, 10)
    assert (await world.watermarks())[1] == NOON


async def test_a_holder_that_has_no_row_any_more_holds_nothing(world: World) -> None:
    held = await world.leases.acquire(A, 256, 10)
    await world.session.execute("DELETE FROM schedulers")
    assert (await world.leases.acquire(B, 100, 10)).keys() == set(range(100))
    assert await PostgresLeases(world.database).renew(A, held, None, 10) == set()
    assert len(await world.leases.acquire(B, 256, 10)) == 156


async def test_the_version_before_takes_nothing_that_is_held(world: World) -> None:
    await world.leases.acquire(A, 200, 10)
    world.now += 60 * SECOND
    taken = await world.session.fetch(OLD_ACQUIRE, B, 256, world.now)
    assert {row["partition"] for row in taken} == set(range(200, 256))


async def test_what_the_version_before_lets_run_out_is_taken_over(world: World) -> None:
    await world.session.fetch(OLD_ACQUIRE, A, 256, world.now)
    await world.session.execute(OLD_ALIVE, A, world.now)
    assert await world.leases.acquire(B, 256, 10) == {}
    assert await world.leases.count_alive(10) == 1
    world.now += 10 * SECOND
    assert await world.leases.count_alive(10) == 0
    assert len(await world.leases.acquire(B, 256, 10)) == 256


@pytest.mark.parametrize("last", ["acquired", "renewed"])
@pytest.mark.parametrize("change", ["UPDATE schedulers SET renewed_at = $1", "DELETE"])
async def test_a_lease_that_is_older_than_it_was_begins_a_new_era(
    world: World, change: str, last: str
) -> None:
    """As after a restore in place, of which no session hears."""
    world.now += SECOND
    held = await world.leases.acquire(A, 256, 10)
    if last == "renewed":
        await world.leases.renew(A, held, None, 10)
    if change == "DELETE":
        await world.session.execute("DELETE FROM schedulers")
    else:
        await world.session.execute(change, NOON)
    era = world.database.server.era
    with pytest.raises(UnavailableError):
        await world.leases.renew(A, held, None, 10)
    assert world.database.server.era == era + 1


async def test_a_clock_that_goes_back_begins_no_new_era(world: World) -> None:
    held = await world.leases.acquire(A, 128, 10)
    await world.leases.renew(A, held, None, 10)
    world.now -= 300 * SECOND
    held |= await world.leases.acquire(A, 128, 10)
    for _ in range(2):
        await world.leases.renew(A, held, None, 10)
    assert world.database.server.era == 0


async def test_a_cluster_tells_who_holds_what_and_what_nobody_holds(world: World) -> None:
    held = await world.leases.acquire(A, 100, 10)
    figures = Figures("host-a", "1.2", wheel_size=7, clock_offset_s=-0.5, lag_s=0.25)
    await world.leases.renew(A, held, world.now, 10, figures)
    await world.leases.acquire(B, 100, 10)
    await world.leases.offer(B, [], 10, leaving=True)
    world.now += 4 * SECOND
    cluster = await PostgresCluster(world.database).read()
    first, second = sorted(cluster.schedulers, key=lambda scheduler: scheduler.name, reverse=True)
    assert (first.id, first.name, first.version, first.state) == (A, "host-a", "1.2", "alive")
    assert (first.partitions, first.lease_age_s, first.lease_left_s) == ([*range(100)], 4, 6)
    assert (first.wheel_size, first.clock_offset_s, first.lag_s) == (7, -0.5, 0.25)
    assert (first.min_epoch, first.max_epoch, first.watermark) == (1, 1, NOON)
    assert (second.id, second.state, second.wheel_size) == (B, "leaving", None)
    assert cluster.without_holder == list(range(200, 256))
    world.now += 7 * SECOND
    gone = await PostgresCluster(world.database).read()
    assert {scheduler.state for scheduler in gone.schedulers} == {"gone"}
    assert gone.without_holder == list(range(256))
