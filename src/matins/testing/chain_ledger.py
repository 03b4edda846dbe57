"""The audit of chains over a world: what each waits for, and whether it has its row."""

from __future__ import annotations

from matins.domain.audit import AuditedJob, AuditSpan, LedgerRow
from matins.domain.chain_audit import LeaderDue, audit_chain, leaders
from matins.domain.runs.chains import decide_link
from matins.domain.runs.states import Kind
from matins.domain.views import JobAudit
from matins.testing.memory.chains import MemoryChains, leader_runs, leaders_of
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import JobRow, World


def audit_links(world: World, job: JobRow, span: AuditSpan) -> JobAudit:
    """Audit the chain of a job, if it has or had one."""
    revisions = world.revisions[job.id]
    own = [run for run in world.runs.values() if run.job_id == job.id and run.kind is Kind.CHAINED]
    rows = [
        LedgerRow(run.due_at, run.state, run.reason, run.due_until, run.finished_at) for run in own
    ]
    due = [
        _due(world, job, leader, run)
        for name in leaders(revisions)
        for leader in leaders_of(world, job.team, name)
        for run in leader_runs(world, leader)
    ]
    subject = AuditedJob(job.id, job.team, job.spec.name, purged_until=world.purged_until(job.id))
    return audit_chain(subject, revisions, rows, due, span)


def _due(world: World, job: JobRow, leader: JobRow, run: RunRow) -> LeaderDue:
    """What a chain waits for is known of the one that it has now. It may long be over, as the run
    of another job that counts as the latest; a link comes with its leader's row, no earlier.
    """
    open_since = run.finished_at
    if job.spec.upstream[:1] == [leader.spec.name]:
        link = MemoryChains(world).link(job, leader, run)
        ends = [led.finished_at for led in link.upstream if led.finished_at is not None]
        open_since = max([run.claimed_at, *ends]) if decide_link(link) is not None else None
    return LeaderDue(
        leader.spec.name, run.due_at, run.claimed_at, run.due_until, run.due_count, open_since
    )


def is_passed(world: World, run: RunRow, other: RunRow) -> bool:
    """Return whether a run of the job was due after another one, before `run` was made."""
    rows = world.runs_by_job[run.job_id]
    scheduled = [row.due_at for row in rows if row.kind is Kind.SCHEDULED and row.id != run.id]
    return max(scheduled) > other.due_at
