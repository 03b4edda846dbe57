"""What the engine needs of the world. PostgreSQL and Valkey stand behind these, or memory.

Every method may raise UnavailableError, which means that the outcome is unknown: the step may or
may not have happened; or BlockedError: it has not, since somebody else has a lock on it. Every
method may be called again with the same arguments.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from matins.domain.executors.liveness import ExecutorSeen
from matins.domain.executors.protocol import (
    Ending,
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Output,
    OutputAnswer,
    Poll,
    Recorded,
    Report,
    ReportAnswer,
    Running,
    RunStatus,
)
from matins.domain.runs.admission.open_runs import OpenRun, OpenRuns
from matins.domain.runs.admission.waiting import (
    AdmissionFacts,
    CarriedOut,
    Decision,
    Lines,
    Waiting,
)
from matins.domain.runs.chains import Link, LinkPage
from matins.domain.runs.claims import Advance, AwaitedEnd, Claim, Claimed, DueJob, FollowUp, Mark
from matins.domain.runs.cluster import NO_FIGURES, Figures, Offer
from matins.domain.runs.ranking import Started


class Clock(Protocol):
    """Time for the engine: the database's wall clock as measured from here, and durations."""

    def now(self) -> datetime:
        """Return the database's time, never ahead of it; aware UTC. Raises UnavailableError if
        unknown.
        """

    def elapsed_s(self) -> float:
        """Seconds since some fixed moment, sleep of the host included (CLOCK_BOOTTIME)."""

    async def sleep(self, seconds: float) -> None:
        """Wait so long."""


class Leases(Protocol):
    """Who holds which partition: a holder has one lease, and any number of partitions in it."""

    async def renew(
        self,
        holder: UUID,
        epochs: Mapping[int, int],
        watermark: datetime | None,
        ttl_s: float,
        figures: Figures = NO_FIGURES,
    ) -> set[int]:
        """Let the holder's lease end `ttl_s` seconds from now; that says, too, that it is alive.

        Return those of the partitions that are still held. All others of the holder's are free
        from now on: it does not know of them. A lease that has run out begins anew, with none.
        `watermark`: all fire times up to it, in the partitions given, have their rows.
        """

    async def acquire(self, holder: UUID, count: int, ttl_s: float) -> dict[int, int]:
        """Take over at most `count` partitions that nobody holds; return partition → new epoch.

        What is reserved for it comes first, and what is reserved for others who are alive not at
        all. A lease that ends beyond now and `ttl_s` is nobody's: the clock has gone back since.
        The holder's own ends `ttl_s` seconds from now, if it gained any.
        """

    async def offer(
        self, holder: UUID, partitions: Collection[int], ttl_s: float, *, leaving: bool
    ) -> Offer:
        """Let others prepare to take over these partitions of the holder's, and no more any others.

        Nobody takes them before they are released. Who is `leaving` is not counted as alive.
        """

    async def reserve(
        self, holder: UUID, count: int, loaded: Collection[int], ttl_s: float
    ) -> dict[int, int]:
        """Reserve partitions that are offered, and for nobody who is alive, up to `count` in all.

        What was reserved beyond that is given up, so that others can have it. Return all that is
        reserved for the holder, with the epochs that it would have of them. The jobs of those in
        `loaded` are in its memory: it is ready to take them over.
        """

    async def release(self, holder: UUID, epochs: Mapping[int, int]) -> None:
        """Give partitions up, so that others need not wait for the end of the term.

        A holder that gives up its last one no longer counts as alive, until it renews.
        """

    async def retire(self, holder: UUID) -> None:
        """Free at once all that was held by a process that is known to have ended."""

    async def count_alive(self, ttl_s: float) -> int:
        """Return how many schedulers, none of them leaving, have a lease in force that ends no
        later than `ttl_s` seconds from now.
        """


class Agenda(Protocol):
    """The scheduler's side of jobs and runs."""

    async def database_time(self) -> datetime:
        """Return the database's clock, read now."""

    async def load(self, after: Mapping[int, Mark], until: datetime, share: int) -> list[DueJob]:
        """Active jobs with a fire time up to `until`: of each partition the first after its mark.

        A partition gives at most its share; one that gives fewer has no more.
        """

    async def changed_jobs(self, partitions: Collection[int], since: datetime) -> list[DueJob]:
        """Jobs made or changed at or after `since`, in whatever state; scheduled ones only.

        Also those changed before, if that was committed after the last call, or the first `load`.
        """

    async def find_jobs(self, job_ids: Collection[UUID]) -> list[DueJob]:
        """These jobs as they stand now; those deleted or without a next due time are left out."""

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """Make runs and put the queued ones on the dispatch queue, in one statement with its fence.

        Only under a lease that is in force with this holder and epoch, only for jobs that are
        active at the claim's revision, and only where (job, due time, kind) has no row. What the
        rules of its team may hold waits to be asked about.
        """

    async def locked_partitions(self, partitions: Collection[int]) -> set[int]:
        """Return which of the partitions somebody else has locked, so that claims in them would
        wait.
        """

    async def advance(self, holder: UUID, advances: Sequence[Advance]) -> None:
        """Write next due times; only at the same revision, and over none that may lack a row.

        So nothing is written where the holder has no lease, or one older than it was last told of:
        the database has gone back in time, and may lack what was claimed since then.
        """

    async def ended_runs(self, partitions: Collection[int], limit: int) -> list[AwaitedEnd]:
        """Active jobs whose next due time follows from the end of a run which is over by now."""

    async def write_follow_ups(self, follow_ups: Sequence[FollowUp]) -> set[UUID]:
        """Write due times that follow ends, and let the jobs wait for the ends of those runs next.

        Only at the same revision, and only while a job waits for the end of that very run. Gives
        the jobs for which it was done.
        """

    async def links(self, partitions: Collection[int], after: UUID | None = None) -> LinkPage:
        """Due times of active chains that may be decided: some of what they wait for is over.

        A page of chains, by id. The first has also what was skipped because of a run that has been
        replayed since.
        """

    async def advance_chains(self, partitions: Collection[int]) -> None:
        """Let chains go on from the first due time that still waits for an answer."""

    async def revive(
        self, holder: UUID, epochs: Mapping[int, int], links: Sequence[Link], starts: Sequence[bool]
    ) -> Claimed:
        """Let what was skipped start after all, or stay as it is, in one statement with its fence.

        Only a run that a chain has skipped, once. What it was skipped for is done with.
        """

    async def quarantine(self, job_id: UUID, revision: int, reason: str) -> None:
        """Take a job out of the agenda because its schedule can't be computed."""


class WaitingRoom(Protocol):
    """The runs that may not start yet, and what is decided about them."""

    async def load_waiting(
        self, after: Mapping[int, Mark], until: datetime, share: int
    ) -> list[Waiting]:
        """Runs to be asked about up to `until`: of each partition its share, as `Agenda.load` does.

        What was decided by rules of its team that have changed since is to be asked about now.
        """

    async def admission_facts(self, batch: Sequence[Waiting]) -> AdmissionFacts:
        """Return what admission must know of these runs: the rules of their teams and the gates
        that they have to pass, of one moment each; without what is unfinished of their jobs.
        """

    async def open_runs(self, jobs: Mapping[UUID, OpenRuns]) -> dict[UUID, list[OpenRun]]:
        """Return what is unfinished of jobs, as far as is told where to look for it."""

    async def cancel_runs(self, run_ids: Sequence[UUID], reason: str) -> None:
        """Cancel those of the runs that wait, and ask for the end of those that are running."""

    async def carry_out(
        self, holder: UUID, epochs: Mapping[int, int], decisions: Sequence[Decision]
    ) -> CarriedOut:
        """Queue, skip or hold runs, in one statement with its fence.

        Only at the place where they were found, only under the rules by which it was decided, and
        only with permits of gates at which nobody else was admitted since.
        """

    async def gate_lines(self, gate_ids: Collection[int] | None, limit: int) -> Lines:
        """Return gates with those who stand first in their lines, up to `limit` where there is
        room; without `gate_ids` all gates that have a line.
        """

    async def record_open_since(
        self, holder: UUID, epochs: Mapping[int, int], since: Mapping[UUID, datetime]
    ) -> None:
        """Keep in the rows of jobs up to when all their runs that were due are over."""

    async def wake_waiting(self, job_ids: Collection[UUID]) -> list[Waiting]:
        """Let what waits for another run of these jobs be asked about now; return it."""


class Watch(Protocol):
    """Who still sends heartbeats, and what the lost ones held."""

    async def executors(self) -> list[ExecutorSeen]:
        """Return all incarnations that are neither lost nor stopped."""

    async def declare_lost(self, executor: UUID, heartbeat_at: datetime) -> bool:
        """Declare an incarnation lost if its last heartbeat is still this one."""

    async def abandoned_runs(self, limit: int) -> list[tuple[UUID, list[Running]]]:
        """Runs that are still running on executors that are lost or stopped, by executor."""

    async def drop_handouts(self, executor: UUID) -> None:
        """Drop the hand-outs of a lost executor, once none of its runs is running."""

    async def record(self, executor: UUID, endings: Sequence[Ending]) -> list[Recorded]:
        """As Dispatch.record."""


class Dispatch(Protocol):
    """The gateway's side of runs."""

    async def dequeue(self, poll: Poll, pool: str) -> Handout | None:
        """Take queued runs off one pool; `running`, attempt and executor in that statement.

        Return None while the pool holds nothing. A `seq` that was used before gets no more, but
        what of it is still running, perhaps nothing. Unknown is an executor that is not alive, and
        a `seq` that its heartbeats have called done. Runs that somebody has locked are passed over,
        and dequeued some seconds after they are free. One whose job was deleted is cancelled.
        """

    async def find_handout(self, poll: Poll) -> Handout | None:
        """Return what was handed out for this executor and `seq` and is still running; None if
        nothing.
        """

    async def running_runs(self, executor: UUID, run_ids: Collection[UUID]) -> list[Running]:
        """Return those of the runs that this executor runs, with their policies."""

    async def record(self, executor: UUID, endings: Sequence[Ending]) -> list[Recorded]:
        """Record ends where (run, attempt, executor) is still running; gives those that were.

        Retrying runs are scheduled, dead ones become dead letters, in the same statement.
        """

    async def which_recorded(self, ends: Collection[tuple[UUID, int]]) -> set[UUID]:
        """Return which of these (run, attempt) pairs have their end recorded."""

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Note a sign of life and compare what is held with the rows."""

    async def queue_depth(self, pool: str, limit: int) -> int:
        """Return how many runs are on the queue of a pool; no more than `limit` are counted."""

    async def free_elsewhere(
        self, pools: Sequence[str], known: Collection[UUID]
    ) -> dict[str, list[int]]:
        """Return by pool the free slots of the executors alive, but for those that are known."""

    async def note_starts(self, started: Sequence[Started]) -> None:
        """Note what was handed out of some pools: how fast their queues go on."""


class StatusCache(Protocol):
    """Run status that may be lost at any moment. Never raises: a cache that is away is empty."""

    async def put(self, statuses: Sequence[RunStatus]) -> None:
        """Keep statuses: those that never change for long, others for about a second."""

    async def get(self, run_id: UUID) -> bytes | None:
        """Return the status as JSON, or None."""


class Hints(Protocol):
    """Wake-ups that may be lost; a poll stands behind each."""

    async def send(self, channel: str, words: Collection[str]) -> None:
        """Send each word, once, to all who listen on the channel."""

    def listen(self, channel: str) -> AsyncIterator[str]:
        """Return the words sent on a channel. After a gap in the connection an empty word comes
        first.
        """


class GatewayLink(Protocol):
    """The executor's way to a gateway. Raises UnavailableError when the answer is unknown."""

    async def poll(self, poll: Poll) -> Handout:
        """Ask for attempts; waits for up to `poll.wait_s`."""

    async def report(self, report: Report) -> ReportAnswer:
        """Report ends."""

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Send a sign of life; return what the gateway makes of it."""

    async def output(self, output: Output) -> OutputAnswer:
        """Send what running attempts tell."""
