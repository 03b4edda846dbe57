"""The jobs that are looked at, in memory. See `domain.ports.alerts.Lookout`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID

from matins.domain.alerts.deliveries import GATHER, GATHER_BURST, DeliveryKind, delivery_id, kind_of
from matins.domain.alerts.facts import JobFacts, SeenRun
from matins.domain.alerts.judging import Judged, Subject, channels_of, depth
from matins.domain.alerts.probing import RUNS, YOUNG, YOUNG_MAX, slice_of, slices_between
from matins.domain.jobs.spec import JobState
from matins.domain.ports.alerts import Announcement
from matins.domain.runs.states import Kind, RunState
from matins.domain.timetables.timetable import Timetable
from matins.testing.memory.alert_rows import DeliveryRow, NoticeRow, WatchRow
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import JobRow, World

_COMMITS_WITHIN: Final = timedelta(seconds=30)
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Before all that is only looked at again."""


class MemoryLookout:
    """The watched jobs of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def wake(self) -> None:
        """See `domain.ports.alerts.Lookout`."""
        now, tables = self._world.now(), self._world.alerts
        since = min(tables.woken_until or now, now) - _COMMITS_WITHIN
        for job in self._world.jobs.values():
            if job.changed_at > since:
                self._wake_changed(job, now)
        for letter in self._world.dead_letters.values():
            watch = tables.watches.get(self._world.runs_by_id[letter.run_id].job_id)
            if letter.dead_at > since and watch is not None:
                is_seen = watch.looked_at is not None and letter.dead_at < watch.looked_at
                tables.wake(watch, now if is_seen else _FIRST)
        slices = slices_between(tables.woken_until or now, now)
        bad = [(watch.bad_since, watch) for watch in tables.watches.values() if watch.bad_since]
        bad.sort(key=lambda pair: pair[0], reverse=True)
        for place, (since, watch) in enumerate(bad):
            is_young = since > now - YOUNG and place < YOUNG_MAX
            if is_young or slice_of(watch.job_id) in slices:
                self._wake_bad(watch, now)
        tables.woken_until = now

    async def due(self, limit: int) -> list[Subject]:
        """See `domain.ports.alerts.Lookout`."""
        now = self._world.now()
        due = [watch for watch in self._world.alerts.watches.values() if watch.look_at <= now]
        due.sort(key=lambda watch: watch.look_at)
        return [self._subject(watch, now) for watch in due[:limit]]

    async def write(
        self, looked: Sequence[tuple[Subject, Judged]], announcements: Sequence[Announcement]
    ) -> set[UUID]:
        """See `domain.ports.alerts.Lookout`."""
        if not looked:
            return set()
        at, tables = looked[0][0].facts.now, self._world.alerts
        ours = set()
        for subject, judged in looked:
            job_id = judged.facts.job_id
            watch = tables.watches.get(job_id)
            if watch is None or watch.looked_at != subject.believed:
                continue
            ours.add(job_id)
            tables.put(_looked_at(watch, subject, judged, at))
            tables.standings.setdefault(job_id, {}).update(judged.standings)
            if self._world.jobs[job_id].state is JobState.DELETED:
                tables.stop_watching(job_id)
        self._announce(at, [item for item in announcements if item.notice.job_id in ours])
        return ours

    def _wake_changed(self, job: JobRow, now: datetime) -> None:
        tables = self._world.alerts
        channels = tables.channels_of(job.team).values()
        if job.state is JobState.DELETED or not channels:
            return
        watch = tables.watches.get(job.id)
        if watch is None:
            told_from = max(job.created_at, min(channel.made_at for channel in channels))
            tables.put(WatchRow(job.id, job.team, now, told_from, told_from))
        elif watch.revision != job.revision:
            tables.wake(watch, now)

    def _wake_bad(self, watch: WatchRow, now: datetime) -> None:
        assert watch.looked_at is not None
        job, since = self._world.jobs[watch.job_id], watch.looked_at - _COMMITS_WITHIN
        newest = self._recent(job, RUNS)
        changed = any(
            max(at for at in (run.claimed_at, run.started_at, run.finished_at) if at) > since
            for run in newest
            if run.state is not RunState.DEAD
        )
        if changed or watch.looked_at > now or watch.revision != job.revision:
            tables = self._world.alerts
            tables.wake(watch, max(now, watch.looked_at + timedelta(seconds=1)))

    def _subject(self, watch: WatchRow, now: datetime) -> Subject:
        job, tables = self._world.jobs[watch.job_id], self._world.alerts
        of_team = tables.rules_of(job.team)
        facts = JobFacts(
            now=now,
            job_id=job.id,
            spec=job.spec,
            state=JobState(job.state),
            reason=job.reason,
            changed_at=job.changed_at,
            runs=self._recent(job, depth(job.spec, of_team)),
            watched_from=watch.made_at,
            expect_from=watch.expect_from,
            succeeded_at=watch.succeeded_at,
            next_fire_at=job.next_fire_at,
            next_due_at=job.next_due_at,
        )
        windows = self._world.rules_of(job.team_id).windows
        return Subject(
            facts=facts,
            team=job.team,
            believed=watch.looked_at,
            was_active=watch.was_active,
            took_s=watch.took_s,
            revision=job.revision,
            of_team=of_team,
            windows=[window for window in windows if window.starts_at <= now < window.ends_at],
            standings=dict(tables.standings.get(job.id, {})),
            timetable=_timetable(job),
        )

    def _recent(self, job: JobRow, count: int) -> list[SeenRun]:
        newest = reversed(self._world.runs_by_job.get(job.id, []))
        counted = (run for run in newest if run.kind is not Kind.BACKFILL)
        recent = list(islice(counted, count))
        death = self._newest_death(job)
        if death is not None and death not in recent:
            recent.append(death)
        return [_seen(run) for run in recent]

    def _newest_death(self, job: JobRow) -> RunRow | None:
        letters = self._world.dead_letters.values()
        runs = [(letter.dead_at, self._world.runs_by_id[letter.run_id]) for letter in letters]
        own = [
            (at, run) for at, run in runs if run.job_id == job.id and run.kind is not Kind.BACKFILL
        ]
        return max(own, key=lambda pair: pair[0], default=(None, None))[1]

    def _announce(self, at: datetime, announcements: Sequence[Announcement]) -> None:
        groups: defaultdict[tuple[int, DeliveryKind], list[Announcement]] = defaultdict(list)
        for item in announcements:
            known = self._world.alerts.channels_of(item.notice.team)
            for name in channels_of(item.named, known):
                groups[known[name].id, kind_of(item.notice.turn)].append(item)
        for (channel_id, kind), group in sorted(groups.items(), key=lambda pair: pair[0]):
            delivery = self._gather(channel_id, kind, group, at)
            for item in group:
                row = NoticeRow(delivery.id, item.notice)
                self._world.alerts.notices.setdefault((channel_id, item.edge_id), row)

    def _gather(
        self, channel_id: int, kind: DeliveryKind, group: Sequence[Announcement], at: datetime
    ) -> DeliveryRow:
        """Return the message that is still open, or a new one."""
        tables = self._world.alerts
        jobs = {item.notice.job_id for item in group}
        for row in tables.deliveries.values():
            if row.is_open and (row.channel_id, row.kind) == (channel_id, kind):
                jobs |= {notice.job_id for notice in tables.notices_of(row.id)}
                send_at = row.made_at + GATHER_BURST if len(jobs) > 1 else row.send_at
                gathered = replace(row, send_at=send_at)
                break
        else:
            gathered = DeliveryRow(
                id=delivery_id(channel_id, kind, [item.edge_id for item in group]),
                channel_id=channel_id,
                team=group[0].notice.team,
                kind=kind,
                made_at=at,
                send_at=at + (GATHER_BURST if len(jobs) > 1 else GATHER),
                is_open=True,
            )
        tables.put(gathered)
        return gathered


def _looked_at(watch: WatchRow, subject: Subject, judged: Judged, at: datetime) -> WatchRow:
    return replace(
        watch,
        looked_at=at,
        look_at=judged.look_at,
        bad_since=judged.bad_since,
        expect_from=judged.facts.expect_from,
        succeeded_at=judged.facts.succeeded_at,
        took_s=judged.took_s,
        revision=subject.revision,
        was_active=judged.facts.state is JobState.ACTIVE,
    )


def _timetable(job: JobRow) -> Timetable | None:
    if job.spec.schedule is None or not job.spec.is_timed or job.state is not JobState.ACTIVE:
        return None
    return job.timing.compile(job.spec.schedule, job.id)


def _seen(run: RunRow) -> SeenRun:
    return SeenRun(*(getattr(run, name) for name in SeenRun._fields))
