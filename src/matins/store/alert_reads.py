"""What owners look at of alerts, and the rules that teams set."""

from __future__ import annotations

from typing import Final

import asyncpg
import msgspec

from matins.domain.alerts.deliveries import Notice
from matins.domain.alerts.ruling import rules_of
from matins.domain.alerts.views import Alert, AlertPage, ChannelNotice, JobAlerts
from matins.domain.jobs.alerting import AlertRule, AlertRules
from matins.domain.jobs.spec import JobSpec
from matins.domain.values.errors import NotFoundError
from matins.domain.values.names import check_name
from matins.store.database import Database
from matins.store.job_rows import as_json
from matins.store.queries import load_queries

_Q = load_queries("alert_reads.sql")
_NOTICES_MAX: Final = 50


class PostgresAlerts:
    """The alerts of all teams, and their rules."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, team: str | None) -> AlertPage:
        """Return the jobs that are bad, of a team or of all; the newest first."""
        if team is not None:
            check_name("team", team)
        rows = await self._database.fetch(_Q["open"], team=team)
        total = rows[0]["total"] if rows else 0
        return AlertPage([_alert(row) for row in rows], total)

    async def of_job(self, team: str, name: str) -> JobAlerts:
        """Return the rules of a job, how it stands, and what was told of it.

        Raises NotFoundError.
        """
        check_name("team", team)
        check_name("job", name)
        row = await self._database.fetchrow(_Q["job"], team=team, name=name)
        if row is None:
            raise NotFoundError(f"team {team} has no job {name!r}")
        spec = msgspec.json.decode(row["spec"], type=JobSpec)
        alerts = await self._database.fetch(_Q["of_job"], job_id=row["id"])
        notices = await self._database.fetch(_Q["notices"], job_id=row["id"], limit=_NOTICES_MAX)
        rules = rules_of(spec, await self.rules(team))
        return JobAlerts(
            team=team,
            job=name,
            rules=list(rules.values()),
            alerts=[_alert(row) for row in alerts],
            notices=[_channel_notice(row) for row in notices],
            looked_at=row["looked_at"],
        )

    async def rules(self, team: str) -> list[AlertRules]:
        """Return the rules that a team has set, by name."""
        check_name("team", team)
        rows = await self._database.fetch(_Q["rules"], team=team, name=None)
        return [alert_rules_of(row) for row in rows]

    async def put_rules(self, team: str, rules: AlertRules) -> AlertRules | None:
        """See `domain.ports.alerts.RuleStore`."""
        async with self._database.transaction() as session:
            await self._database.make_team(session, team)
            [locked] = await self._database.run(session, _Q["lock"], team=team)
            before = await self._database.run(session, _Q["rules"], team=team, name=rules.name)
            args = {"team_id": locked["id"], "name": rules.name}
            columns = {"labels": as_json(rules.labels), "rules": as_json(rules.rules)}
            await self._database.run(session, _Q["write"], **args, **columns)
            await self._database.run(session, _Q["wake"], team_id=locked["id"])
        return alert_rules_of(before[0]) if before else None

    async def delete_rules(self, team: str, name: str) -> AlertRules | None:
        """See `domain.ports.alerts.RuleStore`."""
        async with self._database.transaction() as session:
            locked = await self._database.run(session, _Q["lock"], team=team)
            before = await self._database.run(session, _Q["rules"], team=team, name=name)
            if not before:
                return None
            team_id = locked[0]["id"]
            await self._database.run(session, _Q["delete"], team_id=team_id, name=name)
            await self._database.run(session, _Q["wake"], team_id=team_id)
        return alert_rules_of(before[0])


def alert_rules_of(row: asyncpg.Record) -> AlertRules:
    """Return the rules that a row holds."""
    return AlertRules(
        row["name"],
        msgspec.json.decode(row["rules"], type=list[AlertRule]),
        msgspec.json.decode(row["labels"], type=dict[str, str]),
    )


def _alert(row: asyncpg.Record) -> Alert:
    return Alert(
        row["team"],
        row["job"],
        row["rule"],
        row["since"],
        row["reason"],
        row["is_notified"],
        row["run_id"],
    )


def _channel_notice(row: asyncpg.Record) -> ChannelNotice:
    columns = dict(row)
    channel, delivery, state = (columns.pop(name) for name in ("channel", "delivery", "state"))
    return ChannelNotice(msgspec.convert(columns, Notice), channel, delivery, state)
