"""The keeper holds what it owns, whoever is frozen or killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import msgspec
import pytest
from tests.e2e.executor.ground import (
    Commands,
    Processes,
    command,
    every_pid,
    keeper_pid,
    keeper_pids,
    until,
)

from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome
from matins.executor.keeper import link
from matins.executor.keeper.frames import KeeperLimits
from matins.executor.keeper.link import Keeper
from matins.executor.targets.command import CommandRunner
from matins.kernel.clock import elapsed_s

Start = Callable[[float, str], Awaitable[Process]]


@pytest.fixture
async def start_executor() -> AsyncIterator[Start]:
    """Starts executors that run one script each, and ends them with the test."""
    program = str(Path(__file__).with_name("executor_side.py"))
    async with AsyncExitStack() as ending:

        async def start(cut_off_s: float, script: str) -> Process:
            arguments = (program, str(cut_off_s), "sh", "-c", script)
            process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=PIPE)
            ending.push_async_callback(_end, process)
            return process

        yield start


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.communicate()


async def test_a_killed_executor_takes_its_commands_along(
    start_executor: Start, processes: Processes
) -> None:
    nap = processes.sleep
    executor = await start_executor(60.0, f"trap '' TERM; setsid {nap} & {nap} & {nap} & wait")
    await processes.appear(3)
    keeper = keeper_pid(executor.pid)
    executor.kill()
    await processes.vanish()
    await until(lambda: keeper not in every_pid())


async def test_a_frozen_executors_commands_end_at_t1_while_it_is_still_frozen(
    start_executor: Start, processes: Processes
) -> None:
    executor = await start_executor(0.6, f"setsid {processes.sleep} & {processes.sleep} & wait")
    await processes.appear(2)
    executor.send_signal(signal.SIGSTOP)
    await processes.vanish()
    executor.send_signal(signal.SIGCONT)
    assert executor.stdout is not None
    result = msgspec.json.decode(await executor.stdout.readline(), type=Result)
    assert result.outcome is Outcome.LOST
    assert result.reason == "its executor had not reached the gateway for 0.6 s"


async def test_a_killed_keepers_commands_end_and_are_lost_and_the_next_one_runs(
    commands: Commands, processes: Processes
) -> None:
    nap = processes.sleep
    running = asyncio.create_task(commands.shell(f"trap '' TERM; setsid {nap} & {nap} & wait"))
    await processes.appear(2)
    os.kill(keeper_pid(), signal.SIGKILL)
    result = await running
    assert processes.alive() == []
    assert (result.outcome, result.reason) == (Outcome.LOST, "its keeper ended before it")
    assert (await commands.shell("echo again")).output == "again\n"


async def test_what_ends_with_its_keeper_tells_how_many_others_did(
    commands: Commands, processes: Processes
) -> None:
    running = [asyncio.create_task(commands.shell(f"{processes.sleep} & wait")) for _ in range(3)]
    await processes.appear(3)
    os.kill(keeper_pid(), signal.SIGKILL)
    assert [(await attempt).company for attempt in running] == [2, 2, 2]


async def test_who_is_tried_alone_takes_nobody_along(
    commands: Commands, processes: Processes
) -> None:
    other = asyncio.create_task(commands.shell(f"{processes.sleep} & wait"))
    await processes.appear(1)
    nap = command("sh", "-c", f"{processes.sleep} & wait", alone=True)
    alone = asyncio.create_task(commands.run(nap))
    await processes.appear(2)
    os.kill(keeper_pids()[-1], signal.SIGKILL)
    assert ((await alone).outcome, (await alone).company) == (Outcome.LOST, 0)
    assert len(processes.alive()) == 1
    assert not other.done()
    other.cancel()
    with suppress(asyncio.CancelledError):
        await other


async def test_a_killed_keepers_command_ends_even_if_the_executor_can_do_nothing(
    start_executor: Start, processes: Processes
) -> None:
    executor = await start_executor(60.0, f"exec {processes.sleep}")
    await processes.appear()
    executor.send_signal(signal.SIGSTOP)
    os.kill(keeper_pid(executor.pid), signal.SIGKILL)
    await processes.vanish()


async def test_contact_keeps_commands_alive_beyond_t1(processes: Processes) -> None:
    commands, keeper = _with_t1(0.4)
    running = asyncio.create_task(commands.shell("sleep 0.8"))
    while not running.done():
        keeper.contact(elapsed_s())
        await asyncio.wait({running}, timeout=0.1)
    assert (await running).outcome is Outcome.SUCCEEDED
    await keeper.close()


async def test_without_contact_commands_are_killed_at_t1(processes: Processes) -> None:
    commands, keeper = _with_t1(0.3)
    result = await commands.shell(f"trap '' TERM; {processes.sleep} & wait")
    assert result.outcome is Outcome.LOST
    assert processes.alive() == []
    await keeper.close()


async def test_a_command_that_comes_after_t1_is_not_started_until_there_is_contact(
    tmp_path: Path,
) -> None:
    commands, keeper = _with_t1(0.2)
    assert (await commands.shell("sleep 5")).outcome is Outcome.LOST
    keeper.contact(elapsed_s() - 1.0)  # an answer that lay about while the executor was frozen
    assert (await commands.shell(f"touch {tmp_path}/started")).outcome is Outcome.LOST
    assert not (tmp_path / "started").exists()
    keeper.contact(elapsed_s())
    assert (await commands.shell("true")).outcome is Outcome.SUCCEEDED
    await keeper.close()


async def test_signals_that_end_an_executor_do_not_end_its_keeper(
    commands: Commands, keeper: Keeper
) -> None:
    await keeper.start()
    pid = keeper_pid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        os.kill(pid, number)
    assert (await commands.shell("echo here")).output == "here\n"
    assert keeper_pid() == pid
    assert os.getsid(pid) != os.getsid(0)


async def test_closing_the_keeper_ends_what_still_runs(
    commands: Commands, keeper: Keeper, processes: Processes
) -> None:
    running = asyncio.create_task(commands.shell(f"{processes.sleep} & wait"))
    await processes.appear()
    await keeper.close()
    assert processes.alive() == []
    assert (await running).outcome is Outcome.LOST
    assert (await commands.shell("true")).outcome is Outcome.LOST


async def test_a_keeper_that_hangs_is_killed_and_its_commands_are_lost(
    commands: Commands, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "SLACK_S", -11.0)  # the fixture's other limits come to 10.6 s
    running = asyncio.create_task(commands.shell(processes.sleep, timeout_s=1.0))
    await processes.appear()
    os.kill(keeper_pid(), signal.SIGSTOP)
    assert (await running).outcome is Outcome.LOST
    assert processes.alive() == []


async def test_a_keeper_that_cannot_be_started_loses_the_attempt_and_is_tried_again(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", "/no/such/python")
        result = await commands.shell("true")
        assert result.outcome is Outcome.LOST
        assert result.reason.startswith("no keeper could be started: ")
        broken.setattr(sys, "executable", "/bin/false")
        result = await commands.shell("true")
        assert result.reason == "no keeper could be started: it ended with exit code 1"
    assert (await commands.shell("true")).outcome is Outcome.SUCCEEDED


def _with_t1(cut_off_s: float) -> tuple[Commands, Keeper]:
    keeper = Keeper(KeeperLimits(cut_off_s=cut_off_s))
    return Commands(CommandRunner(keeper)), keeper
