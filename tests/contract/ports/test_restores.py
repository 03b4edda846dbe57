"""Restores, as schedulers note them and operators decide, on memory and on PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, Row, claim
from tests.ids import numbered

from matins.domain.jobs.misfire import Missed
from matins.domain.runs.claims import Claim
from matins.domain.runs.restores import LEFT_OUT, UNCERTAIN, Resumption, Watermarks
from matins.domain.runs.states import RunState
from matins.domain.values.errors import NotFoundError

A = numbered(1)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
LAST = START + 3 * MINUTE


def uncertain(job: UUID, minutes: int) -> Claim:
    due = START + minutes * MINUTE
    return claim(job, due, state=RunState.SKIPPED, reason=UNCERTAIN)


async def restored(ground: Ground) -> tuple[UUID, UUID]:
    """Two jobs: of one three due times are uncertain, of the other one; the restore is noted."""
    epochs = await ground.all_leases(A)
    jobs = []
    for name in ("first", "second"):
        spec = msgspec.structs.replace(SPEC, name=name)
        jobs.append((await ground.owners.jobs.put("default", spec)).job.id)
    ground.clock.move(600)
    first, second = jobs
    later = claim(first, START + 4 * MINUTE, state=RunState.SKIPPED, reason="misfire: all")
    claims = [*(uncertain(first, number) for number in (1, 2, 3)), uncertain(second, 2), later]
    answer = await ground.agenda.claim(A, epochs, claims)
    assert len(answer.made) == len(claims)
    await ground.restores.note_restore(START, LAST)
    return first, second


def rows(*states: tuple[str, str]) -> list[Row]:
    return [Row(60.0 * number, *state) for number, state in enumerate(states, 1)]


RUNS = ("waiting", "to be admitted")
LEFT = ("skipped", LEFT_OUT)
OLD = ("skipped", UNCERTAIN)
BESIDE = ("skipped", "misfire: all")


@pytest.mark.parametrize(
    ("missed", "states", "to_run"),
    [
        ("all", (RUNS, RUNS, RUNS), 4),
        ("last", (LEFT, LEFT, RUNS), 2),
        ("skip", (LEFT, LEFT, LEFT), 0),
    ],
)
async def test_what_is_uncertain_runs_as_the_operator_says(
    ground: Ground, missed: Missed, states: tuple[tuple[str, str], ...], to_run: int
) -> None:
    first, second = await restored(ground)
    wanted = Resumption(missed)
    told = await ground.owners.restores.resume(wanted, dry_run=True)
    assert (told.uncertain, told.jobs, told.to_run, told.left_out) == (4, 2, to_run, 4 - to_run)
    assert await ground.rows.runs(first) == rows(OLD, OLD, OLD, BESIDE)
    assert await ground.restores.unresolved_restore() == told.restore

    done = await ground.owners.restores.resume(wanted)
    assert (done.uncertain, done.jobs, done.to_run) == (4, 2, to_run)
    assert done.restore.resolved_at == ground.clock.now()
    assert await ground.rows.runs(first) == rows(*states, BESIDE)
    assert [row.state for row in await ground.rows.runs(second)] == [states[2][0]]
    assert await ground.restores.unresolved_restore() is None
    waiting = {run.run_id for run in await ground.waiting()}
    assert len(waiting) == to_run

    again = await ground.owners.restores.resume(Resumption("all"))
    assert (again.uncertain, again.to_run) == (0, 0)


async def test_what_was_due_before_an_instant_is_left_out(ground: Ground) -> None:
    first, second = await restored(ground)
    done = await ground.owners.restores.resume(Resumption("all", START + 2 * MINUTE))
    assert (done.to_run, done.left_out) == (3, 1)
    assert await ground.rows.runs(first) == rows(LEFT, RUNS, RUNS, BESIDE)
    assert [row.state for row in await ground.rows.runs(second)] == ["waiting"]


async def test_pages_decide_like_one_statement(ground: Ground) -> None:
    first, _ = await restored(ground)
    restore = await ground.restores.unresolved_restore()
    assert restore is not None
    changes = ground.owners.restores._changes
    counts = []
    while any(page := await changes.resume(restore, Resumption("last"), 1)):
        counts.append(page)
    assert sorted(counts) == [(0, 1), (0, 1), (1, 0), (1, 0)]
    assert await ground.rows.runs(first) == rows(LEFT, LEFT, RUNS, BESIDE)


async def test_nothing_of_a_paused_job_runs(ground: Ground) -> None:
    first, second = await restored(ground)
    await ground.owners.jobs.pause("default", "first")
    done = await ground.owners.restores.resume(Resumption("all"))
    assert (done.to_run, done.left_out) == (1, 3)
    assert (await ground.rows.runs(first))[:3] == rows(LEFT, LEFT, LEFT)
    assert [row.state for row in await ground.rows.runs(second)] == ["waiting"]


async def test_what_runs_is_admitted_and_counts_as_unfinished(ground: Ground) -> None:
    first, _ = await restored(ground)
    await ground.owners.restores.resume(Resumption("last"))
    epochs = await ground.leases.acquire(A, 256, 3600) or dict.fromkeys(range(256), 1)
    waiting = await ground.waiting(first)
    facts = await ground.facts(waiting)
    assert all(run.open_since <= LAST for run in facts.candidates.values())
    await ground.admit(A, epochs, waiting)
    assert (await ground.rows.runs(first))[2].state == "queued"


async def test_without_a_restore_there_is_nothing_to_decide(ground: Ground) -> None:
    with pytest.raises(NotFoundError, match="no restore was noticed"):
        await ground.owners.restores.resume(Resumption("all"))


async def test_an_unresolved_restore_grows_as_others_notice_it(ground: Ground) -> None:
    await ground.restores.note_restore(START, LAST)
    noticed_at = ground.clock.now()
    ground.clock.move(5)
    await ground.restores.note_restore(START + MINUTE, LAST + SECOND)
    await ground.restores.note_restore(START - MINUTE, START)
    restore = await ground.restores.unresolved_restore()
    assert restore is not None
    assert (restore.lost_since, restore.seen_until) == (START - MINUTE, LAST + SECOND)
    assert restore.noticed_at == noticed_at


async def test_how_far_all_fire_times_are_known(ground: Ground) -> None:
    assert await ground.restores.watermarks() is None
    epochs = await ground.all_leases(A)
    await ground.leases.renew(A, epochs, START - SECOND, 3600)
    assert await ground.restores.watermarks() == Watermarks(START - SECOND, START - SECOND)


async def test_a_day_stays_until_it_is_decided_about(ground: Ground) -> None:
    first, _ = await restored(ground)
    await ground.days.make(START.date(), START.date())
    ground.clock.move(3 * 86_400)
    await ground.days.make(ground.clock.now().date(), ground.clock.now().date())
    assert not await ground.days.detach(START.date())
    await ground.owners.restores.resume(Resumption("skip"))
    assert await ground.days.detach(START.date())
    assert (await ground.rows.runs(first))[0].reason == LEFT_OUT
