"""The story of a run, from its due time to its end, or to where it stands now."""

from __future__ import annotations

from datetime import timedelta

from matins.domain.executors.fleet import LATE, SILENT, STALLED, instant
from matins.domain.jobs.misfire import ON_TIME
from matins.domain.runs.admission.waiting import TO_BE_ADMITTED
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.ids import partition_of
from matins.domain.views import AttemptRecord
from matins.insight.explain.english import counted
from matins.insight.why import words
from matins.insight.why.chain_story import covers, upstream_steps
from matins.insight.why.due_times import in_force
from matins.insight.why.explanation import Explanation, Standing, Step
from matins.insight.why.facts import Asked, ExplainedJob, RunFacts, SameDue
from matins.insight.why.words import Told, span

ATTEMPTS_TOLD = 6
"""The most attempts that get a step each: the first, and the last ones."""


def explain_run(asked: Asked, facts: RunFacts) -> Explanation:
    """Tell what became of a run, and why it stands where it stands."""
    run = facts.run
    summary = _VERDICTS[run.state](asked, facts)
    steps = [
        *_beginning(asked, facts),
        *[Step(other.made_at, "other", _other(other)) for other in facts.others],
        *_attempts(facts),
        *_where_it_stands(asked, facts, summary),
    ]
    return Explanation(
        team=run.team,
        job=run.job,
        due_at=run.due_at,
        run=run.id,
        state=Standing(run.state),
        steps=sorted(steps, key=lambda step: step.at),
        so=summary.so,
    )


def _beginning(asked: Asked, facts: RunFacts) -> list[Step]:
    run = facts.run
    steps = [Step(run.due_at, "due", _due(asked.job, facts))]
    if facts.link is not None and covers(facts.link, run.due_at):
        steps += upstream_steps(facts.link, asked.now)
    if run.fire_at != run.due_at and run.kind == Kind.SCHEDULED:
        late = span(run.due_at, run.fire_at)
        steps.append(Step(run.fire_at, "fires", f"its fire time: jitter puts it {late} later"))
    if run.claimed_at is None:
        return steps
    if run.state is RunState.SKIPPED:
        count = f"{run.due_count} due times in a row" if run.due_count > 1 else "it"
        return [*steps, Step(run.claimed_at, "skipped", f"recorded {count} as skipped")]
    if run.kind == Kind.MANUAL:
        return [*steps, Step(run.claimed_at, "claimed", "its run was made")]
    lag = run.claimed_at - run.fire_at
    since = "the end that it waited for" if run.kind == Kind.CHAINED else "its fire time"
    summary = f"its run was made {span(run.fire_at, run.claimed_at)} after {since}"
    if run.kind == Kind.SCHEDULED and lag > ON_TIME:
        summary += ": it was missed, and caught up"
    return [*steps, Step(run.claimed_at, "claimed", summary)]


def _due(job: ExplainedJob, facts: RunFacts) -> str:
    run = facts.run
    if run.kind == Kind.MANUAL:
        return "triggered by its owner"
    revision = in_force(job.revisions, run.due_at)
    if revision is None:
        return job.fault or "its revision is not known"
    made_up = "made up for by a backfill, " if run.kind == Kind.BACKFILL else ""
    return made_up + words.by_revision(job, revision)


def _other(run: SameDue) -> str:
    made = "a backfill made" if run.kind == Kind.BACKFILL else "the schedule made"
    return f"{made} run {run.id} of the same due time, which is {run.state}"


def _attempts(facts: RunFacts) -> list[Step]:
    """Return a step for each attempt that has ended; of many the first and the last ones."""
    ended = [attempt for attempt in facts.attempts if attempt.finished_at is not None]
    attempts = ended if len(ended) <= ATTEMPTS_TOLD else [ended[0], *ended[1 - ATTEMPTS_TOLD :]]
    steps = []
    begin = facts.run.claimed_at
    for attempt in attempts:
        waited = f", {span(begin, attempt.started_at)} after its claim" if begin else ""
        text = f"attempt {attempt.number} on {attempt.executor}{waited}: {_outcome(attempt)}"
        steps.append(Step(attempt.started_at, "attempt", text))
        begin = None  # what lies between two attempts is the retry's delay
    if len(attempts) < len(ended):
        left_out = f"; {len(ended) - len(attempts)} attempts after it ended without success"
        steps[0] = Step(steps[0].at, "attempt", steps[0].text + left_out)
    return steps


def _outcome(attempt: AttemptRecord) -> str:
    assert attempt.finished_at is not None
    took = span(attempt.started_at, attempt.finished_at)
    outcome = (attempt.outcome or "ended").replace("_", " ")
    return f"{outcome} after {took}" + (f": {attempt.reason}" if attempt.reason else "")


def _where_it_stands(asked: Asked, facts: RunFacts, summary: Told) -> list[Step]:
    """Return the last steps: the end, or what the run waits for now."""
    run = facts.run
    steps = []
    if run.cancel_at is not None:
        steps.append(Step(run.cancel_at, "cancel", "its owner cancelled it"))
    match run.state:
        case RunState.WAITING:
            steps += _holders(asked, facts)
            steps.append(Step(asked.now, "waits", summary.sentence))
        case RunState.QUEUED:
            text = f"on the queue of pool {facts.pool}: {_queue(asked, facts)}"
            steps.append(Step(asked.now, "queued", text))
        case RunState.RUNNING if run.started_at is not None:
            text = f"attempt {run.attempt} was handed out to {_holder(facts)} and has not ended"
            steps.append(Step(run.started_at, "runs", text))
        case RunState.RETRYING if run.retry_at is not None:
            steps.append(Step(run.retry_at, "retry", f"attempt {run.attempt + 1} is due"))
        case RunState.SKIPPED:
            pass
        case _ if run.finished_at is not None:
            why = f": {run.reason}" if run.reason else ""
            steps.append(Step(run.finished_at, "ended", f"{run.state}{why}"))
    return steps


def _holders(asked: Asked, facts: RunFacts) -> list[Step]:
    """Return who is in the gate for which a run waits."""
    gate = facts.place.gate if facts.place else None
    return [
        Step(
            holder.started_at or asked.now,
            "holder",
            f"run {holder.run} of {holder.job} is in, and is {holder.state}",
        )
        for holder in (gate.holders if gate else ())
    ]


def _queue(asked: Asked, facts: RunFacts) -> str:
    serving = asked.fleet.executors.get(facts.pool, 0)
    parts = [f"executors that serve it: {serving}"]
    outlook = facts.outlook
    if outlook is not None and outlook.before:
        more = "" if outlook.is_all else "more than "
        parts.append(f"before it: {more}{counted(outlook.before, 'run')}")
    if since := asked.fleet.queued_since.get(facts.pool):
        parts.append(f"the first on it waits for {span(since, asked.now)}")
    return "; ".join(parts)


def _holder(facts: RunFacts) -> str:
    return facts.executor.name if facts.executor else "an executor"


def _skipped(asked: Asked, facts: RunFacts) -> Told:
    summary = words.skipped(asked.job, facts.run.reason)
    return Told(f"it did not run: {summary.sentence}", summary.advice)


def _waiting(asked: Asked, facts: RunFacts) -> Told:
    run = facts.run
    summary = words.waiting(asked.job, run.reason, facts.place)
    if run.reason == TO_BE_ADMITTED and _waits(asked, facts) > LATE:
        return Told(summary.sentence, _no_scheduler(asked))
    return summary


def _queued(asked: Asked, facts: RunFacts) -> Told:
    fleet, pool = asked.fleet, facts.pool
    if not fleet.executors.get(pool):
        return Told(fleet.why_queued(pool), words.unserved(pool))
    if fleet.is_stalled(pool) and _waits(asked, facts) > STALLED:
        return Told(fleet.why_queued(pool), "they have too few slots, or their runs hang")
    starts_at = facts.outlook.starts_at if facts.outlook else None
    probably = f", probably at {instant(starts_at)}" if starts_at else ""
    summary = "it is on the queue, and starts when an executor of pool"
    return Told(f"{summary} {pool} has a free slot{probably}")


def _running(asked: Asked, facts: RunFacts) -> Told:
    run, executor = facts.run, facts.executor
    if run.cancel_at is not None:
        return Told("its executor is told to stop it by its next heartbeat")
    if executor is not None and executor.ended_at is None:
        silent = asked.now - executor.heartbeat_at
        if silent > SILENT:
            silence = span(executor.heartbeat_at, asked.now)
            summary = f"{executor.name}, which has it, has sent no heartbeat for {silence}"
            return Told(summary, "when it is declared lost, the run is tried again")
    return Told(f"it runs: attempt {run.attempt} on {_holder(facts)}{_deadline(asked, facts)}")


def _deadline(asked: Asked, facts: RunFacts) -> str:
    if not asked.job.revisions or facts.run.started_at is None:
        return ""
    timeout = asked.job.revisions[-1].spec.timeout_s
    ends = facts.run.started_at + timedelta(seconds=timeout)
    return f", until {instant(ends)} at the latest"


def _retrying(asked: Asked, facts: RunFacts) -> Told:
    run = facts.run
    summary = f"attempt {run.attempt} ended with: {run.reason}"
    if run.retry_at is not None and asked.now - run.retry_at > LATE:
        return Told(f"{summary}; its next attempt should have begun", _no_scheduler(asked))
    at = instant(run.retry_at) if run.retry_at else "soon"
    return Told(summary, f"it is tried again at {at}; now by `matins runs retry {run.id}`")


def _succeeded(_asked: Asked, facts: RunFacts) -> Told:
    run = facts.run
    if run.kind == Kind.SCHEDULED and run.started_at is not None:
        started = f", {span(run.due_at, facts.attempts[0].started_at)} after its due time"
    else:
        started = ""
    return Told(
        f"it ran{started if facts.attempts else ''}, and succeeded at attempt {run.attempt}"
    )


def _dead(_asked: Asked, facts: RunFacts) -> Told:
    again = f"mend what it calls, then `matins dead replay {facts.run.id}`"
    return Told(f"it ran, and is given up: {facts.run.reason}", again)


def _cancelled(_asked: Asked, facts: RunFacts) -> Told:
    return Told(f"it was ended: {facts.run.reason or 'cancelled'}")


def _waits(asked: Asked, facts: RunFacts) -> timedelta:
    return asked.now - (facts.run.claimed_at or asked.now)


def _no_scheduler(asked: Asked) -> str:
    return words.behind(asked.fleet.why_unclaimed(partition_of(asked.job.id)))


_VERDICTS = {
    RunState.SKIPPED: _skipped,
    RunState.WAITING: _waiting,
    RunState.QUEUED: _queued,
    RunState.RUNNING: _running,
    RunState.RETRYING: _retrying,
    RunState.SUCCEEDED: _succeeded,
    RunState.DEAD: _dead,
    RunState.CANCELLED: _cancelled,
}
