"""A simulated owner, who changes jobs by the real use cases, through whichever API is open."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from random import Random
from typing import Final, get_args

import msgspec

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.jobs.limits import Concurrency, Limit, Quotas
from matins.domain.jobs.misfire import Misfire, Missed
from matins.domain.jobs.overlap import Overlap, WrittenOverlap
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.jobs.windows import Window
from matins.domain.runs.backfills.values import BackfillRequest
from matins.domain.runs.inputs import RunInput
from matins.domain.runs.states import FINAL
from matins.domain.schedules.after_jobs import AfterJobs, Join, When
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    UnavailableError,
)
from matins.owners.owners import Owners
from matins.testing import dead_deeds, retry_deeds
from matins.testing.alert_owner import ALERTS
from matins.testing.deeds import Work
from matins.testing.memory.link import Calls
from matins.testing.memory.world import JobRow, World
from matins.testing.retry_checks import ATTEMPTS, BACKOFF

TEAM: Final = "default"
CALENDAR: Final = "closing"
WINDOWS: Final = ("upgrade", "release")
SCHEDULES: Final = (
    Schedule(every="1s"),
    Schedule(every="10s"),
    Schedule(every="45s", jitter="20s"),
    Schedule(cron="* * * * *"),
    Schedule(cron="*/5 * * * *", timezone="Europe/Berlin", jitter="1m"),
    Schedule(cron="H * * * *"),
    Schedule(every="1s", after="end"),
    Schedule(every="20s", after="end", jitter="10s"),
    Schedule(every="5s", calendars=[CALENDAR]),
    Schedule(at=["2026-01-01T00:01:00Z", "2026-01-01T00:02:10Z"], delete_after="20s"),
)
MISFIRES: Final = (
    Misfire("all"),
    Misfire("all", max_count=5),
    Misfire("all", max_age="30s"),
    Misfire(max_age="30s"),
    Misfire(),
    Misfire(policy="skip"),
)
CHAINS: Final = {
    12: AfterJobs(["job-1"]),
    13: AfterJobs(["job-12"], when="any_failure"),
    14: AfterJobs(["job-3", "job-1"], when="all_done"),
    15: AfterJobs(["job-6", "job-4"], when="any_success", join="latest"),
}
"""By number of a job those that it follows at first."""
KEY: Final = "shared"
KEYED: Final = (1, 3, 4, 11, 13)
"""The numbers of jobs that share a key."""
MAX_RUNNING: Final = {3: 2, 6: 1}
"""By number of a job how many runs of it go on at once."""
OVERLAPS: Final[tuple[WrittenOverlap, ...]] = (
    *("skip", "skip", "allow", "queue", "replace"),
    Overlap("queue", depth=3),
)

RunDeed = Callable[[World, Random], Work | None]

RUN_DEEDS: Final[tuple[RunDeed, ...]] = (
    *(dead_deeds.replay, dead_deeds.replay, dead_deeds.replay, dead_deeds.replay),
    *(dead_deeds.replay_changed, dead_deeds.replay_changed),
    *(dead_deeds.replay_many, dead_deeds.replay_many, dead_deeds.cancel_replay),
    *(dead_deeds.dismiss, retry_deeds.retry_now, *[retry_deeds.stop_retrying] * 3),
)

_PATIENCE_S = 20.0
"""How long the owner waits for an answer."""

_REPEATS = 0.5
"""How often the owner asks again after none has come."""

_FORCES = 0.3
"""How often a job is deleted that others follow."""

_WELL_FORMED = 0.9
"""How often a chain can't go in a circle."""
_BACKFILLED_S: Final = 150.0
"""How far the owner's backfills reach back."""

_AGAIN: Final = 0.6
"""How many of them are also for what ran."""
_ALLOWS_OVERLAP = 0.2
"""How often the owner starts a run whatever else of its job runs."""

_MISSED: Final[tuple[Missed, ...]] = ("skip", "last", "all")


def spec_of(number: int, rng: Random) -> JobSpec:
    """Return a job as it is put first."""
    return JobSpec(
        name=f"job-{number}",
        target=Target(http=HttpTarget(url="http://target.example/")),
        schedule=_first_schedule(number),
        timeout="2m",  # longer than any attempt lasts
        misfire=rng.choice(MISFIRES),
        overlap=rng.choice(OVERLAPS),
        retry=RetryPolicy(attempts=ATTEMPTS, lost=4, backoff=BACKOFF),
        alerts=rng.choice(ALERTS),
        max_running=MAX_RUNNING.get(number),
        concurrency=Concurrency(KEY, limit=4) if number in KEYED else None,
    )


def _first_schedule(number: int) -> Schedule:
    if number in CHAINS:
        return Schedule(after=CHAINS[number])
    return SCHEDULES[number % len(SCHEDULES)]


def closing(rng: Random) -> Calendar:
    """Return a calendar that is closed for a minute of each few."""
    step, minute = rng.choice((2, 3, 5)), rng.randrange(2)
    minutes = range(minute, 60, step)
    spans = [f"2026-01-01T00:{at:02}:00/2026-01-01T00:{at:02}:40" for at in minutes]
    return Calendar(CALENDAR, exclude=[Item(spans=spans)])


class SimulatedOwner:
    """Does something every few seconds; what got no answer is sometimes done again."""

    def __init__(
        self, line: Calls[Owners], world: World, jobs: int, rng: Random, seen: Counter[str]
    ) -> None:
        self._line = line
        self._world = world
        self._names = [f"job-{number}" for number in range(jobs)]
        self._rng = rng
        self._seen = seen

    async def own(self) -> None:
        """Change jobs until cancelled."""
        deeds = (
            *(self._put, self._reschedule, self._reschedule, self._edit, self._pause, self._resume),
            *(self._pause_until, self._pause_until, self._roll_back),
            *(self._resume, self._trigger, self._cancel, self._skip, self._move, self._restore),
            *map(self._to_runs, RUN_DEEDS),
            *(self._delete, self._close, self._put_window, self._put_window, self._delete_window),
            *(self._backfill, self._backfill, self._steer_backfill),
            *(self._put_limit, self._put_limit, self._delete_limit, self._put_quotas),
        )
        while True:
            await asyncio.sleep(self._rng.uniform(1, 12))
            job = self._world.find_job(TEAM, self._rng.choice(self._names))
            deed = self._rng.choice(deeds)
            work = deed(job) if job is not None else self._put(None)
            if work is not None:
                await self._do(deed.__name__.strip("_"), work)

    async def _do(self, deed: str, work: Work) -> None:
        self._seen[f"owner: {deed}"] += 1
        try:
            await self._line.call(work, _PATIENCE_S)
        except UnavailableError:
            self._seen["owner: no answer"] += 1
            if self._rng.random() < _REPEATS:
                await self._do(deed, work)
        except (ConflictError, InvalidInputError, NotFoundError):
            self._seen["owner: refused"] += 1

    def _put(self, job: JobRow | None) -> Work:
        """Make a job that may be there."""
        name = job.spec.name if job else self._rng.choice(self._names)
        spec = spec_of(self._names.index(name), self._rng)
        return lambda owners: owners.jobs.put(TEAM, spec)

    def _reschedule(self, job: JobRow) -> Work:
        number = self._names.index(job.spec.name)
        chains = [Schedule(after=self._some_chain(number)) for _ in range(3 if number else 0)]
        spec = msgspec.structs.replace(job.spec, schedule=self._rng.choice((*SCHEDULES, *chains)))
        return lambda owners: owners.jobs.put(TEAM, spec)

    def _some_chain(self, number: int) -> AfterJobs:
        """Return jobs that one may follow: those before it, mostly; a circle is refused."""
        before = self._names[:number] if self._rng.random() < _WELL_FORMED else self._names
        return AfterJobs(
            self._rng.sample(before, min(len(before), self._rng.randint(1, 2))),
            self._rng.choice(get_args(When)),
            self._rng.choice(get_args(Join)),
        )

    def _to_runs(self, deed: RunDeed) -> Callable[[JobRow], Work | None]:
        """Return a deed to runs, of whichever job."""

        @wraps(deed)
        def work(_job: JobRow) -> Work | None:
            return deed(self._world, self._rng)

        return work

    def _edit(self, job: JobRow) -> Work:
        spec = _edited(job.spec, self._rng)
        return lambda owners: owners.jobs.put(TEAM, spec)

    def _pause(self, job: JobRow) -> Work:
        return lambda owners: owners.jobs.pause(TEAM, job.spec.name)

    def _pause_until(self, job: JobRow) -> Work:
        until = self._world.now() + timedelta(seconds=self._rng.uniform(1, 60))
        pause = Pause("for a while", until, self._rng.choice(_MISSED))
        return lambda owners: owners.jobs.pause(TEAM, job.spec.name, pause)

    def _roll_back(self, job: JobRow) -> Work:
        revision = self._rng.randrange(1, job.revision + 1)
        return lambda owners: owners.jobs.roll_back(TEAM, job.spec.name, revision)

    def _resume(self, job: JobRow) -> Work:
        missed = self._rng.choice(_MISSED)
        return lambda owners: owners.jobs.resume(TEAM, job.spec.name, missed)

    def _trigger(self, job: JobRow) -> Work:
        key = str(self._rng.getrandbits(64))
        run_input = RunInput(body=key)
        times = self._rng.choice((1, 2))  # as who is not sure of the answer
        allow_overlap = self._rng.random() < _ALLOWS_OVERLAP

        async def work(owners: Owners) -> None:
            for _ in range(times):
                await owners.runs.trigger(
                    TEAM, job.spec.name, run_input, key=key, allow_overlap=allow_overlap
                )

        return work

    def _cancel(self, _job: JobRow) -> Work | None:
        moving = [run for run in self._world.runs.values() if run.state not in FINAL]
        if not moving:
            return None
        run = self._rng.choice(moving).id
        return lambda owners: owners.runs.cancel(run)

    def _skip(self, job: JobRow) -> Work | None:
        return self._override(job, None)

    def _move(self, job: JobRow) -> Work | None:
        return self._override(job, timedelta(seconds=self._rng.randrange(1, 90)))

    def _override(self, job: JobRow, by: timedelta | None) -> Work | None:
        if job.next_due_at is None:
            return None
        due = job.next_due_at
        override = Override(due, due + by if by else None, "by its owner")
        return lambda owners: owners.jobs.override(TEAM, job.spec.name, override)

    def _restore(self, job: JobRow) -> Work | None:
        if not job.timing.overrides:
            return None
        due = self._rng.choice(job.timing.overrides).due_at
        return lambda owners: owners.jobs.restore(TEAM, job.spec.name, due)

    def _delete(self, job: JobRow) -> Work:
        force = self._rng.random() < _FORCES
        return lambda owners: owners.jobs.delete(TEAM, job.spec.name, force=force)

    def _close(self, _job: JobRow) -> Work:
        calendar = closing(self._rng)
        return lambda owners: owners.calendars.put(TEAM, calendar)

    def _put_window(self, _job: JobRow) -> Work:
        begin = self._world.now() + timedelta(seconds=self._rng.uniform(-10, 30))
        window = Window(
            name=self._rng.choice(WINDOWS),
            starts_at=begin,
            ends_at=begin + timedelta(seconds=self._rng.uniform(15, 90)),
            policy=self._rng.choice(("hold", "hold", "skip")),
        )
        return lambda owners: owners.windows.put(TEAM, window)

    def _put_limit(self, _job: JobRow) -> Work:
        limit = self._rng.choice((2, 3, 6))
        rate = self._rng.choice((None, None, "120/m"))
        return lambda owners: owners.limits.put(TEAM, Limit(KEY, limit, rate))

    def _delete_limit(self, _job: JobRow) -> Work:
        return lambda owners: owners.limits.delete(TEAM, KEY)

    def _put_quotas(self, _job: JobRow) -> Work:
        quotas = Quotas(max_running=self._rng.choice((None, None, 20, 50)))
        return lambda owners: owners.limits.put_quotas(TEAM, quotas)

    def _delete_window(self, _job: JobRow) -> Work:
        name = self._rng.choice(WINDOWS)
        return lambda owners: owners.windows.delete(TEAM, name)

    def _backfill(self, job: JobRow) -> Work:
        now = self._world.now()
        request = BackfillRequest(
            since=now - timedelta(seconds=self._rng.uniform(5, _BACKFILLED_S)),
            limit=self._rng.choice((1, 2, 4)),
            order=self._rng.choice(("oldest", "newest")),
            again=self._rng.random() < _AGAIN,
        )
        return lambda owners: owners.backfills.start(TEAM, job.spec.name, request)

    def _steer_backfill(self, _job: JobRow) -> Work | None:
        """Pause, resume or cancel a backfill that is there."""
        rows = self._world.backfills.values()
        unfinished = [row.id for row in rows if row.finished_at is None]
        if not unfinished:
            return None
        backfill = self._rng.choice(unfinished)
        match self._rng.choice(("pause", "resume", "resume", "cancel", "cancel runs")):
            case "pause":
                return lambda owners: owners.backfills.pause(backfill)
            case "resume":
                return lambda owners: owners.backfills.resume(backfill)
            case "cancel":
                return lambda owners: owners.backfills.cancel(backfill)
            case _:
                return lambda owners: owners.backfills.cancel(backfill, with_runs=True)


def _edited(spec: JobSpec, rng: Random) -> JobSpec:
    """Return a job with other policies and the same schedule."""
    limited = spec.concurrency is not None
    return msgspec.structs.replace(
        spec,
        max_running=rng.choice((2, 5, None)) if limited else spec.max_running,
        misfire=rng.choice(MISFIRES),
        overlap=rng.choice(OVERLAPS),
        retry=RetryPolicy(attempts=rng.choice((1, ATTEMPTS)), lost=4, backoff=BACKOFF),
        priority=rng.choice(("high", "normal", "low")),
        alerts=rng.choice(ALERTS),
    )
