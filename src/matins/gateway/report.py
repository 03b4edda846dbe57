"""Records the ends of attempts in batches, and lets `decide` say what follows each."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence
from random import Random
from uuid import UUID

import msgspec
import structlog

from matins.domain.executors.protocol import (
    End,
    Ending,
    Recorded,
    Report,
    ReportAnswer,
    Running,
    RunStatus,
    awaited_words,
)
from matins.domain.jobs.failures import AttemptFailure
from matins.domain.ports import Dispatch, Hints, StatusCache
from matins.domain.runs.admission.hints import CHANNEL
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState, decide
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.gateway.checks import check_report
from matins.kernel.ends import note_ends
from matins.kernel.hinting import HintSender
from matins.kernel.metrics import RECORDED, SUPERSEDED

log = structlog.get_logger()

BATCH_MAX = 2000
"""The most ends in one record statement."""

RECORDS_MAX = 2
"""How many batches are recorded at once."""

CACHE_QUEUE_MAX = 100
"""How many batches of statuses wait for the cache at most; what comes on top is dropped."""


class _PendingReport:
    """A report that waits to be recorded."""

    def __init__(self, ends: list[End]) -> None:
        self.ends = ends
        self.superseded: asyncio.Future[set[UUID]] = asyncio.get_running_loop().create_future()


class Recorder:
    """Records reports: at once when idle, otherwise what gathers while others are under way.

    Batches are made for each executor, in turn; all reports in a batch share its fate.
    """

    def __init__(self, dispatch: Dispatch, cache: StatusCache, hints: Hints, rng: Random) -> None:
        self._admission_hints = HintSender(hints, CHANNEL)
        self._dispatch = dispatch
        self._cache = cache
        self._rng = rng
        self._reports: OrderedDict[UUID, list[_PendingReport]] = OrderedDict()
        self._records: set[asyncio.Task[None]] = set()
        self._statuses: asyncio.Queue[list[RunStatus]] = asyncio.Queue(CACHE_QUEUE_MAX)
        self._stopping = asyncio.Event()

    async def report(self, report: Report) -> ReportAnswer:
        """Record the ends of a report; give the runs whose ends changed nothing.

        Raises InvalidInputError, or UnavailableError: then the report must be repeated, which
        changes nothing for those of its ends that were recorded.
        """
        waiting = _PendingReport(check_report(report))
        self._reports.setdefault(report.executor, []).append(waiting)
        self._start()
        superseded = await waiting.superseded
        return ReportAnswer(list(superseded))

    async def run(self) -> None:
        """Carry statuses to the cache, off the way of the answers."""
        carrying = asyncio.create_task(self._publish_statuses())
        hinting = asyncio.create_task(self._admission_hints.run())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([carrying, stopping], return_when=asyncio.FIRST_COMPLETED)
            while self._records:
                await asyncio.wait(self._records)
        finally:
            stopping.cancel()
            carrying.cancel()
            hinting.cancel()
            await asyncio.gather(carrying, hinting, return_exceptions=True)
        if not carrying.cancelled():
            carrying.result()

    async def stop(self) -> None:
        """Finish what is under way; later reports are still recorded, past the cache."""
        self._stopping.set()

    def _start(self) -> None:
        while self._reports and len(self._records) < RECORDS_MAX:
            executor, batch = self._next_batch()
            task = asyncio.create_task(self._record_batch(executor, batch))
            self._records.add(task)
            task.add_done_callback(self._end_batch)

    def _next_batch(self) -> tuple[UUID, list[_PendingReport]]:
        """Take the reports of the executor whose turn it is, up to BATCH_MAX ends."""
        executor, reports = self._reports.popitem(last=False)
        count, size = 1, len(reports[0].ends)
        while count < len(reports) and size + len(reports[count].ends) <= BATCH_MAX:
            size += len(reports[count].ends)
            count += 1
        if count < len(reports):
            self._reports[executor] = reports[count:]
        return executor, reports[:count]

    def _end_batch(self, task: asyncio.Task[None]) -> None:
        self._records.discard(task)
        if not task.cancelled():
            self._start()

    async def _record_batch(self, executor: UUID, batch: list[_PendingReport]) -> None:
        # A report and its repeat may be in one batch: each end is recorded once.
        ends = {(end.run_id, end.number): end for waiting in batch for end in waiting.ends}
        try:
            superseded = await self._superseded(executor, ends)
        except Exception as error:  # the askers are told, whatever it is
            for waiting in batch:
                if not waiting.superseded.done():
                    waiting.superseded.set_exception(error)
                    waiting.superseded.exception()  # retrieved, should the asker be gone
            return
        for waiting in batch:
            if not waiting.superseded.done():
                own = {end.run_id for end in waiting.ends} if superseded else set()
                waiting.superseded.set_result(own & superseded)

    async def _superseded(self, executor: UUID, ends: dict[tuple[UUID, int], End]) -> set[UUID]:
        """Record the ends; give the runs of those that are recorded neither now nor before."""
        recorded = await self._record(executor, list(ends.values()))
        if len(recorded) == len(ends):
            return set()
        missing = ends.keys() - {(ended.status.id, ended.status.attempt) for ended in recorded}
        if not missing:
            return set()
        superseded = {run for run, _ in missing} - await self._dispatch.which_recorded(missing)
        if superseded:
            SUPERSEDED.inc(len(superseded))
            log.info("ends.superseded", executor=str(executor), count=len(superseded))
        return superseded

    async def _record(self, executor: UUID, ends: list[End]) -> list[Recorded]:
        """Record ends; those that can't be are found by halving, and set aside.

        Unless it was "not now", an error is the fault of some row: it must not hold up the others.
        """
        try:
            endings = await self._decide(executor, ends)
            recorded = await self._dispatch.record(executor, endings) if endings else []
        except BlockedError:
            if len(ends) == 1:
                raise
            return await self._record_free(executor, ends)
        except UnavailableError:
            raise
        except Exception as error:  # whatever the data made of it
            if len(ends) == 1:
                return await self._record_bare(executor, ends[0], error)
            half = len(ends) // 2
            first = await self._record(executor, ends[:half])
            return first + await self._record(executor, ends[half:])
        self._note(endings, recorded)
        return recorded

    async def _record_free(self, executor: UUID, ends: list[End]) -> list[Recorded]:
        """Record both halves of what is blocked, each as far as it goes. Raises BlockedError."""
        recorded: list[Recorded] = []
        blocked: BlockedError | None = None
        half = len(ends) // 2
        for part in (ends[:half], ends[half:]):
            try:
                recorded += await self._record(executor, part)
            except BlockedError as error:
                blocked = error
        if blocked:
            raise blocked
        return recorded

    async def _decide(self, executor: UUID, ends: list[End]) -> list[Ending]:
        """Return what follows each end. Only those that went badly need to be looked up."""
        bad = [end for end in ends if end.result.outcome is not Outcome.SUCCEEDED]
        if not bad:
            return [Ending(end, RunState.SUCCEEDED) for end in ends]
        rows = await self._dispatch.running_runs(executor, [end.run_id for end in bad])
        running = {run.run_id: run for run in rows}
        endings = []
        for end in ends:
            if end.result.outcome is Outcome.SUCCEEDED:
                endings.append(Ending(end, RunState.SUCCEEDED))
            elif (run := running.get(end.run_id)) and run.tried.attempt == end.number:
                endings.append(_ending(end, run, self._rng))
        return endings

    async def _record_bare(self, executor: UUID, end: End, error: Exception) -> list[Recorded]:
        """Record that an attempt ended, with nothing of what it said: its run must end.

        If even that fails it is not the data's fault, so it is to be tried again later.
        """
        log.error("end.unrecordable", run_id=str(end.run_id), number=end.number, error=str(error))
        ending = _bare_ending(end, error)
        try:
            recorded = await self._dispatch.record(executor, [ending])
        except UnavailableError:
            raise
        except Exception as again:
            raise UnavailableError(f"the end of run {end.run_id} can't be recorded") from again
        self._note([ending], recorded)
        return recorded

    def _note(self, endings: Sequence[Ending], recorded: list[Recorded]) -> None:
        if not recorded:
            return
        statuses = [ended.status for ended in recorded]
        _count(endings, statuses)
        self._admission_hints.send(awaited_words(recorded))
        try:
            self._statuses.put_nowait(statuses)
        except asyncio.QueueFull:
            log.warning("statuses.dropped", count=len(recorded))

    async def _publish_statuses(self) -> None:
        while True:
            statuses = await self._statuses.get()
            while not self._statuses.empty() and len(statuses) < BATCH_MAX:
                statuses = statuses + self._statuses.get_nowait()
            await self._cache.put(statuses)


def _ending(end: End, running: Running, rng: Random) -> Ending:
    result = end.result
    failure = AttemptFailure(result.outcome, result.exit_code, result.http_status)
    ended_by = running.policy.ended_by(failure, is_permanent=result.permanent)
    reason = f"{result.reason} ({ended_by})" if ended_by else result.reason
    after = decide(
        msgspec.structs.replace(running.tried, company=result.company),
        result.outcome,
        running.policy,
        rng,
        reason=reason,
        permanent=ended_by is not None,
        asked_s=result.retry_after_s,
    )
    return Ending(end, after.state, after.reason, after.retry_in_s, after.shared)


def _bare_ending(end: End, error: Exception) -> Ending:
    """An outcome stands as it was; what failed is not tried again, for it would end the
    same.
    """
    outcome = end.result.outcome
    message = f"its result could not be recorded: {type(error).__name__}"
    states = {Outcome.SUCCEEDED: RunState.SUCCEEDED, Outcome.CANCELLED: RunState.CANCELLED}
    state = states.get(outcome, RunState.DEAD)
    reason = "" if state is RunState.SUCCEEDED else message
    return Ending(
        End(end.run_id, end.number, Result(outcome, reason, output=message)), state, reason
    )


def _count(endings: Sequence[Ending], statuses: Sequence[RunStatus]) -> None:
    done = {(status.id, status.attempt) for status in statuses}
    outcomes = Counter(
        ending.end.result.outcome
        for ending in endings
        if (ending.end.run_id, ending.end.number) in done
    )
    for outcome, count in outcomes.items():
        RECORDED.labels(outcome.value).inc(count)
    if not outcomes.keys() <= {Outcome.SUCCEEDED}:
        note_ends(statuses)
