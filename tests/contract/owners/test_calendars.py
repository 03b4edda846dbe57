"""What owners do to calendars, and what that does to the jobs that keep to them."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, Row

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError

TEAM = "default"
CLOSED = msgspec.structs.replace(SPEC, schedule=Schedule(every="1m", calendars=["closing"]))


def closing(until: str) -> Calendar:
    """Return a calendar that is closed from noon until then."""
    return Calendar("closing", exclude=[Item(spans=[f"2026-11-29T12:00/2026-11-29T{until}"])])


async def test_a_job_can_keep_to_a_calendar_that_is_there(ground: Ground) -> None:
    with pytest.raises(InvalidInputError, match="no calendar 'closing'"):
        await ground.owners.jobs.put(TEAM, CLOSED)
    made = await ground.owners.calendars.put(TEAM, closing("12:30"))
    assert (made.change, made.jobs) == ("created", 0)
    await ground.owners.jobs.put(TEAM, CLOSED)
    [again] = [await ground.owners.calendars.put(TEAM, closing("12:30"))]
    assert (again.change, again.jobs) == ("unchanged", 0)


async def test_jobs_take_the_new_version_and_skip_what_lay_before(ground: Ground) -> None:
    await ground.owners.calendars.put(TEAM, closing("12:30"))
    job = (await ground.owners.jobs.put(TEAM, CLOSED)).job
    ground.clock.move(125)
    told = await ground.owners.calendars.put(TEAM, closing("12:02"), dry_run=True)
    assert (told.change, told.jobs) == ("changed", 1)
    changed = await ground.owners.calendars.put(TEAM, closing("12:02"))
    assert (changed.change, changed.jobs, changed.skipped) == ("changed", 1, 2)
    reasons = [row.reason for row in await ground.rows.runs(job.id)]
    assert reasons == ["changed", "changed"]
    [found] = await ground.agenda.find_jobs([job.id])
    assert (found.revision, found.next_due_at) == (2, START + timedelta(minutes=3))
    assert found.timetable().skip_reason(int((START + timedelta(minutes=3)).timestamp())) == ""


async def test_a_paused_job_takes_the_new_version_when_it_goes_on(ground: Ground) -> None:
    await ground.owners.calendars.put(TEAM, closing("12:30"))
    job = (await ground.owners.jobs.put(TEAM, CLOSED)).job
    await ground.owners.jobs.pause(TEAM, "job")
    assert (await ground.owners.calendars.put(TEAM, closing("12:02"))).jobs == 0
    ground.clock.move(61)
    await ground.owners.jobs.resume(TEAM, "job")
    assert await ground.rows.runs(job.id) == [Row(60.0, "skipped", "paused")]
    [found] = await ground.agenda.find_jobs([job.id])
    assert found.timetable().skip_reason(int((START + timedelta(minutes=3)).timestamp())) == ""


async def test_a_calendar_goes_once_no_job_keeps_to_it(ground: Ground) -> None:
    await ground.owners.calendars.put(TEAM, closing("12:30"))
    await ground.owners.jobs.put(TEAM, CLOSED)
    with pytest.raises(ConflictError, match="followed by job"):
        await ground.owners.calendars.delete(TEAM, "closing")
    await ground.owners.jobs.delete(TEAM, "job")
    assert (await ground.owners.calendars.delete(TEAM, "closing")).change == "deleted"
    with pytest.raises(NotFoundError):
        await ground.owners.calendars.delete(TEAM, "closing")


async def test_what_a_change_left_over_is_finished_by_the_upkeep(ground: Ground) -> None:
    await ground.owners.calendars.put(TEAM, closing("12:30"))
    job = (await ground.owners.jobs.put(TEAM, CLOSED)).job
    await ground.calendars.write(TEAM, closing("12:02"), closing("12:02"))
    await ground.owners.calendars.keep_up()
    [found] = await ground.agenda.find_jobs([job.id])
    assert found.revision == 2
