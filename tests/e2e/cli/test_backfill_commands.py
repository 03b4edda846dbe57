"""What owners type about backfills, on a real API and PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from tests.e2e.cli.typed import Typist

from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.backfills.stepping import step
from matins.domain.runs.backfills.values import BackfillRequest, BackfillState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError
from matins.domain.values.ids import PARTITIONS
from matins.store.backfills import PostgresBackfills
from matins.store.database import Database
from matins.store.leases import PostgresLeases

SPEC = JobSpec("tick", Target(command=CommandTarget(["true"])), Schedule(cron="* * * * *"))


@pytest.fixture
async def old_job(matins: Matins, database: Database) -> None:
    """A job that is an hour old, of which nothing was claimed in the hour but is said to be."""
    await matins.put_job("payments", SPEC)
    async with database.session() as session:
        await session.execute(
            "UPDATE revisions SET effective_at = effective_at - interval '1 hour'"
        )


@pytest.mark.usefixtures("old_job")
async def test_a_dry_run_tells_what_would_run_and_what_not(typed: Typist) -> None:
    words = ["backfill", "start", "payments/tick", "--from", "2h", "--dry-run"]
    told = await typed(*words)
    assert told.code == 0
    assert told.out.splitlines()[0] in {f"{n} due times, of which {n} to run" for n in (59, 60, 61)}
    assert "the job did not exist" in told.out
    as_json = (await typed(*words, "--json")).json
    assert as_json["backfill"] is None
    assert as_json["plan"]["to_run"] in (59, 60, 61)
    assert (await typed("backfill", "list", "payments/tick", "--json")).json == []


@pytest.mark.usefixtures("old_job")
async def test_a_backfill_is_started_paused_resumed_and_cancelled(typed: Typist) -> None:
    words = ["payments/tick", "--from", "1h", "--limit", "3", "--order", "newest"]
    started = (await typed("backfill", "start", *words, "--reason", "rates", "--json")).json
    made = started["backfill"]
    assert (made["state"], made["limit"], made["order"], made["reason"]) == (
        *("active", 3, "newest", "rates"),
    )
    again = await typed("backfill", "start", *words)
    assert (again.code, made["id"] in again.err) == (1, True)
    paused = await typed("backfill", "pause", made["id"])
    assert paused.out == f"paused  {made['id']}  payments/tick\n"
    listed = (await typed("backfill", "list", "--team", "payments")).out.splitlines()
    assert listed[1].split()[:3] == [made["id"], "payments/tick", "paused"]
    assert (await typed("backfill", "resume", made["id"], "--json")).json["state"] == "active"
    cancelled = await typed("backfill", "cancel", made["id"], "--runs")
    assert cancelled.out.startswith("cancelled  ")
    shown = await typed("backfill", "show", made["id"])
    assert "cancelled" in shown.out
    assert "newest first" in shown.out
    assert (await typed("backfill", "resume", made["id"])).code == 1


async def test_the_sdk_and_the_api_refuse_what_makes_no_sense(matins: Matins) -> None:
    now = datetime.now(UTC)
    await matins.put_job("payments", SPEC)
    ahead = BackfillRequest(now - timedelta(hours=1), now + timedelta(hours=1))
    with pytest.raises(InvalidInputError, match="lies ahead"):
        await matins.start_backfill("payments", "tick", ahead)
    with pytest.raises(NotFoundError):
        await matins.start_backfill("payments", "other", BackfillRequest(now))
    with pytest.raises(NotFoundError):
        await matins.get_backfill((await matins.get_job("payments", "tick")).id)
    scheduleless = JobSpec("by-hand", SPEC.target)
    await matins.put_job("payments", scheduleless)
    with pytest.raises(InvalidInputError, match="trigger it instead"):
        await matins.start_backfill("payments", "by-hand", BackfillRequest(now))


@pytest.mark.usefixtures("old_job")
async def test_the_sdk_starts_and_follows_a_backfill(matins: Matins) -> None:
    request = BackfillRequest(datetime.now(UTC) - timedelta(minutes=10), limit=2)
    plan = (await matins.start_backfill("payments", "tick", request, dry_run=True)).plan
    started = await matins.start_backfill("payments", "tick", request)
    assert started.backfill is not None
    assert (started.plan.to_run, started.backfill.counts.planned) == (plan.to_run, plan.to_run)
    assert [backfill.id for backfill in await matins.list_backfills("payments")] == [
        started.backfill.id
    ]
    assert [backfill.id for backfill in await matins.list_backfills("payments", "tick")] == [
        started.backfill.id
    ]
    shown = await matins.get_backfill(started.backfill.id)
    assert (shown.state, shown.counts.made) == (BackfillState.ACTIVE, 0)
    await matins.pause_backfill(shown.id)
    await matins.cancel_backfill(shown.id, runs=True)
    with pytest.raises(ConflictError):
        await matins.resume_backfill(shown.id)


@pytest.mark.usefixtures("old_job")
async def test_a_watched_backfill_is_shown_until_it_is_finished(
    typed: Typist, matins: Matins, database: Database
) -> None:
    request = BackfillRequest(datetime.now(UTC) - timedelta(minutes=10))
    made = (await matins.start_backfill("payments", "tick", request)).backfill
    assert made is not None
    words = ("backfill", "show", str(made.id), "--watch", "--json")
    watching = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "matins", *words), stdout=asyncio.subprocess.PIPE
    )
    assert watching.stdout is not None
    try:
        first = await watching.stdout.readline()
        await matins.cancel_backfill(made.id)
        await step_further(database)
        *_, last = (await watching.stdout.read()).splitlines()
        assert await watching.wait() == 0
    finally:
        if watching.returncode is None:
            watching.kill()
    views = [json.loads(line) for line in (first, last)]
    assert [view["state"] for view in views] == ["active", "cancelled"]
    assert [view["id"] for view in views] == [str(made.id)] * 2
    again = await typed("backfill", "show", str(made.id), "--watch")
    assert again.code == 0
    assert "(Ctrl-C ends the show)" in again.out
    assert "cancelled" in again.out


async def step_further(database: Database) -> None:
    """Take the only backfill a step further, as the scheduler that holds its partition does."""
    holder, leases = uuid4(), PostgresLeases(database)
    backfills = PostgresBackfills(database, database)
    await leases.renew(holder, {}, None, 60)
    epochs = await leases.acquire(holder, PARTITIONS, 60)
    [backfill] = await backfills.unfinished_backfills(epochs)
    await backfills.proceed(holder, epochs, step(backfill, [], is_last=False))
