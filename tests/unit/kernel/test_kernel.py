"""The clock, the settings and the skeleton of services."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from matins.domain.values.errors import SettingsError, UnavailableError
from matins.kernel import metrics
from matins.kernel.clock import DatabaseClock, HostClock, elapsed_s
from matins.kernel.service import pause, repeat, restarted, run_services
from matins.kernel.settings import Settings, read_settings, variable
from matins.testing.virtual import VirtualClock, VirtualTime, in_virtual_time

YEAR_2000 = datetime(2000, 1, 1, tzinfo=UTC)


class Database:
    """A database's clock that can be stepped."""

    def __init__(self) -> None:
        self.offset = YEAR_2000 - timedelta(seconds=elapsed_s())
        self.delay_s = 0.0

    async def read(self) -> datetime:
        told = self.offset + timedelta(seconds=elapsed_s())
        await asyncio.sleep(self.delay_s)
        return told


async def test_the_databases_clock_counts_and_the_hosts_does_not() -> None:
    database = Database()
    clock = DatabaseClock(database.read)
    await clock.measure()
    assert timedelta(0) <= clock.now() - YEAR_2000 < timedelta(seconds=5)


async def test_it_is_never_ahead_of_the_database_however_slow_the_answer() -> None:
    database = Database()
    clock = DatabaseClock(database.read)
    for database.delay_s in (0.05, 0.0, 0.02):
        await clock.measure()
        assert clock.now() <= database.offset + timedelta(seconds=elapsed_s())


async def test_a_jump_is_told_once_and_then_followed() -> None:
    database = Database()
    clock = DatabaseClock(database.read)
    assert await clock.measure()
    database.offset -= timedelta(minutes=10)
    assert not await clock.measure()
    assert await clock.measure()
    assert clock.now() < YEAR_2000


async def test_before_the_first_measure_nobody_knows_the_time() -> None:
    with pytest.raises(UnavailableError):
        DatabaseClock(Database().read).now()


def test_settings_are_read_from_the_environment() -> None:
    settings = read_settings(
        {"MATINS_LEASE_TERM": "2s", "MATINS_SLOTS": "7", "MATINS_DATA": "/x", "OTHER": "1"}
    )
    assert (settings.lease_term_s, settings.slots, str(settings.data)) == (2.0, 7, "/x")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MATINS_LEASE_TERM", "soon"),
        ("MATINS_SLOTS", "many"),
        ("MATINS_LOST_AFTER", "30s"),
        ("MATINS_CUT_OFF", "5s"),
        ("MATINS_POLL", "0s"),
    ],
)
def test_a_setting_that_is_wrong_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        read_settings({name: value})


CANARY = "s3cret"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("MATINS_POSTGRES", f"db:{CANARY}", "write it as postgresql://USER:PASSWORD@HOST:5432"),
        ("MATINS_POSTGRES", f"postgres://me:a@{CANARY}@db/x", "write it there as %40"),
        ("MATINS_POSTGRES", f"postgresql://me:a/{CANARY}@db/x", "write it there as %40, %2F"),
        ("MATINS_POSTGRES", f"postgresql://me:{CANARY}@db:port/x", "a port that can't be read"),
        ("MATINS_VALKEY", "127.0.0.1:6379", "write it as redis://HOST:6379"),
        ("MATINS_VALKEY", f"redis://:{CANARY}@db:99999", "a port that can't be read"),
        ("MATINS_VALKEY", "redis://[::1:6379", "a port that can't be read"),
        ("MATINS_URL", "127.0.0.1:8600", "write it as http://HOST:8600"),
        ("MATINS_URL", "http://one:8600,ftp://two", "write it as http://HOST:8600"),
        ("MATINS_TOKEN", f"{CANARY} {CANARY}", "printable ASCII characters only, and no spaces"),
        ("MATINS_TOKEN", f"{CANARY}\n", "characters that can't be printed"),
        ("MATINS_PORT", "65536", "is 65536; it must be from 0 to 65535"),
        ("MATINS_SLOTS", "0", "is 0; it must be from 1 to"),
        ("MATINS_KEEP_DAYS", "0", "is 0; it must be from 1 to"),
        ("MATINS_PROCESSES", "1", "is 1; it must be from 2 to"),
        ("MATINS_SLOTS", "many", "write a whole number"),
        ("MATINS_STOP_WITH_STDIN", "maybe", "write true or false"),
        ("MATINS_POOLS", "default,GPU", "'GPU' can't be a name"),
        ("MATINS_POOLS", ",", "names no pool"),
        ("MATINS_LOG_LEVEL", "loud", "write one of debug, info, warning, error"),
        ("MATINS_GRACE", "25h", "must not be over 1d"),
        ("MATINS_OUTPUT_STORE", f"s3://key:{CANARY}@bucket", "s3://BUCKET/PREFIX"),
        ("MATINS_OUTPUT_STORE", "https://bucket.example.com", "s3://BUCKET/PREFIX"),
    ],
)
def test_what_would_be_right_is_told_and_no_secret(name: str, value: str, told: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read_settings({name: value})
    assert name in str(raised.value)
    assert told in str(raised.value)
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MATINS_POSTGRES", "postgresql://me:a%40b@one:5432,two:5433/x?sslmode=require"),
        ("MATINS_POSTGRES", "postgresql://me@/x?host=/run/postgresql"),
        ("MATINS_POSTGRES", "postgres://[::1]:5432/x"),
        ("MATINS_POSTGRES", "postgresql:///x"),
        ("MATINS_VALKEY", "unix:///run/valkey.sock?db=1"),
        ("MATINS_VALKEY", "rediss://:p@db:6379/0"),
        ("MATINS_URL", "https://one, http://[::1]:8600"),
        ("MATINS_OUTPUT_STORE", "s3://my-bucket.of-mine/all/outputs/"),
        ("MATINS_OUTPUT_STORE", "/srv/out puts"),
    ],
)
def test_an_address_that_can_be_read_is_taken_as_it_is(name: str, value: str) -> None:
    assert value in msgspec.structs.astuple(read_settings({name: value}))


@pytest.mark.parametrize("field", ["data", "lease_file", "archive", "postgres_programs"])
def test_a_path_is_taken_as_it_is(field: str) -> None:
    settings = read_settings({variable(field): "/var/lib/some where"})
    assert getattr(settings, field) == Path("/var/lib/some where")


def test_the_defaults_fit_together() -> None:
    assert read_settings({}) == Settings()


class Worker:
    """A service that ends when asked, or by itself."""

    def __init__(self, log: list[str], name: str, fate: str = "") -> None:
        self._log, self._name, self._fate = log, name, fate
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        if self._fate == "raises":
            raise ValueError(self._name)
        if self._fate != "ends":
            await self._stopping.wait()
        self._log.append(self._name)

    async def stop(self) -> None:
        self._stopping.set()


async def test_services_are_stopped_last_first() -> None:
    log: list[str] = []
    stopping = asyncio.Event()
    stopping.set()
    await run_services([Worker(log, "first"), Worker(log, "last")], stopping)
    assert log == ["last", "first"]


@pytest.mark.parametrize("fate", ["raises", "ends"])
async def test_a_service_that_dies_takes_the_others_down(fate: str) -> None:
    services = [Worker([], "steady"), Worker([], "mortal", fate)]
    with pytest.raises(ExceptionGroup):
        await run_services(services, asyncio.Event())


async def test_work_that_is_unavailable_is_tried_again_and_other_errors_are_raised() -> None:
    tries: list[int] = []

    async def work() -> None:
        tries.append(1)
        raise UnavailableError("away") if len(tries) < 3 else ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await repeat(work, 0.001, HostClock(), asyncio.Event(), name="work")
    assert len(tries) == 3


async def test_that_a_peer_is_unavailable_is_logged_once_and_so_is_its_end() -> None:
    stopping, tries = asyncio.Event(), list[int]()

    async def work() -> None:
        tries.append(1)
        if len(tries) in (2, 3, 4, 7):
            raise UnavailableError("away")
        if len(tries) == 8:
            stopping.set()

    with capture_logs() as logs:
        await repeat(work, 0.001, HostClock(), stopping, name="work")
    assert [(line["event"], line.get("failures")) for line in logs] == [
        ("work.unavailable", None),
        ("work.available", 3),
        ("work.unavailable", None),
        ("work.available", 1),
    ]


async def test_a_pause_ends_at_the_first_event() -> None:
    event = asyncio.Event()
    waiting = asyncio.ensure_future(pause(3600, HostClock(), asyncio.Event(), event))
    await asyncio.sleep(0)
    event.set()
    await asyncio.wait_for(waiting, 5)


@in_virtual_time
async def test_a_task_that_should_never_end_is_begun_again_and_counted() -> None:
    begun: list[float] = []
    clock = VirtualClock(VirtualTime())

    async def work() -> None:
        begun.append(clock.elapsed_s())
        if len(begun) == 1:
            raise ValueError("a mistake")
        if len(begun) > 2:
            await asyncio.Event().wait()

    count = metrics.TASKS_RESTARTED.labels("work")._value
    before = count.get()
    task = asyncio.create_task(restarted(work, clock, name="work"))
    await asyncio.sleep(10)
    assert len(begun) == 3
    assert count.get() == before + 2
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


STUBBORN = """
import asyncio
from matins.kernel.service import run_services, stop_on_signals

class Stubborn:
    async def run(self):
        print("runs", flush=True)
        await asyncio.Event().wait()

    async def stop(self):
        print("stops", flush=True)

async def main():
    stopping = asyncio.Event()
    stop_on_signals(stopping)
    await run_services([Stubborn()], stopping)

asyncio.run(main())
"""


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupt_while_it_stops_ends_a_process_at_once(first: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", STUBBORN), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    for line, number in ((b"runs\n", first), (b"stops\n", signal.SIGINT)):
        assert await process.stdout.readline() == line
        process.send_signal(number)
    async with asyncio.timeout(10):
        assert await process.wait() == -signal.SIGINT
