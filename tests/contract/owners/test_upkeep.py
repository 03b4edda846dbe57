"""What the upkeep changes of jobs, by the rules of their owners, on memory and on PostgreSQL."""

from __future__ import annotations

from datetime import timedelta

import msgspec
from tests.contract.ports.ground import SPEC, START, Ground, Row, claim

from matins.domain.jobs.changes import JobRef
from matins.domain.jobs.spec import Job
from matins.domain.schedules.schedule import Schedule

TEAM = "default"
MINUTE = timedelta(minutes=1)
ONCE = msgspec.structs.replace(SPEC, schedule=Schedule(at="2026-11-29T12:01:00Z"))


def ref(job: Job) -> JobRef:
    """Return a job as somebody has read it."""
    return JobRef(TEAM, job.spec.name, job.id, job.revision)


async def test_a_job_at_its_end_is_deleted_once_nothing_of_it_goes_on(ground: Ground) -> None:
    job = (await ground.owners.jobs.put(TEAM, ONCE)).job
    assert not await ground.owners.upkeep.delete_ended(ref(job), "over")
    ground.clock.move(60)
    epochs = await ground.all_leases(job.id)
    made = claim(job.id, START + MINUTE)
    await ground.agenda.claim(job.id, epochs, [made])
    job = (await ground.owners.jobs.put(TEAM, msgspec.structs.replace(ONCE, timeout="9s"))).job
    await ground.owners.jobs.pause(TEAM, "job")
    job = (await ground.owners.jobs.resume(TEAM, "job")).job
    assert job.next_due_at is None
    assert not await ground.owners.upkeep.delete_ended(ref(job), "over")
    await ground.owners.runs.cancel(made.run_id)
    assert await ground.owners.upkeep.delete_ended(ref(job), "over")
    assert (await ground.owners.jobs.put(TEAM, ONCE)).change == "created"


async def test_what_was_due_between_two_instants_is_skipped_where_it_has_no_row(
    ground: Ground,
) -> None:
    job = (await ground.owners.jobs.put(TEAM, SPEC)).job
    ground.clock.move(200)
    now = ground.clock.now()
    done = await ground.owners.upkeep.skip_missing(
        ref(job), after=START + MINUTE, now=now, reason="zones"
    )
    assert done
    expected = [Row(120.0, "skipped", "zones"), Row(180.0, "skipped", "zones")]
    assert await ground.rows.runs(job.id) == expected


async def test_a_job_that_was_changed_meanwhile_is_left_alone(ground: Ground) -> None:
    job = (await ground.owners.jobs.put(TEAM, SPEC)).job
    await ground.owners.jobs.pause(TEAM, "job")
    ground.clock.move(200)
    now = ground.clock.now()
    assert not await ground.owners.upkeep.skip_missing(ref(job), after=START, now=now, reason="x")
    assert not await ground.owners.upkeep.delete_ended(ref(job), "over")
    assert await ground.rows.runs(job.id) == []
