"""A simulator that finds nothing may be asleep: faults that are planted must be found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
import pytest

from matins.domain.alerts.deliveries import Sent, Taken
from matins.domain.alerts.facts import SeenRun
from matins.domain.alerts.judging import Judged, Subject
from matins.domain.executors.protocol import Handout, Poll, Running
from matins.domain.jobs.changes import LockedJob
from matins.domain.ports.alerts import Announcement
from matins.domain.runs.admission.gates import Permit
from matins.domain.runs.backfills.stepping import OpenBackfill
from matins.domain.runs.chains import Link, LinkPage
from matins.domain.runs.claims import AwaitedEnd, Claim, Claimed
from matins.domain.runs.states import RunState
from matins.domain.upkeep.auto_delete import EndedJob
from matins.domain.upkeep.healing import Repaired
from matins.domain.upkeep.zone_data import ScheduledJob
from matins.testing import roles
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.backfills import MemoryBackfills
from matins.testing.memory.changes import MemoryJobChanges, MemoryTransaction
from matins.testing.memory.dispatch import MemoryDispatch, MemoryWatch
from matins.testing.memory.due_times import MemoryEndedJobs, MemoryNextDueTimes
from matins.testing.memory.gates import Gates
from matins.testing.memory.lookout import MemoryLookout
from matins.testing.memory.outbox import MemoryOutbox
from matins.testing.memory.repairs import MemoryRepairs
from matins.testing.memory.world import JobRow, World
from matins.testing.roles import Stage
from matins.testing.simulation import Simulation

SEEDS_MAX = 20
HOURS = 0.07


class FencelessWorld:
    """A world in which every lease is as its holder believes."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def fence(self, _holder: UUID, epochs: Mapping[int, int]) -> set[int]:
        """See `World.fence`."""
        return set(epochs)


class Unfenced(MemoryAgenda):
    """Claims under a lease that has gone to another."""

    def __init__(self, world: World) -> None:
        super().__init__(cast("World", FencelessWorld(world)))


class Unlimited(MemoryBackfills):
    """Tells of backfills as if nothing of them went on."""

    async def unfinished_backfills(self, partitions: Collection[int]) -> list[OpenBackfill]:
        """See `domain.ports.backfills.BackfillSteps`."""
        found = await super().unfinished_backfills(partitions)
        return [msgspec.structs.replace(backfill, runs=[]) for backfill in found]


class Unkeyed(MemoryAgenda):
    """Claims what has its row already."""

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        for claim in claims:
            self._world.runs.pop((claim.job_id, claim.due_at, claim.kind), None)
        return await super().claim(holder, epochs, claims)


class Careless(MemoryAgenda):
    """Says of some claims that they had their row, when they had none."""

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        return await super().claim(
            holder, epochs, [claim for claim in claims if claim.run_id.int % 100]
        )


class LooksNowhere(MemoryAgenda):
    """Claims as if all that was due before were over."""

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        nowhere = [
            msgspec.structs.replace(claim, open_since=claim.open_since and claim.due_at)
            for claim in claims
        ]
        return await super().claim(holder, epochs, nowhere)


class Optimistic(MemoryAgenda):
    """Takes all that a chain waits for and that is over for succeeded."""

    async def links(self, partitions: Collection[int], after: UUID | None = None) -> LinkPage:
        """See `domain.ports.Agenda`."""
        page = await super().links(partitions, after)
        return page._replace(links=[_succeeded(link) for link in page.links])


def _succeeded(link: Link) -> Link:
    upstream = [
        msgspec.structs.replace(run, state=RunState.SUCCEEDED) if run.is_over else run
        for run in link.upstream
    ]
    return msgspec.structs.replace(link, upstream=upstream)


class Unchecked(Gates):
    """Grants permits of gates at which others were admitted since it was decided."""

    def contended(self, permits: Iterable[Permit]) -> set[int]:
        """See `Gates.contended`."""
        del permits
        return set()


class Unreturned(Gates):
    """Takes no permit back."""

    def give_back(self, run_id: UUID) -> set[int]:
        """See `Gates.give_back`."""
        del run_id
        return set()


class Impatient(MemoryAgenda):
    """Takes runs that still go on for ended."""

    async def ended_runs(self, partitions: Collection[int], limit: int) -> list[AwaitedEnd]:
        """See `domain.ports.Agenda`."""
        now = self._world.now()
        going_on = [run for run in self._world.runs.values() if run.finished_at is None]
        for run in going_on:
            run.finished_at = now
        found = await super().ended_runs(partitions, limit)
        for run in going_on:
            run.finished_at = None
        return found


class Deaf(MemoryAgenda):
    """Hears of no end."""

    async def ended_runs(self, partitions: Collection[int], limit: int) -> list[AwaitedEnd]:
        """See `domain.ports.Agenda`."""
        return []


class ForgetsHandouts(MemoryDispatch):
    """Hands out anew for a poll that is repeated, and forgets what it handed out before."""

    async def dequeue(self, poll: Poll, pool: str) -> Handout | None:
        """See `domain.ports.Dispatch`."""
        self._world.handouts.pop((poll.executor, poll.seq), None)
        return await super().dequeue(poll, pool)

    async def find_handout(self, poll: Poll) -> Handout | None:
        """See `domain.ports.Dispatch`."""
        return None


class Blind(MemoryWatch):
    """Finds nothing that lost executors held."""

    async def abandoned_runs(self, limit: int) -> list[tuple[UUID, list[Running]]]:
        """See `domain.ports.Watch`."""
        return []


class Unrecorded(MemoryTransaction):
    """Says that it has recorded what was missing, and has not."""

    async def record(self, job: LockedJob, claims: Sequence[Claim], at: datetime) -> set[UUID]:
        """See `domain.ports.jobs.JobTransaction`."""
        return {claim.run_id for claim in claims}


class Unrecording(MemoryJobChanges):
    """Begins such transactions."""

    def begin(self) -> MemoryTransaction:
        """Begin a transaction."""
        return Unrecorded(self._world)


class Unhealed(MemoryRepairs):
    """Finds no row missing."""

    async def repair(self, after: UUID, limit: int, min_age_s: float) -> Repaired:
        """See `domain.ports.upkeep.RunRepairs`."""
        return Repaired(0, None, [], [], [])


class Immortal(MemoryEndedJobs):
    """Finds no job at its end."""

    async def ended_jobs(self, after: UUID, limit: int) -> list[EndedJob]:
        """See `domain.ports.upkeep.EndedJobs`."""
        return []


class Trusting(MemoryNextDueTimes):
    """Compares no next due time."""

    async def jobs_ahead(self, after: UUID, now: datetime, limit: int) -> list[ScheduledJob]:
        """See `domain.ports.upkeep.NextDueTimes`."""
        return []


class Overwriting(MemoryLookout):
    """Writes what it makes of jobs, whoever has looked at them meanwhile."""

    async def write(
        self, looked: Sequence[tuple[Subject, Judged]], announcements: Sequence[Announcement]
    ) -> set[UUID]:
        """See `domain.ports.alerts.Lookout`."""
        watches = self._world.alerts.watches
        believing = [
            (
                msgspec.structs.replace(subject, believed=watches[subject.facts.job_id].looked_at),
                judged,
            )
            for subject, judged in looked
            if subject.facts.job_id in watches
        ]
        return await super().write(believing, announcements)


class Overlooking(MemoryLookout):
    """Sees no death."""

    def _recent(self, job: JobRow, count: int) -> list[SeenRun]:
        seen = super()._recent(job, count)
        return [run for run in seen if run.state is not RunState.DEAD]


class Mute(MemoryLookout):
    """Tells nobody."""

    async def write(
        self, looked: Sequence[tuple[Subject, Judged]], announcements: Sequence[Announcement]
    ) -> set[UUID]:
        """See `domain.ports.alerts.Lookout`."""
        written = await super().write(looked, announcements)
        self._world.alerts.notices.clear()
        return written


class Shared(MemoryOutbox):
    """Takes messages that others are sending."""

    async def take(self, limit: int, lease_s: float) -> list[Taken]:
        """See `domain.ports.alerts.Outbox`."""
        return await super().take(limit, 0.0)


class Forgetful(MemoryOutbox):
    """Does not write that a message has come."""

    async def record(self, taken: Taken, sent: Sent) -> bool:
        """See `domain.ports.alerts.Outbox`."""
        await super().record(taken, sent._replace(state="waiting", wait_s=5.0))
        return True


class Boastful(MemoryOutbox):
    """Says of messages that they have come when it takes them."""

    async def take(self, limit: int, lease_s: float) -> list[Taken]:
        """See `domain.ports.alerts.Outbox`."""
        for taken in await super().take(limit, lease_s):
            await super().record(taken, taken.after("", 0.0))
        return []


def unfenced(stage: Stage) -> None:
    """Plant a claim without its fence."""
    stage.agenda = Unfenced


def unkeyed(stage: Stage) -> None:
    """Plant a claim without its unique key."""
    stage.agenda = Unkeyed


def careless(stage: Stage) -> None:
    """Plant lost claims."""
    stage.agenda = Careless


def looking_nowhere(stage: Stage) -> None:
    """Plant claims that look for no unfinished run of their job."""
    stage.agenda = LooksNowhere


def optimistic(stage: Stage) -> None:
    """Plant chains that start whatever became of what they wait for."""
    stage.agenda = Optimistic


def unchecked(stage: Stage) -> None:
    """Plant gates that grant what others have taken first."""
    stage.world.gates = Unchecked()


def unreturned(stage: Stage) -> None:
    """Plant permits that are not given back."""
    stage.world.gates = Unreturned()


def impatient(stage: Stage) -> None:
    """Plant due times that do not wait for the end."""
    stage.agenda = Impatient


def deaf(stage: Stage) -> None:
    """Plant ends that nothing follows."""
    stage.agenda = Deaf


def forgets_handouts(stage: Stage) -> None:
    """Plant polls without memory."""
    stage.dispatch = ForgetsHandouts


def unrecorded(stage: Stage) -> None:
    """Plant changes that lose what was due before them."""
    stage.changes = Unrecording


def blind(stage: Stage) -> None:
    """Plant a watch that takes nothing back."""
    stage.watch = Blind


def unhealed(stage: Stage) -> None:
    """Plant healing that heals nothing."""
    stage.repairs = Unhealed


def immortal(stage: Stage) -> None:
    """Plant jobs that are never deleted."""
    stage.ended_jobs = Immortal


def unlimited(stage: Stage) -> None:
    """Plant backfills that make all their runs at once."""
    stage.backfills = Unlimited


def trusting(stage: Stage) -> None:
    """Plant trust in what older zone data says."""
    stage.due_times = Trusting


def overwriting(stage: Stage) -> None:
    """Plant looks that overwrite later ones."""
    stage.lookout = Overwriting


def overlooking(stage: Stage) -> None:
    """Plant looks that see no death."""
    stage.lookout = Overlooking


def mute(stage: Stage) -> None:
    """Plant edges that are written and not told."""
    stage.lookout = Mute


def shared(stage: Stage) -> None:
    """Plant channels to which several send at once."""
    stage.outbox = Shared


def forgetful(stage: Stage) -> None:
    """Plant messages that are sent for ever."""
    stage.outbox = Forgetful


def boastful(stage: Stage) -> None:
    """Plant messages that are never sent."""
    stage.outbox = Boastful


def hasty(stage: Stage) -> None:
    """Plant a watch that takes executors for lost before they end their attempts."""
    stage.settings = msgspec.structs.replace(stage.settings, lost_after_s=6.0)


SOONEST: dict[Callable[[Stage], None], int] = {
    hasty: 1,
    unlimited: 1,
    unchecked: 2,
    unfenced: 2,
    overwriting: 7,
}
"""By fault the seed that found it when it was last looked; it is tried first, as 0 is of others."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("plant", "found_by"),
    [
        (unfenced, "a lease that was not in force"),
        (unkeyed, "was claimed twice"),
        (careless, "due times have no row"),
        (impatient, "before it goes on"),
        (deaf, "due times have no row"),
        (forgets_handouts, "had to be healed"),
        (blind, "did not end"),
        (hasty, "overlaps with"),
        (unrecorded, "due times have no row"),
        (immortal, "has expired and is still there"),
        (trusting, "instead of"),
        (unlimited, "at once of a backfill"),
        (looking_nowhere, "was admitted beside"),
        (optimistic, "was made though run"),
        (unchecked, "was one too many"),
        (unreturned, "and holds a permit of"),
        (overwriting, "was written by an older look"),
        (overlooking, "and what was seen is"),
        (mute, "is told to nobody"),
        (shared, "its sender was on its way to write it"),
        (forgetful, "it was written that it had come"),
        (boastful, "nobody has received it"),
    ],
)
def test_a_planted_fault_is_found(plant: Callable[[Stage], None], found_by: str) -> None:
    for seed in dict.fromkeys([SOONEST.get(plant, 0), *range(SEEDS_MAX)]):
        violations = Simulation(seed, hours=HOURS, plant=plant).run()
        if any(found_by in violation for violation in violations):
            return
    pytest.fail(f"{SEEDS_MAX} seeds did not find it")


def test_a_broken_rule_ends_the_play_and_unended_runs_are_none_of_it() -> None:
    violations = Simulation(0, hours=0.01, plant=careless).run()
    assert any("due times have no row" in violation for violation in violations)
    assert not any("did not end" in violation for violation in violations)


@pytest.mark.timeout(600)
def test_memory_that_outlives_the_database_s_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_world: World, _era: int) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(roles, "era_over", never)
    monkeypatch.setattr(roles, "pinned", lambda port, _world: port)
    for seed in range(SEEDS_MAX):
        violations = Simulation(seed, hours=HOURS, fail_overs=True).run()
        if any("due times have no row" in violation for violation in violations):
            return
    pytest.fail(f"{SEEDS_MAX} seeds did not find it")


@pytest.mark.timeout(600)
def test_rows_that_are_not_healed_are_found() -> None:
    for seed in range(SEEDS_MAX):
        violations = Simulation(seed, hours=HOURS, plant=unhealed, fail_overs=True).run()
        if any("did not end" in violation for violation in violations):
            return
    pytest.fail(f"{SEEDS_MAX} seeds did not find it")
