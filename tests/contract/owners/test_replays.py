"""Replays of many dead letters at a rate, on memory and on PostgreSQL."""

from __future__ import annotations

from uuid import UUID

import msgspec
import pytest
from tests.contract.owners.test_dead import BAD, SPECS, TEAM, WORSE, Graveyard
from tests.contract.ports.ground import SPEC, Ground

from matins.domain.jobs.authors import Author
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CheckinTarget, Target
from matins.domain.runs.dead import DismissDead
from matins.domain.runs.fingerprint import failure_of
from matins.domain.runs.replays import Replay, ReplayDead, ReplayState, step
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError
from matins.scheduler.replaying import advance

ALL = ReplayDead(everything=True, rate="2/s")
EVERYWHERE = range(256)


class Scene(Graveyard):
    """With a scheduler's looks at replays."""

    async def look(self) -> int:
        """Take each replay as far as it may go now; return how many runs go on."""
        replays = self.ground.replays
        unfinished = await replays.unfinished_replays(EVERYWHERE)
        return sum([await advance(replays, replay) for replay in unfinished])

    async def work(self) -> int:
        """Let ten seconds pass, and a scheduler look after that; return how many runs go on."""
        self.ground.clock.move(10)
        return await self.look()

    async def start(self, wanted: ReplayDead = ALL) -> Replay:
        return await self.ground.owners.dead.replay(TEAM, wanted, Author("ann"))

    async def show(self, replay: Replay) -> Replay:
        shown = await self.ground.owners.dead._replays.find_replay(replay.id)
        assert shown
        return shown


@pytest.fixture
async def scene(ground: Ground) -> Scene:
    for spec in SPECS:
        await ground.owners.jobs.put(TEAM, spec)
    return Scene(ground)


async def test_letters_are_replayed_oldest_first_at_the_rate(scene: Scene) -> None:
    runs = [await scene.die("load") for _ in range(4)]
    replay = await scene.start()
    assert (replay.state, replay.planned, replay.made_by) == (ReplayState.ACTIVE, 4, "ann")
    assert await scene.look() == 1
    assert await scene.open() == runs[1:]
    assert await scene.look() == 0
    scene.ground.clock.move(0.5)
    assert await scene.look() == 1
    scene.ground.clock.move(60)
    assert await scene.look() == 2
    assert await scene.open() == []
    waiting = await scene.ground.waiting()
    assert {waits.run_id for waits in waiting} == set(runs)


async def test_its_progress_is_told_until_it_is_done(scene: Scene) -> None:
    for _ in range(2):
        await scene.die("load")
    replay = await scene.start()
    await scene.look()
    shown = await scene.show(replay)
    assert (shown.replayed, shown.left_out, shown.finished_at) == (1, 0, None)
    assert shown.ends_at is not None
    assert (shown.ends_at - scene.ground.clock.now()).total_seconds() == 0.5
    scene.ground.clock.move(2)
    await scene.look()
    done = await scene.show(replay)
    assert (done.state, done.replayed, done.ends_at) == (ReplayState.DONE, 2, None)
    assert done.finished_at == scene.ground.clock.now()


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        (ReplayDead(job="load"), [2]),
        (ReplayDead(fingerprint=failure_of(BAD).fingerprint), [1]),
        (ReplayDead(job="nothing"), [0, 1, 2]),
    ],
)
async def test_what_is_asked_for_is_replayed_and_no_more(
    scene: Scene, wanted: ReplayDead, left: list[int]
) -> None:
    runs = [await scene.die("load"), await scene.die("load", WORSE), await scene.die("send")]
    await scene.start(wanted)
    await scene.work()
    assert await scene.open() == [runs[number] for number in left]


async def test_single_runs_can_be_named(scene: Scene) -> None:
    runs = [await scene.die("load") for _ in range(3)]
    replay = await scene.start(ReplayDead(runs=[runs[0], runs[2]]))
    assert replay.planned == 2
    await scene.work()
    assert await scene.open() == [runs[1]]


async def test_what_dies_again_is_not_replayed_again(scene: Scene) -> None:
    ground = scene.ground
    run = await scene.die("load")
    await scene.start()
    await scene.look()
    epochs = await ground.all_leases(UUID(int=1))
    await ground.admit(UUID(int=1), epochs, await ground.waiting())
    assert await scene.end(WORSE) == run
    ground.clock.move(60)
    assert await scene.look() == 0
    assert await scene.open() == [run]


async def test_a_step_that_comes_late_or_twice_does_nothing(scene: Scene) -> None:
    for _ in range(3):
        await scene.die("load")
    await scene.start()
    [replay] = await scene.ground.replays.unfinished_replays(EVERYWHERE)
    found = await scene.ground.replays.next_letters(replay.id, 1)
    first = step(replay, found, 1)
    assert [await scene.ground.replays.proceed(first) for _ in range(2)] == [1, 0]
    late = step(replay, await scene.ground.replays.next_letters(replay.id, 1), 1)
    assert await scene.ground.replays.proceed(late) == 0
    assert len(await scene.open()) == 2


async def test_what_was_dismissed_or_replayed_meanwhile_is_left_out(scene: Scene) -> None:
    runs = [await scene.die("load") for _ in range(3)]
    replay = await scene.start(ReplayDead(everything=True))
    [opened] = await scene.ground.replays.unfinished_replays(EVERYWHERE)
    found = await scene.ground.replays.next_letters(opened.id, 10)
    await scene.ground.owners.dead.dismiss(TEAM, DismissDead(runs=[runs[0]]))
    await scene.ground.owners.runs.replay(runs[1])
    assert await scene.ground.replays.proceed(step(opened, found, 10)) == 1
    shown = await scene.show(replay)
    assert (shown.state, shown.replayed, shown.left_out) == (ReplayState.DONE, 1, 2)


async def test_a_run_that_cannot_go_on_is_left_out_and_keeps_its_letter(scene: Scene) -> None:
    run = await scene.die("load")
    await scene.ground.owners.jobs.delete(TEAM, "load")
    replay = await scene.start()
    await scene.work()
    shown = await scene.show(replay)
    assert (shown.replayed, shown.left_out) == (0, 1)
    assert await scene.open() == [run]


async def test_a_run_of_a_job_that_is_a_check_in_now_is_left_out(scene: Scene) -> None:
    run = await scene.die("load")
    checkin = JobSpec("load", Target(checkin=CheckinTarget()))
    await scene.ground.owners.jobs.put(TEAM, checkin)
    replay = await scene.start()
    await scene.work()
    shown = await scene.show(replay)
    assert (shown.replayed, shown.left_out) == (0, 1)
    assert await scene.open() == [run]


async def test_one_that_is_cancelled_stops(scene: Scene) -> None:
    for _ in range(2):
        await scene.die("load")
    replay = await scene.start()
    [opened] = await scene.ground.replays.unfinished_replays(EVERYWHERE)
    found = await scene.ground.replays.next_letters(opened.id, 2)
    for _ in range(2):
        cancelled = await scene.ground.owners.dead.cancel_replay(replay.id)
        assert cancelled.state is ReplayState.CANCELLED
    assert await scene.ground.replays.proceed(step(opened, found, 2)) == 0
    assert await scene.ground.replays.unfinished_replays(EVERYWHERE) == []
    assert len(await scene.open()) == 2


async def test_one_that_is_done_cannot_be_cancelled(scene: Scene) -> None:
    await scene.die("load")
    replay = await scene.start(ReplayDead(everything=True))
    await scene.work()
    with pytest.raises(ConflictError, match="the replay is done"):
        await scene.ground.owners.dead.cancel_replay(replay.id)
    with pytest.raises(NotFoundError):
        await scene.ground.owners.dead.cancel_replay(UUID(int=3))


async def test_there_must_be_such_a_team_and_such_a_rate(scene: Scene) -> None:
    with pytest.raises(NotFoundError, match="no team 'other'"):
        await scene.ground.owners.dead.replay("other", ALL)
    with pytest.raises(InvalidInputError, match="is not a rate"):
        await scene.start(ReplayDead(everything=True, rate="soon"))


async def test_no_run_is_replayed_whose_end_the_next_due_time_follows(scene: Scene) -> None:
    follows = msgspec.structs.replace(SPEC, name="load", schedule=Schedule(every="1m", after="end"))
    await scene.die("load")
    await scene.ground.owners.jobs.put(TEAM, follows)
    await scene.start(ReplayDead(everything=True))
    assert await scene.work() == 1  # it was triggered, so that no due time follows its end


async def test_what_is_over_goes_with_the_history(scene: Scene) -> None:
    await scene.die("load")
    done = await scene.start(ReplayDead(everything=True))
    await scene.work()
    scene.ground.clock.move(1)
    await scene.die("load")
    active = await scene.start()
    scene.ground.clock.move(1)
    assert await scene.ground.leftovers.delete_replays(scene.ground.clock.now(), 9) == 1
    assert await scene.ground.owners.dead._replays.find_replay(done.id) is None
    assert (await scene.show(active)).state is ReplayState.ACTIVE
