"""The waiting room in memory. See `domain.ports.WaitingRoom`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import msgspec

from matins.domain.runs.admission.waiting import (
    Candidate,
    CarriedOut,
    Decision,
    Facts,
    Rules,
    Waiting,
)
from matins.domain.runs.claims import Mark
from matins.domain.runs.states import RunState
from matins.testing.memory.agenda import first_places
from matins.testing.memory.rows import WaitingRow
from matins.testing.memory.world import RunRow, World


class MemoryWaitingRoom:
    """What waits in a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def load(self, after: Mapping[int, Mark], until: datetime, share: int) -> list[Waiting]:
        """See `domain.ports.WaitingRoom`."""
        rooms, now = self._world.waiting, self._world.now()
        for (partition, run_id), row in rooms.items():
            outdated = (
                row.asked is not None and row.asked < self._world.rules_of(row.team_id).revision
            )
            if outdated and row.ready_at > now and partition in after:
                rooms[partition, run_id] = replace(row, ready_at=now)
        places = ((partition, Mark(row.ready_at, run)) for (partition, run), row in rooms.items())
        return [
            self._waiting(partition, mark, rooms[partition, mark.id])
            for partition, mark in first_places(places, after, until, share)
        ]

    def _waiting(self, partition: int, mark: Mark, row: WaitingRow) -> Waiting:
        run = self._world.runs_by_id.get(mark.id)
        pool, priority = (run.pool, run.priority) if run else ("", 1)
        return Waiting(mark.id, partition, mark.at, row.team_id, row.cause, pool, priority)

    async def look_up(self, batch: Sequence[Waiting]) -> Facts:
        """See `domain.ports.WaitingRoom`."""
        teams = {run.team_id for run in batch if run.team_id is not None}
        now = self._world.now()
        rules = {team: _from(self._world.rules_of(team), now) for team in teams}
        candidates = {
            run.run_id: self._candidate(run.cause, self._world.runs_by_id[run.run_id])
            for run in batch
            if run.team_id is not None and not rules[run.team_id].hold_nothing()
        }
        return Facts(now, rules, candidates)

    async def carry_out(
        self, holder: UUID, epochs: Mapping[int, int], decisions: Sequence[Decision]
    ) -> CarriedOut:
        """See `domain.ports.WaitingRoom`."""
        wanted = {decision.waiting.partition for decision in decisions}
        fenced = self._world.fence(holder, epochs) & wanted
        outdated = {
            team
            for decision in decisions
            if (team := decision.waiting.team_id) is not None
            and not self._is_current(team, decision.rules)
        }
        done = CarriedOut(wanted - fenced, outdated)
        for decision in decisions:
            place = decision.waiting
            key = (place.partition, place.run_id)
            row = self._world.waiting.get(key)
            if place.partition not in fenced or place.team_id in outdated:
                continue
            if row is not None and row.ready_at == place.ready_at:
                del self._world.waiting[key]
                run = self._world.runs_by_id[place.run_id]
                if run.state in (RunState.WAITING, RunState.RETRYING):
                    self._move(run, decision)
                    if decision.verdict.state is RunState.QUEUED:
                        done.pools.add(run.pool)
        return done

    def _candidate(self, cause: str, run: RunRow) -> Candidate:
        labels = self._world.jobs[run.job_id].spec.labels
        return Candidate(cause, run.kind, run.fire_at, run.claimed_at, labels)

    def _is_current(self, team_id: int, rules: Rules | None) -> bool:
        """Return whether rules are what still holds."""
        if rules is None or rules.revision != self._world.rules_of(team_id).revision:
            return False
        return rules.valid_until is None or rules.valid_until > self._world.now()

    def _move(self, run: RunRow, decision: Decision) -> None:
        now, verdict = self._world.now(), decision.verdict
        if verdict.state is not RunState.QUEUED or run.state is not RunState.RETRYING:
            run.reason = verdict.reason
        run.retry_at = None
        if verdict.state is RunState.SKIPPED:
            run.finished_at = now
        if verdict.state is RunState.WAITING:
            assert verdict.until is not None
            place = run, verdict.until, verdict.cause
            self._world.wait(*place, blocker=verdict.blocker, asked=decision.revision)
        if run.state is not verdict.state:
            self._world.move(run, verdict.state)
        if verdict.state is RunState.QUEUED:
            self._world.enqueue(run, decision.rank)


def _from(rules: Rules, now: datetime) -> Rules:
    """Return the rules, and until when they hold from now on."""
    coming = [window.starts_at for window in rules.windows if window.starts_at > now]
    return msgspec.structs.replace(rules, valid_until=min(coming, default=None))
