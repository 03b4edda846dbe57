"""What a scheduler claims, and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal
from uuid import UUID

import msgspec
import pytest
from tests.unit.scheduler.ground import TEAM, Ground, after, seconds

from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.spec import JobState
from matins.domain.runs.claims import Advance, Claim, Claimed
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.domain.values.ids import run_id
from matins.kernel import metrics
from matins.kernel.settings import Settings
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.hints import MemoryHints
from matins.testing.memory.world import World
from matins.testing.virtual import START, in_virtual_time


class Unsure(MemoryAgenda):
    """An agenda that loses the answers to claims while `losing`, before or after they are done."""

    def __init__(self, world: World, *, done: bool) -> None:
        super().__init__(world)
        self.done = done
        self.losing = 0
        self.sent: list[Sequence[Claim]] = []

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        self.sent.append(claims)
        if self.losing:
            self.losing -= 1
            if self.done:
                await super().claim(holder, epochs, claims)
            raise UnavailableError("the answer was lost")
        return await super().claim(holder, epochs, claims)


class UnsureThenBlocked(Unsure):
    """One that loses an answer, and whose next claim meets what somebody else has locked."""

    def __init__(self, world: World) -> None:
        super().__init__(world, done=True)

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        if len(self.sent) == 1:
            self.sent.append(claims)
            raise BlockedError("somebody holds a lock")
        return await super().claim(holder, epochs, claims)


class CutOff(MemoryAgenda):
    """An agenda that answers one claim, and nothing after it."""

    is_cut = False

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        if self.is_cut:
            raise UnavailableError("it is cut off")
        self.is_cut = True
        return await super().claim(holder, epochs, claims)

    async def advance(self, holder: UUID, advances: Sequence[Advance]) -> None:
        """See `domain.ports.Agenda`."""
        del holder, advances
        raise UnavailableError("it is cut off")


@in_virtual_time
async def test_each_due_time_is_claimed_once_and_within_its_second() -> None:
    ground = Ground()
    job = ground.job()
    async with ground.running():
        await asyncio.sleep(600.9)
    assert ground.dues(job) == [60.0 * minute for minute in range(1, 11)]
    for run in ground.runs(job):
        assert 0 <= (run.claimed_at - run.fire_at).total_seconds() < 1
        assert run.id == run_id(job.id, run.due_at, "scheduled")


@in_virtual_time
async def test_jitter_moves_the_claim_and_not_the_due_time() -> None:
    ground = Ground()
    job = ground.job(cron="*/2 * * * *", jitter="1m")
    async with ground.running():
        await asyncio.sleep(700)
    runs = ground.runs(job)
    assert [seconds(run.due_at) for run in runs] == [120.0, 240.0, 360.0, 480.0, 600.0]
    assert len({run.fire_at - run.due_at for run in runs}) > 1
    assert all(0 <= (run.claimed_at - run.fire_at).total_seconds() < 1 for run in runs)


@in_virtual_time
async def test_a_job_due_far_beyond_the_horizon_is_claimed_in_its_time() -> None:
    ground = Ground()
    job = ground.job(cron="*/10 * * * *")
    async with ground.running():
        await asyncio.sleep(1250)
    assert ground.dues(job) == [600.0, 1200.0]


@in_virtual_time
async def test_what_is_claimed_is_on_the_queue_and_told_once_a_batch() -> None:
    """PG-11."""
    ground = Ground()
    words: list[str] = []
    for _ in range(50):
        ground.job(pool="a")
        ground.job(pool="b")
    listening = asyncio.create_task(_gather(ground, words))
    async with ground.running():
        await asyncio.sleep(61)
    listening.cancel()
    assert len(ground.world.queues["a"]) == len(ground.world.queues["b"]) == 50
    assert sorted(word for word in words if word) == ["a", "b"]


async def _gather(ground: Ground, words: list[str]) -> None:
    async for word in ground.hints.listen("dispatch"):
        words.append(word)  # noqa: PERF401 # the list is looked at meanwhile


@in_virtual_time
async def test_an_hour_without_schedulers_is_made_up_for_by_policy() -> None:
    ground = Ground()
    catch_up = ground.job(misfire=Misfire("all", max_count=30))
    newest = ground.job(misfire=Misfire(policy="last"))
    none = ground.job(misfire=Misfire(policy="skip"))
    await asyncio.sleep(3630)
    async with ground.running():
        await asyncio.sleep(10)
    assert ground.dues(catch_up) == [60.0 * minute for minute in range(30, 61)]
    assert ground.dues(newest) == ground.dues(none) == [3600.0]
    for job in (catch_up, newest, none):
        assert sum(run.due_count for run in ground.runs(job)) == 60


@in_virtual_time
async def test_a_wake_up_three_seconds_late_skips_nothing() -> None:
    ground = Ground()
    clock = ground.clock()
    job = ground.job(every="1s", misfire=Misfire(policy="skip"))
    async with ground.running(clock):
        await asyncio.sleep(30)
        clock.freeze(3)
        await asyncio.sleep(30.5)
    assert ground.dues(job) == [float(second) for second in range(1, 61)]


@in_virtual_time
async def test_a_claim_whose_answer_was_lost_is_repeated_under_the_same_names() -> None:
    for done in (False, True):
        ground = Ground()
        agenda = Unsure(ground.world, done=done)
        job = ground.job()
        async with ground.running(agenda=agenda):
            await asyncio.sleep(59)
            agenda.losing = 4
            await asyncio.sleep(63)
        assert ground.dues(job) == [60.0, 120.0]
        names = [[claim.run_id for claim in claims] for claims in agenda.sent]
        assert names[:5] == [names[0]] * 5


@pytest.mark.parametrize("is_blocked", [False, True])
def test_a_range_whose_answer_was_lost_gets_no_second_rows(is_blocked: bool) -> None:
    @in_virtual_time
    async def play() -> None:
        ground = Ground()
        agenda = UnsureThenBlocked(ground.world) if is_blocked else Unsure(ground.world, done=True)
        job = ground.job(misfire=Misfire(policy="skip"))
        await asyncio.sleep(1800)
        agenda.losing = 1
        async with ground.running(agenda=agenda):
            await asyncio.sleep(30)
        counts = [(seconds(run.due_at), run.due_count) for run in ground.runs(job)]
        assert sum(count for _, count in counts) == 30, counts
        assert len(agenda.sent) >= 2

    play()


@pytest.mark.parametrize("policy", ["last", "all"])
def test_no_range_lies_over_what_was_claimed_beside_a_range_that_was_refused(
    policy: Literal["last", "all"],
) -> None:
    @in_virtual_time
    async def play() -> None:
        ground = Ground()
        job = ground.job(every="1s", misfire=Misfire(policy, max_age="1m"))
        async with ground.running():
            await asyncio.sleep(6)
        coming = job.next_due_at
        job.next_due_at = job.next_fire_at = after(3)  # the last advances are on their way
        await asyncio.sleep(120)
        async with ground.running(agenda=CutOff(ground.world)):
            await asyncio.sleep(1)
        job.next_due_at = job.next_fire_at = coming
        await asyncio.sleep(10)
        async with ground.running():
            await asyncio.sleep(3)
        due = [
            due
            for run in ground.runs(job)
            for due in range(
                int(seconds(run.due_at)), int(seconds(run.due_until or run.due_at)) + 1
            )
        ]
        assert due == list(range(1, due[-1] + 1))
        assert due[-1] >= 138

    play()


@in_virtual_time
async def test_claims_without_an_answer_are_given_up_with_the_lease_and_made_later() -> None:
    ground = Ground()
    agenda = Unsure(ground.world, done=False)
    job = ground.job()
    async with ground.running(agenda=agenda):
        await asyncio.sleep(59)
        agenda.losing = 1_000_000
        await asyncio.sleep(110)
        agenda.losing = 0
        await asyncio.sleep(10)
    assert ground.dues(job) == [60.0, 120.0]


@in_virtual_time
async def test_next_due_times_are_written_within_seconds_and_at_the_stop() -> None:
    ground = Ground()
    job = ground.job()
    async with ground.running():
        await asyncio.sleep(60.5)
        assert job.next_due_at == after(60)
        await asyncio.sleep(5)
        assert job.next_due_at == after(120)
        await asyncio.sleep(55)
    assert job.next_due_at == after(180)


@in_virtual_time
async def test_a_job_that_is_made_shortly_before_it_is_due_runs_on_time() -> None:
    ground = Ground()
    async with ground.running():
        await asyncio.sleep(58.5)
        job = ground.job()
        await ground.hints.send("jobs", [str(job.id)])
        await asyncio.sleep(2)
    [run] = ground.runs(job)
    assert (run.claimed_at - run.due_at).total_seconds() < 1


@in_virtual_time
async def test_a_new_job_is_found_without_a_hint() -> None:
    ground = Ground()
    async with ground.running():
        await asyncio.sleep(57)
        job = ground.job()
        await asyncio.sleep(4)
    assert ground.dues(job) == [60.0]


@in_virtual_time
async def test_a_change_shortly_before_the_due_time_holds() -> None:
    ground = Ground()
    changed, paused = ground.job(), ground.job()
    async with ground.running():
        await asyncio.sleep(59.99)
        spec = msgspec.structs.replace(changed.spec, schedule=Schedule(cron="*/5 * * * *"))
        await ground.owners.put(TEAM, spec)
        await ground.owners.pause(TEAM, paused.spec.name)
        await asyncio.sleep(250)
    assert ground.dues(changed) == [300.0]
    assert ground.runs(paused) == []


@in_virtual_time
async def test_a_job_that_cannot_be_computed_is_quarantined_and_the_others_go_on() -> None:
    ground = Ground()
    good = [ground.job() for _ in range(20)]
    bad = ground.job()
    schedule = Schedule(cron="* * * * *", timezone="Mars/Olympus")
    bad.spec = msgspec.structs.replace(bad.spec, schedule=schedule)
    async with ground.running():
        await asyncio.sleep(61)
    assert bad.state is JobState.QUARANTINED
    assert "Mars/Olympus" in bad.reason
    assert all(ground.dues(job) == [60.0] for job in good)


@in_virtual_time
async def test_a_jump_of_the_databases_clock_makes_claiming_pause() -> None:
    """TM-07: twenty minutes ahead for half a minute, and back."""
    ground = Ground()
    job = ground.job()
    before = metrics.CLOCK_JUMPS._value.get()
    async with ground.running():
        await asyncio.sleep(30)
        ground.time.jump(1200)
        await asyncio.sleep(30)
        ground.time.jump(-1200)
        await asyncio.sleep(1200)
    assert metrics.CLOCK_JUMPS._value.get() == before + 2
    dues = [run.due_at for run in ground.runs(job)]
    assert len(dues) == len(set(dues))
    assert sum(run.due_count for run in ground.runs(job)) == 21


@in_virtual_time
async def test_a_range_row_of_an_earlier_holder_hides_no_due_time() -> None:
    ground = Ground()
    job = ground.job(misfire=Misfire(policy="skip"))
    await asyncio.sleep(1800)
    async with ground.running():
        await asyncio.sleep(1)
    # The holder died after the claim and before the next due time was written.
    job.next_due_at = job.next_fire_at = after(60)
    await asyncio.sleep(3600)
    async with ground.running():
        await asyncio.sleep(10)
    found = set()
    for run in ground.runs(job):
        found |= {seconds(run.due_at) + 60 * step for step in range(run.due_count)}
    assert found == {60.0 * minute for minute in range(1, 91)}


@in_virtual_time
async def test_the_watermark_is_never_ahead_of_the_rows() -> None:
    ground = Ground()
    agenda = Unsure(ground.world, done=False)
    ground.job(every="10s")
    async with ground.running(agenda=agenda):
        await asyncio.sleep(100)
        agenda.losing = 1_000
        await asyncio.sleep(30)
    marks = {row.watermark for row in ground.world.partitions.values()}
    assert all(mark is not None and START < mark < after(100) for mark in marks)


@in_virtual_time
async def test_a_skipped_due_time_is_no_dispatch() -> None:
    ground = Ground()
    job = ground.job(misfire=Misfire(policy="skip"))
    await asyncio.sleep(290)
    async with ground.running():
        await asyncio.sleep(5)
    assert ground.dues(job, RunState.SKIPPED) == [60.0, 120.0, 180.0]
    assert len(ground.world.queues["default"]) == 1


class BreakingHints(MemoryHints):
    """Hints whose first listener breaks, which no caller expects."""

    def __init__(self) -> None:
        super().__init__()
        self.listens = 0

    async def listen(self, channel: str) -> AsyncIterator[str]:
        """See `domain.ports.Hints`."""
        self.listens += channel == "jobs"
        if channel == "jobs" and self.listens == 1:
            raise ValueError("a mistake")
        async for word in super().listen(channel):
            yield word


@in_virtual_time
async def test_a_scheduler_whose_listener_broke_listens_again() -> None:
    ground = Ground()
    ground.hints = BreakingHints()
    ground.settings = Settings(poll_s=30.0)
    count = metrics.TASKS_RESTARTED.labels("scheduler.listen")._value
    before = count.get()
    async with ground.running():
        await asyncio.sleep(10.5)
        assert count.get() == before + 1
        job = ground.job(every="1s")
        await ground.hints.send("jobs", [str(job.id)])
        await asyncio.sleep(1)
        assert ground.dues(job)
