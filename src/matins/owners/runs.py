"""What owners do to single runs: trigger, cancel and replay them, try them again now or no more."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.authors import NOBODY, Author
from matins.domain.jobs.pausing import reason_problems
from matins.domain.jobs.targets import Target
from matins.domain.ports import Hints
from matins.domain.ports.runs import KeyedRun, RunChanges, TriggeredRun
from matins.domain.runs.admission.hints import CHANNEL, job_word, partition_word
from matins.domain.runs.admission.overlap import ask_trigger
from matins.domain.runs.inputs import NO_INPUT, RunInput, input_problems, key_problems
from matins.domain.runs.states import FINAL, Kind, RunState
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    check,
)
from matins.domain.values.ids import names_instant, partition_of, run_id, whole_ms
from matins.domain.values.names import check_name
from matins.kernel.ends import note_ends
from matins.kernel.hints import notify
from matins.kernel.metrics import REPLAYED

CANCELLED = "cancelled by its owner"
"""The reason of a run that its owner ends."""

STOPPED = "not to be tried again"
"""The reason of a run that its owner lets have no further attempt."""

_MS = timedelta(milliseconds=1)


class Runs:
    """Triggers, cancels and replays runs, and decides about their next attempts."""

    def __init__(self, changes: RunChanges, hints: Hints) -> None:
        self._changes = changes
        self._hints = hints

    async def trigger(
        self,
        team: str,
        name: str,
        run_input: RunInput = NO_INPUT,
        *,
        key: str | None = None,
        allow_overlap: bool = False,
    ) -> RunStatus:
        """Run a job now, also a paused one; the due time of the run is now, in whole ms.

        Its overlap policy decides about the run as about any other, unless `allow_overlap`. When
        the answer is lost, the run may have been made: repeated with the same key, this answers
        that run. Without one, list the job's runs before repeating.
        """
        check_name("team", team)
        check_name("name", name)
        return await self._make(team, name, run_input, key, allow_overlap=allow_overlap)

    async def replay_changed(
        self,
        run: UUID,
        run_input: RunInput,
        *,
        key: str | None = None,
        allow_overlap: bool = False,
        author: Author = NOBODY,
    ) -> RunStatus:
        """Run the job of a dead run now, with another input, in its place: its letter is closed.

        As a trigger else, also where an answer was lost. Raises ConflictError when the run has no
        dead letter, NotFoundError when there is no such run or job.
        """
        if run_input == NO_INPUT:
            message = "changes nothing, and then the same run goes on; leave key and overlap out"
            raise InvalidInputError.at("input", message)
        status = await self._status(run)
        return await self._make(
            *(status.team, status.job, run_input, key),
            allow_overlap=allow_overlap,
            replay_of=run,
            by=author.name,
        )

    async def _make(
        self,
        team: str,
        name: str,
        run_input: RunInput,
        key: str | None,
        *,
        allow_overlap: bool,
        replay_of: UUID | None = None,
        by: str = "",
    ) -> RunStatus:
        check(key_problems(key) if key is not None else [])
        due_at = None
        while job := await self._changes.find_job(team, name, key, replay_of):
            if job.keyed is not None:
                asked_for = run_input.fingerprint(allow_overlap=allow_overlap, replay_of=replay_of)
                return await self._made_before(job.keyed, asked_for)
            if job.target is not None and job.target.checkin is not None:
                raise ConflictError("the job is a check-in: something else runs it, and not Matins")
            if replay_of is not None and not job.has_letter:
                raise ConflictError(f"run {replay_of} has no dead letter of this job to be closed")
            _check_input(job.target, run_input)
            # when another was triggered in this very millisecond, the next one is taken
            due_at = due_at + _MS if due_at else whole_ms(job.now)
            run = run_id(job.id, due_at, Kind.MANUAL)
            verdict = ask_trigger(job.overlap, job.first_open, allow_overlap=allow_overlap)
            if made := await self._changes.trigger(
                run,
                job.id,
                due_at,
                verdict,
                run_input,
                key,
                allow_overlap=allow_overlap,
                replay_of=replay_of,
                by=by,
            ):
                REPLAYED.inc(replay_of is not None)
                await self._notify(job.id, made)
                return made.status
        raise NotFoundError(f"team {team} has no job {name!r}")

    async def cancel(self, run: UUID) -> RunStatus:
        """End a run that waits; ask for the end of one that is running.

        Its executor hears of it in the answer to its next heartbeat. Raises ConflictError when the
        run has ended, NotFoundError when there is none.
        """
        _check_id(run)
        if cancelled := await self._changes.cancel(run, CANCELLED):
            if cancelled.status.state in FINAL:
                await notify(self._hints, CHANNEL, job_word(cancelled.job_id))
            return cancelled.status
        status = await self._status(run)
        raise ConflictError(f"the run has ended already: it is {status.state}")

    async def retry_now(self, run: UUID) -> RunStatus:
        """Let a run that is to be tried again be so now, whenever its next attempt was due.

        What may hold any attempt may hold this one. Raises ConflictError when it waits for no
        attempt, NotFoundError when there is none.
        """
        _check_id(run)
        hurried = await self._changes.retry_now(run)
        if hurried is None:
            raise _no_retry(await self._status(run))
        await notify(self._hints, CHANNEL, partition_word(partition_of(hurried.job_id)))
        return hurried.status

    async def stop_retrying(self, run: UUID, author: Author = NOBODY) -> RunStatus:
        """End a run that is to be tried again, as one that has used up its attempts: it is dead,
        and can be replayed.

        Raises ConflictError when it waits for no attempt, NotFoundError when there is none.
        """
        check(reason_problems(author.reason))
        _check_id(run)
        stopped = await self._changes.stop_retrying(run, _stopped(author))
        if stopped is None:
            raise _no_retry(await self._status(run))
        note_ends([stopped.status])
        await notify(self._hints, CHANNEL, job_word(stopped.job_id))
        return stopped.status

    async def replay(self, run: UUID, author: Author = NOBODY) -> RunStatus:
        """Give a dead run one attempt more, as the same run, and close its dead letter.

        If that succeeds, what chains have skipped because of it starts. Raises ConflictError when
        the run is not dead or can't go on, NotFoundError when there is none.
        """
        _check_id(run)
        if status := await self._changes.replay(run, author.name):
            REPLAYED.inc()
            await notify(self._hints, "jobs", str(run))
            return status
        status = await self._status(run)
        if status.state is RunState.DEAD:
            raise ConflictError(
                "another run stands for it, its job is deleted, its day is purged, or its job has"
                " gone on after its end (after: end): trigger a run instead; or something else"
                " runs it, as a check-in"
            )
        if status.state not in FINAL:
            raise ConflictError(
                f"the run has not ended: it is {status.state}; cancel it, or wait for its end"
            )
        raise ConflictError(
            f"only a dead run can be replayed, and it is {status.state}: trigger its job"
        )

    async def _status(self, run: UUID) -> RunStatus:
        """Return how a run stands. Raises NotFoundError."""
        _check_id(run)
        status = await self._changes.status(run)
        if status is None:
            raise NotFoundError(f"there is no run {run}")
        return status

    async def _notify(self, job_id: UUID, run: TriggeredRun) -> None:
        match run.status.state:
            case RunState.QUEUED:
                await notify(self._hints, "dispatch", run.pool)
            case RunState.WAITING:
                await notify(self._hints, CHANNEL, partition_word(partition_of(job_id)))

    async def _made_before(self, keyed: KeyedRun, asked_for: str) -> RunStatus:
        """Return how the run stands that was made with a key."""
        if keyed.fingerprint != asked_for:
            message = (
                f"was used for run {keyed.id} with other content; take a new key for a new run"
            )
            raise InvalidInputError.at("Idempotency-Key", message)
        status = await self._changes.status(keyed.id)
        if status is None:
            raise ConflictError(f"the run {keyed.id} of this key is not kept any more")
        return status


def _check_id(run: UUID) -> None:
    """Refuse what can't be the id of a run."""
    if not names_instant(run):
        raise NotFoundError(f"there is no run {run}")


def _no_retry(status: RunStatus) -> ConflictError:
    """Return why a run that waits for no attempt can't be tried again now, or be kept from it."""
    message = f"the run waits for no further attempt: it is {status.state}"
    if status.state is RunState.DEAD:
        return ConflictError(f"{message}; replay it")
    return ConflictError(message if status.state in FINAL else f"{message}; cancel it to end it")


def _stopped(author: Author) -> str:
    """Return the reason of a run that is not to be tried again."""
    by = f"{STOPPED}, says {author.name}" if author.name else STOPPED
    return f"{by}: {author.reason}" if author.reason else by


def _check_input(target: Target | None, run_input: RunInput) -> None:
    """Refuse an input that is none for the job."""
    if run_input == NO_INPUT:
        return
    if target is None:
        raise ConflictError("the stored job can't be read, so nothing of it can be changed")
    check(input_problems(target, run_input))
