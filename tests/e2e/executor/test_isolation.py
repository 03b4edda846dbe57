"""What a command can't do to its executor and to others' commands. See docs/isolation.md."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.e2e.executor.ground import (
    Commands,
    Processes,
    command,
    every_pid,
    keeper_pid,
    until,
)

from matins.domain.runs.states import Outcome
from matins.executor.accounts import Accounts
from matins.executor.keeper.apart import can_fork_apart
from matins.executor.keeper.frames import KeeperLimits
from matins.executor.keeper.link import Keeper
from matins.executor.targets.command import CommandRunner

CANARY = "canary-of-the-executor"
FIRST = 1_000_000 + 100 * os.getpid()
RANGE = f"{FIRST}-{FIRST + 99}"
"""Accounts of this process's own: the kernel counts the processes of one over the whole machine."""

namespaces = pytest.mark.skipif(not can_fork_apart(), reason="the kernel grants no namespaces")
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")

KINDS = [
    pytest.param({"apart": True}, None, id="namespaces", marks=namespaces),
    pytest.param({"apart": False}, RANGE, id="own account", marks=root),
]


@asynccontextmanager
async def executor(limits: dict[str, object], run_as: str | None = None) -> AsyncIterator[Commands]:
    """Commands under a keeper of their own, in an executor that has secrets."""
    keeper = Keeper(KeeperLimits(**{"cut_off_s": 600.0, "grace_s": 0.3, "drain_s": 0.3, **limits}))  # type: ignore[arg-type]
    try:
        yield Commands(CommandRunner(keeper, accounts=Accounts(run_as, 9)))
    finally:
        await keeper.close()


@asynccontextmanager
async def beside(commands: Commands, processes: Processes) -> AsyncIterator[int]:
    """Another command that sleeps meanwhile; gives its pid, and sees that it lives to the end."""
    other = asyncio.create_task(commands.run(command(*processes.sleep.split(), team="other")))
    try:
        [pid] = await processes.appear()
        yield pid
        assert not other.done()
    finally:
        other.cancel()
        with suppress(asyncio.CancelledError):
            await other


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATINS_EXECUTOR_TOKEN", CANARY)


@pytest.mark.parametrize(("limits", "run_as"), KINDS)
async def test_others_can_be_neither_signalled_nor_read(
    limits: dict[str, object], run_as: str | None, processes: Processes
) -> None:
    async with executor(limits, run_as) as commands, beside(commands, processes) as other:
        for pid in (other, keeper_pid(), os.getpid()):
            for attempt in (
                f"kill -0 {pid}",
                f"cat /proc/{pid}/environ",
                f"cat /proc/{pid}/maps | grep .",
                f"ls /proc/{pid}/fd",
                f"echo 1000 > /proc/{pid}/oom_score_adj",
            ):
                assert (await commands.shell(attempt)).outcome is Outcome.FAILED, attempt
        await commands.shell("kill -9 -1")
        assert (await commands.shell("echo here")).output == "here\n"


@namespaces
async def test_in_namespaces_a_command_sees_itself_only_whatever_root_uncovers(
    processes: Processes,
) -> None:
    async with executor({}) as commands, beside(commands, processes):
        for first in ("true", "umount /proc"):
            result = await commands.shell(f"{first}; cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
            assert processes.sleep not in result.output
        assert (await commands.shell("test -e /proc/self")).outcome is Outcome.SUCCEEDED


@namespaces
async def test_in_namespaces_a_command_can_do_nothing_to_its_reaper() -> None:
    async with executor({}) as commands:
        result = await commands.shell("kill -KILL $PPID; kill -STOP $PPID; echo here")
        assert (result.outcome, result.output) == (Outcome.SUCCEEDED, "here\n")


@namespaces
async def test_teams_share_no_namespaces() -> None:
    async with executor({}) as commands:
        seen = [
            (await commands.run(command("readlink", f"/proc/self/ns/{kind}", team=team))).output
            for team in ("payments", "billing")
            for kind in ("pid", "mnt", "ipc")
        ]
        assert len({*seen}) == 6


@pytest.mark.usefixtures("secret")
async def test_no_process_below_the_executor_is_given_its_secrets(processes: Processes) -> None:
    async with executor({"apart": False}) as commands, beside(commands, processes):
        family = _descendants(os.getpid())
        assert len(family) >= 4  # keeper, nursery, reaper, command
        for pid in family:
            assert CANARY.encode() not in _environ(pid)
        result = await commands.shell(f"env | grep -c {CANARY}; ls /proc/self/fd")
        assert result.output.split() == ["0", "0", "1", "2", "3"]  # 3: the folder that ls reads


def test_who_hides_can_not_be_read_by_others_of_the_same_account() -> None:
    """Both of an ordinary account, one after the other hidden and not."""
    program = str(Path(__file__).with_name("same_account.py"))
    told = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["open: environ maps fd", "hidden: nothing"]


@pytest.mark.parametrize("apart", [False, pytest.param(True, marks=namespaces)])
async def test_a_daemon_without_any_sign_ends_with_its_command_beside_an_older_one(
    processes: Processes, *, apart: bool
) -> None:
    daemon = Processes()
    async with executor({"apart": apart}) as commands, beside(commands, processes):
        hiding = f"env -i setsid sh -c '(setsid {daemon.sleep} >/dev/null 2>&1 &)' & sleep 600"
        result = await commands.shell(hiding, timeout_s=0.5)
        assert result.outcome is Outcome.TIMED_OUT
        assert daemon.alive() == []


async def test_a_command_that_forks_on_and_on_ends(processes: Processes) -> None:
    own = Processes()
    hopping = f"import os\nfor _ in range(20000):\n  if os.fork(): os._exit(0)\n# {own.sleep}"
    async with executor({"apart": False}) as commands, beside(commands, processes):
        hop = command(sys.executable, "-S", "-c", hopping, timeout_s=3)
        assert (await commands.run(hop)).outcome is Outcome.SUCCEEDED
        assert [pid for pid in every_pid() if own.sleep.encode() in _cmdline(pid)] == []


async def test_a_command_that_kills_its_reaper_ends_itself_only(processes: Processes) -> None:
    own = Processes()
    async with executor({"apart": False}) as commands, beside(commands, processes):
        before = keeper_pid()
        result = await commands.shell(f"setsid {own.sleep} & kill -KILL $PPID; {own.sleep}")
        assert (result.outcome, result.company) == (Outcome.LOST, None)
        assert result.reason == "the process that held it was killed"
        await own.vanish()
        assert keeper_pid() == before


async def test_a_command_that_stops_its_reaper_ends_at_its_time_out(processes: Processes) -> None:
    own = Processes()
    async with (
        executor({"apart": False, "clear_s": 0.3}) as commands,
        beside(commands, processes),
    ):
        result = await commands.shell(f"kill -STOP $PPID; {own.sleep}", timeout_s=0.3)
        assert result.outcome is Outcome.TIMED_OUT
        await own.vanish()


@root
@pytest.mark.parametrize("apart", [False, pytest.param(True, marks=namespaces)])
async def test_a_command_has_a_bounded_number_of_processes(*, apart: bool) -> None:
    async with executor({"apart": apart, "processes": 20}, RANGE) as commands:
        result = await commands.shell("for i in $(seq 50); do sleep 5 & done; wait", timeout_s=9)
        assert result.exit_code == 2
        assert "Cannot fork" in result.output


@root
async def test_a_command_whose_account_has_no_process_left_may_be_tried_again() -> None:
    async with executor({"processes": 1}, RANGE) as commands:  # its reaper is that one
        result = await commands.shell("true")
        assert (result.outcome, result.permanent) == (Outcome.FAILED, False)
        assert result.reason == (
            "sh: its account, or this host, has all the processes it may (MATINS_PROCESSES)"
        )


@root
async def test_commands_that_run_at_once_have_accounts_of_their_own() -> None:
    async with executor({}, RANGE) as commands:
        script = "id -u; id -g; id -G; echo $HOME; sleep 0.1"
        results = await asyncio.gather(*(commands.shell(script) for _ in range(3)))
        told = {tuple(result.output.split()) for result in results}
        assert told == {(uid, uid, uid, "/") for uid in map(str, range(FIRST, FIRST + 3))}


async def test_a_command_is_likelier_than_its_executor_to_end_when_memory_runs_out(
    commands: Commands,
) -> None:
    own = _oom_score(os.getpid())
    result = await commands.run(command("cat", "/proc/self/oom_score_adj"))
    assert int(result.output) == min(own + 500, 1000)
    assert _oom_score(keeper_pid()) == own


async def test_a_keeper_that_talks_nonsense_is_replaced(
    commands: Commands, keeper: Keeper, processes: Processes
) -> None:
    running = asyncio.create_task(commands.shell(processes.sleep))
    await processes.appear()
    before = keeper_pid()
    assert keeper._process is not None
    keeper._process._reader.feed_data(b"\0\0\0\1x")
    keeper.contact()
    result = await running
    assert (result.outcome, result.reason) == (Outcome.LOST, "its keeper ended before it")
    assert processes.alive() == []
    assert (await commands.shell("echo again")).output == "again\n"
    assert keeper_pid() != before


async def test_when_the_nursery_is_killed_its_keeper_ends_and_is_replaced(
    commands: Commands, processes: Processes
) -> None:
    running = [asyncio.create_task(commands.shell(f"{processes.sleep} & wait")) for _ in range(2)]
    await processes.appear(2)
    [nursery] = list(_children(keeper_pid()))
    os.kill(nursery, signal.SIGKILL)
    assert [(await attempt).company for attempt in running] == [1, 1]
    await until(lambda: not processes.alive())
    assert (await commands.shell("echo again")).output == "again\n"


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except PermissionError:  # it is hidden even from us
        return b""


def _oom_score(pid: int) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _descendants(pid: int) -> list[int]:
    below = _children(pid)
    return below + [descendant for child in below for descendant in _descendants(child)]
