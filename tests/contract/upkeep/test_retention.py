"""Runs are kept as long as their owners say and then purged, on memory and on PostgreSQL."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.jobs.keeping import DAYS, Keep, KeepLimits
from matins.domain.jobs.spec import JobSpec
from matins.domain.ports.upkeep import Archive
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState
from matins.domain.schedules.schedule import Schedule
from matins.store.archiving import FileArchive
from matins.testing.virtual import VirtualClock, VirtualTime
from matins.upkeep import retention
from matins.upkeep.days import WORK, DaysOver, make_days_ahead
from matins.upkeep.retention import Purge

TEAM = "default"
HOLDER, EXECUTOR = UUID(int=1), UUID(int=3)
MINUTE = timedelta(minutes=1)
DAY_S = 86_400.0
USUAL = SPEC
SHORT = msgspec.structs.replace(SPEC, name="short", keep=Keep(days=5))
LONG = msgspec.structs.replace(SPEC, name="long", keep=Keep(days=400))


class Scene:
    """Jobs that are due every minute, their executor, and the upkeep of the history."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.archive: Archive | None = None
        self._epochs: dict[int, int] = {}
        self._polls = 0

    async def put(self, spec: JobSpec = USUAL) -> UUID:
        """Make a job, or change it."""
        return (await self.ground.owners.jobs.put(TEAM, spec)).job.id

    async def start(self, job: UUID, *minutes: int) -> list[UUID]:
        """Start a job's runs of so many minutes after `START`."""
        self._epochs |= await self.ground.all_leases(HOLDER)
        claims = [claim(job, START + minute * MINUTE) for minute in minutes]
        await self.ground.agenda.claim(HOLDER, self._epochs, claims)
        self._polls += 1
        await self.ground.dispatch.heartbeat(
            Heartbeat(EXECUTOR, "e", ["default"], 9, self._polls + 1, [self._polls])
        )
        poll = Poll(EXECUTOR, self._polls, ["default"], 9)
        handout = await self.ground.dispatch.dequeue(poll, "default")
        assert handout
        assert len(handout.attempts) == len(claims)
        return [claim.run_id for claim in claims]

    async def end(self, run: UUID, state: RunState = RunState.SUCCEEDED) -> None:
        """Let a run end."""
        outcome = Outcome.SUCCEEDED if state is RunState.SUCCEEDED else Outcome.FAILED
        ending = Ending(End(run, 1, Result(outcome)), state, "")
        assert await self.ground.dispatch.record(EXECUTOR, [ending])

    async def run(self, job: UUID, *minutes: int) -> None:
        """Let a job's runs succeed that are due so many minutes after `START`."""
        for run in await self.start(job, *minutes):
            await self.end(run)

    async def stop(self, run: UUID) -> None:
        """Let the executor end while it holds a run."""
        seq, held = self._polls, [(run, 1)]
        heartbeat = Heartbeat(EXECUTOR, "e", ["default"], 9, seq + 1, [], open=[seq], held=held)
        await self.ground.dispatch.heartbeat(msgspec.structs.replace(heartbeat, stopped=True))

    async def after(self, days: float) -> None:
        """Let so many days pass, and the upkeep do its turn."""
        self.ground.clock.move(days * DAY_S)
        await self.purge()

    async def purge(self) -> None:
        """Move days to the history, and purge what is too old."""
        ports = self.ground.locks, self.ground.days
        clock, stopping = VirtualClock(VirtualTime()), asyncio.Event()
        await DaysOver(*ports, clock, stopping).detach()
        kept = self.ground.retention, self.ground.leftovers
        await Purge(*ports, *kept, self.archive, clock, stopping).purge()

    async def kept(self, job: UUID) -> list[int]:
        """Return the minutes of which a job has runs."""
        return [int(row.due_s / 60) for row in await self.ground.rows.runs(job)]

    async def is_judged(self, job: UUID, minutes: int) -> bool:
        """Return whether an audit judges a job's first minutes; it never finds anything wrong."""
        audit = await self.ground.rows.audit(job, START + minutes * MINUTE + MINUTE / 2)
        assert audit.agrees
        assert audit.due in (0, minutes)
        assert (audit.judged_from is None) == (audit.due == minutes)
        return audit.due > 0


class FullArchive:
    """An archive with space for one page."""

    def __init__(self) -> None:
        self._is_full = False

    async def add(self, _day: date, _lines: Sequence[str]) -> None:
        """See `domain.ports.upkeep.Archive`."""
        if self._is_full:
            raise OSError("no space left")
        self._is_full = True


@pytest.fixture
async def scene(ground: Ground) -> Scene:
    await make_days_ahead(ground.days)
    return Scene(ground)


async def test_a_day_goes_as_a_whole_after_the_usual_time(scene: Scene) -> None:
    job = await scene.put()
    await scene.run(job, 1, 2)
    await scene.after(DAYS)
    assert (await scene.kept(job), await scene.is_judged(job, 2)) == ([1, 2], True)
    await scene.after(1)
    assert (await scene.kept(job), await scene.is_judged(job, 2)) == ([], False)
    assert await scene.ground.rows.count("attempts") == 0


async def test_a_day_is_in_the_history_once_nothing_of_it_goes_on(scene: Scene) -> None:
    [run] = await scene.start(await scene.put(), 1)
    today, tomorrow = START.date(), START.date() + timedelta(days=1)
    await scene.after(1)
    assert today not in await scene.ground.days.days_over()
    await scene.after(1)
    assert today in await scene.ground.days.days_over()
    assert today not in await scene.ground.days.past_days(tomorrow)
    await scene.end(run)
    await scene.purge()
    assert today in await scene.ground.days.past_days(tomorrow)
    assert await scene.ground.days.days_over() == []


async def test_what_a_late_run_is_due_comes_back_from_the_history(scene: Scene) -> None:
    job = await scene.put()
    await scene.run(job, 1)
    await scene.after(3)
    await scene.start(job, 2)
    assert START.date() in await scene.ground.days.days_over()
    await scene.after(DAYS)
    assert await scene.kept(job) == [1, 2]


async def test_nothing_that_goes_on_is_purged_however_old_it_is(scene: Scene) -> None:
    job = await scene.put(SHORT)
    [first, _second] = await scene.start(job, 1, 2)
    await scene.end(first)
    await scene.after(DAYS + 2)
    assert await scene.kept(job) == [1, 2]


async def test_a_job_that_keeps_less_loses_its_rows_alone(scene: Scene) -> None:
    short, usual = await scene.put(SHORT), await scene.put()
    await scene.run(short, 1, 2)
    await scene.run(usual, 1, 2)
    await scene.after(6)
    assert (await scene.kept(short), await scene.kept(usual)) == ([], [1, 2])
    assert (await scene.is_judged(short, 2), await scene.is_judged(usual, 2)) == (False, True)
    assert await scene.ground.rows.count("attempts") == 2


async def test_a_job_that_keeps_more_outlives_the_usual_time(scene: Scene) -> None:
    long, usual = await scene.put(LONG), await scene.put()
    await scene.run(long, 1)
    await scene.run(usual, 1)
    await scene.after(DAYS + 2)
    assert (await scene.kept(long), await scene.kept(usual)) == ([1], [])
    await scene.after(400)
    assert await scene.kept(long) == []


async def test_so_many_runs_are_kept_and_no_more(scene: Scene) -> None:
    job = await scene.put(msgspec.structs.replace(SPEC, keep=Keep(runs=2)))
    await scene.run(job, 1, 2, 3, 4)
    await scene.after(3)
    assert await scene.kept(job) == [3, 4]


async def test_runs_that_did_not_succeed_are_kept_apart(scene: Scene) -> None:
    keep = Keep(days=5, others=KeepLimits(days=20))
    job = await scene.put(msgspec.structs.replace(SPEC, keep=keep))
    [first, second] = await scene.start(job, 1, 2)
    await scene.end(first)
    await scene.end(second, RunState.CANCELLED)
    await scene.after(6)
    assert await scene.kept(job) == [2]
    await scene.after(15)
    assert await scene.kept(job) == []


@pytest.mark.parametrize("spec", [USUAL, SHORT], ids=["day", "rows"])
async def test_an_open_dead_letter_stays_with_its_attempts(scene: Scene, spec: JobSpec) -> None:
    job = await scene.put(spec)
    [first, second] = await scene.start(job, 1, 2)
    await scene.end(first)
    await scene.end(second, RunState.DEAD)
    await scene.after(DAYS + 2)
    assert await scene.kept(job) == [2]
    assert await scene.ground.rows.count("attempts") == 1
    await scene.after(DAYS)
    assert await scene.kept(job) == [2]
    assert await scene.ground.days.days_over() == []


async def test_runs_stay_that_count_towards_max_runs(scene: Scene) -> None:
    follows = Schedule(every="1m", after="end", max_runs=9)
    job = await scene.put(msgspec.structs.replace(SHORT, schedule=follows))
    await scene.run(job, 1)
    await scene.put(msgspec.structs.replace(SHORT, schedule=follows, labels={"a": "b"}))
    await scene.ground.owners.jobs.pause(TEAM, SHORT.name)
    await scene.after(DAYS + 2)
    assert await scene.kept(job) == [1]
    assert START.date() not in await scene.ground.days.past_days(scene.ground.clock.now().date())


async def test_all_jobs_are_looked_at_once_a_day(scene: Scene) -> None:
    short = await scene.put(SHORT)
    await scene.run(short, 1)
    await scene.after(5 - 1 / 1440)
    assert await scene.kept(short) == [1]
    await scene.after(0.5)
    assert await scene.kept(short) == [1]
    await scene.after(0.5)
    assert await scene.kept(short) == []


async def test_a_walk_takes_all_jobs_page_by_page(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PAGE", 2)
    names = [f"short-{number}" for number in range(5)]
    jobs = [await scene.put(msgspec.structs.replace(SHORT, name=name)) for name in names]
    for job in jobs:
        await scene.run(job, 1, 2, 3)
    await scene.after(6)
    assert [await scene.kept(job) for job in jobs] == [[]] * 5


async def test_what_is_purged_is_in_the_archive_first(scene: Scene, tmp_path: Path) -> None:
    scene.archive = FileArchive(tmp_path)
    short, usual = await scene.put(SHORT), await scene.put()
    await scene.run(short, 1)
    await scene.run(usual, 1, 2)
    await scene.after(6)
    assert archived(tmp_path) == [("short", 1)]
    await scene.after(DAYS)
    assert sorted(archived(tmp_path)) == [("job", 1), ("job", 1), ("short", 1)]


async def test_nothing_is_purged_that_cannot_be_archived(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("not a folder")
    scene.archive = FileArchive(tmp_path / "archive")
    short, usual = await scene.put(SHORT), await scene.put()
    await scene.run(short, 1)
    await scene.run(usual, 1)
    for days in (6, DAYS):
        with pytest.raises(OSError, match="archive"):
            await scene.after(days)
    assert (await scene.kept(short), await scene.kept(usual)) == ([1], [1])


async def test_what_is_purged_in_part_is_not_judged(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PAGE", 1)
    scene.archive = FullArchive()
    job = await scene.put(SHORT)
    await scene.run(job, 1, 2)
    with pytest.raises(OSError, match="no space left"):
        await scene.after(6)
    assert (len(await scene.kept(job)), await scene.is_judged(job, 2)) == (1, False)
    scene.archive = None
    await scene.purge()
    assert await scene.kept(job) == []


async def test_one_process_does_it_at_a_time(scene: Scene) -> None:
    job = await scene.put()
    await scene.run(job, 1)
    async with scene.ground.locks.alone(WORK) as is_alone:
        assert is_alone
        await scene.after(DAYS + 2)
        assert await scene.kept(job) == [1]
    await scene.purge()
    assert await scene.kept(job) == []


async def test_hand_outs_and_executors_go_some_time_after_they_ended(scene: Scene) -> None:
    [run] = await scene.start(await scene.put(), 1)
    await scene.stop(run)
    await scene.end(run)
    rows = scene.ground.rows
    assert (await rows.count("executors"), await rows.count("handouts")) == (1, 1)
    await scene.after(2)
    assert (await rows.count("executors"), await rows.count("handouts")) == (1, 0)
    await scene.after(DAYS)
    assert await rows.count("executors") == 0


async def test_a_hand_out_stays_while_something_of_it_runs(scene: Scene) -> None:
    [run] = await scene.start(await scene.put(), 1)
    await scene.stop(run)
    await scene.after(DAYS + 2)
    rows = scene.ground.rows
    assert (await rows.count("executors"), await rows.count("handouts")) == (1, 1)


async def test_revisions_go_once_no_audit_needs_them(scene: Scene) -> None:
    await scene.put()
    for timeout in ("8s", "9s"):
        scene.ground.clock.move(60)
        await scene.put(msgspec.structs.replace(SPEC, timeout=timeout))
    await scene.after(DAYS - 1)
    assert await scene.ground.rows.count("revisions") == 3
    await scene.after(2)
    assert await scene.ground.rows.count("revisions") == 1


def archived(folder: Path) -> list[tuple[str, int]]:
    """Return of each run in the archive its job, and how many attempts it had."""
    [path] = folder.iterdir()
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return [(line["job"], len(line["attempts"])) for line in lines]
