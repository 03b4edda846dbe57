"""The tables of a day that is missing are made at need; what can't be inserted waits alone."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import asyncpg
import pytest

from matins.domain.values.errors import BlockedError
from matins.store.database import Database
from matins.store.days import with_days

LONG_AGO = datetime(2020, 3, 1, 12, tzinfo=UTC)
INSERT = """
INSERT INTO attempts
VALUES ($1, $2, 1, $1, $2, $2, 'succeeded', '', NULL, NULL, '', 0)
"""


async def test_a_missing_day_is_made_whatever_language_the_server_speaks(dsn: str) -> None:
    database = Database(dsn, name="days", size=1)

    async def insert() -> None:
        async with database.session() as session:
            try:
                await session.execute(INSERT, UUID(int=1), LONG_AGO)
            except asyncpg.CheckViolationError as error:
                error.args = ("keine Partition von Relation »attempts« für die Zeile gefunden",)
                raise

    await with_days(database, [LONG_AGO], insert)
    async with database.session() as session:
        assert await session.fetchval("SELECT count(*) FROM attempts_20200301") == 1
    await database.close()


@pytest.mark.parametrize("table", ["runs_20200301", "attempts_20200301"])
async def test_a_day_of_which_one_table_was_dropped_is_made_whole(dsn: str, table: str) -> None:
    database = Database(dsn, name="days", size=1)
    async with database.session() as session:
        await session.execute("SELECT ensure_day('2020-03-01')")
        await session.execute(f"DROP TABLE {table}")
        await session.execute("SELECT ensure_day('2020-03-01')")
        assert await session.fetchval("SELECT to_regclass($1::text)", table) is not None
    await database.close()


async def test_rows_of_a_day_that_can_t_be_made_wait_and_no_others_do(dsn: str) -> None:
    database = Database(dsn, name="days", size=1)
    days = [LONG_AGO, LONG_AGO + timedelta(days=1)]

    async def insert(due: datetime) -> None:
        async with database.session() as session:
            await session.execute(INSERT, UUID(int=1), due)

    async with database.session() as session:
        await session.execute("CREATE TABLE attempts_20200301 (something text)")
    with pytest.raises(BlockedError, match="2020-03-01"):
        await with_days(database, days[:1], lambda: insert(days[0]))
    await with_days(database, days[1:], lambda: insert(days[1]))
    async with database.session() as session:
        await session.execute("DROP TABLE attempts_20200301")
    await with_days(database, days[:1], lambda: insert(days[0]))
    await database.close()


async def test_a_row_that_breaks_a_constraint_makes_no_day(dsn: str) -> None:
    database = Database(dsn, name="days", size=1)

    async def insert() -> None:
        async with database.session() as session:
            await session.execute(INSERT.replace("succeeded", "unheard of"), UUID(int=1), now)

    async with database.session() as session:
        now = await session.fetchval("SELECT clock_timestamp()")
    with pytest.raises(asyncpg.CheckViolationError, match="outcome"):
        await with_days(database, [LONG_AGO], insert)
    async with database.session() as session:
        assert await session.fetchval("SELECT to_regclass('attempts_20200301')") is None
    await database.close()


async def test_a_day_made_by_another_takes_rows_at_once(dsn: str) -> None:
    """Rows of a day whose table several want to make at the same moment are all written."""
    databases = [Database(dsn, name="days", size=2) for _ in range(4)]

    async def insert(database: Database, number: int, due: datetime) -> None:
        async with database.session() as session:
            await session.execute(INSERT, UUID(int=number), due)

    for day in range(40):
        due = LONG_AGO + timedelta(days=day)
        await asyncio.gather(
            *(
                with_days(database, [due], partial(insert, database, number, due))
                for number, database in enumerate(databases)
            )
        )
    async with databases[0].session() as session:
        assert await session.fetchval("SELECT count(*) FROM attempts") == 160
    for database in databases:
        await database.close()
