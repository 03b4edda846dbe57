"""Runs one attempt, and says how it ended whatever befell it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
import structlog

from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.states import Outcome
from matins.executor.news import Tell
from matins.executor.output import one_line
from matins.executor.targets import Runner

log = structlog.get_logger()


class LiveAttempt:
    """An attempt that runs. It is ended gently by `end`, `cancel` or `drop`, at once by `cut`."""

    def __init__(self, attempt: Attempt, tell: Tell) -> None:
        """`tell` gets what comes of it while it runs."""
        self.attempt = attempt
        self._tell = tell
        self.task: asyncio.Task[None] | None = None
        self.is_dropped = False
        """Its end is no longer ours to report."""
        self._ending = asyncio.Event()
        self._lost_by = ""

    def cancel(self) -> None:
        """End it because its owner wants that."""
        self._ending.set()

    def drop(self) -> None:
        """End it because others go on with its run."""
        self.is_dropped = True
        self._ending.set()

    def end(self, reason: str) -> None:
        """End it for a reason of the executor's own: unless it ends by itself, it is lost."""
        self._lost_by = reason
        self._ending.set()

    def cut(self) -> None:
        """Stop it here and now, after `end` or `drop` was not obeyed."""
        assert self._ending.is_set(), "it was asked gently before"
        if self.task:
            self.task.cancel()

    async def execute(self, runners: Mapping[str, Runner]) -> Result:
        """Run it to its end."""
        try:
            result = await self._run(runners)
        except asyncio.CancelledError:
            if not self._ending.is_set():
                raise
            result = Result(Outcome.CANCELLED, "it did not end when told to, and was cut off")
        if self._lost_by and result.outcome is Outcome.CANCELLED:
            return msgspec.structs.replace(result, outcome=Outcome.LOST, reason=self._lost_by)
        return result

    async def _run(self, runners: Mapping[str, Runner]) -> Result:
        target = self.attempt.target
        kind = next((kind for kind in runners if getattr(target, kind, None) is not None), None)
        if kind is None:
            return Result(
                Outcome.FAILED, "this executor knows no such kind of target", permanent=True
            )
        try:
            return await runners[kind].run(self.attempt, self._ending, self._tell)
        except Exception as error:
            log.exception("runner.failed", run_id=str(self.attempt.run_id), kind=kind)
            reason = f"the executor failed: {type(error).__name__}: {error}"
            return Result(Outcome.FAILED, one_line(reason))
