"""A command's life as its keeper sees it, and the last look before it starts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from matins.domain.values.errors import SettingsError
from matins.executor.accounts import Accounts
from matins.executor.keeper.child import TooLateError, spawn
from matins.executor.keeper.clock import boot_s
from matins.executor.keeper.command import RunningCommand
from matins.executor.keeper.frames import CLEAR, TERMINATE, KeeperLimits, Order

NOW = 1000.0


class Told:
    """A reaper's end that keeps what it is told."""

    def __init__(self) -> None:
        self.words: list[bytes] = []
        self.is_killed = False

    def send(self, words: bytes) -> None:
        """See `ReaperEnd`."""
        self.words.append(words)

    def kill(self) -> None:
        """See `ReaperEnd`."""
        self.is_killed = True


def running(timeout_s: float = 60.0) -> tuple[RunningCommand, Told]:
    reaper = Told()
    order = Order(1, ["true"], {}, None, timeout_s)
    return RunningCommand(order, KeeperLimits(), reaper, -1, NOW), reaper


def ended(code: int, *, told: bool = False, left: tuple[str, ...] = ()) -> RunningCommand:
    command, _ = running()
    command.is_at_eof = True
    command.hear({"exit": code, "told": told}, NOW)
    command.hear({"left": [*left], "spoilt": False}, NOW)
    assert command.is_over
    return command


@pytest.mark.parametrize("number", [32, 33, *range(35, 64)])
def test_a_signal_without_a_name_is_told_by_its_number(number: int) -> None:
    assert ended(-number).result()["reason"] == f"killed by signal {number}"


def test_what_ended_before_it_was_told_to_keeps_its_result() -> None:
    command, reaper = running(timeout_s=5.0)
    command.is_at_eof = True
    command.wake(NOW + 5)
    assert reaper.words == [TERMINATE]
    command.hear({"exit": 0, "told": False}, NOW + 5)
    command.hear({"left": [], "spoilt": False}, NOW + 5)
    assert command.result()["outcome"] == "succeeded"


def test_a_reaper_that_does_not_obey_is_killed_and_then_given_up() -> None:
    command, reaper = running()
    command.kill("lost", "its executor ended", NOW)
    assert reaper.words == [CLEAR]
    command.wake(command.wake_at)
    assert reaper.is_killed
    assert not command.is_over
    command.wake(command.wake_at)
    assert command.is_over
    assert "could not be ended" in str(command.result()["output"])


def test_many_background_processes_are_told_in_short() -> None:
    names = ("sleep",) * 3 + ("a", "b", "c", "d", "e")
    told = "ended, and killed: 3 x sleep, a, b, c, d, ...]"
    assert told in str(ended(0, left=names).result()["output"])


def test_want_of_memory_is_told_of_a_command_that_was_killed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = iter([7, 9])
    monkeypatch.setattr("matins.executor.keeper.command.out_of_memory_count", lambda: next(counts))
    told = "killed by SIGKILL; memory ran out: the kernel ended 2 processes meanwhile"
    assert ended(-9).result()["reason"] == told


def test_nothing_starts_once_the_contact_is_too_old(tmp_path: Path) -> None:
    order = Order(1, ["touch", f"{tmp_path}/started"], {"PATH": os.defpath}, None, 9.0)
    with pytest.raises(TooLateError):
        spawn(order._replace(start_by=boot_s()), subprocess.DEVNULL, None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_each_command_has_the_number_that_was_free_longest() -> None:
    accounts = Accounts("200000-200002", slots=3)
    taken = [accounts.take() for _ in range(3)]
    assert [slot and slot.account.uid for slot in taken] == [200000, 200001, 200002]
    accounts.give_back(taken[1])
    accounts.give_back(taken[0])
    again = accounts.take()
    assert again is not None
    assert again.account.uid == 200001


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize(
    ("run_as", "told"),
    [("no-such-user", "is no user here"), ("5-6", "too narrow"), ("0-9", "too narrow")],
)
def test_accounts_that_can_not_be_had_are_refused(run_as: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        Accounts(run_as, slots=3)
