"""Whole outputs wherever they are: kept once, read in parts, gone with their day."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from tests.contract.ports.ground import START

from matins.domain.ports.output import KeptOutput
from matins.domain.runs.output import CHUNK_MAX, OutputChunk
from matins.domain.upkeep.retention import DaySpan
from matins.domain.values.errors import UnavailableError
from matins.domain.values.ids import run_id
from matins.store.database import Database
from matins.store.day_tables import PostgresDayTables
from matins.store.output import PostgresKeptOutput
from matins.store.output_folder import FolderKeptOutput
from matins.store.retention import PostgresRetention
from matins.testing.memory.output import MemoryKeptOutput


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    database = Database(dsn, name="outputs", size=2)
    yield database
    await database.close()


@pytest.fixture(params=["memory", "postgres", "folder"])
async def kept(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> KeptOutput:
    if request.param == "memory":
        return MemoryKeptOutput()
    if request.param == "folder":
        return FolderKeptOutput(tmp_path / "outputs")
    days = PostgresDayTables(database)
    await days.make(START.date(), START.date() + timedelta(days=1))
    return PostgresKeptOutput(database)


def writer(number: int = 1, days: int = 0) -> Callable[[str], OutputChunk]:
    """Return what makes the chunks of a new attempt, one behind the other."""
    run, end = run_id(uuid4(), START + timedelta(days=days), "manual"), 0

    def chunk(text: str) -> OutputChunk:
        nonlocal end
        made = OutputChunk(run_id=run, number=number, offset=end, text=text)
        end += len(text)
        return made

    return chunk


async def test_of_what_was_never_kept_there_is_nothing(kept: KeptOutput) -> None:
    run = writer()("").run_id
    assert await kept.length(run, 1) == 0
    assert await kept.read(run, 1, 0, 100) == ""


async def test_chunks_are_read_as_one_text_in_any_part(kept: KeptOutput) -> None:
    write, other = writer(), writer()
    texts = ["caf\xe9\n", "x" * CHUNK_MAX, "\u20ac end\n"]
    await kept.append([write(texts[0]), other("another\n")])
    second = write(texts[1])
    await kept.append([second, write(texts[2])])
    whole, name = "".join(texts), (second.run_id, 1)
    assert await kept.length(*name) == len(whole)
    assert await kept.read(*name, 0, len(whole)) == whole
    for start, end in [
        (0, 3),
        (3, 9),
        (len(whole) - 4, len(whole) + 9),
        (5, 5),
        (9, 9 + CHUNK_MAX),
    ]:
        assert await kept.read(*name, start, end) == whole[start:end]


async def test_a_chunk_that_comes_again_is_kept_once(kept: KeptOutput) -> None:
    write = writer(number=3)
    first, second = write("one\n"), write("two\n")
    await kept.append([first])
    await kept.append([first, second])
    assert await kept.read(first.run_id, 3, 0, 100) == "one\ntwo\n"
    assert await kept.read(first.run_id, 1, 0, 100) == ""


async def test_what_is_missing_is_left_out(kept: KeptOutput) -> None:
    write = writer()
    first, _, third = write("one\n"), write("two\n"), write("three\n")
    await kept.append([third, first])
    assert await kept.length(first.run_id, 1) == 14
    assert await kept.read(first.run_id, 1, 0, 14) == "one\nthree\n"


async def test_two_may_be_the_first_of_their_day_at_once(database: Database) -> None:
    await PostgresDayTables(database).make(START.date(), START.date() + timedelta(days=3))
    kept = PostgresKeptOutput(database)
    chunks = [writer(days=2)("one\n") for _ in range(4)]
    await asyncio.gather(*(kept.append([chunk]) for chunk in chunks))
    assert [await kept.length(chunk.run_id, 1) for chunk in chunks] == [4, 4, 4, 4]


async def test_what_comes_for_a_day_without_runs_is_let_go(database: Database) -> None:
    kept, chunk = PostgresKeptOutput(database), writer(days=-4000)("late\n")
    await kept.append([chunk])
    assert await kept.length(chunk.run_id, 1) == 0


async def test_a_folder_that_cannot_be_written_is_away(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UnavailableError, match="can't be written"):
        await FolderKeptOutput(tmp_path / "file").append([writer()("one\n")])


@pytest.mark.parametrize("place", ["postgres", "folder"])
async def test_output_goes_with_the_runs_of_its_day(
    database: Database, tmp_path: Path, place: str
) -> None:
    folder = FolderKeptOutput(tmp_path) if place == "folder" else None
    kept: KeptOutput = folder or PostgresKeptOutput(database)
    days = PostgresDayTables(database, folder)
    chunk = writer(days=-40)("old\n")
    day = (START - timedelta(days=40)).date()
    await days.make(day, day)
    await kept.append([chunk])
    assert await kept.length(chunk.run_id, 1) == 4
    assert await days.detach(day)
    assert await kept.length(chunk.run_id, 1) == 4
    await days.drop(day)
    assert await kept.length(chunk.run_id, 1) == 0


@pytest.mark.parametrize("place", ["postgres", "folder"])
async def test_output_goes_with_its_run_where_a_job_keeps_less(
    database: Database, tmp_path: Path, place: str
) -> None:
    folder = FolderKeptOutput(tmp_path) if place == "folder" else None
    kept: KeptOutput = folder or PostgresKeptOutput(database)
    await PostgresDayTables(database).make(START.date(), START.date())
    goes, stays = writer()("goes\n"), writer()("stays\n")
    await kept.append([goes, stays])
    span = DaySpan(START - timedelta(days=1), START + timedelta(days=1))
    await PostgresRetention(database, 90, folder).delete_runs(span, [goes.run_id])
    assert await kept.length(goes.run_id, 1) == 0
    assert await kept.length(stays.run_id, 1) == len("stays\n")
