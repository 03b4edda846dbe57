"""The call recorder notes each call before it answers, and its end before the caller sees it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest
from tests.ids import run_numbered
from tests.unit.testing.conftest import DUE_AT, named

from matins.kernel.clock import wall_ns
from matins.testing.call_recorder import CallRecorder, read_calls
from matins.testing.calls import Arrived, Call, CallsFile, command_script

ENVIRONMENT = {
    name.replace("-", "_").upper(): value for name, value in named(attempt=3).items()
} | {"PATH": os.environ["PATH"]}


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(10):
        while not condition():  # nothing tells of a file's growth
            await asyncio.sleep(0.005)


async def ended(file: Path) -> Call:
    """Return the only call, once its end is noted."""
    await until(lambda: bool(calls := read_calls(file)) and calls[0].ended_ns is not None)
    [call] = read_calls(file)
    return call


async def test_a_call_is_on_the_disk_with_all_that_its_headers_say_when_it_is_answered(
    recorder: CallRecorder, client: aiohttp.ClientSession, file: Path
) -> None:
    run_id = run_numbered(1)
    before = wall_ns()
    async with client.post(
        f"{recorder.url}/ok?a=b", headers=named(run_id, 2), data=b"12345"
    ) as got:
        assert (got.status, await got.text()) == (200, "ok\n")
    [call] = read_calls(file)
    assert (call.run_id, call.attempt, call.due_at) == (run_id, 2, DUE_AT)
    assert (call.job, call.team, call.kind) == ("nightly", "payments", "scheduled")
    assert (call.method, call.path, call.size) == ("POST", "/ok?a=b", 5)
    assert before <= call.arrived_ns <= wall_ns()


async def test_a_call_that_names_nobody_is_noted_too(
    recorder: CallRecorder, client: aiohttp.ClientSession, file: Path
) -> None:
    async with client.get(f"{recorder.url}/ok", headers={"Matins-Run-Id": "junk"}) as got:
        assert got.status == 200
    [call] = read_calls(file)
    assert (call.run_id, call.attempt, call.due_at) == (None, 0, None)


async def test_the_end_of_an_answer_is_from_before_the_caller_saw_it(
    recorder: CallRecorder, client: aiohttp.ClientSession, file: Path
) -> None:
    async with client.get(f"{recorder.url}/slow?s=0.05", headers=named()) as got:
        await got.read()
    seen = wall_ns()
    call = await ended(file)
    assert call.how == "answered"
    assert call.ended_ns
    assert call.arrived_ns + 50_000_000 <= call.ended_ns <= seen


async def test_a_caller_that_goes_away_ends_its_call(
    recorder: CallRecorder, client: aiohttp.ClientSession, file: Path
) -> None:
    with pytest.raises(TimeoutError):
        await client.get(f"{recorder.url}/slow?s=600", timeout=aiohttp.ClientTimeout(0.05))
    assert (await ended(file)).how == "left"


async def test_a_call_is_not_ended_while_it_is_being_answered(
    recorder: CallRecorder, client: aiohttp.ClientSession, file: Path
) -> None:
    async with client.get(f"{recorder.url}/drip?s=600", headers=named()):
        [call] = read_calls(file)
        assert (call.ended_ns, call.how) == (None, None)


async def test_stopping_the_server_ends_the_calls_that_it_holds(
    file: Path, client: aiohttp.ClientSession
) -> None:
    async with CallRecorder(file) as server:
        async with client.get(f"{server.url}/drip?s=600"):
            pass
        response = await client.get(f"{server.url}/drip?s=600")
    response.close()
    assert [call.how for call in read_calls(file)] == ["left", "left"]


@pytest.mark.parametrize(
    ("path", "attempt", "status"),
    [
        ("/202", 1, 202),
        ("/status/503", 1, 503),
        ("/status/204", 1, 204),
        ("/flaky?fail=2", 1, 503),
        ("/flaky?fail=2", 2, 503),
        ("/flaky?fail=2", 3, 200),
        ("/mended?at=1795917600", 1, 200),
        ("/mended?at=1795917601", 1, 503),
        ("/redirect", 1, 302),
        ("/nowhere", 1, 404),
        ("/drip?s=0&n=3", 1, 200),
    ],
)
async def test_the_path_says_the_status(
    recorder: CallRecorder, client: aiohttp.ClientSession, path: str, attempt: int, status: int
) -> None:
    url = recorder.url + path
    async with client.get(url, headers=named(attempt=attempt), allow_redirects=False) as got:
        await got.read()
        assert got.status == status


async def test_an_echo_gives_the_request_back(
    recorder: CallRecorder, client: aiohttp.ClientSession
) -> None:
    async with client.post(f"{recorder.url}/echo", headers={"X-Told": "this"}, data=b"body") as got:
        told = await got.json()
    assert (told["headers"]["x-told"], told["body"]) == ("this", "body")


async def test_an_endless_answer_never_ends(
    recorder: CallRecorder, client: aiohttp.ClientSession, file: Path
) -> None:
    async with client.get(f"{recorder.url}/endless") as got:
        assert len(await got.content.readexactly(3_000_000)) == 3_000_000
    assert (await ended(file)).how == "left"


@pytest.mark.parametrize(
    ("path", "error", "how"),
    [
        ("/reset", aiohttp.ClientOSError, "broken"),
        ("/junk", aiohttp.ClientResponseError, "answered"),
    ],
)
async def test_a_broken_answer_breaks_the_caller(
    recorder: CallRecorder,
    client: aiohttp.ClientSession,
    file: Path,
    path: str,
    error: type[Exception],
    how: str,
) -> None:
    with pytest.raises(error):
        await client.post(recorder.url + path, data=b"read before")
    call = await ended(file)
    assert (call.size, call.how) == (11, how)


async def test_one_connection_may_bring_many_calls(recorder: CallRecorder, file: Path) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as client:
        for _ in range(3):
            async with client.get(f"{recorder.url}/ok") as got:
                await got.read()
    assert len(read_calls(file)) == 3


async def test_calls_that_arrive_together_are_all_noted(
    recorder: CallRecorder, client: aiohttp.ClientSession, file: Path
) -> None:
    runs = [run_numbered(number) for number in range(200)]

    async def call(run_id: object) -> int:
        async with client.get(
            f"{recorder.url}/ok", headers=named() | {"Matins-Run-Id": str(run_id)}
        ) as got:
            return got.status

    waits: list[Awaitable[int]] = [call(run_id) for run_id in runs]
    assert set(await asyncio.gather(*waits)) == {200}
    assert {call.run_id for call in read_calls(file)} == set(runs)


@pytest.fixture
def torn_file(file: Path) -> Path:
    """A file whose writer was killed while it wrote its second line."""
    file.write_bytes(b'{"event":"arrived","call":"x","at_ns":1}\n{"event":"arr')
    return file


async def test_what_a_killed_writer_left_of_a_line_is_no_call(
    torn_file: Path, client: aiohttp.ClientSession
) -> None:
    assert len(read_calls(torn_file)) == 1
    async with CallRecorder(torn_file) as server, client.get(f"{server.url}/ok"):
        assert len(read_calls(torn_file)) == 2


def test_a_line_that_can_not_be_read_is_named(file: Path) -> None:
    file.write_bytes(b'{"event":"arrived","call":"x","at_ns":1}\n{"event":"danced"}\n')
    with pytest.raises(ValueError, match="line 2"):
        read_calls(file)


def test_a_file_that_was_never_written_has_no_calls(file: Path) -> None:
    assert read_calls(file) == []


async def test_a_call_that_can_not_be_noted_is_not_answered(client: aiohttp.ClientSession) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    async with CallRecorder(Path("/dev/full")) as server:
        for _ in range(2):
            with pytest.raises(aiohttp.ServerDisconnectedError):
                await client.post(f"{server.url}/ok")


async def test_it_runs_as_a_process_of_its_own_and_ends_on_sigterm(
    file: Path, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    port_file = tmp_path / "port"
    argv = [
        "-m",
        "matins.testing.call_recorder",
        "--file",
        str(file),
        "--port-file",
        str(port_file),
    ]
    process = await asyncio.create_subprocess_exec(sys.executable, *argv, stdout=subprocess.PIPE)
    try:
        await until(port_file.exists)
        port = int(port_file.read_text())
        async with client.get(f"http://127.0.0.1:{port}/ok") as got:
            assert got.status == 200
        with pytest.raises(aiohttp.ClientOSError):
            await client.post(f"http://127.0.0.1:{port}/reset")
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = await process.communicate()
    assert (process.returncode, int(output)) == (0, port)
    assert [call.how for call in read_calls(file)] == ["answered", "broken"]


@pytest.mark.parametrize(("work", "code"), [("true", 0), ("exit 7", 7), ("false", 1)])
def test_a_command_notes_its_start_and_its_end(file: Path, work: str, code: int) -> None:
    ran = subprocess.run(["sh", "-c", command_script(file, work)], env=ENVIRONMENT, check=False)
    [call] = read_calls(file)
    assert ran.returncode == code
    assert (str(call.run_id), call.attempt) == (ENVIRONMENT["MATINS_RUN_ID"], 3)
    assert (call.due_at, call.job, call.method) == (DUE_AT, "nightly", "command")
    assert call.ended_ns
    assert call.arrived_ns < call.ended_ns


async def test_a_stopped_command_notes_that_it_left(file: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        # the pipe is given up: asyncio waits for its end, too, before it tells of the exit
        command_script(file, "echo working; exec sleep 600 >/dev/null"),
        env=ENVIRONMENT,
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout
        assert await process.stdout.readline() == b"working\n"
        os.killpg(process.pid, signal.SIGTERM)
        assert await process.wait() == 143
        assert (await ended(file)).how == "left"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def test_commands_and_a_server_share_a_file(
    recorder: CallRecorder, client: aiohttp.ClientSession, file: Path
) -> None:
    command = await asyncio.create_subprocess_exec(
        "sh", "-c", command_script(file), env=ENVIRONMENT
    )
    async with client.get(f"{recorder.url}/ok"):
        await command.wait()
    assert {call.method for call in read_calls(file)} == {"GET", "command"}


async def test_an_event_is_on_the_disk_after_its_commit(file: Path) -> None:
    async with CallsFile(file) as calls:
        await asyncio.gather(*[_commit(calls, number) for number in range(50)])
        assert [call.arrived_ns for call in read_calls(file)] == list(range(50))


async def _commit(calls: CallsFile, number: int) -> None:
    await calls.commit(Arrived(str(number), number))
