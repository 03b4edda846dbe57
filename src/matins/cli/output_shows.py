"""Shows what happens to a run as it happens: its output, and beside it what becomes of it."""

from __future__ import annotations

from contextlib import aclosing
from typing import Final
from uuid import UUID

import msgspec

from matins.cli.showing import print_json_line, show_text, tell_aside
from matins.client.sdk import Matins
from matins.domain.executors.protocol import RunStatus
from matins.domain.run_events import RUN_EVENTS, OutputNotice, OutputText, RunEnd, RunEvent
from matins.domain.runs.admission.waiting import TO_BE_ADMITTED
from matins.domain.runs.output import last_lines
from matins.domain.runs.states import RunState
from matins.domain.values.errors import UnavailableError
from matins.insight.explain.english import counted

_FAILED: Final = 1
_BY_SIGNAL: Final = 128
_WORDS: Final = {kind: name for name, kind in RUN_EVENTS.items()}


class OutputShow:
    """Prints output on standard output, and all else on standard error.

    `tail`: so many lines of what there is at the beginning. `is_silent`: nothing at all.
    """

    def __init__(self, tail: int | None = None, *, is_silent: bool = False) -> None:
        self._tail = tail
        self._is_silent = is_silent
        self._attempt = 0
        self._end = 0
        self._is_line_open = False

    def take(self, event: RunEvent) -> None:
        """Show an event. Progress stands in the output itself."""
        if self._is_silent:
            return
        match event:
            case OutputText():
                self._show(event)
            case RunStatus() if not event.reason.startswith(TO_BE_ADMITTED):
                self._aside(_standing(event))
            case OutputNotice():
                self._aside(event.text)
            case RunEnd():
                self.close()

    def close(self) -> None:
        """Let what is printed next begin on a line of its own."""
        if self._is_line_open:
            show_text("\n")
            self._is_line_open = False

    def _show(self, piece: OutputText) -> None:
        if piece.attempt != self._attempt:
            self._attempt, self._end = piece.attempt, 0
            text = piece.text if self._tail is None else last_lines(piece.text, self._tail)
            self._tail = None
            if piece.offset:
                self._aside("what was written before is not here; it follows with the end")
        else:
            text = piece.text
            if piece.whole:
                self._aside("some of it was not seen live; here is all of it:")
            elif piece.offset > self._end:
                missed = counted(piece.offset - self._end, "character")
                self._aside(f"{missed} not seen live")
        self._end = piece.end
        show_text(text)
        self._is_line_open = not text.endswith("\n")

    def _aside(self, text: str) -> None:
        self.close()
        tell_aside(f"matins: {text}")


async def show_run(
    client: Matins, run_id: UUID, show: OutputShow, *, attempt: int | None = None
) -> RunEnd:
    """Show a run until its end, and return that."""
    async with aclosing(client.follow_run(run_id, attempt=attempt)) as events:
        async for event in events:
            show.take(event)
            if isinstance(event, RunEnd):
                return event
    raise UnavailableError(f"what became of run {run_id} is not known")


async def print_events(client: Matins, run_id: UUID, *, attempt: int | None = None) -> None:
    """Print each event as JSON on a line."""
    async with aclosing(client.follow_run(run_id, attempt=attempt)) as events:
        async for event in events:
            fields: dict[str, object] = msgspec.to_builtins(event)
            print_json_line({"event": _WORDS[type(event)], **fields})


def exit_code_of(end: RunEnd) -> int:
    """Return the exit code that tells how a run ended: its command's, if that says it failed."""
    if end.state is RunState.SUCCEEDED:
        return 0
    code = end.exit_code or _FAILED
    return code if code > 0 else _BY_SIGNAL - code


def _standing(status: RunStatus) -> str:
    attempt = f", attempt {status.attempt}" if status.attempt > 1 else ""
    reason = f": {status.reason}" if status.reason else ""
    return f"{status.state}{attempt}{reason}"
