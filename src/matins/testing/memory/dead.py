"""Dead letters and their replays in memory. See `domain.ports.dead`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

import msgspec

from matins.domain.jobs.limits import parse_rate
from matins.domain.jobs.spec import JobState
from matins.domain.ports.dead import NewReplay
from matins.domain.runs.admission.waiting import RETRY
from matins.domain.runs.dead import DeadChoice, Dismissal
from matins.domain.runs.replays import OpenReplay, Replay, ReplayState, ReplayStep, end_of
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.ids import partition_of
from matins.testing.memory.rows import LetterRow, ReplayRow, RunRow
from matins.testing.memory.world import World


class MemoryDeadLetters:
    """The dead letters of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def dismiss(
        self, team: str, letters: DeadChoice, dismissal: Dismissal, limit: int
    ) -> int:
        """See `domain.ports.dead.LetterChanges`."""
        chosen = _chosen_letters(self._world, team, letters)[:limit]
        for letter in chosen:
            closed = replace(letter, dismissed_at=self._world.now(), dismissal=dismissal)
            self._world.dead_letters[letter.run_id] = closed
        return len(chosen)


class MemoryReplays:
    """The replays of a world: both sides of them."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def create(self, replay: NewReplay) -> bool:
        """See `domain.ports.dead.ReplayChanges`."""
        if replay.team not in self._world.teams:
            return False
        now, wanted = self._world.now(), replay.letters
        until = now if wanted.until is None else min(wanted.until, now)
        planned = len(_chosen_letters(self._world, replay.team, wanted))
        spacing = parse_rate(wanted.rate).spacing
        self._world.replays[replay.id] = ReplayRow(
            replay.id,
            replay.team,
            msgspec.structs.replace(wanted, until=until),
            replay.by,
            made_at=now,
            planned=planned,
            paced_at=now - spacing,
        )
        return True

    async def cancel(self, replay_id: UUID) -> bool:
        """See `domain.ports.dead.ReplayChanges`."""
        row = self._world.replays.get(replay_id)
        if row is None or row.finished_at is not None:
            return False
        self._world.replays[replay_id] = replace(
            row,
            state=ReplayState.CANCELLED,
            step=row.step + 1,
            finished_at=self._world.now(),
        )
        return True

    async def find_replay(self, replay_id: UUID) -> Replay | None:
        """See `domain.ports.dead.ReplayChanges`."""
        row = self._world.replays.get(replay_id)
        if row is None:
            return None
        assert row.letters.until is not None
        replay = Replay(
            id=row.id,
            team=row.team,
            state=row.state,
            rate=row.letters.rate,
            planned=row.planned,
            replayed=row.replayed,
            left_out=row.left_out,
            made_at=row.made_at,
            made_by=row.made_by,
            until=row.letters.until,
            job=row.letters.job,
            fingerprint=row.letters.fingerprint,
            since=row.letters.since,
            finished_at=row.finished_at,
        )
        return end_of(replay, self._world.now())

    async def unfinished_replays(self, partitions: Collection[int]) -> list[OpenReplay]:
        """See `domain.ports.dead.Replays`."""
        rows = sorted(self._world.replays.values(), key=lambda row: row.id)
        return [
            OpenReplay(
                row.id, row.letters.rate, row.mark, row.paced_at, row.step, self._world.now()
            )
            for row in rows
            if row.finished_at is None and partition_of(row.id) in partitions
        ]

    async def next_letters(self, replay_id: UUID, limit: int) -> list[UUID]:
        """See `domain.ports.dead.Replays`."""
        row = self._world.replays[replay_id]
        letters = _chosen_letters(self._world, row.team, row.letters)
        mark = row.mark or UUID(int=0)
        return [letter.run_id for letter in letters if letter.run_id > mark][:limit]

    async def proceed(self, step: ReplayStep) -> int:
        """See `domain.ports.dead.Replays`."""
        row = self._world.replays.get(step.replay.id)
        if row is None or row.finished_at is not None or row.step != step.replay.step:
            return 0
        chosen = {letter.run_id for letter in _chosen_letters(self._world, row.team, row.letters)}
        runs = [self._world.runs_by_id[run] for run in step.run_ids if run in chosen]
        count = sum(reopen(self._world, run, row.made_by) for run in runs)
        self._world.replays[row.id] = replace(
            row,
            step=row.step + 1,
            mark=step.mark,
            paced_at=step.paced_at,
            replayed=row.replayed + count,
            left_out=row.left_out + len(step.run_ids) - count,
            state=ReplayState.DONE if step.is_last else row.state,
            finished_at=self._world.now() if step.is_last else None,
        )
        return count


def reopen(world: World, run: RunRow, by: str) -> bool:
    """Let a dead run wait for one attempt more, and close its letter; False if it can't go on."""
    job = world.jobs[run.job_id]
    schedules = [revision.spec.schedule for revision in world.revisions[job.id]]
    counted = run.kind is Kind.SCHEDULED and any(
        schedule and schedule.follows_end for schedule in schedules
    )
    letter = world.dead_letters.get(run.id)
    if letter is None or letter.replayed_as or counted or job.state is JobState.DELETED:
        return False
    if job.spec.target.checkin is not None:
        return False
    run.reason, run.replayed_by = f"replayed by {by or 'its owner'}", by
    run.retry_at, run.finished_at = world.now(), None
    run.awaits_replay = True
    del world.dead_letters[run.id]
    world.wait(run, run.retry_at, RETRY)
    world.move(run, RunState.RETRYING)
    world.link_again(job, run.due_at)
    if run.kind is not Kind.BACKFILL:
        job.open_since = min(job.open_since, run.due_at)
    return True


def _chosen_letters(world: World, team: str, letters: DeadChoice) -> list[LetterRow]:
    """Return the open letters that are asked for, oldest due time first."""
    chosen = [
        letter for letter in world.dead_letters.values() if _is_chosen(world, letter, team, letters)
    ]
    return sorted(chosen, key=lambda letter: letter.run_id)


def _is_chosen(world: World, letter: LetterRow, team: str, letters: DeadChoice) -> bool:
    job = world.jobs[world.runs_by_id[letter.run_id].job_id]
    return (
        letter.is_open
        and job.team == team
        and letters.job in (None, job.spec.name)
        and letters.fingerprint in (None, letter.failure.fingerprint)
        and (letters.since is None or letter.dead_at >= letters.since)
        and (letters.until is None or letter.dead_at < letters.until)
        and (letters.runs is None or letter.run_id in letters.runs)
    )
