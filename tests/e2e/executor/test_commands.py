"""Commands end as they should, with their output, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
from tests.e2e.executor.ground import (
    Commands,
    Processes,
    command,
    every_pid,
    keeper_pid,
    until,
)

from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome
from matins.executor.keeper.link import Keeper
from matins.executor.targets.command import CommandRunner

MEGABYTE = 1 << 20


async def test_exit_code_zero_is_success_and_both_outputs_are_kept_in_order(
    commands: Commands,
) -> None:
    result = await commands.shell("echo one; echo two >&2; echo three")
    assert (result.outcome, result.reason, result.exit_code) == (Outcome.SUCCEEDED, "", 0)
    assert result.output == "one\ntwo\nthree\n"


async def test_another_exit_code_is_a_failure_that_may_be_tried_again(commands: Commands) -> None:
    result = await commands.shell("echo why; exit 3")
    assert (result.outcome, result.reason) == (Outcome.FAILED, "exit code 3")
    assert (result.exit_code, result.permanent, result.output) == (3, False, "why\n")


async def test_a_command_killed_by_a_signal_says_which(commands: Commands) -> None:
    result = await commands.shell("kill -SEGV $$")
    assert (result.outcome, result.reason) == (Outcome.FAILED, "killed by SIGSEGV")
    assert result.exit_code is None


@pytest.mark.parametrize("number", [32, 33, 50])
async def test_a_command_killed_by_a_signal_without_a_name_says_its_number(
    commands: Commands, number: int
) -> None:
    result = await commands.shell(f"kill -{number} $$")
    assert (result.outcome, result.reason) == (Outcome.FAILED, f"killed by signal {number}")
    assert result.company is None


async def test_a_time_out_ends_the_whole_group_before_it_is_reported(
    commands: Commands, processes: Processes
) -> None:
    nap = processes.sleep
    result = await commands.shell(f"{nap} & {nap} & {nap} & wait", timeout_s=0.3)
    assert processes.alive() == []
    assert (result.outcome, result.reason) == (Outcome.TIMED_OUT, "timed out after 0.3 s")


@pytest.mark.parametrize(
    "escape",
    ["setsid {} &", "env -i setsid {} >/dev/null 2>&1 &", "(setsid sh -c '{} & {} & wait' &) ;"],
    ids=["own session", "own session and empty environment", "a family"],
)
async def test_processes_that_left_the_group_end_with_their_command(
    commands: Commands, processes: Processes, escape: str
) -> None:
    escaping = escape.replace("{}", processes.sleep)
    result = await commands.shell(f"{escaping} sleep 0.1; exit 0")
    assert processes.alive() == []
    assert result.outcome is Outcome.SUCCEEDED


async def test_ending_one_command_leaves_the_others_alone(
    commands: Commands, processes: Processes
) -> None:
    cancel = asyncio.Event()
    nap = processes.sleep
    script = f"(setsid {nap} &); (env -i setsid {nap} &) ; {nap} & wait"
    other = asyncio.create_task(commands.run(command("sh", "-c", script), cancel))
    before = await processes.appear(3)
    await commands.shell("setsid sleep 600 & sleep 0.1", timeout_s=5)
    assert processes.alive() == before
    cancel.set()
    assert (await other).outcome is Outcome.CANCELLED
    assert processes.alive() == []


async def test_sigterm_comes_first_so_that_a_command_can_tidy_up(commands: Commands) -> None:
    script = "trap 'echo tidy; exit 5' TERM; while :; do sleep 0.02; done"
    result = await commands.shell(script, timeout_s=0.2)
    assert (result.outcome, result.exit_code) == (Outcome.TIMED_OUT, 5)
    assert result.output.endswith("tidy\n")


async def test_sigkill_follows_after_the_grace(commands: Commands) -> None:
    result = await commands.shell("trap '' TERM; while :; do sleep 0.02; done", timeout_s=0.2)
    assert result.outcome is Outcome.TIMED_OUT
    assert result.reason == "timed out after 0.2 s; killed 0.3 s after SIGTERM"


async def test_a_stopped_command_ends_on_time_too(commands: Commands) -> None:
    result = await commands.shell("kill -STOP $$", timeout_s=0.2)
    assert (result.outcome, result.reason) == (Outcome.TIMED_OUT, "timed out after 0.2 s")


async def test_a_background_child_that_holds_the_output_does_not_hold_up_the_end(
    commands: Commands, processes: Processes
) -> None:
    async with asyncio.timeout(3):
        result = await commands.shell(f"{processes.sleep} & echo ok; exit 4")
    assert result.exit_code == 4
    assert processes.alive() == []


async def test_what_a_command_leaves_running_is_killed_and_the_output_says_so(
    commands: Commands, processes: Processes
) -> None:
    nap = processes.sleep
    result = await commands.shell(f"echo ok; {nap} >&- 2>&- & setsid {nap} >&- 2>&- & exit 0")
    assert result.outcome is Outcome.SUCCEEDED
    told = "[2 processes were still running when the command ended, and killed: "
    assert result.output.startswith(f"ok\n\n{told}")
    assert processes.alive() == []


async def test_a_command_that_leaves_nothing_running_is_told_nothing(commands: Commands) -> None:
    assert (await commands.shell("echo ok; (true &) ; sleep 0.05 & wait")).output == "ok\n"


async def test_a_background_child_may_finish_its_output(commands: Commands) -> None:
    """Many at once: the child closes its output just before it has ended, and isn't killed then."""
    script = "(sleep 0.05; echo last) & echo first"
    results = await asyncio.gather(*(commands.shell(script) for _ in range(20)))
    assert {result.output for result in results} == {"first\nlast\n"}


@pytest.mark.parametrize(
    ("script", "total"),
    [
        ("yes | head -c 200M", 200 * MEGABYTE),
        ("head -c 50M /dev/zero | tr '\\0' x", 50 * MEGABYTE),
        ("head -c 2M /dev/zero | tr '\\0' x >&2; echo out", 2 * MEGABYTE + 4),
    ],
    ids=["many lines", "one line", "all of it on stderr first"],
)
async def test_a_flood_of_output_is_cut_counted_and_takes_no_memory(
    commands: Commands, script: str, total: int
) -> None:
    await commands.shell("true")
    before = _peak_kb(keeper_pid())
    result = await commands.shell(script)
    assert _peak_kb(keeper_pid()) - before < 20_000
    assert result.outcome is Outcome.SUCCEEDED
    assert result.output_cut == total - 64 * 1024
    assert len(result.output) < 66 * 1024


async def test_output_that_is_no_text_is_cleaned(commands: Commands) -> None:
    result = await commands.shell("head -c 100000 /dev/urandom")
    assert result.outcome is Outcome.SUCCEEDED
    assert not {mark for mark in result.output if ord(mark) < 32} - {"\n", "\t"}
    result.output.encode()


async def test_a_character_split_over_two_writes_survives(commands: Commands) -> None:
    result = await commands.shell(r"printf 'caf\303'; sleep 0.05; printf '\251'")
    assert result.output == "café"


async def test_a_command_is_told_of_its_attempt_and_gets_nothing_else(keeper: Keeper) -> None:
    environ = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "MATINS_TOKEN": "secret", "X": "y"}
    runner = CommandRunner(keeper, environ)
    run_id = uuid4()
    attempt = command("/usr/bin/env", run_id=run_id, env={"GREETING": "hello", "HOME": "/job"})
    result = await runner.run(attempt, asyncio.Event())
    assert dict(line.split("=", 1) for line in result.output.splitlines()) == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/job",
        "GREETING": "hello",
        "MATINS_RUN_ID": str(run_id),
        "MATINS_ATTEMPT": "2",
        "MATINS_DUE_AT": "2026-11-29T02:00:00Z",
        "MATINS_JOB": "nightly",
        "MATINS_TEAM": "payments",
        "MATINS_KIND": "scheduled",
    }


async def test_a_command_inherits_no_descriptor_and_reads_nothing(commands: Commands) -> None:
    result = await commands.shell("cat; exec ls /proc/self/fd")
    assert result.output.split() == ["0", "1", "2", "3"]  # 3: the folder that ls reads


def test_a_command_has_the_default_reaction_to_signals_that_its_executor_ignores_or_blocks(
    tmp_path: Path,
) -> None:
    """The executor is started as by `make`: posix_spawn(3) has it ignore signals 32 and 33 too."""
    program = str(Path(__file__).with_name("executor_side.py"))
    asked = ("grep", "-E", "Sig(Ign|Blk)", "/proc/self/status")
    told = tmp_path / "result"
    ours = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        executor = os.posix_spawn(
            sys.executable,
            (sys.executable, program, "60", *asked),
            os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 1, str(told), os.O_CREAT | os.O_WRONLY, 0o600)],
            setsigmask={signal.SIGUSR2},
        )
    finally:
        signal.signal(signal.SIGUSR1, ours)
    assert os.waitpid(executor, 0)[1] == 0
    output = msgspec.json.decode(told.read_bytes(), type=Result).output
    assert [int(mask, 16) for mask in output.split()[1::2]] == [0, 0]


async def test_a_command_runs_in_its_working_directory(commands: Commands, tmp_path: Path) -> None:
    result = await commands.run(command("pwd", cwd=str(tmp_path)))
    assert result.output == f"{tmp_path}\n"


async def test_a_program_that_does_not_exist_is_a_lasting_failure(commands: Commands) -> None:
    result = await commands.run(command("no-such-program", "--flag"))
    assert (result.outcome, result.permanent, result.exit_code) == (Outcome.FAILED, True, None)
    assert result.reason == "no-such-program: no such program, or none to interpret it"


async def test_a_file_that_is_not_executable_is_named(commands: Commands, tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("no program")
    result = await commands.run(command(str(file)))
    assert result.reason == f"{file}: is not executable, or not for this account"
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    result = await commands.run(command(str(file)))
    assert result.reason.startswith(f"{file}: neither a program for this machine")


async def test_a_missing_working_directory_is_named(commands: Commands) -> None:
    result = await commands.run(command("true", cwd="/no/such/folder"))
    assert (result.outcome, result.permanent) == (Outcome.FAILED, True)
    assert result.reason == "working directory /no/such/folder: No such file or directory"


@pytest.mark.parametrize("argument", ["a\0b", "\ud800"], ids=["NUL", "lone surrogate"])
async def test_arguments_that_no_command_can_be_given_are_refused(
    commands: Commands, argument: str
) -> None:
    result = await commands.run(command("echo", argument))
    assert (result.outcome, result.permanent) == (Outcome.FAILED, True)


async def test_a_cancelled_command_ends_gently(commands: Commands, processes: Processes) -> None:
    cancel = asyncio.Event()
    running = asyncio.create_task(
        commands.run(command("sh", "-c", f"{processes.sleep} & wait"), cancel)
    )
    await processes.appear()
    cancel.set()
    result = await running
    assert (result.outcome, result.reason) == (Outcome.CANCELLED, "cancelled")
    assert processes.alive() == []


async def test_a_command_cancelled_before_its_start_is_never_started(
    commands: Commands, tmp_path: Path
) -> None:
    cancel = asyncio.Event()
    cancel.set()
    result = await commands.run(command("touch", str(tmp_path / "started")), cancel)
    assert result.outcome is Outcome.CANCELLED
    assert not (tmp_path / "started").exists()


async def test_cancelling_the_task_kills_without_grace(
    commands: Commands, processes: Processes
) -> None:
    running = asyncio.create_task(commands.shell(f"trap '' TERM; {processes.sleep} & wait"))
    await processes.appear()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert processes.alive() == []


async def test_many_commands_at_once_keep_their_own_output_and_exit_code(
    commands: Commands,
) -> None:
    results = await asyncio.gather(*(commands.shell(f"echo {n}; exit {n}") for n in range(60)))
    assert [(result.output, result.exit_code) for result in results] == [
        (f"{n}\n", n) for n in range(60)
    ]


async def test_orphans_that_end_by_themselves_leave_no_zombies(
    commands: Commands, processes: Processes
) -> None:
    other = asyncio.create_task(commands.run(command(*processes.sleep.split())))
    [sleeper] = await processes.appear()
    for _ in range(20):
        await commands.shell("(sleep 0 &) ; (true &) ; exit 0")
    await until(lambda: _zombies() == [] and processes.alive() == [sleeper])
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other


def _zombies() -> list[int]:
    """Return the processes below this one that have ended and were not taken leave of."""
    parents = {pid: stat for pid in every_pid() if (stat := _stat(pid))}
    found, family = [], {os.getpid()}
    for pid in sorted(parents):  # who is younger has the higher number, but for one in many
        if int(parents[pid][1]) in family:
            family.add(pid)
            found += [pid] if parents[pid][0] == "Z" else []
    return found


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _peak_kb(pid: int) -> int:
    lines = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return int(lines["VmHWM"].split()[0])
