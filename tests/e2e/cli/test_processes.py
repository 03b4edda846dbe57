"""`matins` as a shell starts it: exit codes, clean output, standard input, Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec
import pytest
from tests.api.served import TOKEN, Served

from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target

HELLO = b"team: me\njobs: [{name: hello, target: {command: {argv: [echo, hello]}}}]\n"
SPEC = JobSpec("hello", Target(command=CommandTarget(["echo"])))


@pytest.fixture
def environment(served: Served, tmp_path: Path) -> dict[str, str]:
    own = {"MATINS_DATA": str(tmp_path), "MATINS_URL": served.url, "MATINS_TOKEN": TOKEN}
    return {**os.environ, **own}


async def start(
    environment: dict[str, str], *words: str, stdout: int | IO[bytes] = PIPE
) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "matins", *words),
        stdin=PIPE,
        stdout=stdout,
        stderr=PIPE,
        env=environment,
    )


async def test_a_file_comes_by_standard_input_and_json_goes_to_standard_output(
    environment: dict[str, str],
) -> None:
    process = await start(environment, "apply", "-f", "-", "--json")
    out, err = await process.communicate(HELLO)
    assert (process.returncode, err) == (0, b"")
    assert [(load["job"], load["change"]) for load in json.loads(out)] == [("hello", "created")]


async def test_errors_go_to_standard_error_without_a_traceback(
    environment: dict[str, str],
) -> None:
    process = await start(environment, "apply", "-f", "-", "--json")
    out, err = await process.communicate(HELLO.replace(b"argv", b"args"))
    assert (process.returncode, out) == (2, b"")
    place = "standard input: jobs[0].target.command.args (line 2)"
    assert err.decode() == f"matins: {place}: is not known here; did you mean argv?\n"


@pytest.fixture
def full_disk() -> Iterator[IO[bytes]]:
    with Path("/dev/full").open("wb", buffering=0) as full:
        yield full


async def test_a_full_standard_output_is_one_line(
    environment: dict[str, str], full_disk: IO[bytes]
) -> None:
    process = await start(environment, "jobs", "list", stdout=full_disk)
    _, err = await process.communicate()
    assert (process.returncode, err) == (1, b"matins: No space left on device\n")


async def test_a_standard_output_that_is_not_utf_8_takes_every_text(
    environment: dict[str, str], matins: Matins
) -> None:
    await matins.put_job("me", msgspec.structs.replace(SPEC, description="h\u00e9llo \u2192"))
    process = await start(environment | {"PYTHONIOENCODING": "latin-1"}, "jobs", "show", "me/hello")
    out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert b"h\xe9llo \\u2192" in out


async def test_exit_codes(environment: dict[str, str]) -> None:
    codes = {"jobs list": 0, "jobs show nobody": 1, "jobs list --frob": 2, "apply -f /nowhere": 2}
    for words, code in codes.items():
        process = await start(environment, *words.split())
        _, err = await process.communicate()
        assert process.returncode == code, words
        assert b"Traceback" not in err


async def test_without_the_api_the_exit_code_is_3(
    environment: dict[str, str], unused_tcp_port: int
) -> None:
    gone = environment | {"MATINS_URL": f"http://127.0.0.1:{unused_tcp_port}"}
    process = await start(gone, "jobs", "list", "--json")
    out, err = await process.communicate()
    assert (process.returncode, out) == (3, b"")
    assert b"can't be reached" in err


@pytest.fixture
async def watching(environment: dict[str, str], matins: Matins) -> Process:
    """A watch for programs that has told of one run."""
    await matins.put_job("me", SPEC)
    run = await matins.trigger_job("me", "hello")
    process = await start(environment, "runs", "watch", "--json")
    assert process.stdout
    assert json.loads(await process.stdout.readline())["id"] == str(run.id)
    return process


async def test_a_watch_tells_each_change_in_a_line(watching: Process, matins: Matins) -> None:
    [run] = (await matins.runs_page()).runs
    await matins.cancel_run(run.id)
    assert watching.stdout
    assert json.loads(await watching.stdout.readline())["state"] == "cancelled"
    watching.kill()
    await watching.communicate()


async def test_ctrl_c_ends_a_watch_as_it_should(watching: Process) -> None:
    watching.send_signal(signal.SIGINT)
    _, err = await watching.communicate()
    assert (watching.returncode, err) == (0, b"")


async def test_a_pipe_that_closes_is_no_traceback(watching: Process, matins: Matins) -> None:
    assert watching.stdout
    transport = watching._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
    transport.close()
    [run] = (await matins.runs_page()).runs
    await matins.cancel_run(run.id)
    assert watching.stderr
    err = await watching.stderr.read()
    await watching.wait()
    assert b"Traceback" not in err
