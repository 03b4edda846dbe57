"""Gates: who passes, who stands in line, and that each permit goes with its attempt."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.jobs.limits import Concurrency, Limit, Quotas
from matins.domain.jobs.overlap import OverlapPolicy
from matins.domain.runs.admission.waiting import GATE, Waiting
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState

HOLDER, EXECUTOR, JOB, OTHER = (UUID(int=number) for number in range(1, 5))
KEYED = msgspec.structs.replace(SPEC, concurrency=Concurrency("vendor-x", limit=2))
SECOND = timedelta(seconds=1)


@pytest.fixture
async def epochs(ground: Ground) -> dict[int, int]:
    """All leases, two jobs of one key with a limit of two, and an executor."""
    await ground.rows.add_job(JOB, KEYED)
    await ground.rows.add_job(OTHER, KEYED)
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 1))
    return await ground.all_leases(HOLDER)


async def offered(ground: Ground, epochs: dict[int, int], count: int = 4) -> list[UUID]:
    """Claim runs of both jobs in turn and ask about them; return them in their order."""
    claims = [claim((JOB, OTHER)[number % 2], START + SECOND * number) for number in range(count)]
    answer = await ground.agenda.claim(HOLDER, epochs, claims)
    await ground.admit(HOLDER, epochs, answer.waiting)
    return [made.run_id for made in claims]


async def taken(ground: Ground, seq: int = 1) -> list[UUID]:
    """Take what is on the queue; return the runs."""
    poll = Poll(EXECUTOR, seq, ["default"], 9)
    handout = await ground.dispatch.dequeue(poll, "default") or Handout()
    return sorted(attempt.run_id for attempt in handout.attempts)


async def ended(ground: Ground, run: UUID, state: RunState = RunState.SUCCEEDED) -> None:
    """Record the end of a run's first attempt."""
    outcome = Outcome.LOST if state is RunState.RETRYING else Outcome.SUCCEEDED
    retry_in_s = 1.0 if state is RunState.RETRYING else None
    ending = Ending(End(run, 1, Result(outcome)), state, retry_in_s=retry_in_s)
    assert len(await ground.dispatch.record(EXECUTOR, [ending])) == 1


async def first_in_lines(ground: Ground, epochs: dict[int, int]) -> list[Waiting]:
    """Return who stands first where there is room."""
    lines = await ground.room.gate_lines(None, 100)
    return lines.first(epochs)


async def asked_in_line(ground: Ground, epochs: dict[int, int]) -> list[UUID]:
    """Ask about those who stand first where there is room; return them."""
    first = await first_in_lines(ground, epochs)
    await ground.admit(HOLDER, epochs, first)
    return [waiting.run_id for waiting in first]


async def test_so_many_pass_as_there_is_room_and_the_others_stand_in_line(
    ground: Ground, epochs: dict[int, int]
) -> None:
    runs = await offered(ground, epochs)
    assert await taken(ground) == runs[:2]
    assert await ground.rows.permits() == {("key", run) for run in runs[:2]}
    rows = [*await ground.rows.runs(JOB), *await ground.rows.runs(OTHER)]
    waiting = {row.reason for row in rows if row.state == "waiting"}
    assert waiting == {"limit of 2 for vendor-x is taken"}
    assert await asked_in_line(ground, epochs) == []


async def test_the_first_in_line_passes_when_a_permit_is_given_back(
    ground: Ground, epochs: dict[int, int]
) -> None:
    runs = await offered(ground, epochs)
    await taken(ground)
    await ended(ground, runs[0])
    first = await first_in_lines(ground, epochs)
    assert [(run.run_id, run.cause) for run in first] == [(runs[2], GATE)]
    assert await asked_in_line(ground, epochs) == [runs[2]]
    assert await taken(ground, 2) == [runs[2]]
    assert await ground.rows.permits() == {("key", run) for run in (runs[1], runs[2])}


async def test_who_comes_later_does_not_pass_the_line(
    ground: Ground, epochs: dict[int, int]
) -> None:
    runs = await offered(ground, epochs)
    await taken(ground)
    await ended(ground, runs[0])
    later = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START + 10 * SECOND)])
    await ground.admit(HOLDER, epochs, later.waiting)
    assert await taken(ground, 2) == []
    rows = await ground.rows.runs(JOB)
    assert rows[-1].reason == "behind other runs in the line for vendor-x"
    assert await asked_in_line(ground, epochs) == [runs[2]]


async def test_a_run_between_two_attempts_holds_no_permit(
    ground: Ground, epochs: dict[int, int]
) -> None:
    runs = await offered(ground, epochs)
    await taken(ground)
    await ended(ground, runs[0], RunState.RETRYING)
    assert await ground.rows.permits() == {("key", runs[1])}
    assert await asked_in_line(ground, epochs) == [runs[2]]
    ground.clock.move(2)
    await ground.admit(HOLDER, epochs, await ground.waiting())
    assert await taken(ground, 2) == [runs[2]]  # the retry stands in line, before the others
    await ended(ground, runs[1])
    assert await asked_in_line(ground, epochs) == [runs[0]]


async def test_a_cancelled_run_gives_back_what_it_holds(
    ground: Ground, epochs: dict[int, int]
) -> None:
    runs = await offered(ground, epochs)
    await ground.owners.runs.cancel(runs[0])
    assert await ground.rows.permits() == {("key", runs[1])}
    assert await asked_in_line(ground, epochs) == [runs[2]]


async def test_a_hand_out_that_never_arrived_keeps_its_permit(
    ground: Ground, epochs: dict[int, int]
) -> None:
    runs = await offered(ground, epochs)
    await taken(ground)
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 2))
    assert await ground.rows.permits() == {("key", run) for run in runs[:2]}
    assert await taken(ground, 2) == runs[:2]


async def test_a_lower_limit_lets_nothing_start_and_a_higher_one_at_once(
    ground: Ground, epochs: dict[int, int]
) -> None:
    runs = await offered(ground, epochs)
    await ground.owners.limits.put("default", Limit("vendor-x", limit=1))
    await taken(ground)
    await ended(ground, runs[0])
    assert await asked_in_line(ground, epochs) == []
    await ground.owners.limits.put("default", Limit("vendor-x", limit=3))
    assert await asked_in_line(ground, epochs) == runs[2:4]
    deleted = await ground.owners.limits.delete("default", "vendor-x")
    assert deleted.limit == Limit("vendor-x", limit=3)


async def test_a_rate_lets_starts_follow_each_other_in_time(
    ground: Ground, epochs: dict[int, int]
) -> None:
    await ground.owners.limits.put("default", Limit("vendor-x", rate="30/m"))
    runs = await offered(ground, epochs)
    assert await taken(ground) == runs[:1]
    lines = await ground.room.gate_lines(None, 100)
    assert [*lines.opening().values()] == [START + 2 * SECOND]
    ground.clock.move(1.9)
    assert await asked_in_line(ground, epochs) == []
    ground.clock.move(0.2)
    assert await asked_in_line(ground, epochs) == [runs[1]]
    ground.clock.move(1.9)  # the start before was late, and delays nobody
    assert await asked_in_line(ground, epochs) == []  # but the limit of the jobs is taken


async def test_a_quota_counts_all_runs_of_a_team(ground: Ground, epochs: dict[int, int]) -> None:
    plain = UUID(int=9)
    await ground.rows.add_job(plain, SPEC)
    await ground.owners.limits.put_quotas("default", Quotas(max_running=1))
    answer = await ground.agenda.claim(
        HOLDER, epochs, [claim(plain, START), claim(plain, START + SECOND)]
    )
    await ground.admit(HOLDER, epochs, answer.waiting)
    assert len(await taken(ground)) == 1
    [_, held] = await ground.rows.runs(plain)
    assert held.reason == "limit of 1 for its team is taken"


async def test_a_run_that_waits_for_one_gate_holds_up_no_other(
    ground: Ground, epochs: dict[int, int]
) -> None:
    narrow = UUID(int=9)
    await ground.rows.add_job(narrow, msgspec.structs.replace(KEYED, max_running=1))
    claims = [claim(narrow, START + SECOND * number) for number in range(2)]
    answer = await ground.agenda.claim(HOLDER, epochs, claims)
    await ground.admit(HOLDER, epochs, answer.waiting)
    later = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START + 5 * SECOND)])
    await ground.admit(HOLDER, epochs, later.waiting)
    assert await taken(ground) == sorted([claims[0].run_id, *later.made])


async def test_who_leaves_a_line_for_another_lets_the_next_be_looked_at(
    ground: Ground, epochs: dict[int, int]
) -> None:
    narrow = UUID(int=9)
    await ground.rows.add_job(narrow, msgspec.structs.replace(KEYED, max_running=1))
    runs = await offered(ground, epochs, 2)
    claims = [claim(narrow, START + SECOND * number) for number in (2, 3)]
    behind = claim(JOB, START + 4 * SECOND)
    answer = await ground.agenda.claim(HOLDER, epochs, [*claims, behind])
    lined = await ground.admit(HOLDER, epochs, answer.waiting)
    assert len(lined.gates) == 1  # a permit may have been given back while they lined up
    await taken(ground)
    await ended(ground, runs[0])
    assert await asked_in_line(ground, epochs) == [claims[0].run_id]
    await ended(ground, runs[1])
    first = await first_in_lines(ground, epochs)
    assert [run.run_id for run in first] == [claims[1].run_id]
    left = await ground.admit(HOLDER, epochs, first)
    assert lined.gates < left.gates  # it stands at its job's gate now
    assert await asked_in_line(ground, epochs) == [behind.run_id]
    passed = await ground.admit(HOLDER, epochs, [])
    assert passed.gates == set()


async def test_who_stands_in_line_has_its_pool_and_its_priority(
    ground: Ground, epochs: dict[int, int]
) -> None:
    urgent = UUID(int=9)
    spec = msgspec.structs.replace(KEYED, pool="heavy", priority="high")
    await ground.rows.add_job(urgent, spec)
    runs = await offered(ground, epochs, 2)
    answer = await ground.agenda.claim(HOLDER, epochs, [claim(urgent, START, pool="heavy")])
    await ground.admit(HOLDER, epochs, answer.waiting)
    await ground.owners.runs.cancel(runs[0])
    first = await first_in_lines(ground, epochs)
    assert [(run.pool, run.priority) for run in first] == [("heavy", 0)]


async def test_who_was_let_in_beside_another_is_not_skipped_in_line(
    ground: Ground, epochs: dict[int, int]
) -> None:
    alone = UUID(int=9)
    spec = msgspec.structs.replace(SPEC, overlap="allow", max_running=1)
    await ground.rows.add_job(alone, spec)
    claims = [claim(alone, START + SECOND * number) for number in range(2)]
    answer = await ground.agenda.claim(HOLDER, epochs, claims)
    await ground.admit(HOLDER, epochs, answer.waiting)
    assert await taken(ground) == [claims[0].run_id]
    changed = msgspec.structs.replace(spec, overlap="skip", max_running=2)
    await ground.rows.respec(alone, changed)
    assert await asked_in_line(ground, epochs) == [claims[1].run_id]
    assert await taken(ground, 2) == [claims[1].run_id]


@pytest.mark.parametrize(
    ("overlap", "states"),
    [
        ("allow", ["running", "queued", "waiting"]),
        ("skip", ["running", "skipped", "waiting"]),
        ("queue", ["running", "waiting", "waiting"]),
    ],
)
async def test_a_policy_that_came_since_holds_for_those_in_line(
    ground: Ground, epochs: dict[int, int], overlap: OverlapPolicy, states: list[str]
) -> None:
    alone = UUID(int=9)
    spec = msgspec.structs.replace(SPEC, overlap="allow", max_running=1)
    await ground.rows.add_job(alone, spec)
    claims = [claim(alone, START + SECOND * number) for number in range(3)]
    answer = await ground.agenda.claim(HOLDER, epochs, claims)
    await ground.admit(HOLDER, epochs, answer.waiting)
    assert await taken(ground) == [claims[0].run_id]
    changed = msgspec.structs.replace(spec, overlap=overlap, max_running=2)
    await ground.rows.respec(alone, changed)
    await ground.rows.revise(alone)
    assert await asked_in_line(ground, epochs) == [claims[1].run_id]
    assert [row.state for row in await ground.rows.runs(alone)] == states


async def test_nobody_passes_the_line_while_one_in_it_is_asked_by_another_policy(
    ground: Ground, epochs: dict[int, int]
) -> None:
    alone = UUID(int=9)
    spec = msgspec.structs.replace(KEYED, overlap="allow")
    await ground.rows.add_job(alone, spec)
    jobs = (alone, JOB, alone, OTHER)
    claims = [claim(job, START + SECOND * number) for number, job in enumerate(jobs)]
    answer = await ground.agenda.claim(HOLDER, epochs, claims)
    await ground.admit(HOLDER, epochs, answer.waiting)
    await taken(ground)
    await ended(ground, claims[1].run_id)
    await ground.rows.respec(alone, msgspec.structs.replace(spec, overlap="skip"))
    await ground.rows.revise(alone)
    later = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START + 10 * SECOND)])
    first = await first_in_lines(ground, epochs)
    await ground.admit(HOLDER, epochs, [*first, *later.waiting])
    assert [row.state for row in await ground.rows.runs(alone)] == ["running", "skipped"]
    assert await taken(ground, 2) == []
    assert await asked_in_line(ground, epochs) == [claims[3].run_id]


async def test_permits_of_runs_that_are_over_are_healed(
    ground: Ground, epochs: dict[int, int]
) -> None:
    runs = await offered(ground, epochs)
    await taken(ground)
    assert await ground.repairs.free_permits() == []
    await ground.rows.lose_permits(runs[0])
    await ended(ground, runs[0])
    assert await ground.repairs.free_permits() == []
    assert await ground.rows.permits() == {("key", runs[1])}


async def test_a_limit_counts_what_had_begun_when_its_job_was_given_it(
    ground: Ground, epochs: dict[int, int]
) -> None:
    plain = UUID(int=9)
    await ground.rows.add_job(plain, SPEC)
    free = await ground.agenda.claim(HOLDER, epochs, [claim(plain, START)])
    await ground.rows.respec(plain, msgspec.structs.replace(SPEC, max_running=1))
    assert await ground.rows.permits() == {("job", run) for run in free.made}


async def test_a_triggered_run_passes_the_gates_as_any_other(
    ground: Ground, epochs: dict[int, int]
) -> None:
    runs = await offered(ground, epochs)
    row = next(iter(await ground.rows.runs(JOB)))
    assert row.state == "queued"
    name = await ground.rows.name_of(JOB)
    triggered = await ground.owners.runs.trigger("default", name)
    assert triggered.state is RunState.WAITING
    await ground.admit(HOLDER, epochs, await ground.waiting())
    assert await taken(ground) == runs[:2]
    await ended(ground, runs[0])
    await ended(ground, runs[1])
    assert await asked_in_line(ground, epochs) == [triggered.id, runs[2]]
