"""What is unfinished of a job holds its next run back, by the job's policy."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, Row, claim

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.jobs.overlap import Overlap, WrittenOverlap
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.admission.open_runs import OpenRuns
from matins.domain.runs.admission.overlap import CAUSE
from matins.domain.runs.admission.waiting import CLAIM
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import Claim
from matins.domain.runs.states import Outcome, RunState

HOLDER, EXECUTOR, JOB, OTHER = (UUID(int=number) for number in range(1, 5))
SECOND = timedelta(seconds=1)


class Scene:
    """A job of some policy, all leases, and an executor."""

    def __init__(self, ground: Ground, epochs: dict[int, int]) -> None:
        self.ground = ground
        self.epochs = epochs
        self._seq = 0

    async def claim(self, *seconds: int, since: int | None = 0, **given: Any) -> list[UUID]:
        """Claim due times; gives the runs that wait to be asked about."""
        open_since = None if since is None else START + since * SECOND
        claims = [self.of(second, open_since=open_since, **given) for second in seconds]
        answer = await self.ground.agenda.claim(HOLDER, self.epochs, claims)
        assert answer.made == {claim.run_id for claim in claims}
        assert all(run.cause == CLAIM for run in answer.waiting)
        return [run.run_id for run in answer.waiting]

    def of(self, second: int, **given: Any) -> Claim:
        """Return a claim of the job."""
        return claim(JOB, START + second * SECOND, **given)

    async def admit(self) -> None:
        """Decide about all that is to be asked about now."""
        await self.ground.admit(HOLDER, self.epochs, await self.ground.waiting(JOB))

    async def begin(self) -> list[UUID]:
        """Hand out what is queued."""
        self._seq += 1
        poll = Poll(EXECUTOR, self._seq, ["default"], 9)
        handout = await self.ground.dispatch.dequeue(poll, "default")
        return [attempt.run_id for attempt in handout.attempts] if handout else []

    async def end(
        self, run: UUID, state: RunState = RunState.SUCCEEDED, *, attempt: int = 1
    ) -> UUID | None:
        """Record the end of a run; gives the job of which others may wait for it."""
        outcome = Outcome.SUCCEEDED if state is RunState.SUCCEEDED else Outcome.FAILED
        wait_s = 5.0 if state is RunState.RETRYING else None
        ending = Ending(End(run, attempt, Result(outcome)), state, "", wait_s)
        [recorded] = await self.ground.dispatch.record(EXECUTOR, [ending])
        return recorded.awaited

    async def states(self) -> list[str]:
        """Return the states of the job's runs by due time."""
        return [row.state for row in await self.ground.rows.runs(JOB)]


@pytest.fixture
async def overlap() -> WrittenOverlap:
    """The policy of the job, unless a test says another."""
    return "skip"


@pytest.fixture
async def scene(ground: Ground, overlap: WrittenOverlap) -> Scene:
    """Everything ready."""
    await ground.rows.add_job(JOB, msgspec.structs.replace(SPEC, overlap=overlap))
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 1))
    return Scene(ground, await ground.all_leases(HOLDER))


def with_policy(*policies: WrittenOverlap) -> pytest.MarkDecorator:
    """Let a test be of these policies."""
    return pytest.mark.parametrize("overlap", policies)


@pytest.mark.parametrize("many", [0, 300])
async def test_a_claim_asks_only_beside_an_unfinished_run(scene: Scene, many: int) -> None:
    for second in range(-many, 0):
        await scene.claim(second, since=None)
    assert len(await scene.begin()) == min(many, 9)
    first = scene.of(0).run_id
    assert await scene.claim(0) == []
    assert await scene.claim(1) == [scene.of(1).run_id]
    assert await scene.claim(2, since=1) == [scene.of(2).run_id]  # the one that waits counts
    assert await scene.claim(3, since=None) == []
    assert first != scene.of(1).run_id


async def test_what_was_due_before_is_not_looked_at(scene: Scene) -> None:
    assert await scene.claim(0) == []
    assert await scene.claim(2, since=1) == []


async def test_runs_of_other_jobs_and_runs_that_are_over_hold_nothing(
    scene: Scene, ground: Ground
) -> None:
    await ground.rows.add_job(OTHER, SPEC)
    await ground.agenda.claim(HOLDER, scene.epochs, [claim(OTHER, START)])
    assert await scene.claim(1) == []
    for run in await scene.begin():
        await scene.end(run)
    assert await scene.claim(2) == []


async def test_between_two_attempts_a_run_is_unfinished(scene: Scene) -> None:
    await scene.claim(0)
    [run] = await scene.begin()
    await scene.end(run, RunState.RETRYING)
    assert await scene.claim(1) == [scene.of(1).run_id]
    await scene.admit()
    assert await scene.states() == ["retrying", "skipped"]


async def test_a_run_that_is_replayed_is_looked_for_again(scene: Scene, ground: Ground) -> None:
    await scene.claim(-9)
    [run] = await scene.begin()
    await scene.end(run, RunState.DEAD)
    await ground.room.record_open_since(HOLDER, scene.epochs, {JOB: START})
    await ground.owners.runs.replay(run)
    [later] = await scene.claim(1, since=-9)
    facts = await ground.room.admission_facts(await ground.waiting(JOB))
    assert facts.candidates[later].open_since <= START - 9 * SECOND


@with_policy("skip", "queue", "replace")
async def test_replays_wait_for_what_runs_and_go_one_after_the_other(
    scene: Scene, ground: Ground, overlap: WrittenOverlap
) -> None:
    dead = []
    for second in (-9, -8):
        await scene.claim(second, since=second)
        [run] = await scene.begin()
        await scene.end(run, RunState.DEAD)
        dead.append(run)
    await scene.claim(0)
    for run in dead:
        await ground.owners.runs.replay(run)
    await scene.admit()
    assert await scene.states() == ["waiting", "waiting", "queued"]
    reason = f"overlap: run {scene.of(0).run_id} due 2026-11-29T12:00:00Z is still queued"
    assert [row.reason for row in await ground.rows.runs(JOB)] == [reason, reason, ""]
    [today] = await scene.begin()
    assert await scene.end(today) == (None if overlap == "skip" else JOB)
    for number, states in enumerate((["queued", "waiting"], ["succeeded", "queued"])):
        assert len(await ground.room.wake_waiting([JOB])) == 2 - number
        await scene.admit()
        assert await scene.states() == [*states, "succeeded"]
        assert await scene.begin() == [dead[number]]
        assert await scene.end(dead[number], attempt=2) == JOB
    assert await scene.states() == ["succeeded"] * 3


async def test_a_replay_between_two_attempts_is_unfinished_as_any_run(
    scene: Scene, ground: Ground
) -> None:
    await scene.claim(-9, since=-9)
    [run] = await scene.begin()
    await scene.end(run, RunState.DEAD)
    await ground.owners.runs.replay(run)
    await scene.admit()
    assert await scene.begin() == [run]
    await scene.end(run, RunState.RETRYING, attempt=2)
    assert await scene.claim(1, since=-9) == [scene.of(1).run_id]
    await scene.admit()
    assert await scene.states() == ["retrying", "skipped"]


async def test_a_skipped_run_says_because_of_which(scene: Scene, ground: Ground) -> None:
    await scene.claim(0)
    await scene.claim(1)
    await scene.admit()
    reason = f"overlap: run {scene.of(0).run_id} due 2026-11-29T12:00:00Z is still queued"
    assert await ground.rows.runs(JOB) == [Row(0, "queued"), Row(1, "skipped", reason)]


async def test_of_what_is_caught_up_the_first_runs(scene: Scene) -> None:
    waiting = [scene.of(second, state=RunState.WAITING) for second in (1, 2)]
    first = scene.of(0, open_since=START)
    answer = await scene.ground.agenda.claim(HOLDER, scene.epochs, [first, *waiting])
    assert [run.run_id for run in answer.waiting] == [run.run_id for run in waiting]
    await scene.admit()
    assert await scene.states() == ["queued", "skipped", "skipped"]


@with_policy("queue", Overlap("queue", depth=2))
async def test_a_queue_is_so_deep_and_goes_on_when_a_run_ends(
    scene: Scene, ground: Ground, overlap: WrittenOverlap
) -> None:
    depth = 1 if overlap == "queue" else 2
    await scene.claim(0)
    await scene.claim(1, 2, 3)
    await scene.admit()
    waiting = ["waiting"] * depth
    assert await scene.states() == ["queued", *waiting, *["skipped"] * (3 - depth)]
    [run] = await scene.begin()
    assert await scene.end(run) == JOB
    assert await ground.waiting(JOB) == []
    woken = await ground.room.wake_waiting([JOB])
    assert {(run.cause, run.ready_at) for run in woken} == {(CAUSE, ground.clock.now())}
    await scene.admit()
    assert await scene.states() == [
        *("succeeded", "queued"),
        *waiting[1:],
        *["skipped"] * (3 - depth),
    ]


@with_policy("queue")
async def test_who_waits_is_asked_about_again_though_nobody_woke_it(
    scene: Scene, ground: Ground
) -> None:
    await scene.claim(0)
    await scene.claim(1)
    await scene.admit()
    [run] = await scene.begin()
    await scene.end(run)
    ground.clock.move(1)
    await scene.admit()
    assert await scene.states() == ["succeeded", "queued"]
    assert await ground.room.wake_waiting([JOB, OTHER]) == []


@with_policy("replace")
async def test_what_is_replaced_is_cancelled_wherever_it_stands(
    scene: Scene, ground: Ground
) -> None:
    await scene.claim(0)
    await scene.begin()
    await scene.claim(1, since=None)
    await scene.claim(2, since=None, state=RunState.WAITING)
    runs = [scene.of(second).run_id for second in range(3)]
    await ground.room.cancel_runs(runs, "replaced")
    reasons = [(row.state, row.reason) for row in await ground.rows.runs(JOB)]
    assert reasons == [("running", ""), *[("cancelled", "replaced")] * 2]
    assert await ground.waiting(JOB) == []
    assert await scene.begin() == []
    heartbeat = Heartbeat(EXECUTOR, "e", ["default"], 9, 4, open=[1], held=[(runs[0], 1)])
    [stop] = (await ground.dispatch.heartbeat(heartbeat)).stop
    assert (stop.run_id, stop.why) == (runs[0], "cancelled")


async def test_what_is_known_to_be_unfinished_is_found_wherever_it_was_due(
    scene: Scene, ground: Ground
) -> None:
    await scene.claim(0)
    await scene.claim(5, since=None)
    first, later = (scene.of(second).run_id for second in (0, 5))
    for place, found in (
        (OpenRuns(START), {first, later}),
        (OpenRuns(START + SECOND), {later}),
        (OpenRuns(START + SECOND, (first,)), {first, later}),
        (OpenRuns(START + 9 * SECOND, (first, UUID(int=9))), {first}),
        (OpenRuns(START + 9 * SECOND), set()),
    ):
        runs = await ground.room.open_runs({JOB: place, OTHER: OpenRuns(START)})
        assert {run.id for run in runs[JOB]} == found
        assert runs[OTHER] == []
    assert {run.state for run in runs[JOB]} == set()
    [run] = [run_id for run_id in await scene.begin() if run_id == first]
    await scene.end(run)
    assert [run.id for run in (await ground.room.open_runs({JOB: OpenRuns(START)}))[JOB]] == [later]


@with_policy("allow")
async def test_what_was_decided_by_an_older_policy_is_not_done(
    scene: Scene, ground: Ground
) -> None:
    await scene.claim(0)
    waiting = await scene.ground.agenda.claim(
        HOLDER, scene.epochs, [scene.of(1, state=RunState.WAITING)]
    )
    decisions = decide(waiting.waiting, await ground.facts(waiting.waiting))
    assert [decision.verdict.state for decision in decisions] == [RunState.QUEUED]
    await ground.rows.respec(JOB, msgspec.structs.replace(SPEC, overlap="skip"))
    await ground.rows.revise(JOB)
    done = await ground.room.carry_out(HOLDER, scene.epochs, decisions)
    assert (done.stale, done.is_void(decisions[0]), done.pools) == ({JOB}, True, set())
    assert await ground.waiting(JOB) == waiting.waiting
    assert (await ground.admit(HOLDER, scene.epochs, waiting.waiting)).stale == set()
    assert await scene.states() == ["queued", "skipped"]
