"""The job that a page is about: as it stands, or what there is to be told if it can't be shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath

from matins.api.dependencies import Chains, Reads
from matins.domain.jobs.spec import Job
from matins.domain.schedules.schedule import Schedule
from matins.domain.time.zones import Zone
from matins.domain.values.errors import MatinsError, NotFoundError
from matins.insight.explain.sentences import explain
from matins.web.inputs import InputForm, input_form
from matins.web.moments import UTC_ZONE, in_zone, zone_of


class JobSubject(NamedTuple):
    """A job by its name. It is None where it was deleted or can't be read, and `fault` tells it.

    `followers` are the jobs that are due with its runs.
    """

    team: str
    name: str
    job: Job | None
    sentence: str = ""
    followers: Sequence[str] = ()
    fault: str = ""

    @property
    def zone(self) -> Zone:
        """The zone of its schedule; times on its pages are typed by the clocks there."""
        return zone_of(self.job) if self.job else UTC_ZONE

    def local(self, at: datetime) -> str:
        """Return an instant as it can be typed on its pages."""
        return in_zone(at, self.zone)

    @property
    def input_form(self) -> InputForm:
        """What can be given for a run of it."""
        return input_form(self.job.spec if self.job else None)


async def subject_of(
    reads: Reads, chains: Chains, team: FromPath[str], name: FromPath[str]
) -> JobSubject:
    """Return the job that an address names. Raises NotFoundError if there never was such a one."""
    try:
        job = await reads.job(team, name)
    except NotFoundError as error:
        await reads.job_id(team, name)
        return JobSubject(team, name, None, fault=str(error))
    except msgspec.DecodeError as error:
        return JobSubject(team, name, None, fault=f"the stored job can't be read: {error}")
    followers = await chains.followers(team, name)
    return JobSubject(team, name, job, sentence_of(job), followers)


OfJob = NamedDependency[JobSubject]
OF_JOB: Final = {"subject": Provide(subject_of)}
"""What routers provide whose pages are about one job."""


def sentence_of(job: Job) -> str:
    """Return in words when a job is due."""
    schedule = job.spec.schedule
    if schedule is None:
        return "Told by check-ins." if job.spec.target.checkin else "Only when triggered."
    return _sentence(msgspec.json.encode(schedule), str(job.id), job.created_at)


@lru_cache(4096)
def _sentence(schedule: bytes, seed: str, anchor: datetime) -> str:
    """Return a schedule in words. It takes a fifth of a millisecond, and lists ask for the same."""
    try:
        return explain(msgspec.json.decode(schedule, type=Schedule), seed=seed, anchor=anchor)
    except MatinsError as error:
        return str(error)
