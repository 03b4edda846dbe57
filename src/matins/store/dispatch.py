"""The gateway's and the watch's side of runs, in PostgreSQL. See `domain.ports`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.executors.fleet import SILENT
from matins.domain.executors.protocol import (
    End,
    Ending,
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Poll,
    Recorded,
    Running,
    RunStatus,
    Stop,
)
from matins.domain.jobs.retry import read_policy
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import Target
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.fingerprint import failure_of
from matins.domain.runs.inputs import RunInput, with_input
from matins.domain.runs.output import OutputBounds
from matins.domain.runs.ranking import Started
from matins.domain.runs.states import SUSPECT_AFTER, Kind, Outcome, RunState, Tried
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import BlockedError, InvalidInputError, ScheduleError
from matins.domain.values.ids import due_of, partition_of
from matins.kernel.ends import note_ends
from matins.store.chains import wake_followers
from matins.store.columns import unless_usual
from matins.store.database import Database
from matins.store.fronts import DequeueResult, Front, Fronts
from matins.store.pools import note_starts
from matins.store.queries import load_queries
from matins.store.settled_polls import SettledPolls

_Q = load_queries("dispatch.sql")
DEFAULT_TIMEOUT = next(
    str(field.default) for field in msgspec.structs.fields(JobSpec) if field.name == "timeout"
)

DELETED = "its job was deleted"
"""The reason of runs that could not begin because of it."""

UNFIT = "its input does not fit its job any more"
"""The reason of runs whose job has got another kind of target since they were triggered."""


class PostgresDispatch:
    """Hands out, records and hears heartbeats; the hot statements have connections of their own."""

    def __init__(
        self,
        dequeues: Database,
        records: Database,
        reads: Database,
        *,
        bounds: OutputBounds = OutputBounds(),  # noqa: B008 # immutable
    ) -> None:
        """`bounds`: of the output that is kept whole."""
        self._dequeues = dequeues
        self._records = records
        self._reads = reads
        self._bounds = bounds
        self._fronts = Fronts()
        self._settled = SettledPolls()

    async def dequeue(self, poll: Poll, pool: str) -> Handout | None:
        """See `domain.ports.Dispatch`."""
        front = self._fronts.of(pool)
        try:
            return await self._dequeue(poll, pool, front)
        except BlockedError:
            locked = await self._dequeues.fetch(
                _Q["locked"],
                pool=pool,
                front=front.begin(),
                passed=front.passed,
                free=poll.free,
            )
            front.block([row["run_id"] for row in locked])
            return await self._dequeue(poll, pool, front)

    async def _dequeue(self, poll: Poll, pool: str, front: Front) -> Handout | None:
        begun = front.begin()
        try:
            rows = await self._dequeues.fetch(
                _Q["dequeue"],
                executor=poll.executor,
                seq=poll.seq,
                pool=pool,
                front=begun,
                passed=front.passed,
                free=poll.free,
                suspect_after=SUSPECT_AFTER,
            )
        except asyncpg.UniqueViolationError:
            # The poll's number was used before: it is a repeat, and gets the answer of the first.
            return await self.find_handout(poll) or Handout()
        if not rows:
            return Handout(unknown=True)  # all that live get at least the row with the counts
        front.note(begun, DequeueResult(*rows[0]["found"]))
        started = [row for row in rows if row["id"]]
        return await self._handout(poll.executor, started) if started else None

    async def find_handout(self, poll: Poll) -> Handout | None:
        """See `domain.ports.Dispatch`."""
        rows = await self._reads.fetch(
            _Q["find_handout"], executor=poll.executor, seq=poll.seq, suspect_after=SUSPECT_AFTER
        )
        return await self._handout(poll.executor, rows) if rows else None

    async def _handout(self, executor: UUID, rows: Sequence[asyncpg.Record]) -> Handout:
        """What can be read is handed out; a run whose job can't be read becomes a dead
        letter.

        A run that was claimed, or was to be tried again, by a statement that was under way while
        its job was deleted, ends here.
        """
        attempts, broken = [], []
        for row in rows:
            if row["is_deleted"]:
                broken.append(_cancelled(row))
                continue
            try:
                attempts.append(_attempt(row, self._bounds))
            except (msgspec.DecodeError, ScheduleError) as error:
                broken.append(_dead(row, f"the stored job can't be read: {error}"))
            except InvalidInputError as error:
                broken.append(_dead(row, f"{UNFIT}: {error}"))
        if broken:
            note_ends(ended.status for ended in await self.record(executor, broken))
        return Handout(attempts)

    async def running_runs(self, executor: UUID, run_ids: Collection[UUID]) -> list[Running]:
        """See `domain.ports.Dispatch`."""
        rows = await self._records.fetch(
            _Q["running_runs"], executor=executor, run_ids=list(run_ids), due_ats=_dues(run_ids)
        )
        return [running_of(row) for row in rows]

    async def record(self, executor: UUID, endings: Sequence[Ending]) -> list[Recorded]:
        """See `domain.ports.Dispatch`."""
        return await record(self._records, executor, endings)

    async def which_recorded(self, ends: Collection[tuple[UUID, int]]) -> set[UUID]:
        """See `domain.ports.Dispatch`."""
        run_ids = [run_id for run_id, _ in ends]
        rows = await self._records.fetch(
            _Q["which_recorded"],
            run_ids=run_ids,
            due_ats=_dues(run_ids),
            numbers=[number for _, number in ends],
        )
        return {row["run_id"] for row in rows}

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """See `domain.ports.Dispatch`.

        Each step commits alone and can be repeated: 1 note the heartbeat, 2 drop the hand-outs that
        are done, 3 put back those that never arrived, 4 find what must end, 5 close a stopped one.
        """
        alive = await self._reads.fetchrow(
            _Q["heartbeat"],
            executor=heartbeat.executor,
            name=heartbeat.name,
            pools=heartbeat.pools,
            slots=heartbeat.slots,
            partition=partition_of(heartbeat.executor),
            next_seq=heartbeat.next_seq,
            undone=[*heartbeat.awaiting, *heartbeat.open],
        )
        if alive is None:
            return HeartbeatAnswer(lost=True)
        if heartbeat.closed:
            await self._reads.fetch(
                _Q["close_handouts"], executor=heartbeat.executor, closed=heartbeat.closed
            )
        unsettled = self._settled.unsettled(heartbeat)
        await self._reads.fetch(
            _Q["put_back"],
            executor=heartbeat.executor,
            firsts=[first for first, _ in unsettled],
            pasts=[past for _, past in unsettled],
            known=[*heartbeat.awaiting, *heartbeat.open, *heartbeat.closed],
            suspect_after=SUSPECT_AFTER,
        )
        self._settled.note(heartbeat)
        stops = await self._to_stop(heartbeat) if heartbeat.held else []
        if heartbeat.stopped:
            await self._reads.fetch(_Q["stop"], executor=heartbeat.executor)
        return HeartbeatAnswer(stops)

    async def queue_depth(self, pool: str, limit: int) -> int:
        """See `domain.ports.Dispatch`."""
        front = self._fronts.of(pool).begin()
        [row] = await self._dequeues.fetch(_Q["queue_depth"], pool=pool, front=front, limit=limit)
        depth: int = row["depth"]
        return depth

    async def free_elsewhere(
        self, pools: Sequence[str], known: Collection[UUID]
    ) -> dict[str, list[int]]:
        """See `domain.ports.Dispatch`."""
        rows = await self._reads.fetch(
            _Q["free_elsewhere"], pools=list(pools), known=list(known), silent=SILENT
        )
        free: dict[str, list[int]] = {}
        for row in rows:
            free.setdefault(row["pool"], []).append(row["free"])
        return free

    async def note_starts(self, started: Sequence[Started]) -> None:
        """See `domain.ports.Dispatch`."""
        await note_starts(self._reads, self._fronts, started)

    async def _to_stop(self, heartbeat: Heartbeat) -> list[Stop]:
        run_ids = [run_id for run_id, _ in heartbeat.held]
        rows = await self._reads.fetch(
            _Q["to_stop"],
            executor=heartbeat.executor,
            run_ids=run_ids,
            due_ats=_dues(run_ids),
            numbers=[number for _, number in heartbeat.held],
        )
        return [
            Stop(row["run_id"], row["number"], "cancelled" if row["cancelled"] else "superseded")
            for row in rows
        ]


async def record(database: Database, executor: UUID, endings: Sequence[Ending]) -> list[Recorded]:
    """Record ends in one statement. Rows are given in the order of their ids, against deadlocks."""
    ordered = sorted(endings, key=lambda ending: ending.end.run_id.int)
    ends = [ending.end for ending in ordered]
    results = [end.result for end in ends]
    outcomes = unless_usual((result.outcome for result in results), Outcome.SUCCEEDED)
    failures = [failure_of(result) for result in results] if outcomes else []
    rows = await database.fetch(
        _Q["record"],
        executor=executor,
        run_ids=[end.run_id for end in ends],
        due_ats=_dues(end.run_id for end in ends),
        numbers=[end.number for end in ends],
        outcomes=outcomes,
        states=unless_usual((ending.state for ending in ordered), RunState.SUCCEEDED),
        reasons=unless_usual((ending.reason for ending in ordered), ""),
        retry_ins=unless_usual((ending.retry_in_s for ending in ordered), None),
        exit_codes=unless_usual((result.exit_code for result in results), None),
        http_statuses=unless_usual((result.http_status for result in results), None),
        attempt_reasons=unless_usual((result.reason for result in results), ""),
        outputs=unless_usual((result.output for result in results), ""),
        output_cuts=unless_usual((result.output_cut for result in results), 0),
        shared=unless_usual((ending.shared for ending in ordered), False),
        fingerprints=[failure.fingerprint for failure in failures],
        errors=[failure.error for failure in failures],
        results=unless_usual((_as_text(result.results) for result in results), ""),
    )
    if any(row["is_followed"] and row["finished_at"] for row in rows):
        await wake_followers(database)
    return [Recorded(status_of(row), row["awaited"]) for row in rows]


def status_of(row: asyncpg.Record) -> RunStatus:
    """Return the status of a run from its row, with `team` and `job` by name."""
    return RunStatus(
        id=row["id"],
        team=row["team"],
        job=row["job"],
        kind=row["kind"],
        state=RunState(row["state"]),
        due_at=row["due_at"],
        fire_at=row["fire_at"],
        attempt=row["attempt"],
        reason=row["reason"],
        claimed_at=row["claimed_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        retry_at=row["retry_at"],
    )


def _attempt(row: asyncpg.Record, bounds: OutputBounds) -> Attempt:
    target = msgspec.json.decode(row["target"], type=Target)
    if row["input"] is not None:
        target = with_input(target, msgspec.json.decode(row["input"], type=RunInput))
    return Attempt(
        run_id=row["id"],
        number=row["attempt"],
        due_at=row["due_at"],
        team=row["team"],
        job=row["job"],
        target=target,
        timeout_s=parse_duration(row["timeout"] or DEFAULT_TIMEOUT),
        kind=Kind(row["kind"]),
        alone=row["alone"],
        started_at=row["started_at"],
        keep_output=bounds.granted(row["keep_output"]),
    )


def _as_text(results: dict[str, str]) -> str:
    return msgspec.json.encode(results).decode() if results else ""


def _cancelled(row: asyncpg.Record) -> Ending:
    result = Result(Outcome.CANCELLED, DELETED)
    return Ending(End(row["id"], row["attempt"], result), RunState.CANCELLED, DELETED)


def _dead(row: asyncpg.Record, reason: str) -> Ending:
    result = Result(Outcome.FAILED, reason, permanent=True)
    return Ending(End(row["id"], row["attempt"], result), RunState.DEAD, reason)


def running_of(row: asyncpg.Record) -> Running:
    """Return a run that is running, with its policy, from its row."""
    return Running(
        run_id=row["id"],
        tried=Tried(
            row["attempt"],
            row["lost_count"],
            row["cancel_requested"],
            row["shared_losses"],
            row["age_s"],
        ),
        policy=read_policy(row["policy"], row["target"]),
    )


def _dues(run_ids: Iterable[UUID]) -> list[datetime]:
    return [due_of(run_id) for run_id in run_ids]
