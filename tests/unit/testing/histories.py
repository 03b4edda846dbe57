"""Made-up histories: good ones, told run by run, and Hypothesis's strategy for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID, uuid5

from hypothesis import strategies as st

from matins.testing.calls import Call
from matins.testing.history import Ack, AttemptRow, Due, EvidenceRow, History

START = datetime(2026, 11, 29, 2, tzinfo=UTC)
SECOND = timedelta(seconds=1)
_SPACE = UUID(int=7)

ENDS = {"succeeded": "succeeded", "cancelled": "cancelled"}
"""How a run ends, by its last attempt's outcome; all others mean that it is dead."""


def ns(instant: datetime) -> int:
    """Return the call recorder's way to write an instant."""
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000


def job_id(job: str) -> UUID:
    """Return the id of a job, by its name."""
    return uuid5(_SPACE, job)


def run_id(job: str, due_at: datetime, kind: str = "scheduled") -> UUID:
    """Return the id of a run."""
    return uuid5(_SPACE, f"{job} {due_at} {kind}")


class Story:
    """Tells a good history, one due time after the other."""

    def __init__(self) -> None:
        self.history = History([], [], [], [])
        self.executor = uuid5(_SPACE, "executor")

    def job(self, job: str) -> None:
        """Make a job."""
        self.history.acks.append(Ack("job", job_id(job), job))
        self.history.jobs |= {job_id(job)}

    def run(
        self,
        job: str,
        due_at: datetime,
        outcomes: Sequence[str] = ("succeeded",),
        *,
        kind: str = "scheduled",
        epoch: int = 1,
        partition: int = 0,
    ) -> None:
        """Run a job: claimed after 10 ms, each attempt takes 100 ms, a second lies between."""
        named = run_id(job, due_at, kind)
        self.history.due.append(Due(job_id(job), job, due_at, kind))
        if kind != "scheduled":
            self.history.acks.append(Ack("run", named, job))
        claimed_at = due_at + SECOND / 100
        starts = [claimed_at + number * SECOND for number in range(1, len(outcomes) + 1)]
        for number, (start, outcome) in enumerate(zip(starts, outcomes, strict=True), start=1):
            self._attempt(job, due_at, kind, number, start, outcome)
        self.history.rows.append(
            EvidenceRow(
                run_id=named,
                job_id=job_id(job),
                due_at=due_at,
                kind=kind,
                state=ENDS.get(outcomes[-1], "dead") if outcomes else "cancelled",
                reason="",
                attempt=len(outcomes),
                epoch=epoch,
                partition=partition,
                claimed_at=claimed_at,
                started_at=starts[-1] if starts else None,
                finished_at=(starts[-1] if starts else claimed_at) + SECOND / 10,
            )
        )

    def _attempt(
        self, job: str, due_at: datetime, kind: str, number: int, start: datetime, outcome: str
    ) -> None:
        named = run_id(job, due_at, kind)
        end = start + SECOND / 10
        attempt = AttemptRow(named, number, outcome, self.executor, start, end)
        self.history.attempts.append(attempt)
        if outcome != "lost":
            call = Call(
                named,
                number,
                due_at,
                job,
                "payments",
                kind,
                "POST",
                "/ok",
                2,
                ns(start + SECOND / 100),
                ns(end - SECOND / 100),
                "answered",
            )
            self.history.calls.append(call)

    def skip(
        self, job: str, due_ats: Sequence[datetime], *, epoch: int = 1, partition: int = 0
    ) -> None:
        """Skip some due times in a row, in one row."""
        self.history.due += [Due(job_id(job), job, due_at) for due_at in due_ats]
        claimed_at = due_ats[-1] + SECOND / 100
        self.history.rows.append(
            EvidenceRow(
                run_id=run_id(job, due_ats[0]),
                job_id=job_id(job),
                due_at=due_ats[0],
                kind="scheduled",
                state="skipped",
                reason="misfire: skip",
                attempt=0,
                epoch=epoch,
                partition=partition,
                claimed_at=claimed_at,
                finished_at=claimed_at,
                due_until=due_ats[-1] if len(due_ats) > 1 else None,
                due_count=len(due_ats),
            )
        )


def small_history() -> History:
    """One job: succeeded, failed and then succeeded, dead, cancelled early, two skipped, manual."""
    story = Story()
    story.job("nightly")
    at = [START + number * 10 * SECOND for number in range(8)]
    story.run("nightly", at[0])
    story.run("nightly", at[1], ["failed", "succeeded"])
    story.run("nightly", at[2], ["timed_out", "lost", "failed"], epoch=2)
    story.run("nightly", at[3], [], epoch=2)
    story.skip("nightly", at[4:6], epoch=2)
    story.run("nightly", at[6], epoch=3)
    story.run("nightly", at[6] + SECOND, kind="manual", epoch=0)
    return story.history


_OUTCOMES = st.lists(st.sampled_from(["failed", "timed_out", "lost"]), max_size=3).flatmap(
    lambda before: st.sampled_from(
        [[*before, "succeeded"], [*before, "cancelled"], [*before, "failed"]]
    )
)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Good histories of a few jobs, each with runs, ranges of skipped due times and take-overs."""
    story = Story()
    for number in range(draw(st.integers(1, 3))):
        job = f"job-{number}"
        story.job(job)
        every = draw(st.integers(1, 90))
        cuts = sorted(draw(st.sets(st.integers(0, 12), min_size=2)))
        epoch = 1
        for low, high in pairwise(cuts):
            due_ats = [START + step * every * SECOND for step in range(low, high)]
            epoch += draw(st.integers(0, 1))
            if draw(st.booleans()):
                story.skip(job, due_ats, epoch=epoch, partition=number)
                continue
            for due_at in due_ats:
                story.run(job, due_at, draw(_OUTCOMES), epoch=epoch, partition=number)
        if draw(st.booleans()):
            story.run(job, START + SECOND / 4, kind="manual", epoch=0, partition=number)
    return story.history
