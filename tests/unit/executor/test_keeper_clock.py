"""T1, time-outs and graces as a keeper counts them: a real one, on a host that sleeps."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matins.executor.keeper.frames import HEADER, KeeperLimits, Order, encode
from matins.kernel.clock import elapsed_s

T1_S = 300.0
"""Far more than a test takes: what is missed by a little is not made up for by waiting."""
PATIENCE_S = 20.0
NAP = ["sleep", "60"]
STUBBORN = "trap '' TERM; touch {}; while :; do sleep 0.05; done"


class Side:
    """The executor's side of a keeper, and the hand on the keeper's clock."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "ahead").open("w+b", buffering=0)
        self._ahead_s = 0.0
        self._write()
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(PATIENCE_S)
        limits = KeeperLimits(cut_off_s=T1_S, grace_s=5.0)
        program = str(Path(__file__).with_name("keeper_side.py"))
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, program, self._file.name, json.dumps(limits._asdict())],
                stdin=theirs.fileno(),
            )
        self.hear()
        self._began_s = elapsed_s()
        self.contact(0)

    def sleep(self, seconds: float) -> None:
        """Let the host sleep for so long once the keeper has heard all, and wake it by a word."""
        self.wait_until_heard()
        self._ahead_s += seconds
        self._write()
        self.tell({"cancel": 0})

    def wait_until_heard(self) -> None:
        """Wait until the keeper has heard all that it was told: it answers in order."""
        self.run(9, ["true"])
        self.end_of(9)

    def contact(self, second: float) -> None:
        """Say that what was asked at this second of the keeper's life was answered."""
        self.tell({"contact": self._began_s + second})

    def run(self, number: int, argv: list[str], timeout_s: float = 600.0) -> None:
        """Have a command run."""
        self.tell(
            {"run": Order(number, argv, {"PATH": "/usr/bin:/bin"}, None, timeout_s)._asdict()}
        )

    def tell(self, frame: dict[str, object]) -> None:
        """Send a frame."""
        self._socket.sendall(encode(frame))

    def hear(self) -> dict[str, Any]:
        """Wait for the next frame."""
        size = int.from_bytes(self._read(HEADER), "big")
        frame: dict[str, Any] = json.loads(self._read(size))
        return frame

    def end_of(self, number: int) -> tuple[str, str]:
        """Return how a command ended, which is the next to end."""
        frame = self.hear()
        assert frame["id"] == number, frame
        return frame["result"]["outcome"], frame["result"]["reason"]

    def still_runs(self, number: int) -> bool:
        """Return whether a command outlives one that was begun later."""
        self.run(100 + number, ["true"])
        return self.end_of(100 + number) == ("succeeded", "")

    def hang_up(self) -> None:
        """Be gone, as an executor that was killed."""
        self._socket.close()

    def close(self) -> None:
        """End the keeper."""
        self.hang_up()
        self.process.kill()
        self.process.wait()
        self._file.close()

    def _write(self) -> None:
        self._file.seek(0)
        self._file.write(struct.pack("d", self._ahead_s))

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            assert chunk, "the keeper has ended"
            data += chunk
        return data


LOST = ("lost", f"its executor had not reached the gateway for {T1_S:g} s")


@pytest.fixture
def side(tmp_path: Path) -> Iterator[Side]:
    side = Side(tmp_path)
    yield side
    side.close()


def test_without_contact_a_command_is_killed_at_t1_and_not_before(side: Side) -> None:
    side.run(1, NAP)
    side.sleep(T1_S - 100)
    assert side.still_runs(1)
    side.sleep(100)
    assert side.end_of(1) == LOST


def test_t1_counts_from_when_was_asked_what_is_now_answered(side: Side) -> None:
    side.run(1, NAP)
    side.sleep(200)
    side.contact(100)
    side.sleep(150)
    assert side.still_runs(1)
    side.sleep(50)
    assert side.end_of(1) == LOST


def test_an_older_answer_that_comes_later_takes_nothing_back(side: Side) -> None:
    side.run(1, NAP)
    side.sleep(200)
    side.contact(200)
    side.contact(50)
    side.sleep(200)
    assert side.still_runs(1)


def test_an_answer_from_the_future_counts_as_one_of_now(side: Side) -> None:
    side.run(1, NAP)
    side.contact(10_000)
    side.sleep(T1_S)
    assert side.end_of(1) == LOST


def test_who_slept_past_t1_takes_no_word_that_lay_about_for_a_sign_of_life(side: Side) -> None:
    side.run(1, NAP)
    assert side.still_runs(1)
    side._ahead_s = T1_S + 5
    side._write()
    side.contact(T1_S + 5)
    assert side.end_of(1) == LOST


def test_after_t1_nothing_is_started_before_there_is_contact(side: Side) -> None:
    side.sleep(T1_S)
    side.run(1, ["true"])
    assert side.end_of(1) == LOST
    side.contact(T1_S)
    side.run(2, ["true"])
    assert side.end_of(2) == ("succeeded", "")


def test_when_its_executor_is_gone_it_ends_what_runs_and_itself(side: Side) -> None:
    side.run(1, NAP)
    assert side.still_runs(1)
    side.hang_up()
    assert side.process.wait(PATIENCE_S) == 0


def test_a_command_is_told_to_end_at_its_time_out(side: Side) -> None:
    side.run(1, NAP, timeout_s=200.0)
    side.sleep(150)
    assert side.still_runs(1)
    side.sleep(50)
    assert side.end_of(1) == ("timed_out", "timed out after 200 s")


def test_a_command_that_does_not_end_when_told_to_is_killed_after_the_grace(
    side: Side, tmp_path: Path
) -> None:
    is_deaf = tmp_path / "deaf"
    side.run(1, ["sh", "-c", STUBBORN.format(is_deaf)])
    while not is_deaf.exists():
        assert side.still_runs(1)
    side.tell({"cancel": 1})
    assert side.still_runs(1)
    side.sleep(5)
    outcome, reason = side.end_of(1)
    assert outcome == "cancelled"
    assert reason.endswith("killed 5 s after SIGTERM")


def test_any_exit_code_but_0_is_a_failure(side: Side) -> None:
    side.run(1, ["sh", "-c", "exit 1"])
    assert side.end_of(1) == ("failed", "exit code 1")
