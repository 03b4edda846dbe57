"""What is read for looks at jobs, and written of them. See `domain.ports.alerts.Lookout`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg
import msgspec
import structlog

from matins.domain.alerts.deliveries import GATHER, GATHER_BURST, delivery_id, kind_of
from matins.domain.alerts.edges import RuleStanding
from matins.domain.alerts.facts import JobFacts, SeenRun
from matins.domain.alerts.judging import PUT_OFF, Judged, Subject, channels_of, depth
from matins.domain.alerts.levels import RECENT
from matins.domain.alerts.probing import RUNS, YOUNG, YOUNG_MAX, slices_between
from matins.domain.jobs.alerting import AlertRules
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.windows import Window
from matins.domain.ports.alerts import Announcement
from matins.domain.runs.states import Kind, RunState
from matins.domain.timetables.timetable import Timetable
from matins.store.alert_reads import alert_rules_of
from matins.store.database import Database
from matins.store.job_rows import as_json
from matins.store.past import day_ranges
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars, Versions, schedule_of, timing_of
from matins.store.windows import window_of

_Q = load_queries("alerts.sql")

_KINDS: Final = {kind.value: kind for kind in Kind}
_STATES: Final = {state.value: state for state in RunState}
"""Looked up for thousands of runs: calling the enumeration costs four times as much."""

log = structlog.get_logger()

Session = asyncpg.pool.PoolConnectionProxy


class PostgresLookout:
    """The jobs of all teams that have a channel."""

    def __init__(self, database: Database, calendars: KnownCalendars) -> None:
        self._database = database
        self._calendars = calendars

    async def wake(self) -> None:
        """See `domain.ports.alerts.Lookout`."""
        async with self._database.transaction() as session:
            [row] = await self._run(session, "begin")
            args = {"since": row["since"], "at": row["now"]}
            await self._run(session, "wake_changed", **args)
            await self._run(session, "wake_dead", **args)
            slices = slices_between(row["woken_until"], row["now"])
            bad = {"young": YOUNG, "young_max": YOUNG_MAX, "slices": slices, "runs": RUNS}
            await self._run(session, "wake_bad", **bad, at=row["now"])
            await self._run(session, "woken", at=row["now"])

    async def due(self, limit: int) -> list[Subject]:
        """See `domain.ports.alerts.Lookout`."""
        rows = await self._database.fetch(_Q["due"], limit=limit)
        if not rows:
            return []
        team_ids, now = list({row["team_id"] for row in rows}), rows[0]["now"]
        rules = await self._team_rules(team_ids)
        windows = await self._team_windows(team_ids, now)
        standings = await self._standings([row["job_id"] for row in rows])
        versions = await self._calendars.versions(self._database.fetch, rows)
        specs = {}
        for row in rows:
            try:
                specs[row["job_id"]] = msgspec.json.decode(row["spec"], type=JobSpec)
            except msgspec.MsgspecError as error:
                log.warning("alerts.unreadable", job=str(row["job_id"]), error=str(error))
        await self._put_off([row["job_id"] for row in rows if row["job_id"] not in specs], now)
        rows = [row for row in rows if row["job_id"] in specs]
        runs = await self._recent(
            {row["job_id"]: depth(specs[row["job_id"]], rules[row["team_id"]]) for row in rows}
        )
        return [
            Subject(
                facts=_facts(row, specs[row["job_id"]], runs[row["job_id"]]),
                team=row["team"],
                believed=row["looked_at"],
                was_active=row["was_active"],
                took_s=row["took_s"],
                revision=row["revision"],
                of_team=rules[row["team_id"]],
                windows=windows[row["team_id"]],
                standings=standings[row["job_id"]],
                timetable=_timetable(row, specs[row["job_id"]], versions),
            )
            for row in rows
        ]

    async def write(
        self, looked: Sequence[tuple[Subject, Judged]], announcements: Sequence[Announcement]
    ) -> set[UUID]:
        """See `domain.ports.alerts.Lookout`."""
        if not looked:
            return set()
        at = looked[0][0].facts.now
        async with self._database.transaction() as session:
            job_ids = [subject.facts.job_id for subject, _ in looked]
            believed = [subject.believed for subject, _ in looked]
            rows = await self._run(session, "lock", job_ids=job_ids, believed=believed)
            ours = {row["job_id"] for row in rows}
            own = [(subject, judged) for subject, judged in looked if judged.facts.job_id in ours]
            await self._run(session, "write", at=at, **_watched(own))
            await self._run(session, "stand", **_standing(own))
            await self._run(session, "forget_deleted", job_ids=list(ours))
            own_news = [item for item in announcements if item.notice.job_id in ours]
            if own_news:
                await self._announce(session, at, own_news)
        return ours

    async def _announce(
        self, session: Session, at: datetime, announcements: Sequence[Announcement]
    ) -> None:
        teams = list({item.notice.team for item in announcements})
        ids: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for row in await self._run(session, "channels", teams=teams):
            ids[row["team"]][row["name"]] = row["id"]
        groups: defaultdict[tuple[int, str], list[Announcement]] = defaultdict(list)
        for item in announcements:
            known = ids[item.notice.team]
            for name in channels_of(item.named, known):
                groups[known[name], kind_of(item.notice.turn)].append(item)
        for (channel_id, kind), group in sorted(groups.items(), key=lambda pair: pair[0]):
            [row] = await self._run(
                session,
                "gather",
                id=delivery_id(channel_id, kind, [item.edge_id for item in group]),
                channel_id=channel_id,
                kind=kind,
                at=at,
                job_id=group[0].notice.job_id,
                is_burst=len({item.notice.job_id for item in group}) > 1,
                gather_burst=GATHER_BURST,
                gather=GATHER,
            )
            columns = _noticed(group)
            place = {"channel_id": channel_id, "delivery_id": row["id"], "at": at}
            await self._run(session, "notice", **place, **columns)

    async def _team_rules(self, team_ids: list[int]) -> Mapping[int, list[AlertRules]]:
        rules: defaultdict[int, list[AlertRules]] = defaultdict(list)
        for row in await self._database.fetch(_Q["team_rules"], team_ids=team_ids):
            rules[row["team_id"]].append(alert_rules_of(row))
        return rules

    async def _team_windows(self, team_ids: list[int], at: datetime) -> Mapping[int, list[Window]]:
        windows: defaultdict[int, list[Window]] = defaultdict(list)
        for row in await self._database.fetch(_Q["team_windows"], team_ids=team_ids, at=at):
            windows[row["team_id"]].append(window_of(row))
        return windows

    async def _standings(self, job_ids: list[UUID]) -> Mapping[UUID, dict[str, RuleStanding]]:
        standings: defaultdict[UUID, dict[str, RuleStanding]] = defaultdict(dict)
        for row in await self._database.fetch(_Q["standings"], job_ids=job_ids):
            standing = msgspec.json.decode(row["standing"], type=RuleStanding)
            standings[row["job_id"]][row["rule"]] = standing
        return standings

    async def _recent(self, depths: Mapping[UUID, int]) -> Mapping[UUID, list[SeenRun]]:
        """Return so many of each job's newest runs, as far as the first stretch of days has them,
        and the one that died last: it may have been tried while many others came and went.

        For a rule that counts runs, further stretches are read.
        """
        runs: defaultdict[UUID, list[SeenRun]] = defaultdict(list)
        missing, is_first = dict(depths), True
        async for days in day_ranges(self._database.fetch):
            if not missing:
                break
            args = {"job_ids": list(missing), "depths": list(missing.values())}
            for row in await self._database.fetch(days.pin(_Q["recent"]), **args):
                runs[row["job_id"]].append(_seen(row))
            missing = {
                job_id: depths[job_id] - len(runs[job_id])
                for job_id in missing
                if len(runs[job_id]) < depths[job_id] and (not is_first or depths[job_id] != RECENT)
            }
            is_first = False
        for row in await self._database.fetch(_Q["newest_deaths"], job_ids=list(depths)):
            if row["id"] not in {run.id for run in runs[row["job_id"]]}:
                runs[row["job_id"]].append(_seen(row))
        return runs

    async def _put_off(self, job_ids: list[UUID], now: datetime) -> None:
        if job_ids:
            await self._database.fetch(_Q["put_off"], job_ids=job_ids, until=now + PUT_OFF)

    async def _run(self, session: Session, query: str, **args: object) -> list[asyncpg.Record]:
        return await self._database.run(session, _Q[query], **args)


def _facts(row: asyncpg.Record, spec: JobSpec, runs: Sequence[SeenRun]) -> JobFacts:
    return JobFacts(
        now=row["now"],
        job_id=row["job_id"],
        spec=spec,
        state=JobState(row["state"]),
        reason=row["reason"],
        changed_at=row["changed_at"],
        runs=runs,
        watched_from=row["made_at"],
        expect_from=row["expect_from"],
        succeeded_at=row["succeeded_at"],
        next_fire_at=row["next_fire_at"],
        next_due_at=row["next_due_at"],
    )


def _timetable(row: asyncpg.Record, spec: JobSpec, versions: Versions) -> Timetable | None:
    """Return when a job is due; None where nothing tells, or it can't be computed."""
    if not spec.is_timed or row["state"] != "active":
        return None
    try:
        return timing_of(row, versions).compile(schedule_of(row["schedule"]), row["job_id"])
    except Exception as error:  # whatever somebody has put there: its scheduler says so
        log.warning("alerts.no_timetable", job=str(row["job_id"]), error=str(error))
        return None


def _seen(row: asyncpg.Record) -> SeenRun:
    _, run_id, kind, state, *others = row.values()
    return SeenRun(run_id, _KINDS[kind], _STATES[state], *others)


def _watched(looked: Sequence[tuple[Subject, Judged]]) -> dict[str, list[object]]:
    facts = [judged.facts for _, judged in looked]
    return {
        "job_ids": [seen.job_id for seen in facts],
        "look_ats": [judged.look_at for _, judged in looked],
        "bad_sinces": [judged.bad_since for _, judged in looked],
        "expect_froms": [seen.expect_from for seen in facts],
        "succeeded_ats": [seen.succeeded_at for seen in facts],
        "took_ss": [judged.took_s for _, judged in looked],
        "revisions": [subject.revision for subject, _ in looked],
        "actives": [seen.state is JobState.ACTIVE for seen in facts],
    }


def _standing(looked: Sequence[tuple[Subject, Judged]]) -> dict[str, list[object]]:
    rows = [
        (judged.facts.job_id, rule, standing)
        for _, judged in looked
        for rule, standing in judged.standings.items()
    ]
    return {
        "job_ids": [job_id for job_id, _, _ in rows],
        "rules": [rule for _, rule, _ in rows],
        "bads": [standing.is_bad for _, _, standing in rows],
        "notified": [standing.is_notified for _, _, standing in rows],
        "sinces": [standing.since for _, _, standing in rows],
        "reasons": [standing.reason for _, _, standing in rows],
        "run_ids": [standing.run_id for _, _, standing in rows],
        "standings": [as_json(standing) for _, _, standing in rows],
    }


def _noticed(group: Sequence[Announcement]) -> dict[str, list[object]]:
    notices = [item.notice for item in group]
    return {
        "edge_ids": [item.edge_id for item in group],
        "job_ids": [notice.job_id for notice in notices],
        "rules": [notice.rule for notice in notices],
        "turns": [notice.turn.value for notice in notices],
        "sinces": [notice.since for notice in notices],
        "reasons": [notice.reason for notice in notices],
        "run_ids": [notice.run_id for notice in notices],
    }
