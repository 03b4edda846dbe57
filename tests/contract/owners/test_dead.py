"""Dead letters, on memory and on PostgreSQL: each dead run has one until somebody closes it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll, RunStatus
from matins.domain.jobs.authors import Author
from matins.domain.runs.admission.overlap import ask_trigger
from matins.domain.runs.attempts import Result
from matins.domain.runs.dead import DismissDead
from matins.domain.runs.fingerprint import failure_of
from matins.domain.runs.inputs import NO_INPUT, RunInput
from matins.domain.runs.states import Kind, Outcome, RunState
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError
from matins.domain.values.ids import run_id
from matins.kernel.metrics import REPLAYED

TEAM = "default"
EXECUTOR = UUID(int=7)
SPECS = [msgspec.structs.replace(SPEC, name=name, overlap="allow") for name in ("load", "send")]
BAD = Result(Outcome.FAILED, "order 17 refused")
CHANGED = RunInput(body="order 18")
WORSE = Result(Outcome.TIMED_OUT, "no end after 30s")


class Graveyard:
    """Two jobs whose runs die as they are told."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.seq = 0

    async def die(self, job: str, result: Result = BAD, state: RunState = RunState.DEAD) -> UUID:
        """Trigger a run, and let its attempt end so."""
        await self.ground.owners.runs.trigger(TEAM, job)
        return await self.end(result, state)

    async def end(self, result: Result = BAD, state: RunState = RunState.DEAD) -> UUID:
        """Let the attempt of the one run that is queued end so."""
        self.seq += 1
        heartbeat = Heartbeat(EXECUTOR, "e", ["default"], 9, self.seq)
        await self.ground.dispatch.heartbeat(heartbeat)
        poll = Poll(EXECUTOR, self.seq, ["default"], 9)
        handout = await self.ground.dispatch.dequeue(poll, "default") or Handout()
        [attempt] = handout.attempts
        retry_in_s = 0.0 if state is RunState.RETRYING else None
        end = End(attempt.run_id, attempt.number, result)
        ending = Ending(end, state, f"failed: {result.reason}", retry_in_s)
        assert await self.ground.dispatch.record(EXECUTOR, [ending])
        self.ground.clock.move(1)
        return attempt.run_id

    async def open(self) -> list[UUID]:
        """Return the runs whose letters are open, oldest first."""
        letters = await self.ground.rows.letters()
        return [letter.run for letter in letters if letter.dismissed_by is None]


@pytest.fixture
async def graveyard(ground: Ground) -> Graveyard:
    for spec in SPECS:
        await ground.owners.jobs.put(TEAM, spec)
    return Graveyard(ground)


async def test_a_dead_run_has_a_letter_with_its_last_error(graveyard: Graveyard) -> None:
    run = await graveyard.die("load")
    [letter] = await graveyard.ground.rows.letters()
    assert letter == (run, START, *failure_of(BAD), None, "")


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (Result(Outcome.SUCCEEDED), RunState.SUCCEEDED),
        (Result(Outcome.CANCELLED, "cancelled"), RunState.CANCELLED),
        (BAD, RunState.RETRYING),
    ],
)
async def test_no_other_run_has_one(graveyard: Graveyard, result: Result, state: RunState) -> None:
    await graveyard.die("load", result, state)
    assert await graveyard.ground.rows.letters() == []


async def test_each_failed_attempt_keeps_its_fingerprint(graveyard: Graveyard) -> None:
    await graveyard.die("load", BAD)
    await graveyard.die("load", Result(Outcome.SUCCEEDED), RunState.SUCCEEDED)
    told = await graveyard.ground.rows.fingerprints()
    assert told == [failure_of(BAD).fingerprint, None]


async def test_a_replay_closes_the_letter_and_a_second_death_writes_another(
    graveyard: Graveyard,
) -> None:
    ground = graveyard.ground
    run = await graveyard.die("load")
    before = REPLAYED._value.get()
    assert (await ground.owners.runs.replay(run, Author("ops"))).reason == "replayed by ops"
    assert REPLAYED._value.get() == before + 1
    assert await ground.rows.letters() == []
    epochs = await ground.all_leases(EXECUTOR)
    await ground.admit(EXECUTOR, epochs, await ground.waiting())
    assert await graveyard.end(WORSE) == run
    [letter] = await ground.rows.letters()
    assert letter[:4] == (run, START + timedelta(seconds=1), *failure_of(WORSE))


async def test_a_replay_with_another_input_is_a_new_run_that_closes_the_letter_once(
    graveyard: Graveyard,
) -> None:
    ground, replay = graveyard.ground, graveyard.ground.owners.runs.replay_changed
    run, other = await graveyard.die("load"), await graveyard.die("load")
    before = REPLAYED._value.get()
    made = await replay(run, CHANGED, key="mended", author=Author("ops"))
    assert [(letter.run, letter.dismissed_by) for letter in await ground.rows.letters()] == [
        (run, "ops"),
        (other, None),
    ]
    assert (made.kind, made.state, made.id != run) == ("manual", RunState.QUEUED, True)
    assert await graveyard.open() == [other]
    assert (await replay(run, CHANGED, key="mended")).id == made.id
    assert REPLAYED._value.get() == before + 1
    with pytest.raises(InvalidInputError, match="with other content"):
        await replay(other, CHANGED, key="mended")
    for again in (replay(run, CHANGED), ground.owners.runs.replay(run)):
        with pytest.raises(ConflictError):
            await again
    assert await graveyard.end(WORSE) == made.id
    assert await graveyard.open() == [other, made.id]
    dead = await ground.owners.runs._changes.status(run)
    assert dead is not None
    assert dead.state is RunState.DEAD


async def test_two_replays_at_once_make_one_run(graveyard: Graveyard) -> None:
    runs = graveyard.ground.owners.runs
    run = await graveyard.die("load")
    asked = (runs.replay_changed(run, CHANGED), runs.replay_changed(run, CHANGED), runs.replay(run))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(answer, ConflictError) for answer in answers) == 2
    assert sum(isinstance(answer, RunStatus) for answer in answers) == 1
    assert await graveyard.open() == []


async def test_who_comes_second_to_a_letter_makes_no_run(graveyard: Graveyard) -> None:
    ground, changes = graveyard.ground, graveyard.ground.owners.runs._changes
    run = await graveyard.die("load")
    job = await changes.find_job(TEAM, "load", None, run)
    assert job is not None
    assert job.has_letter
    await ground.owners.runs.replay_changed(run, CHANGED)
    due_at = job.now + timedelta(seconds=1)
    verdict = ask_trigger(job.overlap, None, allow_overlap=False)
    name = run_id(job.id, due_at, Kind.MANUAL)
    assert not await changes.trigger(name, job.id, due_at, verdict, CHANGED, replay_of=run)
    assert await changes.status(name) is None


async def test_an_input_that_changes_nothing_or_does_not_fit_closes_no_letter(
    graveyard: Graveyard,
) -> None:
    runs = graveyard.ground.owners.runs
    run = await graveyard.die("load")
    for unfit in (NO_INPUT, RunInput(args=["x"])):
        with pytest.raises(InvalidInputError):
            await runs.replay_changed(run, unfit)
    for unknown in (UUID(int=3), UUID("019ad000-0000-8000-8000-000000000000")):
        with pytest.raises(NotFoundError):
            await runs.replay_changed(unknown, CHANGED)
    assert await graveyard.open() == [run]


async def test_a_run_of_a_deleted_job_is_not_replayed_by_one_of_its_name(
    graveyard: Graveyard,
) -> None:
    owners = graveyard.ground.owners
    run = await graveyard.die("load")
    await owners.jobs.delete(TEAM, "load")
    await owners.jobs.put(TEAM, SPECS[0])
    with pytest.raises(ConflictError, match="no dead letter of this job"):
        await owners.runs.replay_changed(run, CHANGED)
    assert await graveyard.open() == [run]


async def test_one_that_is_dismissed_keeps_who_did_it_and_why(graveyard: Graveyard) -> None:
    ground = graveyard.ground
    first, second = await graveyard.die("load"), await graveyard.die("load")
    wanted = DismissDead(runs=[first], note="settled by hand")
    assert (await ground.owners.dead.dismiss(TEAM, wanted, Author("ann"))).dismissed == 1
    assert await graveyard.open() == [second]
    assert [letter[4:] for letter in await ground.rows.letters()] == [
        ("ann", "settled by hand"),
        (None, ""),
    ]
    again = DismissDead(runs=[first], note="by bob")
    assert (await ground.owners.dead.dismiss(TEAM, again, Author("bob"))).dismissed == 0


async def test_a_dismissed_run_can_be_replayed_all_the_same(graveyard: Graveyard) -> None:
    run = await graveyard.die("load")
    await graveyard.ground.owners.dead.dismiss(TEAM, DismissDead(everything=True))
    assert (await graveyard.ground.owners.runs.replay(run)).state is RunState.RETRYING
    assert await graveyard.ground.rows.letters() == []


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        (DismissDead(everything=True), []),
        (DismissDead(job="load"), [2]),
        (DismissDead(job="nothing"), [0, 1, 2]),
        (DismissDead(fingerprint=failure_of(BAD).fingerprint), [1]),
        (DismissDead(job="load", fingerprint=failure_of(BAD).fingerprint), [1, 2]),
        (DismissDead(since=START + timedelta(seconds=1)), [0]),
        (DismissDead(until=START + timedelta(seconds=1)), [1, 2]),
        (DismissDead(runs=[UUID(int=3)]), [0, 1, 2]),
    ],
)
async def test_what_is_asked_for_is_dismissed_and_no_more(
    graveyard: Graveyard, wanted: DismissDead, left: list[int]
) -> None:
    runs = [
        await graveyard.die("load"),
        await graveyard.die("load", WORSE),
        await graveyard.die("send"),
    ]
    done = await graveyard.ground.owners.dead.dismiss(TEAM, wanted)
    assert done.dismissed == 3 - len(left)
    assert await graveyard.open() == [runs[number] for number in left]


async def test_no_other_team_closes_it(graveyard: Graveyard) -> None:
    run = await graveyard.die("load")
    for wanted in (DismissDead(everything=True), DismissDead(runs=[run])):
        assert (await graveyard.ground.owners.dead.dismiss("other", wanted)).dismissed == 0
    assert await graveyard.open() == [run]


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        (DismissDead(), ""),
        (DismissDead(job="load", everything=True), ""),
        (DismissDead(runs=[]), "runs"),
        (DismissDead(job="no name"), "job"),
        (DismissDead(everything=True, note="x" * 501), "note"),
    ],
)
async def test_what_is_not_sound_is_refused(
    graveyard: Graveyard, wanted: DismissDead, place: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await graveyard.ground.owners.dead.dismiss(TEAM, wanted)
    assert [problem.where for problem in refused.value.problems] == [place]
