"""What the API answers to owners: one set of Structs for the API, the SDK and the CLI."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.upcoming import ClosedDay
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.spec import Job, JobSpec, JobState
from matins.domain.jobs.windows import Window, WindowState
from matins.domain.runs.inputs import RunInput
from matins.domain.runs.recent import RecentRuns
from matins.domain.schedules.schedule import Override, Schedule


class Changed(msgspec.Struct, frozen=True):
    """What a request did to a job.

    Due times that lay before the change and had no row yet were recorded as `skipped`, or
    `queued` to run now. A change of an active job queues none. So many runs of a job that was
    deleted waited and were `cancelled`.
    """

    job: Job
    change: Literal["created", "changed", "unchanged", "paused", "resumed", "deleted"]
    skipped: int = 0
    queued: int = 0
    cancelled: int = 0


class Trigger(RunInput, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The body of a trigger. `allow_overlap`: start it whatever else of the job runs."""

    allow_overlap: bool = False

    @property
    def run_input(self) -> RunInput:
        """What is changed of the target."""
        return RunInput(self.args, self.env, self.headers, self.body)


class Resume(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to resume: `skip` what was missed, run the `last` of it, or `all` (the newest 1000)."""

    missed: Missed = "skip"
    reason: str = ""


class Rollback(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To which revision a job goes back, and why."""

    revision: int
    reason: str = ""


class RevisionRecord(msgspec.Struct, frozen=True):
    """What a job was from an instant on.

    `author` is the name of the token by which it was changed, `matins` where the engine did it,
    empty where that was not noted. `changes` names what is another way than before. A `spec` that
    this version can't read is None, and `fault` says why.
    """

    revision: int
    at: datetime
    state: JobState
    spec: JobSpec | None
    author: str = ""
    reason: str = ""
    changes: list[str] = []
    overrides: list[Override] = []
    fault: str = ""


class RevisionPage(msgspec.Struct, frozen=True):
    """Revisions of a job, newest first. `next`: give it as `before`; None at the end.

    What was replaced before `kept_since` is not kept any more; None: the first one is there.
    """

    revisions: list[RevisionRecord]
    next: int | None = None
    kept_since: datetime | None = None


class UnreadableJob(msgspec.Struct, frozen=True):
    """A stored job that this version can't read, or whose due times it can't compute, and why."""

    id: UUID
    team: str
    name: str
    fault: str

    @classmethod
    def because(cls, job_id: UUID, team: str, name: str, error: Exception) -> UnreadableJob:
        """Name a job for the error that came of it."""
        return cls(job_id, team, name, f"the stored job can't be read: {error}")


class JobPage(msgspec.Struct, frozen=True):
    """A page of jobs. `next`: give it as `after` for the next page; None at the end.

    `unreadable` stand in none of the lists, though they belong to this page. `recent`: the last
    runs of those jobs that have any, by the id of the job, if they were asked for.
    """

    jobs: list[Job]
    next: str | None = None
    unreadable: list[UnreadableJob] = []
    recent: dict[UUID, RecentRuns] = {}


class Run(RunStatus, frozen=True, omit_defaults=True):
    """A row of the ledger. A skipped one may stand for `due_count` due times up to `due_until`."""

    due_until: datetime | None = None
    due_count: int = 1
    lost_count: int = 0
    cancel_at: datetime | None = None


class RunPage(msgspec.Struct, frozen=True):
    """Runs, newest due time first. `next`: give it as `before`; None at the end.

    With a filter a page may hold fewer runs than were asked for, and still have a next one.
    """

    runs: list[Run]
    next: UUID | None = None


class AttemptRecord(msgspec.Struct, frozen=True):
    """One attempt of a run. The one that runs now has no outcome yet."""

    number: int
    executor: str
    started_at: datetime
    finished_at: datetime | None = None
    outcome: str | None = None
    reason: str = ""
    exit_code: int | None = None
    http_status: int | None = None
    output: str = ""
    output_cut: int = 0
    results: dict[str, str] = {}


class SignInLink(msgspec.Struct, frozen=True):
    """Where a browser is signed in once, as a path on the API's address, and until when."""

    path: str
    expires_at: datetime


class CalendarRecord(msgspec.Struct, frozen=True):
    """A calendar, its version, how many jobs follow it, and the days that it closes next."""

    calendar: Calendar
    version: int
    made_at: datetime
    jobs: int
    closed_days: list[ClosedDay]


class CalendarPage(msgspec.Struct, frozen=True):
    """A page of calendars. `next`: give it as `after` for the next page; None at the end."""

    calendars: list[CalendarRecord]
    next: str | None = None


class CalendarChanged(msgspec.Struct, frozen=True):
    """What a request did to a calendar, and to the `jobs` that follow it.

    Due times of theirs that lay before the change and had no row yet were `skipped`. `unreadable`
    jobs go on by the calendar as it was.
    """

    calendar: Calendar
    change: Literal["created", "changed", "unchanged", "deleted"]
    jobs: int = 0
    skipped: int = 0
    unreadable: list[UnreadableJob] = []


class WindowRecord(msgspec.Struct, frozen=True):
    """A maintenance window, where it stands, and how many runs it holds."""

    window: Window
    state: WindowState
    held: int
    made_at: datetime


class WindowChanged(msgspec.Struct, frozen=True):
    """What a request did to a maintenance window.

    `jobs` are the scheduled ones that it means. `held`: so many runs it held by then; of one that
    was changed or deleted they follow the new state of things within a second or so.
    """

    window: Window
    change: Literal["created", "changed", "unchanged", "deleted"]
    jobs: int = 0
    held: int = 0


class PreviewRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A schedule whose next `count` due times after an instant (now, if none is given) are asked.

    `every` counts from that instant when the schedule has no anchor. The calendars that it names
    are those of the `team`. With the name of a `job` of that team, `H`, jitter and labels are the
    job's.
    """

    schedule: Schedule
    count: int = 10
    after: datetime | None = None
    team: str | None = None
    job: str | None = None


class DueTime(msgspec.Struct, frozen=True):
    """A due time, in UTC and as the clocks of the schedule's zone show it, and its fire time.

    One that will not run is `skipped` with the reason; one that waits for the end of a maintenance
    window is `held`.
    """

    utc: datetime
    local: datetime
    fire_at: datetime
    skipped: str = ""
    held: str = ""


class Preview(msgspec.Struct, frozen=True):
    """The next due times, fewer than were asked for if there are no more.

    `sentence` says in English when the schedule is due, `warnings` what may surprise its owner.
    `zone_data` is the release of the IANA zone data.
    """

    timezone: str
    due: list[DueTime]
    sentence: str
    warnings: list[str]
    zone_data: str


class JobAudit(msgspec.Struct, frozen=True):
    """One job's due times in a span of time, computed anew, beside the rows that the ledger has.

    Of those `due`, some `succeeded`, are `dead` or `cancelled`, were `skipped` (by reason), or have
    a run that is `unfinished`; `pending` have no row yet and may still be claimed. `missing` have
    none though they should, `unexpected` rows have no due time, and `doubled` due times have more
    than one row. These lists are cut to their first 100; their counts are not. `overdue`: so many
    are pending for over a minute; `stalled`: so many unfinished runs wait for longer than they
    should. `causes` say why. `fault` says why the due times can't be computed. Of what was due
    before `judged_from` rows were purged, and none of it is judged.
    """

    id: UUID
    team: str
    job: str
    judged_from: datetime | None = None
    due: int = 0
    succeeded: int = 0
    dead: int = 0
    cancelled: int = 0
    unfinished: int = 0
    skipped: dict[str, int] = {}
    pending: int = 0
    overdue: int = 0
    stalled: int = 0
    missing_count: int = 0
    unexpected_count: int = 0
    doubled_count: int = 0
    missing: list[datetime] = []
    unexpected: list[datetime] = []
    doubled: list[datetime] = []
    causes: list[str] = []
    fault: str = ""

    @property
    def agrees(self) -> bool:
        """Whether rows and due times agree, however late it is."""
        wrong = self.missing_count or self.unexpected_count or self.doubled_count
        return not (wrong or self.fault)

    @property
    def holds(self) -> bool:
        """Whether every due time is accounted for in time, and nothing else is."""
        return self.agrees and not (self.overdue or self.stalled)


class AuditPage(msgspec.Struct, frozen=True):
    """Jobs with due times in the span, by id, or a team's by name.

    `next`: give it as `after`; None at the end.
    """

    since: datetime
    until: datetime
    jobs: list[JobAudit]
    next: UUID | None = None


class ExecutorRecord(msgspec.Struct, frozen=True):
    """One incarnation of an executor, and how many attempts it runs.

    One that is `silent` has sent no heartbeat for a minute, and is not declared lost yet.
    """

    id: UUID
    name: str
    state: Literal["alive", "silent", "lost", "stopped"]
    pools: list[str]
    slots: int
    running: int
    first_heartbeat_at: datetime
    heartbeat_at: datetime
    ended_at: datetime | None = None


class PartitionRecord(msgspec.Struct, frozen=True):
    """Who holds a partition. All fire times up to `watermark` have their rows; `lag_s` is its age.

    A holder whose term is over is shown as None.
    """

    partition: int
    epoch: int
    holder: UUID | None = None
    expires_at: datetime | None = None
    watermark: datetime | None = None
    lag_s: float | None = None
