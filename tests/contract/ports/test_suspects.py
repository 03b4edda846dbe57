"""What was lost in company is told apart, and suspects are handed out one at a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from tests.contract.ports.ground import SPEC, START, Ground, claim
from tests.ids import numbered

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.states import SUSPECT_AFTER, Outcome, RunState

HOLDER, FIRST, SECOND, JOB = (numbered(number) for number in range(1, 5))


class Handing:
    """Runs of one job that are handed out to two executors."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._seqs = {FIRST: 1, SECOND: 1}
        self._epochs: dict[int, int] = {}

    async def queue(self, count: int) -> None:
        """Claim so many runs."""
        await self._ground.rows.add_job(JOB, SPEC)
        self._epochs = await self._ground.all_leases(HOLDER)
        for n in range(count):
            await self.claim(START + timedelta(minutes=n))

    async def claim(self, due: datetime) -> UUID:
        """Claim one run; gives its id."""
        made = claim(JOB, due)
        await self._ground.agenda.claim(HOLDER, self._epochs, [made])
        self._ground.clock.move(0.001)
        return made.run_id

    async def dequeue(self, executor: UUID = FIRST, free: int = 9) -> list[Attempt]:
        """Return what one more poll of an executor brings."""
        seq = self._seqs[executor]
        self._seqs[executor] += 1
        heartbeat = Heartbeat(
            executor, "e", ["default"], 9, seq + 1, [seq], open=list(range(1, seq))
        )
        await self._ground.dispatch.heartbeat(heartbeat)
        poll = Poll(executor, seq, ["default"], free)
        return (await self._ground.dispatch.dequeue(poll, "default") or Handout()).attempts

    async def lose(self, attempts: list[Attempt], *, shared: bool = True) -> None:
        """Record attempts of the first executor as lost, and put their runs on the queue again."""
        lost = Result(Outcome.LOST, "gone")
        endings = [
            Ending(
                End(attempt.run_id, attempt.number, lost), RunState.RETRYING, "gone", 0.0, shared
            )
            for attempt in attempts
        ]
        assert len(await self._ground.dispatch.record(FIRST, endings)) == len(attempts)
        retries = await self._ground.waiting(JOB)
        assert (await self._ground.admit(HOLDER, self._epochs, retries)).refused == set()

    async def make_suspects(self, count: int) -> None:
        """Queue runs that were lost in company once too often."""
        await self.queue(count)
        for _ in range(SUSPECT_AFTER):
            attempts = await self.dequeue()
            assert len(attempts) == count
            assert not any(attempt.alone for attempt in attempts)
            await self.lose(attempts)


async def test_losses_in_company_are_counted_apart(ground: Ground) -> None:
    handing = Handing(ground)
    await handing.queue(1)
    await handing.lose(await handing.dequeue())
    await handing.lose(await handing.dequeue(), shared=False)
    [attempt] = await handing.dequeue()
    [running] = await ground.dispatch.running_runs(FIRST, [attempt.run_id])
    assert (running.tried.lost_count, running.tried.shared_losses) == (2, 1)
    [seen] = await ground.watch.executors()
    await ground.watch.declare_lost(FIRST, seen.heartbeat_at)
    [(_, [abandoned, *_])] = await ground.watch.abandoned_runs(9)
    assert abandoned.tried == running.tried


async def test_an_executor_gets_one_suspect_at_a_time(ground: Ground) -> None:
    handing = Handing(ground)
    await handing.make_suspects(3)
    [first] = await handing.dequeue()
    assert first.alone
    assert await handing.dequeue() == []
    [second] = await handing.dequeue(SECOND)
    assert second.run_id != first.run_id
    done = Ending(End(first.run_id, first.number, Result(Outcome.SUCCEEDED)), RunState.SUCCEEDED)
    await ground.dispatch.record(FIRST, [done])
    [third] = await handing.dequeue()
    assert {first.run_id, second.run_id, third.run_id} == {
        claim(JOB, START + timedelta(minutes=n)).run_id for n in range(3)
    }


async def test_suspects_hold_up_no_others(ground: Ground) -> None:
    handing = Handing(ground)
    await handing.make_suspects(3)
    await handing.claim(START + timedelta(hours=1))
    assert [attempt.alone for attempt in await handing.dequeue(free=9)] == [True, False]
    other = await handing.claim(START + timedelta(hours=2))
    assert [attempt.run_id for attempt in await handing.dequeue(free=1)] == [other]


async def test_a_suspect_whose_hand_out_never_arrived_stays_a_suspect(ground: Ground) -> None:
    handing = Handing(ground)
    await handing.make_suspects(2)
    [suspect] = await handing.dequeue()
    heartbeat = Heartbeat(FIRST, "e", ["default"], 9, SUSPECT_AFTER + 2, open=[1, 2])
    await ground.dispatch.heartbeat(heartbeat)
    answer = await ground.dispatch.dequeue(Poll(FIRST, 4, ["default"], 9), "default")
    assert answer is not None
    [again] = answer.attempts
    assert (again.run_id, again.number, again.alone) == (suspect.run_id, suspect.number, True)


async def test_a_repeated_poll_says_again_that_a_run_is_a_suspect(ground: Ground) -> None:
    handing = Handing(ground)
    await handing.make_suspects(1)
    given = await handing.dequeue()
    again = await ground.dispatch.find_handout(Poll(FIRST, SUSPECT_AFTER + 1, ["default"], 9))
    assert again is not None
    assert again.attempts == given
