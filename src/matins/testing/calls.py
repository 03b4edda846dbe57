"""What was really called: a file of JSON lines that call recorders and commands append to."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from uuid import UUID

import msgspec

End = Literal["answered", "left", "broken"]
"""How a call ended: answered in full, the caller went away, or the target broke it off."""


class Arrived(msgspec.Struct, frozen=True, tag_field="event", tag="arrived"):
    """A call reached a target. `call` is unique; without headers of Matins there is no run."""

    call: str
    at_ns: int
    run_id: UUID | None = None
    attempt: int = 0
    due_at: datetime | None = None
    job: str = ""
    team: str = ""
    kind: str = ""
    method: str = ""
    path: str = ""
    size: int = 0


class CallEnded(msgspec.Struct, frozen=True, tag_field="event", tag="ended"):
    """A call came to its end; the time is from before the caller could see it."""

    call: str
    at_ns: int
    how: End


class Call(msgspec.Struct, frozen=True):
    """One call of a target. Times are ns since 1970; no end: the target died, or still works."""

    run_id: UUID | None
    attempt: int
    due_at: datetime | None
    job: str
    team: str
    kind: str
    method: str
    path: str
    size: int
    arrived_ns: int
    ended_ns: int | None = None
    how: End | None = None


def read_calls(path: Path) -> list[Call]:
    """Read all calls in the order of their lines, also while somebody writes.

    A last line that is torn is left out: its call was not answered. Raises ValueError that names
    the line for anything else that can't be read.
    """
    calls: dict[str, Call] = {}
    for event in _events(path):
        if isinstance(event, Arrived):
            calls[event.call] = Call(
                event.run_id,
                event.attempt,
                event.due_at,
                event.job,
                event.team,
                event.kind,
                event.method,
                event.path,
                event.size,
                event.at_ns,
            )
        elif event.call not in calls:
            raise ValueError(f"{path}: the call {event.call} ended without having arrived")
        else:
            calls[event.call] = msgspec.structs.replace(
                calls[event.call], ended_ns=event.at_ns, how=event.how
            )
    return list(calls.values())


def _events(path: Path) -> Iterator[Arrived | CallEnded]:
    decoder = msgspec.json.Decoder(Arrived | CallEnded)
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for number, line in enumerate(lines[:-1], start=1):
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error


class CallsFile:
    """Appends events; all that wait for the disk share one fsync. Use it in `async with`.

    Once a write has failed it takes nothing more.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1
        self._lines: list[bytes] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._writing: asyncio.Task[None] | None = None
        self._error: OSError | None = None
        self._thread = ThreadPoolExecutor(1, "calls")

    async def __aenter__(self) -> Self:
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        _cut_torn_line(self._fd)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._writing:
            await asyncio.wait([self._writing])
        self._thread.shutdown()
        os.close(self._fd)

    def append(self, event: Arrived | CallEnded) -> None:
        """Write an event soon."""
        if self._error:
            return
        self._lines.append(msgspec.json.encode(event) + b"\n")
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def commit(self, event: Arrived | CallEnded) -> None:
        """Write an event and wait until it is on the disk. Raises OSError."""
        if self._error:
            raise self._error
        self.append(event)
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append(stored)
        await stored

    async def _write(self) -> None:
        """Group commit: while one batch is being synced, the next one gathers."""
        loop = asyncio.get_running_loop()
        while self._lines:
            batch, self._lines = b"".join(self._lines), []
            waiting, self._waiting = self._waiting, []
            try:
                await loop.run_in_executor(self._thread, _store, self._fd, batch)
            except OSError as error:
                self._error, self._lines = error, []
                waiting += self._waiting
            for stored in waiting:
                _resolve(stored, self._error)
        self._writing = None


def _resolve(stored: asyncio.Future[None], error: OSError | None) -> None:
    if stored.done():  # its caller went away
        return
    if error:
        stored.set_exception(error)
    else:
        stored.set_result(None)


def _store(fd: int, batch: bytes) -> None:
    written = os.write(fd, batch)
    if written < len(batch):
        raise OSError(f"the calls file took {written} of {len(batch)} bytes")
    os.fsync(fd)


def _cut_torn_line(fd: int) -> None:
    """Drop what a killed writer left of its last line."""
    size = os.fstat(fd).st_size
    kept = size
    while kept and os.pread(fd, 1, kept - 1) != b"\n":
        kept -= 1
    if kept < size:
        os.ftruncate(fd, kept)


_SCRIPT = r"""
note() { printf "$@" >> FILE; }
call="$MATINS_RUN_ID/$MATINS_ATTEMPT/$$" how=answered
arrived='{"event":"arrived","call":"%s","at_ns":%s,"run_id":"%s","attempt":%s,"due_at":"%s",'
arrived="$arrived"'"job":"%s","team":"%s","kind":"%s","method":"command"}\n'
ended='{"event":"ended","call":"%s","at_ns":%s,"how":"%s"}\n'
note "$arrived" "$call" "$(date +%s%N)" "$MATINS_RUN_ID" "$MATINS_ATTEMPT" "$MATINS_DUE_AT" \
    "$MATINS_JOB" "$MATINS_TEAM" "$MATINS_KIND"
trap 'note "$ended" "$call" "$(date +%s%N)" "$how"' EXIT
trap 'how=left; exit 143' TERM
(
WORK
) &
wait $!
exit $?
"""


def command_script(file: Path, work: str = "true") -> str:
    """Return a script for `sh -c` that notes a command's start, works, and notes its end.

    For command targets: it reads the MATINS_* variables of the attempt. Each line is one append,
    so any number of commands and a server may share the file. It needs GNU date for its ns. What
    is killed by SIGKILL notes no end; nothing is synced, which only a power cut would tell.
    """
    return _SCRIPT.replace("FILE", shlex.quote(str(file))).replace("WORK", work)
