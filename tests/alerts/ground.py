"""A team's jobs, whose runs end as the test says, and the two services that alerts are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from tests.alerts.receivers import Hooks
from tests.api.served import KEY, Owner

from matins.alerts.channels.by_apprise import send_by_apprise
from matins.alerts.channels.webhook import WebhookSender
from matins.alerts.delivering import DeliveryService
from matins.alerts.watching import AlertWatch
from matins.domain.status.findings import Finding, FindingKind
from matins.domain.status.judging import Sight, judge
from matins.domain.values.ids import partition_of, run_id
from matins.kernel.clock import HostClock
from matins.kernel.sealing import Sealer
from matins.store.alerts import PostgresLookout
from matins.store.database import Database
from matins.store.locks import PostgresLocks
from matins.store.outbox import PostgresOutbox
from matins.store.status import PostgresStatusReads
from matins.store.timings import KnownCalendars

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
TEAM = "/v1/teams/payments"
COMMAND: dict[str, Any] = {"command": {"argv": ["true"]}}
DAILY = {"cron": "0 12 * * *"}


class Ground:
    """One team, at a time that the test sets."""

    def __init__(self) -> None:
        self.now = NOON
        self.owner: Owner
        self.database: Database

    async def open(self, database: Database, owner: Owner) -> None:
        self.database, self.owner = database, owner
        self._sender = WebhookSender()
        self.watch, self.delivery = self.services(database)
        await self.execute("UPDATE alert_looks SET woken_until = $1", NOON - timedelta(days=1))

    def services(self, database: Database) -> tuple[AlertWatch, DeliveryService]:
        """What another API process would run."""
        outbox, clock = PostgresOutbox(database), HostClock()
        lookout = PostgresLookout(database, KnownCalendars())
        senders: Any = {"webhook": self._sender, "apprise": send_by_apprise}
        return (
            AlertWatch(lookout, outbox, PostgresLocks(database), clock, 1.0),
            DeliveryService(outbox, Sealer([KEY]), senders, clock, 1.0),
        )

    async def close(self) -> None:
        await self.delivery.settle()
        self._sender.close()

    async def channel(self, name: str = "oncall", **written: str) -> str:
        """Make a channel; return its key, if it has one."""
        reply = await self.owner.put(f"{TEAM}/channels/{name}", {"name": name} | written)
        assert reply.status == 200, reply.text
        key: str = reply.json["key"]
        return key

    async def job(self, name: str = "nightly", **written: Any) -> UUID:
        spec = {"name": name, "target": COMMAND, "schedule": DAILY} | written
        reply = await self.owner.put(f"{TEAM}/jobs/{name}", spec)
        assert reply.status == 200, reply.text
        return UUID(reply.json["job"]["id"])

    async def watched_job(self, hooks: Hooks, **written: Any) -> UUID:
        """Make a job that has been looked at, and whose owner is told by webhooks."""
        await self.channel(webhook=hooks.url)
        job = await self.job(**written)
        await self.look()
        return job

    def go(self, **span: float) -> None:
        """Let time pass."""
        self.now += timedelta(**span)

    async def run(self, job: UUID, state: str, *, took_s: float = 1.0, **columns: Any) -> UUID:
        """Let a run of a job end now, as one that was due when it began."""
        begun = (self.now - timedelta(seconds=took_s)).replace(microsecond=0)
        run = run_id(job, begun, "scheduled")
        is_over = state in ("succeeded", "dead", "skipped", "cancelled")
        row = {
            "id": run,
            "job_id": job,
            "due_at": begun,
            "fire_at": begun,
            "claimed_at": begun,
            "started_at": None if state in ("queued", "waiting", "skipped") else begun,
            "finished_at": self.now if is_over else None,
            "executor": uuid4() if state == "running" else None,
            "epoch": 1,
            "team_id": await self.value("SELECT team_id FROM jobs WHERE id = $1", job),
            "attempt": 0 if state in ("queued", "waiting", "skipped") else 1,
            "partition": partition_of(job),
            "priority": 1,
            "kind": "scheduled",
            "state": state,
            "pool": "default",
            "reason": "exit code 1" if state == "dead" else "",
        } | columns
        names = ", ".join(row)
        marks = ", ".join(f"${number}" for number in range(1, len(row) + 1))
        await self.execute("SELECT ensure_day($1::date)", row["due_at"].date())
        await self.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", *row.values())
        if state == "dead":
            await self.execute(
                "INSERT INTO dead_letters (run_id, due_at, job_id, team_id, dead_at, reason)"
                " VALUES ($1, $2, $3, $4, $5, $6)",
                *(run, begun, job, row["team_id"], self.now, row["reason"]),
            )
            await self.execute(
                "INSERT INTO attempts VALUES ($1, $2, 1, $3, $2, $4, 'failed', $5, 1, NULL, $6, 0)",
                *(run, begun, uuid4(), self.now, row["reason"], "line 1\nboom\n"),
            )
        return run

    async def look(self) -> int:
        return await self.watch.look()

    async def deliver(self) -> None:
        """Send all that is due."""
        await self.delivery.take()
        await self.delivery.settle()

    async def tell(self) -> None:
        """Look, and send what came of it, when it has waited for more of its kind."""
        await self.look()
        self.go(minutes=1)
        await self.deliver()

    async def failing(self) -> list[Finding]:
        """Return what the status says of channels."""
        late = timedelta(seconds=1)
        facts = await PostgresStatusReads(self.database).facts(late)
        findings = judge(Sight(self.now, self.now - 2 * late, facts), late).findings
        return [finding for finding in findings if finding.kind is FindingKind.CHANNEL]

    async def alert(self, job: UUID) -> dict[str, tuple[bool, bool]]:
        """Return of each rule whether the job is bad by it, and whether that was told."""
        rows = await self.rows("SELECT rule, is_bad, told FROM alerts WHERE job_id = $1", job)
        return {row["rule"]: (row["is_bad"], row["told"]) for row in rows}

    async def execute(self, sql: str, *arguments: object) -> None:
        async with self.database.session() as session:
            await session.execute(sql, *arguments)

    async def value(self, sql: str, *arguments: object) -> Any:
        async with self.database.session() as session:
            return await session.fetchval(sql, *arguments)

    async def rows(self, sql: str, *arguments: object) -> Any:
        async with self.database.session() as session:
            return await session.fetch(sql, *arguments)
