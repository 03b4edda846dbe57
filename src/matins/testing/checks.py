"""What must hold at every step of a simulation, and at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from matins.domain.audit import AuditedJob, AuditSpan, LedgerRow, Revision, audit
from matins.domain.chain_audit import with_chain
from matins.domain.jobs.spec import JobState
from matins.domain.runs.states import FINAL, FIRST, TRANSITIONS, Kind, RunState
from matins.domain.values.durations import parse_duration
from matins.domain.values.ids import run_id
from matins.owners.upkeep import PAUSE_OVER
from matins.testing.backfill_checks import broken_at_the_end, broken_by_run
from matins.testing.chain_ledger import audit_links, is_passed
from matins.testing.dead_checks import dead_faults, job_is_ours, paths_taken
from matins.testing.gate_checks import gate_faults, permits_held
from matins.testing.memory.chains import leader_runs, leaders_of
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import JobRow, World
from matins.testing.overlap_checks import overlap_faults, overlap_paths
from matins.testing.window_checks import window_faults
from matins.upkeep.auto_delete import REASON as AUTO_DELETED

_SHOWN_MAX = 5
_NOTHING = timedelta(0)
_DELETED_WITHIN = timedelta(minutes=2)
"""So long after it has expired, a job is deleted at the latest."""
_PAUSE_ENDS_WITHIN = timedelta(seconds=30)
_READ_WITHIN = timedelta(seconds=20)
"""After a step, who neither read the clock nor lost its leases for so long breaks a rule."""


class Checker:
    """Watches a world. `violations` are broken rules, `seen` counts the rare paths taken."""

    def __init__(self, world: World, seen: Counter[str]) -> None:
        self.violations: list[str] = []
        self._world = world
        self._seen = seen
        self._claimed: set[tuple[UUID, datetime, Kind]] = set()
        self._epochs: dict[int, int] = {}
        self._started: set[tuple[UUID, int]] = set()
        self._underway: dict[UUID, int] = {}
        self._unfinished: dict[UUID, dict[UUID, RunRow]] = {}
        self._lost: dict[UUID, int] = {}
        self._schedules: dict[UUID, datetime] = {}
        """Since when the schedule was set by which a run was made."""
        self._era = world.era
        self._given: set[tuple[UUID, int]] = set()
        self._forgotten: set[tuple[UUID, int]] = set()
        """Attempts handed out, or ended, in a time that was lost: they are handed out again."""
        self._back = _NOTHING
        """How far the database's clock was ever put back, all steps together."""
        self._relived: list[tuple[datetime, datetime]] = []
        """Spans of time that came twice, for as long as others may have gone by the old one."""
        self._unseen = _NOTHING
        self._unseen_until = world.now()
        self._lost_rows: set[UUID] = set()
        world.watchers.append(self._changed)

    def clock_stepped(self, seconds: float) -> None:
        """The database's clock stepped; until they have read it again, others go by the old one."""
        step, now = timedelta(seconds=seconds), self._world.now()
        unseen = self._unseen if now - step < self._unseen_until else _NOTHING
        self._back += max(_NOTHING, -step)
        if step < _NOTHING:
            self._relived.append((now, now - step + _READ_WITHIN))
        self._unseen = max(_NOTHING, unseen - step)
        self._unseen_until = now + _READ_WITHIN

    def row_lost(self, runs: Iterable[UUID]) -> None:
        """A row beside these runs goes missing."""
        self._lost_rows.update(runs)

    def healed(self, runs: Iterable[UUID]) -> None:
        """The upkeep puts a row back beside these runs: nothing else may be in need of that."""
        for run in runs:
            self._seen["row put back"] += 1
            if run not in self._lost_rows and not self._world.era:
                self._broken(f"run {run} had to be healed, though no row of it was lost")

    def started(self, run: UUID, number: int) -> None:
        """An executor begins with an attempt."""
        self._keep_up()
        if (run, number) in self._forgotten:
            self._seen["attempt started that the database forgot"] += 1
            return
        if (run, number) in self._started:
            self._broken(f"attempt {number} of run {run} was started twice")
        if run in self._underway:
            self._broken(f"attempt {number} of run {run} overlaps with {self._underway[run]}")
        self._started.add((run, number))
        self._underway[run] = number
        self._seen["attempts started"] += 1

    def ended(self, run: UUID, number: int) -> None:
        """An attempt is over: it ended, was killed, or died with its executor."""
        if self._underway.get(run) == number:
            del self._underway[run]

    def check_ledger(self, now: datetime) -> None:
        """Every due time of every job has a row.

        What follows ends is left out once the clock went back: ends lie before due times then, so
        no row tells which follows which. What is due by a later schedule is not left out.
        """
        rows: dict[UUID, list[LedgerRow]] = {}
        for run in self._world.runs.values():
            if run.kind is not Kind.SCHEDULED:
                continue
            row = LedgerRow(run.due_at, run.state, run.reason, run.due_until, run.finished_at)
            rows.setdefault(run.job_id, []).append(row)
        for job in self._world.jobs.values():
            self._seen["job expired"] += job.reason == AUTO_DELETED
            self._audit(job, rows.get(job.id, []), now)
            self._check_next_due(job, rows.get(job.id, []), now)
            self._check_pause(job, now)
        self._check_keys()

    def check_ended(self) -> None:
        """Every run has ended, and nothing is left of any."""
        open_runs = [run for run in self._world.runs.values() if run.state not in FINAL]
        for run in open_runs[:_SHOWN_MAX]:
            self._broken(f"run {run.id} (attempt {run.attempt}) did not end: it is {run.state}")
        if (held := permits_held(self._world)) and not open_runs:
            self._broken(f"{held} permits are held by runs that have ended")
        self._seen.update(paths_taken(self._world))
        for fault in dead_faults(self._world):
            self._broken(fault)
        for backfill in self._world.backfills.values():
            self._seen[f"backfill {backfill.state}"] += 1
            for fault in broken_at_the_end(self._world, backfill):
                self._broken(fault)
        if self._world.waiting and not open_runs:
            self._broken(f"{len(self._world.waiting)} runs wait that have ended")

    def _check_pause(self, job: JobRow, now: datetime) -> None:
        """A pause that is over has ended."""
        self._seen["pause ended by itself"] += job.author.reason == PAUSE_OVER
        until = job.pause.until
        if until is not None and until + _PAUSE_ENDS_WITHIN < now:
            self._broken(f"the pause of {job.spec.name} was over at {until:%H:%M:%S}")

    def _check_keys(self) -> None:
        """What was triggered with a key of its own, which its input names, was made once."""
        keys = Counter(run.input.body for run in self._world.runs.values() if run.input.body)
        self._seen["run with input"] += keys.total()
        for key, count in keys.items():
            if count > 1:
                self._broken(f"{count} runs were made with the key {key}")

    def _keep_up(self, new: RunRow | None = None) -> None:
        """After the database went back, only what it still knows can be held against anybody.

        What it takes for running may have ended in the time that was lost, and is started again.
        """
        if self._era == self._world.era:
            return
        self._era = self._world.era
        rows = [run for run in self._world.runs.values() if run is not new]
        running = {run.id: run.attempt for run in rows if run.state is RunState.RUNNING}
        over = {run.id: run.attempt - (run.id in running) for run in rows}
        self._forgotten |= {
            attempt for attempt in self._given if attempt[1] > over.get(attempt[0], 0)
        }
        self._underway = {
            run: number for run, number in self._underway.items() if running.get(run) == number
        }
        self._claimed = {(run.job_id, run.due_at, run.kind) for run in rows}
        self._lost = {run.id: run.lost_count for run in rows}
        self._epochs, self._unfinished = {}, {}
        for run in rows:
            self._epochs[run.partition] = max(run.epoch, self._epochs.get(run.partition, 0))
            if run.state not in FINAL:
                self._unfinished.setdefault(run.job_id, {})[run.id] = run

    def _changed(self, run: RunRow, before: RunState | None) -> None:
        self._keep_up(run if before is None else None)
        unfinished = self._unfinished.setdefault(run.job_id, {})
        if before is None:
            self._inserted(run)
            self._check_chain(run, unfinished.values())
            self._check_backfill(run)
        elif run.state not in TRANSITIONS[before]:
            self._broken(f"run {run.id} went from {before} to {run.state}")
        if run.state is RunState.QUEUED and before is not RunState.RUNNING:
            self._check_windows(run, before)
        if run.state is RunState.QUEUED and before in (RunState.WAITING, RunState.RETRYING):
            begun = (run for runs in self._unfinished.values() for run in runs.values())
            self._seen["run passed a gate"] += bool(run.holds_permits)
            for fault in gate_faults(self._world, run, begun):
                self._broken(fault)
        if run.state is RunState.QUEUED and before is not RunState.RUNNING:
            is_timed = not self._back
            for fault in overlap_faults(self._world, run, unfinished.values(), is_timed=is_timed):
                self._broken(fault)
        if self._world.jobs[run.job_id].reason == AUTO_DELETED:
            self._broken(f"run {run.id} goes on, though its job has expired")
        if run.state is RunState.RUNNING:
            self._given.add((run.id, run.attempt))
        unfinished[run.id] = run
        if run.state in FINAL:
            del unfinished[run.id]
        self._seen[f"{before or 'new'} -> {run.state}"] += 1
        self._seen.update(overlap_paths(run))
        if run.lost_count != self._lost.get(run.id, 0):
            self._lost[run.id] = run.lost_count
            self._seen["attempt lost"] += 1

    def _check_windows(self, run: RunRow, before: RunState | None) -> None:
        if not self._back:
            for fault in window_faults(self._world, run, before):
                self._broken(fault)

    def _inserted(self, run: RunRow) -> None:
        key = (run.job_id, run.due_at, run.kind)
        if key in self._claimed:
            self._broken(f"job {run.job_id} was claimed twice for {run.due_at}")
        self._claimed.add(key)
        if run.id != run_id(run.job_id, run.due_at, run.kind):
            self._broken(f"run {run.id} of {run.due_at} has another run's name")
        if run.state not in FIRST and job_is_ours(self._world, run):
            self._broken(f"run {run.id} was made {run.state}")
        self._check_link(run)
        if run.epoch and run.kind is not Kind.CHAINED and run.fire_at > self._latest_now():
            self._broken(f"run {run.id} was claimed before its fire time")
        if run.due_until is not None:
            self._seen["range of due times"] += 1
        self._check_epoch(run)

    def _latest_now(self) -> datetime:
        """Return the latest that anybody may take the time to be."""
        now = self._world.now()
        return now + self._unseen if now < self._unseen_until else now

    def _check_chain(self, run: RunRow, unfinished: Iterable[RunRow]) -> None:
        """A job that follows ends has one run at a time, but for those of an earlier schedule.

        Runs that were triggered are no part of it. An earlier schedule may go on while a new one is
        written. Once the clock went back, one that goes on may not have the newest due time.
        """
        job = self._world.jobs[run.job_id]
        self._schedules[run.id] = job.timing.since
        follows_end = job.spec.schedule is not None and job.spec.schedule.follows_end
        if run.kind is not Kind.SCHEDULED or not follows_end:
            return
        self._seen["run that follows an end"] += 1
        for other in unfinished:
            is_earlier = self._schedules.get(other.id, job.timing.since) != job.timing.since
            if is_earlier or other.kind is not Kind.SCHEDULED:
                continue
            is_open = bool(self._back) and is_passed(self._world, run, other)
            if other.due_at > job.timing.since and not is_open:
                self._broken(f"run {run.id} was made though run {other.id} before it goes on")

    def _check_link(self, run: RunRow) -> None:
        """What is due with other runs starts once they have all succeeded, if it waits for that."""
        job = self._world.jobs[run.job_id]
        chain = None if job.spec.schedule is None else job.spec.schedule.chain
        if run.kind is not Kind.CHAINED or run.state is RunState.SKIPPED or chain is None:
            return
        self._seen["run that follows others"] += 1
        for leader in leaders_of(self._world, job.team, chain.jobs[0]):
            for led in leader_runs(self._world, leader, run.due_at):
                fails = led.due_at == run.due_at and led.state is not RunState.SUCCEEDED
                if fails and chain.when == "all_success":
                    self._broken(f"run {run.id} was made though run {led.id} is {led.state}")

    def _check_backfill(self, run: RunRow) -> None:
        if run.kind is Kind.BACKFILL:
            self._seen["run of a backfill"] += 1
            for fault in broken_by_run(self._world, run):
                self._broken(fault)

    def _check_epoch(self, run: RunRow) -> None:
        if not run.epoch:  # recorded by a change of the job, under the lock of its row
            return
        lease = self._world.partitions[run.partition]
        in_force = lease.holder is not None and self._world.is_in_force(lease.holder)
        if lease.epoch != run.epoch or not in_force:
            self._broken(f"run {run.id} was claimed under a lease that was not in force")
        last = self._epochs.get(run.partition, run.epoch)
        if run.epoch < last:
            self._broken(f"run {run.id} was claimed under epoch {run.epoch}, after one of {last}")
        if run.epoch > last:
            self._seen["takeover"] += 1
        self._epochs[run.partition] = max(run.epoch, last)

    def _check_next_due(self, job: JobRow, rows: list[LedgerRow], now: datetime) -> None:
        """A job on a schedule is due no later than that says, and gone once it has expired."""
        schedule = job.spec.schedule
        if job.state is not JobState.ACTIVE or schedule is None or schedule.after != "due":
            return
        recorded = [row.due_until or row.due_at for row in rows]
        due = job.timing.compile(schedule, job.id).next_after(
            max(now, job.changed_at, job.timing.since, *recorded)
        )
        if due is not None and (job.next_due_at is None or job.next_due_at > due):
            self._broken(f"job {job.spec.name} is due {job.next_due_at} instead of {due}")
        if schedule.delete_after is None or job.next_due_at is not None:
            return
        ends = [run.finished_at for run in self._world.runs.values() if run.job_id == job.id]
        last = max([job.changed_at, *(end or now for end in ends)])
        kept = timedelta(seconds=parse_duration(schedule.delete_after))
        if last + kept + _DELETED_WITHIN < now:
            self._broken(f"job {job.spec.name} has expired and is still there")

    def _audit(self, job: JobRow, rows: list[LedgerRow], now: datetime) -> None:
        revisions = self._world.revisions[job.id]
        since = self._judged_from(revisions, now)
        if since >= now:
            return
        span = AuditSpan(since, now, now)
        finding = with_chain(
            audit(AuditedJob(job.id, job.team, job.spec.name), revisions, rows, span),
            audit_links(self._world, job, span),
        )
        if not finding.agrees:
            self._broken(
                f"job {job.spec.name}: {finding.missing_count} due times have no row"
                f" {finding.missing[:_SHOWN_MAX]}, {finding.unexpected_count} rows no due time"
                f" {finding.unexpected[:_SHOWN_MAX]}, {finding.doubled_count} due times two rows"
                f" {finding.doubled[:_SHOWN_MAX]} {finding.fault}"
            )

    def _judged_from(self, revisions: Sequence[Revision], now: datetime) -> datetime:
        """Return from when on a job's due times can be told, whatever the clock did."""
        if not self._back:
            return revisions[0].effective_at
        ends = [*(revision.effective_at for revision in revisions[1:]), now]
        chained = [
            end + self._back
            for revision, end in zip(revisions, ends, strict=True)
            if revision.spec.schedule and revision.spec.schedule.after != "due"
        ]
        # What was due by an earlier schedule has its rows already where time comes twice.
        replaced = [
            before
            for revision in revisions[1:]
            for after, before in self._relived
            if after <= revision.effective_at < before
        ]
        return max([*chained, *replaced], default=revisions[0].effective_at)

    def _broken(self, what: str) -> None:
        self.violations.append(f"{self._world.now():%d %H:%M:%S.%f} {what}")
