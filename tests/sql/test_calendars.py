"""Jobs keep to their team's calendars, and a change of one is a change of each such job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import date, timedelta

import asyncpg
import msgspec
import pytest
from tests.sql.owned import NOON, TEAM, Owned, owned, spec, waits_for_a_lock

from matins.domain.calendars.calendar import Calendar, Holidays, Item
from matins.domain.calendars.upcoming import ClosedDay
from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.spec import JobSpec
from matins.domain.schedules.schedule import OnClosed, Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError

DAY = timedelta(days=1)
CLOSED_ON_THE_4TH = Calendar("bank", exclude=[Item(dates="2026-03-04", label="stocktaking")])
CLOSED_ON_THE_5TH = Calendar("bank", exclude=[Item(dates="2026-03-05")])


def due(cron: str, on_closed: OnClosed = "skip", *, name: str = "job") -> JobSpec:
    """Return a job that keeps to the calendar, and catches up whatever was missed."""
    schedule = Schedule(cron=cron, calendars=["bank"], on_closed=on_closed)
    return msgspec.structs.replace(spec(schedule, name=name), misfire=Misfire("all", max_age="30d"))


def daily(name: str = "job") -> JobSpec:
    return due("0 2 * * *", name=name)


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Owned]:
    async with owned(dsn) as world:
        await world.calendars.put(TEAM, CLOSED_ON_THE_4TH)
        yield world


async def test_a_closed_due_time_has_its_row_with_the_reason(world: Owned) -> None:
    await world.owners.create(TEAM, daily())
    world.now += 3 * DAY
    await world.fire()
    assert await world.ledger() == [
        ("03-03 02:00", "queued"),
        ("03-04 02:00", "calendar bank: stocktaking"),
        ("03-05 02:00", "queued"),
    ]
    [audit] = await world.audit()
    assert audit.agrees
    assert audit.due == 3


async def test_a_closed_due_time_can_be_moved_to_another_business_day(world: Owned) -> None:
    await world.owners.create(TEAM, due("0 2 4 * *", "next_business_day"))
    world.now += 4 * DAY
    await world.fire()
    reason = "calendar bank: stocktaking; moved to 2026-03-05T02:00:00+00:00"
    assert await world.ledger() == [("03-04 02:00", reason), ("03-05 02:00", "queued")]
    [audit] = await world.audit()
    assert audit.agrees


async def test_a_due_time_can_be_moved_to_before_it(world: Owned) -> None:
    made = await world.owners.create(TEAM, due("0 2 4 * *", "previous_business_day"))
    assert made.job.next_due_at == NOON.replace(day=3, hour=2)


async def test_jobs_follow_a_changed_calendar_from_then_on(world: Owned) -> None:
    await world.owners.create(TEAM, daily())
    world.now += DAY
    await world.fire()
    changed = await world.calendars.put(TEAM, CLOSED_ON_THE_5TH)
    assert (changed.change, changed.jobs, changed.skipped) == ("changed", 1, 0)
    world.now += 2 * DAY
    await world.fire()
    assert await world.ledger() == [
        ("03-03 02:00", "queued"),
        ("03-04 02:00", "queued"),
        ("03-05 02:00", "calendar bank: 2026-03-05"),
    ]
    [audit] = await world.audit()
    assert audit.agrees


async def test_a_changed_calendar_may_bring_a_due_time_forward(world: Owned) -> None:
    made = await world.owners.create(TEAM, due("0 2 5 * *", "previous_business_day"))
    assert made.job.next_due_at == NOON.replace(day=5, hour=2)
    await world.calendars.put(TEAM, CLOSED_ON_THE_5TH)
    assert (await world.reads.job(TEAM, "job")).next_due_at == NOON.replace(day=4, hour=2)


async def test_what_was_due_before_a_change_and_not_claimed_is_skipped(world: Owned) -> None:
    await world.owners.create(TEAM, daily())
    world.now += DAY
    changed = await world.calendars.put(TEAM, CLOSED_ON_THE_5TH)
    assert (changed.jobs, changed.skipped) == (1, 1)
    assert await world.ledger() == [("03-03 02:00", "changed")]


async def test_an_equal_calendar_changes_nothing(world: Owned) -> None:
    await world.owners.create(TEAM, daily())
    again = await world.calendars.put(TEAM, CLOSED_ON_THE_4TH)
    assert (again.change, again.jobs) == ("unchanged", 0)
    assert (await world.reads.job(TEAM, "job")).revision == 1


async def test_a_dry_run_tells_how_many_jobs_would_follow(world: Owned) -> None:
    await world.owners.create(TEAM, daily())
    told = await world.calendars.put(TEAM, CLOSED_ON_THE_5TH, dry_run=True)
    assert (told.change, told.jobs) == ("changed", 1)
    assert (await world.stored_calendars.show(TEAM, "bank")).calendar == CLOSED_ON_THE_4TH


async def test_what_a_stopped_change_left_behind_is_finished_later(world: Owned) -> None:
    await world.owners.create(TEAM, daily())
    async with world.database.session() as session:  # as if it had stopped after the first step
        await session.execute("UPDATE calendars SET replaced_at = made_at")
        await session.execute(
            "INSERT INTO calendars (team_id, name, written, resolved, made_at)"
            " SELECT team_id, name, written, jsonb_set(resolved, '{exclude}', '[]'), made_at"
            " FROM calendars"
        )
    await world.calendars.keep_up()
    world.now += 2 * DAY
    await world.fire()
    assert [state for _, state in await world.ledger()] == ["queued", "queued"]


async def test_a_paused_job_follows_the_calendar_that_is_current_when_it_goes_on(
    world: Owned,
) -> None:
    await world.owners.create(TEAM, daily())
    await world.owners.pause(TEAM, "job")
    assert (await world.calendars.put(TEAM, CLOSED_ON_THE_5TH)).jobs == 0
    await world.owners.resume(TEAM, "job")
    world.now += 2 * DAY
    await world.fire()
    assert [state for _, state in await world.ledger()] == ["queued", "queued"]


async def test_many_jobs_follow_one_calendar(world: Owned) -> None:
    for number in range(120):
        await world.owners.create(TEAM, daily(name=f"job-{number}"))
    changed = await world.calendars.put(TEAM, CLOSED_ON_THE_5TH)
    assert changed.jobs == 120
    assert (await world.stored_calendars.show(TEAM, "bank")).jobs == 120


async def test_a_job_and_its_calendar_may_change_at_the_same_time(world: Owned) -> None:
    specs = [daily(name=f"job-{number}") for number in range(10)]
    await asyncio.gather(
        *(world.owners.create(TEAM, spec) for spec in specs[:5]),
        world.calendars.put(TEAM, CLOSED_ON_THE_5TH),
        *(world.owners.create(TEAM, spec) for spec in specs[5:]),
    )
    async with world.database.session() as session:
        behind = await session.fetchval(
            "SELECT count(*) FROM jobs j JOIN calendars c ON c.id = ANY (j.calendars)"
            " WHERE c.replaced_at IS NOT NULL"
        )
    assert behind == 0


async def test_a_job_that_follows_the_current_version_is_left_alone(world: Owned) -> None:
    await world.owners.create(TEAM, daily())
    await world.calendars.put(TEAM, CLOSED_ON_THE_5TH)
    again = await world.owners.sync_calendars(TEAM, "job")  # by two schedulers at once
    assert (again.change, again.job.revision) == ("unchanged", 2)


async def test_a_calendar_that_is_followed_can_not_be_deleted(world: Owned) -> None:
    await world.owners.create(TEAM, daily())
    with pytest.raises(ConflictError, match="followed by job"):
        await world.calendars.delete(TEAM, "bank")
    await world.owners.delete(TEAM, "job")
    assert (await world.calendars.delete(TEAM, "bank")).change == "deleted"
    with pytest.raises(NotFoundError):
        await world.stored_calendars.show(TEAM, "bank")


async def test_a_job_can_not_name_a_calendar_that_is_not_there(world: Owned) -> None:
    with pytest.raises(InvalidInputError) as error:
        await world.owners.create("others", daily())
    [problem] = error.value.problems
    assert problem.where == "schedule.calendars"
    assert "others has no calendar 'bank'" in problem.message


async def test_a_calendar_shows_what_it_closes_next(world: Owned) -> None:
    holidays = Calendar("berlin", exclude=[Item(holidays=Holidays("DE", "BE"))])
    await world.calendars.put(TEAM, holidays)
    shown = await world.stored_calendars.show(TEAM, "berlin")
    assert shown.calendar == holidays
    assert shown.closed_days[0] == ClosedDay(date(2026, 3, 8), "Women's Day")


async def test_holidays_are_worked_out_for_further_years_in_time(world: Owned) -> None:
    await world.calendars.put(TEAM, Calendar("berlin", exclude=[Item(holidays=Holidays("DE"))]))
    before = await world.stored_calendars.show(TEAM, "berlin")
    world.now += 400 * DAY
    await world.calendars.keep_up()
    after = await world.stored_calendars.show(TEAM, "berlin")
    assert after.version > before.version
    assert after.calendar == before.calendar


async def test_what_stays_as_it_is_is_not_worked_out_again_and_again(world: Owned) -> None:
    event = "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260304\nSUMMARY:Once\nEND:VEVENT\n"
    file = f"BEGIN:VCALENDAR\n{event}END:VCALENDAR\n"
    await world.calendars.put(TEAM, Calendar("once", exclude=[Item(icalendar=file)]))
    before = await world.stored_calendars.show(TEAM, "once")
    world.now += 200 * DAY
    await world.calendars.keep_up()
    assert await world.stored_calendars.show(TEAM, "once") == msgspec.structs.replace(
        before, closed_days=[]
    )
    async with world.database.session() as session:
        assert await session.fetchval("SELECT resolved_at FROM calendars WHERE name = 'once'")
        await session.execute("UPDATE calendars SET written = '{}' WHERE name = 'once'")
    await world.calendars.keep_up()  # looks at it no more for now, broken as it is


async def test_a_calendar_that_can_not_be_worked_out_stops_no_other(world: Owned) -> None:
    for name in ("a", "b"):
        await world.calendars.put(TEAM, Calendar(name, exclude=[Item(holidays=Holidays("DE"))]))
    before = await world.stored_calendars.show(TEAM, "b")
    async with world.database.session() as session:
        await session.execute("""UPDATE calendars SET written = '{"name": 7}' WHERE name = 'a'""")
    world.now += 400 * DAY
    await world.calendars.keep_up()
    assert (await world.stored_calendars.show(TEAM, "b")).version > before.version


async def test_calendars_come_in_pages_by_name(world: Owned) -> None:
    for name in ("a", "c", "b"):
        await world.calendars.put(TEAM, Calendar(name))
    first = await world.stored_calendars.page(TEAM, "", 2)
    assert [calendar.calendar.name for calendar in first.calendars] == ["a", "b"]
    rest = await world.stored_calendars.page(TEAM, first.next or "", 100)
    assert [calendar.calendar.name for calendar in rest.calendars] == ["bank", "c"]
    assert rest.next is None


async def test_changes_of_one_calendar_at_the_same_time_come_one_after_the_other(
    world: Owned,
) -> None:
    days = [Calendar("new", exclude=[Item(dates=f"2026-03-0{day}")]) for day in range(1, 7)]
    await asyncio.gather(*(world.calendars.put(TEAM, day) for day in days))
    await asyncio.gather(*(world.calendars.put(TEAM, day) for day in days))
    assert (await world.stored_calendars.show(TEAM, "new")).calendar in days


async def test_a_job_that_names_a_calendar_while_it_is_changed_takes_the_new_one(
    world: Owned, dsn: str
) -> None:
    other, onlooker = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
    async with other.transaction():
        await other.execute("SELECT FROM teams FOR NO KEY UPDATE")  # as a change does it
        await other.execute("UPDATE calendars SET replaced_at = $1", NOON)
        version = await other.fetchval(
            "INSERT INTO calendars (team_id, name, written, resolved, made_at)"
            " SELECT team_id, name, written, resolved, made_at FROM calendars RETURNING id"
        )
        making = asyncio.create_task(world.owners.create(TEAM, daily()))
        await waits_for_a_lock(onlooker)
    await making
    assert await onlooker.fetchval("SELECT calendars FROM jobs") == [version]
    await other.close()
    await onlooker.close()
