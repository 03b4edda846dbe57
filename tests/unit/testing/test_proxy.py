"""The proxy passes, cuts, swallows, delays, and acts exactly on the message that it was told of."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import asyncpg
import pytest
from tests.unit.testing.conftest import named

from matins.kernel.clock import elapsed_s
from matins.testing.call_recorder import CallRecorder, read_calls
from matins.testing.proxy import (
    Direction,
    Fate,
    Hold,
    HttpTalk,
    PostgresTalk,
    Proxy,
    ReceivedMessage,
    answers,
    completes,
    executes,
    requests,
)

Login = Callable[[], Awaitable[asyncpg.Connection]]
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Echo:
    """A server that says back what it is told, and knows its connections."""

    def __init__(self) -> None:
        self.heard = b""
        self.address = ("", 0)
        self.open = 0
        self.ended = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.open += 1
        try:
            while data := await reader.read(1000):
                self.heard += data
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            self.ended.set()
            writer.close()


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    """A running echo server."""
    server = Echo()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.address = listening.sockets[0].getsockname()
    yield server
    listening.close()


@pytest.fixture
async def proxy(echo: Echo) -> AsyncIterator[Proxy]:
    """A proxy in front of the echo server."""
    async with Proxy(echo.address) as proxy:
        yield proxy


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path short enough for unix sockets."""
    folder = Path(tempfile.mkdtemp(prefix="m-"))
    yield folder
    shutil.rmtree(folder)


class Dial:
    """Connects to proxies, and hangs up at the end of the test."""

    def __init__(self) -> None:
        self._writers: list[asyncio.StreamWriter] = []

    async def __call__(self, proxy: Proxy) -> Ends:
        return self._keep(await asyncio.open_connection("127.0.0.1", proxy.port))

    async def socket(self, path: Path) -> Ends:
        """Connect to a unix socket."""
        return self._keep(await asyncio.open_unix_connection(path))

    def _keep(self, ends: Ends) -> Ends:
        self._writers.append(ends[1])
        return ends

    async def hang_up(self) -> None:
        """Close all that is still open."""
        for writer in self._writers:
            writer.close()
        await asyncio.gather(
            *[writer.wait_closed() for writer in self._writers], return_exceptions=True
        )


@pytest.fixture
async def dial() -> AsyncIterator[Dial]:
    """Connects to a proxy."""
    dial = Dial()
    yield dial
    await dial.hang_up()


async def ask(ends: Ends, text: bytes) -> bytes:
    """Say something, and hear the answer."""
    reader, writer = ends
    writer.write(text)
    async with asyncio.timeout(10):
        return await reader.readexactly(len(text))


async def is_silent(ends: Ends, bound_s: float = 0.1) -> bool:
    """Return whether nothing comes, not even an end."""
    try:
        await asyncio.wait_for(ends[0].read(1), bound_s)
    except TimeoutError:
        return True
    return False


async def test_everything_passes_and_is_counted(proxy: Proxy, dial: Dial) -> None:
    ends = await dial(proxy)
    assert await ask(ends, b"hello") == b"hello"
    assert proxy.counts == {Direction.TO_SERVER: 1, Direction.TO_CLIENT: 1}


async def test_small_messages_are_not_kept_back_to_be_sent_together(
    proxy: Proxy, dial: Dial
) -> None:
    await ask(await dial(proxy), b"hello")
    [link] = proxy._links
    sockets = [writer.get_extra_info("socket") for writer in link._writers]
    assert all(
        connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for connection in sockets
    )


async def test_the_end_of_a_client_reaches_the_server(proxy: Proxy, echo: Echo, dial: Dial) -> None:
    ends = await dial(proxy)
    await ask(ends, b"hello")
    ends[1].close()
    async with asyncio.timeout(10):
        await echo.ended.wait()


async def test_a_half_closed_connection_still_answers(proxy: Proxy, dial: Dial) -> None:
    reader, writer = await dial(proxy)
    writer.write(b"last words")
    writer.write_eof()
    assert await reader.read() == b"last words"


async def test_a_server_that_is_not_there_resets_the_client(dial: Dial) -> None:
    async with Proxy(Path("/nowhere/socket")) as proxy:
        reader, _ = await dial(proxy)
        with pytest.raises(ConnectionResetError):
            await reader.read()


async def test_a_cut_resets_what_is_open_and_refuses_what_is_new_until_healed(
    proxy: Proxy, dial: Dial
) -> None:
    ends = await dial(proxy)
    await ask(ends, b"before")
    port = proxy.port
    proxy.cut()
    with pytest.raises(ConnectionResetError):
        await ends[0].read()
    with pytest.raises(ConnectionRefusedError):
        await dial(proxy)
    await proxy.heal()
    assert proxy.port == port
    again = await dial(proxy)
    assert await ask(again, b"after") == b"after"


async def test_cutting_the_connections_lets_new_ones_in(proxy: Proxy, dial: Dial) -> None:
    ends = await dial(proxy)
    await ask(ends, b"before")
    proxy.cut_connections()
    with pytest.raises(ConnectionResetError):
        await ends[0].read()
    again = await dial(proxy)
    assert await ask(again, b"after") == b"after"


async def test_a_hole_swallows_what_is_said_and_answers_nobody(
    proxy: Proxy, echo: Echo, dial: Dial
) -> None:
    old = await dial(proxy)
    await ask(old, b"before")
    proxy.hole()
    new = await dial(proxy)
    for ends in (old, new):
        ends[1].write(b"into the hole")
        assert await is_silent(ends)
    assert echo.heard == b"before"
    await proxy.heal()
    for ends in (old, new):
        with pytest.raises(ConnectionResetError):
            await ends[0].read()
    again = await dial(proxy)
    assert await ask(again, b"after") == b"after"


async def test_a_hole_swallows_the_end_of_a_connection_too(
    proxy: Proxy, echo: Echo, dial: Dial
) -> None:
    ends = await dial(proxy)
    await ask(ends, b"before")
    proxy.hole()
    ends[1].close()
    await ends[1].wait_closed()
    await asyncio.sleep(0.05)
    assert echo.open == 1
    await proxy.heal()
    async with asyncio.timeout(10):
        await echo.ended.wait()


async def test_a_connection_that_lost_nothing_survives_a_hole(proxy: Proxy, dial: Dial) -> None:
    ends = await dial(proxy)
    await ask(ends, b"before")
    proxy.hole()
    await proxy.heal()
    assert await ask(ends, b"after") == b"after"


async def test_one_way_alone_can_be_swallowed(proxy: Proxy, echo: Echo, dial: Dial) -> None:
    ends = await dial(proxy)
    await ask(ends, b"before")
    proxy.swallow(Direction.TO_CLIENT)
    ends[1].write(b" heard")
    assert await is_silent(ends)
    assert echo.heard == b"before heard"
    await proxy.heal()
    with pytest.raises(ConnectionResetError):
        await ends[0].read()


async def test_a_stall_keeps_bytes_back_and_loses_none(
    proxy: Proxy, echo: Echo, dial: Dial
) -> None:
    ends = await dial(proxy)
    await ask(ends, b"before")
    proxy.stall()
    ends[1].write(b" late")
    assert await is_silent(ends)
    assert echo.heard == b"before"
    await proxy.heal()
    assert await ends[0].readexactly(5) == b" late"


async def test_a_delay_counts_both_ways(proxy: Proxy, dial: Dial) -> None:
    ends = await dial(proxy)
    proxy.delay_s = 0.05
    began = elapsed_s()
    await ask(ends, b"slowly")
    assert elapsed_s() - began >= 0.1


async def test_it_listens_on_a_unix_socket_and_refuses_there_too(
    echo: Echo, folder: Path, dial: Dial
) -> None:
    socket = folder / "socket"
    async with Proxy(echo.address, listen=socket) as proxy:
        ends = await dial.socket(socket)
        assert await ask(ends, b"hello") == b"hello"
        proxy.cut()
        with pytest.raises(OSError, match=r"refused|No such file"):
            await dial.socket(socket)
        await proxy.heal()
        again = await dial.socket(socket)
        assert await ask(again, b"again") == b"again"


async def test_a_hook_can_drop_the_nth_message(proxy: Proxy, echo: Echo, dial: Dial) -> None:
    ends = await dial(proxy)
    hook = proxy.on_message(
        lambda message: message.direction is Direction.TO_SERVER, Fate.DROP, nth=2
    )
    await ask(ends, b"one")
    ends[1].write(b"two")
    async with asyncio.timeout(10):
        await hook.reached.wait()
    await ask(ends, b"three")
    assert (echo.heard, hook.matches) == (b"onethree", 3)


async def test_a_hook_can_reset_the_connection_of_a_message(proxy: Proxy, dial: Dial) -> None:
    proxy.on_message(lambda message: message.payload == b"poison", Fate.CUT)
    good, bad = await dial(proxy), await dial(proxy)
    bad[1].write(b"poison")
    with pytest.raises(ConnectionResetError):
        await bad[0].read()
    assert await ask(good, b"fine") == b"fine"


async def test_a_removed_hook_does_nothing(proxy: Proxy, dial: Dial) -> None:
    proxy.on_message(lambda _: True, Fate.CUT).remove()
    ends = await dial(proxy)
    assert await ask(ends, b"hello") == b"hello"


async def test_a_held_message_goes_on_when_it_is_released(
    proxy: Proxy, echo: Echo, dial: Dial
) -> None:
    hold = Hold()
    hook = proxy.on_message(lambda message: message.direction is Direction.TO_SERVER, hold)
    ends = await dial(proxy)
    ends[1].write(b"held")
    async with asyncio.timeout(10):
        await hook.reached.wait()
    assert await is_silent(ends)
    assert echo.heard == b""
    hold.release()
    assert await ends[0].readexactly(4) == b"held"


async def test_a_message_that_is_held_for_ever_does_not_keep_the_proxy_up(
    echo: Echo, dial: Dial
) -> None:
    async with asyncio.timeout(10), Proxy(echo.address) as proxy:
        hook = proxy.on_message(lambda _: True, Hold())
        ends = await dial(proxy)
        ends[1].write(b"held")
        await hook.reached.wait()


async def test_an_action_is_done_before_its_message_goes_on(
    proxy: Proxy, echo: Echo, dial: Dial
) -> None:
    heard: list[bytes] = []

    async def look(message: ReceivedMessage) -> None:
        heard.append(echo.heard)
        assert message.number == message.index == message.connection == 1

    proxy.on_message(lambda message: message.number == 1, look)
    ends = await dial(proxy)
    await ask(ends, b"hello")
    assert heard == [b""]


async def test_an_action_goes_on_though_its_connection_is_reset(proxy: Proxy, dial: Dial) -> None:
    done = asyncio.Event()

    async def kill(_message: ReceivedMessage) -> None:
        proxy.cut()
        await asyncio.sleep(0)
        done.set()

    proxy.on_message(lambda _: True, kill)
    ends = await dial(proxy)
    ends[1].write(b"hello")
    async with asyncio.timeout(10):
        await done.wait()


async def test_what_an_action_raises_is_raised_at_the_end(echo: Echo, dial: Dial) -> None:
    async def fail(_message: ReceivedMessage) -> None:
        raise ZeroDivisionError

    async def run() -> None:
        async with Proxy(echo.address) as proxy:
            proxy.on_message(lambda _: True, fail)
            reader, writer = await dial(proxy)
            writer.write(b"hello")
            with pytest.raises(ConnectionResetError):
                await reader.read()

    with pytest.raises(ZeroDivisionError):
        await run()


@pytest.fixture
async def http_proxy(recorder: CallRecorder) -> AsyncIterator[Proxy]:
    """A proxy in front of a call recorder."""
    async with Proxy(("127.0.0.1", recorder.port), talk=HttpTalk) as proxy:
        yield proxy


async def test_the_answer_to_a_request_can_be_lost_after_it_was_done(
    http_proxy: Proxy, client: aiohttp.ClientSession, file: Path
) -> None:
    http_proxy.on_message(answers("POST /ok"), Fate.CUT, nth=1)
    url = f"http://127.0.0.1:{http_proxy.port}"
    with pytest.raises(aiohttp.ClientOSError):
        await client.post(f"{url}/ok", headers=named())
    async with client.post(f"{url}/ok", headers=named()) as got:
        assert got.status == 200
    assert len(read_calls(file)) == 2


async def test_a_request_can_be_lost_before_it_was_done(
    http_proxy: Proxy, client: aiohttp.ClientSession, file: Path
) -> None:
    http_proxy.on_message(requests("POST /ok"), Fate.CUT, nth=1)
    with pytest.raises(aiohttp.ClientOSError):
        await client.post(f"http://127.0.0.1:{http_proxy.port}/ok")
    assert read_calls(file) == []


@pytest.mark.parametrize("path", ["/echo", "/drip?s=0&n=9", "/status/204", "/redirect"])
async def test_http_answers_pass_unchanged(
    http_proxy: Proxy,
    recorder: CallRecorder,
    client: aiohttp.ClientSession,
    path: str,
) -> None:
    told = []
    for port in (http_proxy.port, recorder.port):
        url = f"http://127.0.0.1:{port}{path}"
        fixed = {"Host": "recorder"}
        async with client.put(
            url, headers=fixed, data=b"x" * 200_000, allow_redirects=False
        ) as got:
            told.append((got.status, await got.read()))
    assert told[0] == told[1]


async def test_an_endless_answer_streams_through(
    http_proxy: Proxy, client: aiohttp.ClientSession
) -> None:
    async with client.get(f"http://127.0.0.1:{http_proxy.port}/endless") as got:
        await got.content.readexactly(1_000_000)


@pytest.fixture
async def pg_proxy(postgres: str) -> AsyncIterator[Proxy]:
    """A proxy in front of the real PostgreSQL."""
    address = parse_qs(urlsplit(postgres).query)
    socket = Path(address["host"][0]) / f".s.PGSQL.{address.get('port', ['5432'])[0]}"
    async with Proxy(socket, talk=PostgresTalk) as proxy:
        yield proxy


@pytest.fixture
async def login(postgres: str, pg_proxy: Proxy) -> Login:
    """Connects to PostgreSQL through the proxy."""
    parts = urlsplit(postgres)

    async def connect() -> asyncpg.Connection:
        return await asyncpg.connect(
            host="127.0.0.1",
            port=pg_proxy.port,
            user=parts.username,
            password=parts.password,
            database=parts.path.lstrip("/"),
        )

    return connect


async def test_a_real_session_of_postgresql_passes_after_its_tls_request_is_refused(
    login: Login, pg_proxy: Proxy
) -> None:
    seen: list[str] = []

    async def note(message: ReceivedMessage) -> None:
        seen.append(message.kind)

    pg_proxy.on_message(lambda message: message.direction is Direction.TO_SERVER, note)
    connection = await login()
    assert await connection.fetchval("SELECT $1::int + 1", 41) == 42
    await connection.close()
    assert seen[:2] == ["SSLRequest", "Startup"]
    assert "E" in seen


async def test_a_statement_can_be_stopped_exactly_before_it_is_executed(
    login: Login, pg_proxy: Proxy
) -> None:
    connection, watcher = await login(), await login()
    await watcher.execute("CREATE TABLE before_execute (n int)")
    hold = Hold()
    hook = pg_proxy.on_message(executes("INSERT INTO before_execute"), hold, nth=2)
    statement = await connection.prepare("INSERT INTO before_execute VALUES ($1)")
    await statement.fetch(1)
    waiting = asyncio.ensure_future(statement.fetch(2))
    async with asyncio.timeout(10):
        await hook.reached.wait()
    assert await watcher.fetchval("SELECT count(*) FROM before_execute") == 1
    hold.release()
    await waiting
    assert await watcher.fetchval("SELECT count(*) FROM before_execute") == 2
    await watcher.execute("DROP TABLE before_execute")
    await connection.close()
    await watcher.close()


async def test_an_answer_can_be_lost_after_its_commit(login: Login, pg_proxy: Proxy) -> None:
    connection, watcher = await login(), await login()
    await watcher.execute("CREATE TABLE lost_answer (n int)")
    pg_proxy.on_message(completes("INSERT INTO lost_answer"), Fate.CUT)
    with pytest.raises((asyncpg.PostgresConnectionError, OSError)):
        await connection.execute("INSERT INTO lost_answer VALUES ($1)", 1)
    assert await watcher.fetchval("SELECT count(*) FROM lost_answer") == 1
    await watcher.execute("DROP TABLE lost_answer")
    await watcher.close()


async def test_a_sweep_meets_every_message_of_a_scenario_once(
    login: Login, pg_proxy: Proxy
) -> None:
    async def scenario() -> None:
        connection = await login()
        try:
            await connection.fetchval("SELECT $1::int", 1)
        finally:
            connection.terminate()

    await scenario()
    length = pg_proxy.counts.total()
    hurt = 0
    for step in range(1, length + 1):
        start = pg_proxy.counts.total()
        hook = pg_proxy.on_message(_numbered(start + step), Fate.CUT)
        try:
            await scenario()
        except (asyncpg.PostgresConnectionError, OSError):
            hurt += 1
        hook.remove()
    assert hurt >= length - 2  # at the very end nobody waits for an answer any more


def _numbered(number: int) -> Callable[[ReceivedMessage], bool]:
    return lambda message: message.number == number
