"""What owners do to jobs, on memory and on PostgreSQL."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, Row

from matins.domain.jobs.decisions import JobChange
from matins.domain.jobs.misfire import Misfire, Missed
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.revisions import ongoing
from matins.domain.jobs.selecting import Relabel
from matins.domain.jobs.spec import JobList, JobState
from matins.domain.ports.jobs import JobTransaction
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError

TEAM = "default"
MINUTE = timedelta(minutes=1)
HOURLY = msgspec.structs.replace(SPEC, schedule=Schedule(every="1h"))
CHAINED = msgspec.structs.replace(SPEC, schedule=Schedule(every="1m", after="end"))


def skipped(*minutes: int, reason: str) -> list[Row]:
    """Rows of due times that were skipped, each for itself."""
    return [Row(60.0 * minute, "skipped", reason) for minute in minutes]


async def test_a_new_job_is_due_from_now_on(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    assert (made.change, made.job.revision, made.job.next_due_at) == ("created", 1, START + MINUTE)
    [found] = await ground.agenda.find_jobs([made.job.id])
    assert (found.revision, found.next_due_at) == (1, START + MINUTE)


async def test_a_name_is_taken_once(ground: Ground) -> None:
    await ground.owners.jobs.create(TEAM, SPEC)
    with pytest.raises(ConflictError):
        await ground.owners.jobs.create(TEAM, HOURLY)


async def test_an_equal_job_stays_as_it_is(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    again = await ground.owners.jobs.put(TEAM, SPEC)
    assert (again.change, again.job) == ("unchanged", made.job)


async def test_a_new_schedule_skips_what_lay_before_it(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    ground.clock.move(180)
    changed = await ground.owners.jobs.put(TEAM, HOURLY)
    assert (changed.skipped, changed.job.revision) == (3, 2)
    assert changed.job.next_due_at == START + timedelta(hours=1)
    assert await ground.rows.runs(made.job.id) == skipped(1, 2, 3, reason="changed")


async def test_labels_are_set_and_dropped_and_the_rest_stays(ground: Ground) -> None:
    spec = msgspec.structs.replace(SPEC, labels={"tier": "gold", "old": "yes"})
    made = await ground.owners.jobs.put(TEAM, spec)
    relabel = ground.owners.jobs.relabel
    changed = await relabel(
        TEAM, SPEC.name, Relabel({"tier": "iron", "region": "eu"}, ["old", "none"])
    )
    assert (changed.change, changed.job.revision) == ("changed", 2)
    assert changed.job.spec.labels == {"tier": "iron", "region": "eu"}
    assert changed.job.next_due_at == made.job.next_due_at
    again = await relabel(TEAM, SPEC.name, Relabel({"region": "eu"}, ["old"]))
    assert again.change == "unchanged"
    many = {f"label-{number}": "x" for number in range(40)}
    for wrong in (Relabel(many), Relabel(), Relabel({"tier": "tin"}, ["tier"])):
        with pytest.raises(InvalidInputError):
            await relabel(TEAM, SPEC.name, wrong)
    told = await relabel(TEAM, SPEC.name, Relabel({"tier": "tin"}), dry_run=True)
    assert told.job.spec.labels["tier"] == "tin"
    again = await relabel(TEAM, SPEC.name, Relabel({"tier": "iron"}))
    assert again.change == "unchanged"


async def test_other_policies_leave_due_times_as_they_are(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    ground.clock.move(180)
    changed = await ground.owners.jobs.put(TEAM, msgspec.structs.replace(SPEC, timeout="9s"))
    assert (changed.change, changed.job.next_due_at) == ("changed", made.job.next_due_at)
    assert await ground.rows.runs(made.job.id) == []


async def test_a_dry_run_tells_what_a_change_would_do_and_does_nothing(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    ground.clock.move(180)
    told = await ground.owners.jobs.put(TEAM, HOURLY, dry_run=True)
    assert (told.change, told.skipped) == ("changed", 3)
    assert (await ground.owners.jobs.put(TEAM, SPEC)).job == made.job
    assert await ground.rows.runs(made.job.id) == []


async def test_many_jobs_are_put_in_their_order_and_what_is_wrong_is_named(ground: Ground) -> None:
    specs = [msgspec.structs.replace(SPEC, name=f"job-{number}") for number in range(9)]
    done = await ground.owners.jobs.put_all(TEAM, JobList(specs))
    assert [result.job.spec for result in done] == specs
    closed = msgspec.structs.replace(
        SPEC, name="closed", schedule=Schedule(every="1m", calendars=["none"])
    )
    new = msgspec.structs.replace(SPEC, name="new")
    with pytest.raises(InvalidInputError, match=r"jobs\[0\].schedule.calendars: .*'none'"):
        await ground.owners.jobs.put_all(TEAM, JobList([closed, new]))
    assert (await ground.owners.jobs.put(TEAM, new)).change == "unchanged"


async def test_a_pause_records_what_was_due_before_it(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    ground.clock.move(150)
    paused = await ground.owners.jobs.pause(TEAM, "job")
    assert (paused.job.state, paused.skipped) == (JobState.PAUSED, 2)
    assert await ground.rows.runs(made.job.id) == skipped(1, 2, reason="paused")
    assert await ground.agenda.find_jobs([made.job.id]) == []
    assert (await ground.owners.jobs.pause(TEAM, "job")).change == "unchanged"


@pytest.mark.parametrize(("missed", "queued"), [("skip", 0), ("last", 1), ("all", 3)])
async def test_a_job_that_goes_on_runs_of_what_it_missed_as_its_owner_says(
    ground: Ground, missed: Missed, queued: int
) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    await ground.owners.jobs.pause(TEAM, "job")
    ground.clock.move(180)
    resumed = await ground.owners.jobs.resume(TEAM, "job", missed)
    assert (resumed.skipped, resumed.queued) == (3 - queued, queued)
    assert resumed.job.next_due_at == START + 4 * MINUTE
    rows = await ground.rows.runs(made.job.id)
    assert rows[: 3 - queued] == skipped(*range(1, 4 - queued), reason="paused")
    assert [row.state for row in rows[3 - queued :]] == ["queued"] * queued


async def test_a_long_pause_is_one_row(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    await ground.owners.jobs.pause(TEAM, "job")
    ground.clock.move(60 * 60)
    await ground.owners.jobs.resume(TEAM, "job")
    assert await ground.rows.runs(made.job.id) == [Row(60.0, "skipped", "paused", 60)]


async def test_what_waits_of_a_deleted_job_is_cancelled_and_its_name_is_free(
    ground: Ground,
) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    await ground.owners.jobs.pause(TEAM, "job")
    ground.clock.move(120)
    await ground.owners.jobs.resume(TEAM, "job", "all")
    deleted = await ground.owners.jobs.delete(TEAM, "job")
    assert (deleted.job.state, deleted.cancelled) == (JobState.DELETED, 2)
    rows = await ground.rows.runs(made.job.id)
    assert {(row.state, row.reason) for row in rows} == {("cancelled", "its job was deleted")}
    with pytest.raises(NotFoundError):
        await ground.owners.jobs.pause(TEAM, "job")
    assert (await ground.owners.jobs.put(TEAM, SPEC)).job.id != made.job.id


async def test_one_occurrence_is_skipped_or_moved_and_restored(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, SPEC)
    first, between = START + MINUTE, START + timedelta(seconds=30)
    moved = await ground.owners.jobs.override(TEAM, "job", Override(first, between))
    assert moved.job.next_due_at == between
    restored = await ground.owners.jobs.restore(TEAM, "job", first)
    assert (restored.job.next_due_at, restored.job.overrides) == (first, [])
    kept = await ground.owners.jobs.override(TEAM, "job", Override(first))
    assert [override.due_at for override in kept.job.overrides] == [first]
    ground.clock.move(61)
    with pytest.raises(ConflictError, match="has passed"):
        await ground.owners.jobs.restore(TEAM, "job", first)


async def test_a_job_that_follows_ends_keeps_waiting_for_its_run(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, CHAINED)
    ground.clock.move(61)
    paused = await ground.owners.jobs.pause(TEAM, "job")
    assert paused.skipped == 1
    assert await ground.rows.runs(made.job.id) == skipped(1, reason="paused")
    ground.clock.move(100)
    resumed = await ground.owners.jobs.resume(TEAM, "job", "all")
    assert (resumed.queued, resumed.job.next_due_at) == (0, START + timedelta(seconds=221))


async def test_changes_of_one_job_wait_for_each_other(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    specs = [msgspec.structs.replace(SPEC, timeout=f"{number}s") for number in range(1, 5)]
    done = await asyncio.gather(*(ground.owners.jobs.put(TEAM, spec) for spec in specs))
    assert sorted(result.job.revision for result in done) == [2, 3, 4, 5]
    [found] = await ground.agenda.find_jobs([made.job.id])
    assert found.revision == 5


async def test_one_of_two_puts_at_once_makes_the_job_and_the_other_finds_it(
    ground: Ground,
) -> None:
    done = await asyncio.gather(*(ground.owners.jobs.put(TEAM, SPEC) for _ in range(2)))
    assert sorted(result.change for result in done) == ["created", "unchanged"]


async def test_a_change_is_never_older_than_the_one_before_it(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    ground.clock.move(-30)
    paused = await ground.owners.jobs.pause(TEAM, "job")
    assert paused.job.changed_at == made.job.changed_at


async def test_nobody_sees_a_change_before_it_is_committed(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)

    async def revision() -> int:
        [found] = await ground.agenda.find_jobs([made.job.id])
        return found.revision

    async def step(tx: JobTransaction) -> int:
        job = await tx.lock_job(TEAM, "job")
        assert job is not None
        await tx.write_revision(job, ongoing(job, JobChange(HOURLY, job.state, "changed"), START))
        return await revision()

    assert await ground.changes.transact(step) == 1
    assert await revision() == 2


async def test_a_step_that_raises_leaves_nothing_behind(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)

    async def step(tx: JobTransaction) -> None:
        job = await tx.lock_job(TEAM, "job")
        assert job is not None
        change = JobChange(HOURLY, JobState.PAUSED, "paused")
        await tx.write_revision(job, ongoing(job, change, START))
        raise ConflictError("no")

    with pytest.raises(ConflictError):
        await ground.changes.transact(step)
    assert (await ground.owners.jobs.put(TEAM, SPEC)).job == made.job


async def test_a_job_goes_on_by_itself_when_its_pause_is_over(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    until = START + timedelta(seconds=150)
    pause = Pause("the vendor is down", until, "last")
    paused = await ground.owners.jobs.pause(TEAM, "job", pause)
    assert (paused.job.reason, paused.job.paused_until) == ("the vendor is down", until)
    ground.clock.move(149)
    await ground.owners.upkeep.end_pauses()
    assert (await ground.owners.jobs.pause(TEAM, "job", pause)).change == "unchanged"
    ground.clock.move(2)
    for _ in range(2):
        await ground.owners.upkeep.end_pauses()
    assert await ground.rows.runs(made.job.id) == [
        Row(60.0, "skipped", "paused"),
        Row(120.0, "queued"),
    ]
    [found] = await ground.agenda.find_jobs([made.job.id])
    assert (found.state, found.revision) == (JobState.ACTIVE, 3)
    assert found.next_due_at == START + 3 * MINUTE


async def test_what_is_due_when_a_pause_ends_runs_though_nobody_was_there_to_end_it(
    ground: Ground,
) -> None:
    late = msgspec.structs.replace(SPEC, misfire=Misfire(policy="all"))
    made = await ground.owners.jobs.put(TEAM, late)
    await ground.owners.jobs.pause(TEAM, "job", Pause(until=START + 2 * MINUTE))
    ground.clock.move(200)
    await ground.owners.upkeep.end_pauses()
    rows = await ground.rows.runs(made.job.id)
    assert [(row.due_s, row.state) for row in rows] == [
        (60.0, "skipped"),
        (120.0, "queued"),
        (180.0, "queued"),
    ]


async def test_a_pause_is_kept_by_changes_and_ends_with_the_resume(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, SPEC)
    until = START + MINUTE
    await ground.owners.jobs.pause(TEAM, "job", Pause("why", until))
    for spec in (msgspec.structs.replace(SPEC, timeout="9s"), HOURLY):
        job = (await ground.owners.jobs.put(TEAM, spec)).job
        assert (job.state, job.reason, job.paused_until) == (JobState.PAUSED, "why", until)
    job = (await ground.owners.jobs.override(TEAM, "job", Override(START + 60 * MINUTE))).job
    assert (job.state, job.reason, job.paused_until) == (JobState.PAUSED, "why", until)
    resumed = (await ground.owners.jobs.resume(TEAM, "job")).job
    assert (resumed.reason, resumed.paused_until) == ("", None)
    await ground.owners.jobs.pause(TEAM, "job")
    ground.clock.move(90)
    await ground.owners.upkeep.end_pauses()
    assert (await ground.owners.jobs.pause(TEAM, "job")).change == "unchanged"


async def test_a_dry_run_of_a_resume_counts_what_was_missed(ground: Ground) -> None:
    made = await ground.owners.jobs.put(TEAM, SPEC)
    await ground.owners.jobs.pause(TEAM, "job")
    ground.clock.move(180)
    told = await ground.owners.jobs.resume(TEAM, "job", "last", dry_run=True)
    assert (told.change, told.skipped, told.queued) == ("resumed", 2, 1)
    assert await ground.rows.runs(made.job.id) == []
    told = await ground.owners.jobs.pause(TEAM, "job", Pause("why"), dry_run=True)
    assert told.change == "paused"
    assert (await ground.owners.jobs.pause(TEAM, "job")).change == "unchanged"


async def test_a_job_is_rolled_back_to_an_earlier_revision(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, SPEC)
    await ground.owners.jobs.put(TEAM, HOURLY)
    ground.clock.move(60)
    told = await ground.owners.jobs.roll_back(TEAM, "job", 1, dry_run=True)
    assert (told.change, told.job.spec, told.job.revision) == ("changed", SPEC, 3)
    done = await ground.owners.jobs.roll_back(TEAM, "job", 1)
    assert (done.job.spec, done.job.revision) == (SPEC, 3)
    assert done.job.next_due_at == START + 2 * MINUTE
    assert (await ground.owners.jobs.roll_back(TEAM, "job", 3)).change == "unchanged"
    for revision in (0, 4):
        with pytest.raises(NotFoundError, match=f"no revision {revision}"):
            await ground.owners.jobs.roll_back(TEAM, "job", revision)
    with pytest.raises(NotFoundError, match="no job 'other'"):
        await ground.owners.jobs.roll_back(TEAM, "other", 1)


async def test_a_revision_that_is_not_kept_can_not_be_gone_back_to(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, SPEC)
    ground.clock.move(60)
    await ground.owners.jobs.put(TEAM, HOURLY)
    await ground.leftovers.delete_revisions(START + 2 * MINUTE, 99)
    with pytest.raises(NotFoundError, match="no revision 1"):
        await ground.owners.jobs.roll_back(TEAM, "job", 1)
    assert (await ground.owners.jobs.roll_back(TEAM, "job", 2)).change == "unchanged"
