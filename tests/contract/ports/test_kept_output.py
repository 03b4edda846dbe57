"""Whole outputs wherever they are: kept once, read in parts, gone with their day."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from traceback import format_exception
from uuid import uuid4

import pytest
from tests.contract.ports.ground import START
from tests.folders import make_folder
from tests.s3 import BUCKET, KEY, SECRET, S3Server, s3_server

from matins.domain.ports.output import KeptOutput
from matins.domain.runs.output import CHUNK_MAX, OutputChunk
from matins.domain.upkeep.retention import DaySpan
from matins.domain.values.errors import UnavailableError
from matins.domain.values.ids import run_id
from matins.store import output_s3
from matins.store.database import Database
from matins.store.day_tables import PostgresDayTables
from matins.store.output import PostgresKeptOutput
from matins.store.output_folder import FolderKeptOutput
from matins.store.output_place import outside_output
from matins.store.output_s3 import S3KeptOutput
from matins.store.retention import PostgresRetention
from matins.testing.memory.output import MemoryKeptOutput


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    database = Database(dsn, name="outputs", size=2)
    yield database
    await database.close()


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    folder = make_folder("matins-s3-")
    with s3_server(folder) as server:
        yield server
    shutil.rmtree(folder)


@pytest.fixture
def prefix(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A part of the bucket for the test alone, and the variables by which the bucket is found."""
    for variable, text in s3.variables().items():
        monkeypatch.setenv(variable, text)
    return f"all/{uuid4().hex}"


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """What MATINS_OUTPUT_STORE says: nothing, a folder, or a bucket."""
    if request.param == "folder":
        return str(tmp_path / "outputs")
    if request.param == "s3":
        return f"s3://{BUCKET}/{request.getfixturevalue('prefix')}"
    return None


EACH_STORE = pytest.mark.parametrize("store", ["postgres", "folder", "s3"], indirect=True)


@pytest.fixture(params=["memory", "postgres", "folder", "s3"])
async def kept(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> KeptOutput:
    if request.param == "memory":
        return MemoryKeptOutput()
    if request.param == "folder":
        return FolderKeptOutput(tmp_path / "outputs")
    if request.param == "s3":
        return S3KeptOutput(BUCKET, request.getfixturevalue("prefix"))
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
    folder = FolderKeptOutput(tmp_path / "file")
    with pytest.raises(UnavailableError, match="can't be written"):
        await folder.append([writer()("one\n")])
    assert "can't be written" in await folder.fault()
    assert await FolderKeptOutput(tmp_path / "made").fault() == ""


@EACH_STORE
async def test_output_goes_with_the_runs_of_its_day(database: Database, store: str | None) -> None:
    outside = outside_output(store)
    kept: KeptOutput = outside or PostgresKeptOutput(database)
    days = PostgresDayTables(database, outside)
    chunk, younger = writer(days=-40)("old\n"), writer(days=-39)("younger\n")
    day = (START - timedelta(days=40)).date()
    await days.make(day, day + timedelta(days=1))
    await kept.append([chunk, younger])
    assert await kept.length(chunk.run_id, 1) == 4
    assert await days.detach(day)
    assert await kept.length(chunk.run_id, 1) == 4
    await days.drop(day)
    assert await kept.length(chunk.run_id, 1) == 0
    assert await kept.length(younger.run_id, 1) == len("younger\n")


@EACH_STORE
async def test_output_goes_with_its_run_where_a_job_keeps_less(
    database: Database, store: str | None
) -> None:
    outside = outside_output(store)
    kept: KeptOutput = outside or PostgresKeptOutput(database)
    await PostgresDayTables(database).make(START.date(), START.date())
    write, stays = writer(), writer()("stays\n")
    goes = write("goes\n")
    await kept.append([goes, write("too\n"), stays])
    span = DaySpan(START - timedelta(days=1), START + timedelta(days=1))
    await PostgresRetention(database, 90, outside).delete_runs(span, [goes.run_id])
    assert await kept.length(goes.run_id, 1) == 0
    assert await kept.length(stays.run_id, 1) == len("stays\n")


async def test_a_bucket_holds_what_is_under_its_prefix_and_nothing_after_the_purge(
    prefix: str, s3: S3Server
) -> None:
    kept = S3KeptOutput(BUCKET, prefix)
    assert await kept.fault() == ""
    write = writer(number=2)
    first, second = write("one\n"), write("two\n")
    await kept.append([first, second])
    run, day = first.run_id.hex, START.date().isoformat()
    folder = f"{day}/{run}/2"
    chunks = [f"{folder}/000000000000-4.z", f"{folder}/000000000004-4.z"]
    assert s3.objects(prefix) == [*chunks, "probe"]
    await kept.forget_day(START.date())
    assert s3.objects(prefix) == ["probe"]


async def test_an_output_of_more_chunks_than_one_page_lists_is_read_and_purged(
    prefix: str, s3: S3Server
) -> None:
    kept, write = S3KeptOutput(BUCKET, prefix), writer()
    chunks = [write(f"{number:05}\n") for number in range(1_100)]
    await kept.append(chunks)
    run = chunks[0].run_id
    assert await kept.length(run, 1) == 6_600
    whole = "".join(chunk.text for chunk in chunks)
    assert await kept.read(run, 1, 6_000, 6_100) == whole[6_000:6_100]
    await kept.forget([run])
    assert s3.objects(prefix) == []


@pytest.mark.parametrize(
    ("variable", "text", "told"),
    [
        ("AWS_SECRET_ACCESS_KEY", "wrong-secret", "SignatureDoesNotMatch"),
        ("AWS_ACCESS_KEY_ID", "another-key", "InvalidAccessKeyId"),
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9", "error sending request"),
    ],
)
async def test_a_bucket_that_lets_nobody_in_is_away_and_says_why_and_no_secret(
    prefix: str, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, told: str
) -> None:
    monkeypatch.setenv(variable, text)
    kept, chunk = S3KeptOutput(BUCKET, prefix), writer()("one\n")
    with pytest.raises(UnavailableError, match=f"can't be written: .*{told}") as failed:
        await kept.append([chunk])
    assert told in await kept.fault()
    traceback = "".join(format_exception(failed.value))
    for secret in (SECRET, KEY, "wrong-secret", "another-key"):
        assert secret not in traceback


async def test_a_bucket_that_is_missing_is_away_until_it_is_there(
    s3: S3Server, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_s3, "REST_S", 0.0)
    kept, chunk = S3KeptOutput("begun-later", prefix), writer()("one\n")
    with pytest.raises(UnavailableError, match="can't be written: NoSuchBucket"):
        await kept.append([chunk])
    assert "NoSuchBucket" in await kept.fault()
    s3.make_bucket("begun-later")
    async with asyncio.timeout(30):
        while await kept.fault():
            await asyncio.sleep(0.05)
    await kept.append([chunk])
    assert await kept.read(chunk.run_id, 1, 0, 4) == "one\n"


async def test_a_bucket_that_never_answers_holds_nobody_up_for_long(
    prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_s3, "ASK_S", 0.2)
    monkeypatch.setattr(output_s3, "PROBE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{port}")
        kept, chunk = S3KeptOutput(BUCKET, prefix), writer()("one\n")
        with pytest.raises(UnavailableError, match="no answer within"):
            await kept.append([chunk])
        with pytest.raises(UnavailableError, match="no answer within"):  # and is not asked again
            await kept.length(chunk.run_id, 1)
        assert "no answer within" in await kept.fault()
