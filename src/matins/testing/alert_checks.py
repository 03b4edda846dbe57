"""What must hold of alerts, whatever befalls those who look, deliver and receive.

Each edge is told once; each message arrives, and a second time only where its first sender could
not write that it has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from matins.alerts.channels import Outgoing
from matins.domain.alerts.channels import Secrets
from matins.domain.alerts.deliveries import Sent, Taken
from matins.domain.alerts.edges import RuleStanding, Turn
from matins.domain.alerts.judging import Judged, Subject
from matins.domain.jobs.spec import JobState
from matins.domain.ports.alerts import Announcement
from matins.domain.runs.states import Kind, RunState
from matins.testing.memory.faulty import Process
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import JobRow, World

SEEN_WITHIN: Final = timedelta(seconds=90)
"""After so long without trouble each death was looked at."""


@dataclass
class Receipt:
    """A message that a receiver has taken, from whom, and what its sender did then."""

    taken: Taken
    process: Process
    freezes: int
    """How often the sender had been frozen before it took the message."""
    is_frozen: bool
    """Whether it was since then."""
    jumped_s: float
    """How far the database's clock had been moved by then."""
    error: str | None = None
    """What it wanted to be written."""
    is_recorded: bool = False
    """It knows that this was done."""
    is_forgotten: bool = False
    """The database has gone back in time since."""


class AlertChecker:
    """Watches the alerts of a world. `violations` are broken rules."""

    def __init__(self, world: World, violations: list[str], seen: Counter[str]) -> None:
        self._world = world
        self._violations = violations
        self._seen = seen
        self._era = world.era
        self._told: dict[tuple[UUID, datetime], str] = {}
        """By edge, and the beginning of the watch, what was told."""
        self._standings: dict[tuple[UUID, str, datetime], RuleStanding] = {}
        """By job, rule and the beginning of the watch, what was written last."""
        self._taken: dict[tuple[UUID, Process], int] = {}
        self._receipts: defaultdict[UUID, list[Receipt]] = defaultdict(list)

    def looked(
        self,
        looked: Sequence[tuple[Subject, Judged]],
        announcements: Sequence[Announcement],
        written: set[UUID],
    ) -> None:
        """A look was written, but for jobs that others have looked at."""
        self._keep_up()
        ours = [item for item in announcements if item.notice.job_id in written]
        self._seen["look that was too late"] += len(looked) - len(written)
        for item in ours:
            self._announced(item)
        for subject, judged in looked:
            if judged.facts.job_id in written:
                self._stands(subject, judged)

    def took(self, taken: Taken, process: Process, freezes: int) -> None:
        """A process has taken a message; it had been frozen so often when it asked."""
        self._taken[taken.id, process] = freezes

    def received(self, secrets: Secrets, outgoing: Outgoing, process: Process) -> None:
        """A receiver has taken a message."""
        self._keep_up()
        taken, before = outgoing.taken, self._receipts[outgoing.taken.id]
        self._seen[f"message {taken.kind}"] += 1
        if (secrets.team, secrets.name) != (taken.team, taken.channel):
            self._broken(f"message {taken.id} came to {secrets.name} instead of {taken.channel}")
        freezes = self._taken.get((taken.id, process), 0)
        is_frozen = process.clock.freezes > freezes
        receipt = Receipt(taken, process, freezes, is_frozen, process.clock.jumped_s)
        if before:
            self._seen["message that came again"] += 1
            if reason := _unexcused(before[-1], receipt):
                self._broken(f"message {taken.id} came again, though {reason}")
        before.append(receipt)

    def recording(self, taken: Taken, sent: Sent, process: Process) -> None:
        """A process wants it to be written what came of a try."""
        for receipt in self._mine(taken, process):
            receipt.error = sent.last_try.error

    def recorded(self, taken: Taken, process: Process, *, is_done: bool) -> None:
        """It was told whether this is done."""
        for receipt in self._mine(taken, process):
            receipt.is_recorded = is_done

    def check_seen(self, now: datetime) -> None:
        """Each death that is old enough was looked at, and each job stands as it should."""
        for job in self._world.jobs.values():
            for fault in self._unseen(job, now):
                self._broken(fault)

    def check_ended(self) -> None:
        """Every message has come to its end, and has arrived if it says so."""
        tables = self._world.alerts
        for row in tables.deliveries.values():
            self._seen[f"delivery {row.state}"] += 1
            if row.state == "waiting":
                self._broken(f"message {row.id} still waits after {len(row.tries)} tries")
            if row.state == "delivered" and not self._receipts[row.id]:
                self._broken(f"message {row.id} is delivered, and nobody has received it")
        for job_id, rows in tables.standings.items():
            if job_id not in tables.watches:
                self._broken(f"job {job_id} has {len(rows)} standings and is not watched")

    def _announced(self, item: Announcement) -> None:
        notice = item.notice
        self._seen[f"told {notice.turn} by {notice.on}"] += 1
        words = f"{notice.turn} of job {notice.job_id} by {notice.rule}"
        channels = self._world.alerts.channels_of(notice.team).values()
        told = [(row.id, item.edge_id) in self._world.alerts.notices for row in channels]
        if channels and not any(told):
            self._broken(f"{words} is told to nobody")
        watch = self._world.alerts.watches.get(notice.job_id)
        if watch is None:  # the job was deleted
            return
        edge = item.edge_id, watch.made_at  # the count begins anew when a job is watched again
        if edge in self._told:
            self._broken(f"{words} has the name of {self._told[edge]}")
        self._told[edge] = words
        before = self._standings.get((notice.job_id, notice.rule, watch.made_at))
        was_bad = before is not None and before.is_notified
        is_known = before is not None or not self._world.era
        if is_known and was_bad is not (notice.turn in (Turn.WELL, Turn.STILL)):
            self._broken(f"{words} is told while it was {'bad' if was_bad else 'well'}")

    def _stands(self, subject: Subject, judged: Judged) -> None:
        job_id = subject.facts.job_id
        watch = self._world.alerts.watches.get(job_id)
        if watch is None:
            return
        for rule, standing in judged.standings.items():
            key = job_id, rule, watch.made_at
            before = self._standings.get(key, standing)
            if standing.looked_at < before.looked_at:
                self._broken(f"how job {job_id} stands by {rule} was written by an older look")
            self._standings[key] = standing

    def _unseen(self, job: JobRow, now: datetime) -> Iterator[str]:
        watch = self._world.alerts.watches.get(job.id)
        if watch is None or job.state is not JobState.ACTIVE or now - job.changed_at < SEEN_WITHIN:
            return
        if watch.look_at < now - SEEN_WITHIN:
            yield f"job {job.spec.name} was to be looked at at {watch.look_at:%H:%M:%S}"
        deaths = [run for run in self._world.runs_by_job.get(job.id, []) if _is_death(run)]
        ends = [run.finished_at for run in deaths if run.finished_at is not None]
        old = [at for at in ends if watch.made_at < at < now - SEEN_WITHIN]
        standing = self._world.alerts.standings.get(job.id, {}).get("dead")
        if old and (standing is None or standing.mark is None or standing.mark < max(old)):
            mark = None if standing is None else standing.mark
            yield f"of job {job.spec.name} a run died at {max(old)}, and what was seen is {mark}"
        is_untold = standing is not None and standing.is_bad and not standing.is_notified
        if standing is not None and is_untold and not standing.is_flapping:
            yield f"job {job.spec.name} is bad, and nobody was told"

    def _mine(self, taken: Taken, process: Process) -> Iterator[Receipt]:
        for receipt in self._receipts[taken.id]:
            if receipt.process is process and receipt.taken.tries == taken.tries:
                yield receipt

    def _keep_up(self) -> None:
        """After the database went back, what was told since then may be told anew."""
        if self._era != self._world.era:
            self._era = self._world.era
            self._told.clear()
            self._standings.clear()
            for receipt in [receipt for found in self._receipts.values() for receipt in found]:
                receipt.is_forgotten = True

    def _broken(self, what: str) -> None:
        self._violations.append(f"{self._world.now():%d %H:%M:%S.%f} {what}")


def _is_death(run: RunRow) -> bool:
    return run.state is RunState.DEAD and run.kind is not Kind.BACKFILL


def _unexcused(first: Receipt, again: Receipt) -> str:
    """Return why nobody should have sent again what somebody has sent; nothing if that is right."""
    if first.is_forgotten:
        return ""
    if first.taken.tries != again.taken.tries:
        is_known = first.is_recorded and first.error == ""
        return "it was written that it had come" if is_known else ""
    if first.error is not None or first.process.crashed.is_set():
        return ""
    is_struck = first.process.clock.freezes > first.freezes or again.is_frozen
    is_stepped = first.jumped_s != again.jumped_s
    return "" if is_struck or is_stepped else "its sender was on its way to write it"
