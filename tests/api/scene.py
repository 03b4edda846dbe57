"""A job and its ledger, at times that the test sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from tests.api.served import JOBS, Hands, Owner

from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.claims import Claim
from matins.domain.values.ids import partition_of, run_id
from matins.store.agenda import PostgresAgenda
from matins.store.database import Database
from matins.store.leases import PostgresLeases
from matins.store.waiting import PostgresWaitingRoom

JOB = f"{JOBS}/nightly"
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
MINUTELY = {"cron": "* * * * *"}


def minute(number: int, second: int = 0) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=number, seconds=second)


class Scene:
    """A job that is due every minute, from noon on."""

    def __init__(self, owner: Owner, hands: Hands, database: Database) -> None:
        self.owner = owner
        self.hands = hands
        self._database = database
        self.job: dict[str, Any] = {}

    async def make(self, **given: object) -> None:
        self.hands.at = NOON
        self.job = await self.owner.job(**({"schedule": MINUTELY} | given))

    async def claim(self, *dues: datetime) -> set[UUID]:
        """Claim and admit as a scheduler does, which writes the next due time later."""
        holder = uuid4()
        leases = PostgresLeases(self._database)
        agenda = PostgresAgenda(self._database, self._database, leases)
        epochs = await leases.acquire(holder, 256, 600)
        answer = await agenda.claim(holder, epochs, [self._claim(due) for due in dues])
        if answer.waiting:
            room = PostgresWaitingRoom(self._database, self._database)
            decisions = decide(answer.waiting, await room.admission_facts(answer.waiting))
            await room.carry_out(holder, epochs, decisions)
        await leases.release(holder, epochs)
        return answer.made

    async def rows(self) -> list[tuple[Any, ...]]:
        """(minute, state, reason, minute up to which, count), by due time."""
        async with self._database.session() as session:
            found = await session.fetch(
                "SELECT due_at, state, reason, due_until, due_count FROM runs ORDER BY due_at"
            )
        return [(_minute(a), state, why, _minute(b), n) for a, state, why, b, n in found]

    async def queued(self) -> int:
        async with self._database.session() as session:
            count: int = await session.fetchval("SELECT count(*) FROM dispatch")
            return count

    async def is_accounted_for(self) -> bool:
        """Return whether an audit, some time later, finds every due time so far."""
        asked = self.hands.at
        assert asked
        await self.mark(asked)
        self.hands.at = asked + timedelta(hours=1)
        audit = await self.owner.get(
            "/v1/audit", since="2026-12-01T00:00:00Z", until=f"{asked:%Y-%m-%dT%H:%M:%SZ}"
        )
        self.hands.at = asked
        return all(
            not job["missing_count"] and not job["unexpected_count"] for job in audit.json["jobs"]
        )

    async def mark(self, watermark: datetime) -> None:
        """Let all fire times up to there count as claimed."""
        async with self._database.session() as session:
            await session.execute("UPDATE partitions SET watermark = $1", watermark)

    def _claim(self, due: datetime) -> Claim:
        job = UUID(self.job["id"])
        return Claim(
            run_id=run_id(job, due, "scheduled"),
            job_id=job,
            revision=self.job["revision"],
            partition=partition_of(job),
            pool="default",
            due_at=due,
            fire_at=due,
        )


def _minute(at: datetime | None) -> float | None:
    return None if at is None else (at - NOON).total_seconds() / 60
