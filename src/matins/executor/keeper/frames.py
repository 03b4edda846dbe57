"""The words between an executor and its keeper: JSON objects behind their length in four bytes.

To the keeper: `{"run": {...Order}}`, `{"cancel": id}`, `{"kill": id}`, `{"contact": asked_at}`.
From the keeper: `{"id": 0}` once it is ready, then `{"id": id, "result": {...}}` for each end, and
before that what a command tells: `{"id": id, "live": text}`, which may be lost, `"kept"`, which is
to be kept, `"output"`, which is both, and `"progress": [done, total, text]`.
Between the keeper's own processes go frames of the same form (nursery.py, reaper.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

HEADER = 4
"""Bytes of the length that precedes each frame, most significant first."""


class KeeperLimits(NamedTuple):
    """What the keeper grants; lengths of time in seconds, sizes in bytes."""

    cut_off_s: float = 30.0
    """T1: without word that the executor reached its gateway for so long, all commands die."""
    grace_s: float = 5.0
    """Between SIGTERM and SIGKILL."""
    drain_s: float = 1.0
    """How long output is still read after the command's own end, while children hold the pipe."""
    clear_s: float = 5.0
    """How long the end of killed processes is awaited before it is reported that some are left."""
    head_max: int = 32 * 1024
    """How much of the output's start is kept."""
    tail_max: int = 32 * 1024
    """How much of the output's end is kept."""
    live_after_s: float = 0.5
    """How long a command runs before its output is passed on."""
    live_every_s: float = 0.2
    """How often it is passed on after that."""
    live_max: int = 32 * 1024
    """How much live output waits at most until it is passed on; the newest stays."""
    whole_max: int = 1024 * 1024
    """The same for output that is to be kept."""
    apart: bool = True
    """Whether each command gets namespaces of its own, where the kernel grants them."""
    processes: int = 4096
    """How many processes and threads a command may have, where they are counted for it alone."""


class RunAs(NamedTuple):
    """Whom a command is run as, by their numbers."""

    uid: int
    gid: int
    groups: Sequence[int]
    is_its_own: bool = False
    """Whether no other command is run as the same at the same time."""


class Order(NamedTuple):
    """A command to run. `id` is unique to this keeper; `env` is the whole environment.

    `start_by`, by the keeper's clock, is set by the keeper: the moment at which it is cut off.
    `secrets` are masked in its output, of which so many bytes as `keep` are passed on to be kept.
    """

    id: int
    argv: list[str]
    env: dict[str, str]
    cwd: str | None
    timeout_s: float
    team: str = ""
    account: RunAs | None = None
    start_by: float = 0.0
    secrets: Sequence[str] = ()
    keep: int = 0

    def marks(self) -> set[bytes]:
        """Return the variables by which processes of this attempt are known: they inherit them."""
        names = ("MATINS_RUN_ID", "MATINS_ATTEMPT")
        return {f"{name}={self.env[name]}".encode() for name in names if name in self.env}


def encode(frame: dict[str, object]) -> bytes:
    """Write one frame."""
    body = json.dumps(frame, separators=(",", ":")).encode()
    return len(body).to_bytes(HEADER, "big") + body


FORK, KILL = b"f", b"k"
"""What the nursery is asked for: a reaper, with the end of its socket; the end of one, by pid."""

PID_BYTES = 4
"""How long a pid is behind KILL."""

TERMINATE, CLEAR = encode({"do": "terminate"}), encode({"do": "clear"})
"""What a reaper is told: to ask its command to end, or to end all of it."""


class Decoder:
    """Puts frames together from chunks of any size."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, chunk: bytes) -> Iterator[dict[str, object]]:
        """Take a chunk; gives the frames that it completes."""
        self._bytes += chunk
        while len(self._bytes) >= HEADER:
            end = HEADER + int.from_bytes(self._bytes[:HEADER], "big")
            if len(self._bytes) < end:
                return
            body = bytes(self._bytes[HEADER:end])
            del self._bytes[:end]
            yield json.loads(body)
