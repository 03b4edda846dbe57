"""The story of an instant of a job that has no run: it is none of its due times, or why there is no
run yet, or none any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from matins.domain.audit import GRACE, LedgerRow, Revision
from matins.domain.executors.fleet import LATE, instant
from matins.domain.jobs.misfire import ON_TIME
from matins.domain.jobs.spec import JobState
from matins.domain.jobs.windows import window_at
from matins.domain.runs.chains import Link
from matins.domain.runs.states import FINAL
from matins.domain.values.errors import ScheduleError
from matins.domain.values.ids import partition_of
from matins.insight.why import words
from matins.insight.why.chain_story import chain_due, covers
from matins.insight.why.due_times import DueTimes, ExplainedDueTime, in_force
from matins.insight.why.explanation import Explanation, Standing, Step
from matins.insight.why.facts import Asked, DueFacts, ExplainedJob
from matins.insight.why.words import Told, span

_ENDED = {Standing(state) for state in FINAL}

_STOPPED = {
    JobState.PAUSED: "go on with `matins jobs resume {title}`",
    JobState.QUARANTINED: "mend it with `matins apply`, or delete it",
    JobState.DELETED: "",
}


def explain_due(asked: Asked, facts: DueFacts) -> Explanation:
    """Tell of an instant of a job that has no run of its own."""
    if asked.job.fault:
        return _told(asked.job, facts.at, Standing.UNREADABLE, [], asked.job.fault)
    try:
        return _explain_due(asked, facts)
    except ScheduleError as error:
        fault = f"its due times can't be computed: {error}"
        return _told(asked.job, facts.at, Standing.UNREADABLE, [], fault)


def _explain_due(asked: Asked, facts: DueFacts) -> Explanation:
    job = asked.job
    times = DueTimes(job.id, job.revisions)
    due, revision = times.at(facts.at), in_force(job.revisions, facts.at)
    chained = facts.link is not None and covers(facts.link, facts.at)
    is_due = due is not None or chained or (facts.range and facts.range.due_at == facts.at)
    if facts.range is not None and is_due:
        return _in_range(job, facts.at, revision, facts.range)
    if revision is not None and facts.link is not None and chained:
        return _chained(asked, facts.at, revision, facts.link)
    if due is None or revision is None:
        return _not_due(asked, facts.at, revision, times)
    steps = [Step(due.at, "due", words.by_revision(job, revision))]
    if due.fire_at != due.at:
        late = span(due.at, due.fire_at)
        steps.append(Step(due.fire_at, "fires", f"its fire time: jitter puts it {late} later"))
    state, summary = _why_no_run(asked, facts, due)
    if state in (Standing.PAUSED, Standing.QUARANTINED):
        steps.append(_stop(job))
    if due.fire_at <= asked.now:
        steps.append(Step(asked.now, "now", "there is no run of it"))
    return _told(job, due.at, state, steps, summary.so)


def _chained(asked: Asked, at: datetime, revision: Revision, link: Link) -> Explanation:
    """Tell of a due time that the job shares with those that it follows."""
    job = asked.job
    steps = [Step(at, "due", words.by_revision(job, revision))]
    if job.state in _STOPPED and at > _stopped_since(job):
        return _told(job, at, Standing(job.state), [*steps, _stop(job)], _is_stopped(job).so)
    state, more, told = chain_due(asked, link)
    return _told(job, at, state, [*steps, *more], told.so)


def _in_range(
    job: ExplainedJob, at: datetime, revision: Revision | None, row: LedgerRow
) -> Explanation:
    """Tell of a due time that was skipped together with others."""
    summary = words.skipped(job, row.reason)
    steps = [Step(at, "due", words.by_revision(job, revision))] if revision else []
    if row.claimed_at is not None:
        last = instant(row.due_until or row.due_at)
        text = f"recorded all from {instant(row.due_at)} to {last} as skipped"
        steps.append(Step(row.claimed_at, "skipped", text))
    so = Told(f"it did not run: {summary.sentence}", summary.advice).so
    return _told(job, at, Standing.SKIPPED, steps, so)


def _why_no_run(asked: Asked, facts: DueFacts, due: ExplainedDueTime) -> tuple[Standing, Told]:
    """Return why a due time has no row."""
    job, now = asked.job, asked.now
    if due.at > now and _is_stopped_at(job, due.at):
        return Standing(job.state), Told(f"it will not run: the job is {job.state}", _go_on(job))
    if due.fire_at > now:
        return Standing.TO_COME, _to_come(job, facts, due)
    if _is_in_open_stop(job, due.at):
        return Standing(job.state), _is_stopped(job)
    if job.purged_until is not None and due.at < job.purged_until:
        kept = f"what was due before {instant(job.purged_until)} is purged"
        return Standing.PURGED, Told(
            f"what became of it is not kept: {kept}", "see `keep` of the job"
        )
    if due.fire_at <= min(now - GRACE, job.watermark or now):
        fault = "all that was due around it has its row, and this has none"
        return Standing.MISSING, Told(fault, f"`matins audit --job {job.title}` shows more")
    return Standing.TO_BE_CLAIMED, _to_be_claimed(asked, due)


def _is_stopped(job: ExplainedJob) -> Told:
    why = f": {job.reason}" if job.reason else ""
    return Told(f"the job is {job.state}{why}", _go_on(job))


def _go_on(job: ExplainedJob) -> str:
    """Return what lets a stopped job go on."""
    if job.paused_until is None:
        return _STOPPED[job.state].format(title=job.title)
    resume = f"at once by `matins jobs resume {job.title}`"
    return f"it goes on by itself at {instant(job.paused_until)}, {resume}"


def _is_stopped_at(job: ExplainedJob, at: datetime) -> bool:
    """Return whether a job that is stopped now will be so at an instant to come."""
    return job.state in _STOPPED and (job.paused_until is None or at < job.paused_until)


def _is_in_open_stop(job: ExplainedJob, at: datetime) -> bool:
    """Return whether an instant lies in a pause or quarantine that lasts."""
    if job.state not in (JobState.PAUSED, JobState.QUARANTINED):
        return False
    return at > _stopped_since(job)


def _stopped_since(job: ExplainedJob) -> datetime:
    """Return since when the job has been in its present state without a break."""
    since = job.revisions[-1].effective_at
    for revision in reversed(job.revisions):
        if revision.state is not job.state:
            break
        since = revision.effective_at
    return since


def _stop(job: ExplainedJob) -> Step:
    why = f": {job.reason}" if job.reason else ""
    return Step(_stopped_since(job), "stopped", f"the job was {job.state}{why}")


def _to_come(job: ExplainedJob, facts: DueFacts, due: ExplainedDueTime) -> Told:
    if due.skip_reason:
        summary = words.skipped(job, due.skip_reason)
        return Told(f"it will not run: {summary.sentence}", summary.advice)
    window = window_at(facts.windows, job.revisions[-1].spec.labels, due.fire_at)
    if window is not None:
        will = "will be skipped" if window.policy == "skip" else "will wait"
        return Told(f"it is still to come, and {will}: {window.run_reason}")
    return Told(f"it is still to come: it will be claimed at {instant(due.fire_at)}")


def _to_be_claimed(asked: Asked, due: ExplainedDueTime) -> Told:
    late = asked.now - due.fire_at
    if late <= GRACE:
        return Told("it is due now, and will be claimed in a moment")
    why = asked.fleet.why_unclaimed(partition_of(asked.job.id)) if late > LATE / 2 else ""
    summary = f"it should have been claimed {span(due.fire_at, asked.now)} ago, and was not"
    misfire = asked.job.revisions[-1].spec.misfire
    then = f"then misfire policy `{misfire.policy}` decides" if late > ON_TIME else ""
    return Told(f"{summary}{': ' if why else ''}{words.behind(why)}", then)


def _not_due(asked: Asked, at: datetime, revision: Revision | None, times: DueTimes) -> Explanation:
    """Tell why an instant is no due time, and which are the nearest."""
    job = asked.job
    before, after = times.before(at), times.after(at)
    steps = [_near(job, near, at) for near in (before, after) if near is not None]
    steps.append(Step(at, "asked", "nothing is due"))
    state, so = _why_not_due(job, at, revision, [before, after])
    if revision is None and job.revisions:
        steps.append(Step(job.revisions[0].effective_at, "made", "the job was made"))
    return _told(job, None, state, steps, so)


def _why_not_due(
    job: ExplainedJob,
    at: datetime,
    revision: Revision | None,
    near: Iterable[ExplainedDueTime | None],
) -> tuple[Standing, str]:
    if revision is None:
        return Standing.NOT_DUE, "the job was not there yet"
    if revision.state is JobState.DELETED:
        return Standing.DELETED, f"the job was deleted at {instant(revision.effective_at)}"
    schedule = revision.spec.schedule
    if schedule is None:
        so = f"it has no schedule: run it with `matins jobs trigger {job.title}`"
        return Standing.NO_SCHEDULE, so
    if schedule.follows_end:
        so = _following(job)
    elif schedule.chain is not None:
        leader = schedule.chain.jobs[0]
        so = f"it is due with the runs of {leader}, and none of that was due then"
    elif any(due is not None and due.at < at <= due.fire_at for due in near):
        so = "the due time before it had not fired yet; ask for that one"
    else:
        so = f"it was not due then: {words.schedule_words(job, revision)}"
    return Standing.NOT_DUE, so


def _following(job: ExplainedJob) -> str:
    """Tell what a job that follows the ends of its runs waits for."""
    if job.next_due_at is not None and job.next_due_at != job.follows:
        return f"each due time follows the end of a run; the next one is {instant(job.next_due_at)}"
    if job.follows is not None:
        return f"each due time follows the end of a run: that of {instant(job.follows)} comes first"
    return "each due time follows the end of a run"


def _near(job: ExplainedJob, due: ExplainedDueTime, at: datetime) -> Step:
    why = ""
    if due.skip_reason:
        why = f", which does not run: {words.skipped(job, due.skip_reason).sentence}"
    elif due.fire_at != due.at:
        why = f", which fires {span(due.at, due.fire_at)} later"
    if due.at < at:
        return Step(due.at, "before", f"the nearest due time before{why}")
    return Step(due.at, "next", f"the nearest due time after{why}")


def _next_step(asked: Asked) -> Step | None:
    """Return what comes next of a job, if that is known."""
    job = asked.job
    if job.fault or not job.revisions or job.state is not JobState.ACTIVE:
        return None
    schedule = job.revisions[-1].spec.schedule
    try:
        due = DueTimes(job.id, job.revisions).next_to_run(asked.now)
    except ScheduleError:
        return None
    if schedule is not None and schedule.follows_end and job.next_due_at is not None:
        return Step(job.next_due_at, "next", "the next due time, after the end of its last run")
    if due is None:
        return None
    jitter = f"; it fires {span(due.at, due.fire_at)} later" if due.fire_at > due.at else ""
    return Step(due.at, "next", f"the next due time that will run{jitter}")


def with_outlook(asked: Asked, explanation: Explanation) -> Explanation:
    """Add what comes next of the job; of one that is stopped, that nothing does, and why."""
    job = asked.job
    steps = explanation.steps
    if job.state in _STOPPED and job.revisions:
        so = _is_stopped(job).so
        is_told = explanation.state == Standing(job.state)
        steps = steps if is_told else [*steps, _stop(job)]
        so = (
            explanation.so
            if is_told or explanation.state not in _ENDED
            else f"{explanation.so}; now {so}"
        )
        ordered = sorted(steps, key=lambda step: step.at)
        return msgspec.structs.replace(explanation, steps=ordered, so=so)
    following = _next_step(asked)
    if following is None or following.at == explanation.due_at:
        return explanation
    return msgspec.structs.replace(explanation, steps=[*steps, following])


def first_to_come(asked: Asked) -> datetime | None:
    """Return the next due time of the job, whether it will run or not."""
    job = asked.job
    try:
        due = None if job.fault else DueTimes(job.id, job.revisions).after(asked.now)
    except ScheduleError:
        return None
    return None if due is None else due.at


def last_unrecorded(asked: Asked, recorded_until: datetime | None) -> datetime | None:
    """Return the newest due time up to now that is later than all that is recorded."""
    job = asked.job
    if job.fault or not job.revisions:
        return None
    try:
        due = DueTimes(job.id, job.revisions).before(asked.now + timedelta(microseconds=1))
    except ScheduleError:
        return None
    if due is None or (recorded_until is not None and due.at <= recorded_until):
        return None
    return due.at


def _told(
    job: ExplainedJob,
    due_at: datetime | None,
    state: Standing,
    steps: list[Step],
    so: str,
) -> Explanation:
    steps = sorted(steps, key=lambda step: step.at)
    return Explanation(job.team, job.name, due_at, None, state, steps, so)
