"""Jobs that are due with the runs of others, on memory and on PostgreSQL."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, Row, advance, claim
from tests.ids import numbered

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.jobs.spec import JobList, JobSpec
from matins.domain.runs.attempts import Result
from matins.domain.runs.chains import Link, claim_of, decide_link
from matins.domain.runs.states import Outcome, RunState
from matins.domain.schedules.after_jobs import AfterJobs, Join, When
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError

A, EXECUTOR = numbered(1), numbered(2)
TEAM = "default"
EVERYWHERE = range(256)
DUE = START + timedelta(minutes=1)


def named(name: str, every: str = "1m") -> JobSpec:
    return msgspec.structs.replace(SPEC, name=name, schedule=Schedule(every=every))


def chain(name: str, *jobs: str, when: When = "all_success", join: Join = "due_time") -> JobSpec:
    after = AfterJobs(list(jobs), when, join)
    return msgspec.structs.replace(SPEC, name=name, schedule=Schedule(after=after))


class Play:
    """A scheduler and an executor, step by step."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.ids: dict[str, UUID] = {}
        self.epochs: dict[int, int] = {}
        self.seq = 0

    async def put(self, *specs: JobSpec) -> None:
        for spec in specs:
            self.ids[spec.name] = (await self.ground.owners.jobs.put(TEAM, spec)).job.id
        if not self.epochs:
            self.epochs = await self.ground.all_leases(A)

    async def claim(self, name: str, due: datetime = DUE, **fields: Any) -> None:
        """Claim a run, and note that it was."""
        self.ground.clock.instant = max(self.ground.clock.instant, due)
        due_claim = claim(self.ids[name], due, **fields)
        answer = await self.ground.agenda.claim(A, self.epochs, [due_claim])
        assert answer.made == {due_claim.run_id}
        await self.advance(name, due + timedelta(minutes=1))

    async def advance(self, name: str, due: datetime) -> None:
        await self.ground.advance(advance(self.ids[name], due))

    async def end(self, name: str, state: RunState = RunState.SUCCEEDED) -> None:
        """Let all that is queued start, and the run of that job end so."""
        self.seq += 1
        heartbeat = Heartbeat(EXECUTOR, "e", ["default"], 9, self.seq)
        await self.ground.dispatch.heartbeat(heartbeat)
        poll = Poll(EXECUTOR, self.seq, ["default"], 1)
        handout = await self.ground.dispatch.dequeue(poll, "default") or Handout()
        [attempt] = handout.attempts
        assert attempt.job == name
        self.ground.clock.move(1)
        outcome = Outcome.SUCCEEDED if state is RunState.SUCCEEDED else Outcome.FAILED
        end = End(
            attempt.run_id, attempt.number, Result(outcome, "" if outcome == "succeeded" else "bad")
        )
        ending = Ending(end, state, "" if outcome is Outcome.SUCCEEDED else "bad")
        assert await self.ground.dispatch.record(EXECUTOR, [ending])

    async def links(self) -> list[Link]:
        return (await self.ground.agenda.links(EVERYWHERE)).links

    async def look(self) -> None:
        """Decide about all links, and admit what starts."""
        decided = [(link, verdict) for link in await self.links() if (verdict := decide_link(link))]
        new = [claim_of(link, verdict) for link, verdict in decided if not link.is_again]
        waiting = (await self.ground.agenda.claim(A, self.epochs, new)).waiting if new else []
        again = [(link, verdict.starts) for link, verdict in decided if link.is_again]
        if again:
            links, starts = [pair[0] for pair in again], [pair[1] for pair in again]
            waiting += (await self.ground.agenda.revive(A, self.epochs, links, starts)).waiting
        await self.ground.agenda.advance_chains(EVERYWHERE)
        if waiting:
            await self.ground.admit(A, self.epochs, waiting)

    async def note_open(self, name: str, since: datetime) -> None:
        """Note that all runs of a job that were due before are over."""
        job = self.ids[name]
        await self.ground.room.record_open_since(A, self.epochs, {job: since})

    async def looked_for_since(self) -> datetime:
        """Claim what starts; return since when its job's row says to look for unfinished runs."""
        decided = [(link, verdict) for link in await self.links() if (verdict := decide_link(link))]
        new = [claim_of(link, verdict) for link, verdict in decided if verdict.starts]
        claimed = await self.ground.agenda.claim(A, self.epochs, new)
        facts = await self.ground.room.admission_facts(claimed.waiting)
        [run] = facts.candidates.values()
        return run.open_since

    async def rows(self, name: str) -> list[tuple[float, str, str]]:
        rows = await self.ground.rows.runs(self.ids[name])
        return [(row.due_s, row.state, row.reason) for row in rows if row.kind == "chained"]


@pytest.fixture
def play(ground: Ground) -> Play:
    return Play(ground)


async def test_it_starts_with_the_due_time_of_what_it_follows_once(play: Play) -> None:
    await play.put(named("extract"), chain("load", "extract"))
    await play.claim("extract")
    await play.look()
    assert await play.rows("load") == []
    await play.end("extract")
    for _ in range(3):
        await play.look()
    assert await play.rows("load") == [(60.0, "queued", "")]
    assert await play.links() == []


@pytest.mark.parametrize(
    ("when", "first", "second", "rows"),
    [
        ("all_success", "succeeded", "succeeded", [(60.0, "queued", "")]),
        ("all_success", "succeeded", "dead", [(60.0, "skipped", "upstream b failed: bad")]),
        ("any_success", "dead", "succeeded", [(60.0, "queued", "")]),
        (
            "any_success",
            "dead",
            "dead",
            [(60.0, "skipped", "upstream a failed: bad; b failed: bad")],
        ),
        ("all_done", "dead", "succeeded", [(60.0, "queued", "")]),
        ("any_failure", "succeeded", "dead", [(60.0, "queued", "")]),
        ("any_failure", "succeeded", "succeeded", [(60.0, "skipped", "upstream did not fail")]),
    ],
)
async def test_it_waits_for_all_and_starts_by_how_they_end(
    play: Play, when: When, first: str, second: str, rows: list[tuple[float, str, str]]
) -> None:
    await play.put(named("a"), named("b"), chain("c", "a", "b", when=when))
    await play.claim("a")
    await play.end("a", RunState(first))
    await play.look()
    assert await play.rows("c") == []
    await play.claim("b", DUE)
    await play.end("b", RunState(second))
    await play.look()
    assert await play.rows("c") == rows


async def test_what_is_not_due_at_that_time_counts_as_skipped(play: Play) -> None:
    await play.put(named("a"), named("b", "1h"), chain("c", "a", "b"))
    await play.claim("a")
    await play.end("a")
    await play.look()
    assert await play.rows("c") == [
        (60.0, "skipped", "upstream b was skipped: it was not due then")
    ]


async def test_by_latest_the_newest_run_of_the_others_counts(play: Play) -> None:
    await play.put(named("a"), named("b"), chain("c", "a", "b", join="latest"))
    await play.claim("b")
    await play.end("b")
    await play.advance("b", START + timedelta(hours=1))
    later = DUE + timedelta(minutes=1)
    await play.advance("a", later)
    await play.claim("a", later)
    await play.end("a")
    await play.look()
    assert await play.rows("c") == [(120.0, "queued", "")]


async def test_a_link_is_not_missed_before_its_leader_has_a_row(play: Play) -> None:
    await play.put(named("a"), named("b"), chain("c", "a", "b", when="any_success", join="latest"))
    await play.claim("b")
    await play.end("b")
    await play.advance("b", START + timedelta(hours=1))
    await play.advance("a", DUE + timedelta(minutes=1))
    play.ground.clock.move(60)
    await play.claim("a", DUE + timedelta(minutes=1))
    found = await play.ground.rows.audit(play.ids["c"], play.ground.clock.now())
    assert (found.due, found.pending, found.agrees) == (1, 1, True)
    play.ground.clock.move(60)
    await play.look()
    found = await play.ground.rows.audit(play.ids["c"], play.ground.clock.now())
    assert (found.due, found.unfinished, found.agrees) == (1, 1, True)


async def test_a_run_that_is_skipped_skips_what_follows_with_its_reason(play: Play) -> None:
    await play.put(named("a"), chain("b", "a", when="all_done"), chain("c", "b"))
    await play.claim("a", state=RunState.SKIPPED, reason="misfire: last")
    await play.look()
    await play.look()
    told = "upstream a was skipped: misfire: last"
    assert await play.rows("b") == [(60.0, "skipped", told)]
    assert await play.rows("c") == [(60.0, "skipped", f"upstream b was skipped: {told}")]


async def test_a_range_of_skipped_due_times_stays_one(play: Play) -> None:
    await play.put(named("a"), chain("b", "a", when="all_done"))
    until = DUE + timedelta(minutes=19)
    play.ground.clock.instant = until
    await play.claim(
        "a",
        state=RunState.SKIPPED,
        reason="misfire: last",
        due_until=until,
        due_count=20,
        next_due_at=until + timedelta(minutes=1),
        next_fire_at=until + timedelta(minutes=1),
    )
    await play.look()
    told = "upstream a was skipped: misfire: last"
    rows = await play.ground.rows.runs(play.ids["b"])
    assert rows == [Row(60.0, "skipped", told, 20, "chained")]
    assert await play.links() == []


async def test_a_run_that_was_triggered_starts_what_follows_too(play: Play) -> None:
    await play.put(named("a"), chain("b", "a"), chain("c", "b"))
    await play.look()
    play.ground.clock.move(5)
    await play.ground.owners.runs.trigger(TEAM, "a")
    await play.end("a")
    await play.look()
    await play.end("b")
    await play.look()
    assert await play.rows("c") == [(5.0, "queued", "")]


async def test_what_lay_before_the_chain_is_no_due_time_of_it(play: Play) -> None:
    await play.put(named("a"))
    await play.claim("a")
    play.ground.clock.move(1)
    await play.put(chain("b", "a"))
    await play.end("a")
    await play.look()
    assert await play.rows("b") == []


async def test_a_pause_records_what_waits_and_resume_chooses(play: Play) -> None:
    await play.put(named("a"), chain("b", "a"))
    await play.claim("a")
    paused = await play.ground.owners.jobs.pause(TEAM, "b")
    assert paused.skipped == 1
    for minute in (2, 3):
        await play.end("a")
        await play.look()
        await play.claim("a", START + timedelta(minutes=minute))
    resumed = await play.ground.owners.jobs.resume(TEAM, "b", "last")
    assert (resumed.skipped, resumed.queued) == (1, 1)
    await play.look()
    assert await play.rows("b") == [(60.0, "skipped", "paused"), (120.0, "skipped", "paused")]
    await play.end("a")
    await play.look()
    assert (await play.rows("b"))[2:] == [(180.0, "queued", "")]
    found = await play.ground.rows.audit(play.ids["b"], play.ground.clock.now())
    assert (found.due, found.agrees, found.unfinished) == (3, True, 1)


async def test_a_leader_that_catches_up_brings_its_chain_back(play: Play) -> None:
    await play.put(named("a"), chain("b", "a"))
    await play.ground.owners.jobs.pause(TEAM, "a")
    await play.look()
    play.ground.clock.move(150)
    await play.look()
    await play.ground.owners.jobs.resume(TEAM, "a", "last")
    await play.end("a")
    await play.look()
    assert await play.rows("b") == [
        (60.0, "skipped", "upstream a was skipped: paused"),
        (120.0, "queued", ""),
    ]


async def test_a_run_that_is_replayed_starts_what_it_has_held_up(play: Play) -> None:
    await play.put(named("a"), chain("b", "a"), chain("c", "b"))
    await play.claim("a")
    await play.end("a", RunState.DEAD)
    await play.look()
    await play.look()
    assert [row[1] for row in await play.rows("c")] == ["skipped"]
    [run] = await play.ground.rows.runs(play.ids["a"])
    assert run.state == "dead"
    dead = claim(play.ids["a"], DUE).run_id
    replayed = await play.ground.owners.runs.replay(dead)
    assert (replayed.state, replayed.reason) == (RunState.RETRYING, "replayed by its owner")
    with pytest.raises(ConflictError, match="it is retrying"):
        await play.ground.owners.runs.replay(dead)
    await play.look()
    assert [row[1] for row in await play.rows("b")] == ["skipped"]
    await play.ground.admit(A, play.epochs, await play.ground.waiting())
    await play.end("a")
    for _ in range(2):
        await play.look()
    assert await play.rows("b") == [(60.0, "queued", "")]
    await play.end("b")
    for _ in range(2):
        await play.look()
    assert await play.rows("c") == [(60.0, "queued", "")]
    with pytest.raises(ConflictError, match="only a dead run"):
        await play.ground.owners.runs.replay(dead)


async def test_a_replay_that_fails_leaves_what_follows_skipped(play: Play) -> None:
    await play.put(named("a"), chain("b", "a"))
    await play.claim("a")
    await play.end("a", RunState.DEAD)
    await play.look()
    await play.ground.owners.runs.replay(claim(play.ids["a"], DUE).run_id)
    await play.ground.admit(A, play.epochs, await play.ground.waiting())
    await play.end("a", RunState.DEAD)
    await play.look()
    assert [row[1] for row in await play.rows("b")] == ["skipped"]
    assert await play.links() == []


async def test_jobs_in_a_circle_are_refused_with_the_way(ground: Ground) -> None:
    jobs = ground.owners.jobs
    await jobs.put(TEAM, named("a"))
    await jobs.put(TEAM, chain("b", "a"))
    await jobs.put(TEAM, chain("c", "b"))
    with pytest.raises(InvalidInputError, match="in a circle: a → b → c → a"):
        await jobs.put(TEAM, chain("a", "c"))
    with pytest.raises(InvalidInputError, match="in a circle: a → a"):
        await jobs.put(TEAM, chain("a", "a"))


async def test_a_list_may_name_what_comes_later_in_it(ground: Ground) -> None:
    jobs = [chain("c", "b"), chain("b", "a"), named("a")]
    for dry_run in (True, False):
        done = await ground.owners.jobs.put_all(TEAM, JobList(jobs), dry_run=dry_run)
        assert [result.job.spec.name for result in done] == ["c", "b", "a"]
    with pytest.raises(InvalidInputError, match=r"jobs\[\d\].schedule.after.jobs: go in a circle"):
        await ground.owners.jobs.put_all(TEAM, JobList([chain("a", "b"), chain("b", "a")]))


async def test_a_job_that_is_not_there_is_refused_by_its_name(ground: Ground) -> None:
    with pytest.raises(InvalidInputError, match="there is no job 'extract' in the team"):
        await ground.owners.jobs.put(TEAM, chain("load", "extract"))


async def test_a_job_that_others_follow_is_deleted_by_force_only(play: Play) -> None:
    jobs = play.ground.owners.jobs
    await play.put(named("a"), chain("b", "a"), chain("c", "a"))
    with pytest.raises(ConflictError, match="b, c follow 'a'"):
        await jobs.delete(TEAM, "a")
    await jobs.delete(TEAM, "a", force=True)
    await play.look()
    await play.put(named("a"))
    due = play.ground.clock.now() + timedelta(minutes=1)
    await play.claim("a", due)
    await play.end("a")
    await play.look()
    assert await play.rows("b") == [(60.0, "queued", "")]


async def test_a_page_says_after_which_chain_the_next_begins(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matins.store.chains.PAGE", 2)
    names = [f"b{number}" for number in range(5)]
    await play.put(named("a"), *[chain(name, "a") for name in names])
    await play.claim("a")
    await play.end("a")
    page = await play.ground.agenda.links(EVERYWHERE)
    found = [link.job_id for link in page.links]
    while page.last is not None:
        page = await play.ground.agenda.links(EVERYWHERE, page.last)
        found += [link.job_id for link in page.links]
    assert sorted(found) == sorted(play.ids[name] for name in names)


async def test_a_run_that_is_decided_about_late_is_among_those_looked_for(play: Play) -> None:
    await play.put(named("a"), chain("b", "a"))
    await play.claim("a")
    await play.note_open("b", DUE + timedelta(minutes=9))
    await play.end("a")
    assert await play.looked_for_since() <= DUE


async def test_what_is_decided_late_is_looked_for_by_a_new_policy(play: Play) -> None:
    await play.put(named("a"), chain("b", "a"))
    await play.claim("a")
    play.ground.clock.move(540)
    await play.put(msgspec.structs.replace(chain("b", "a"), overlap="queue"))
    await play.end("a")
    assert await play.looked_for_since() <= DUE


async def test_what_a_leader_catches_up_with_is_looked_for(play: Play) -> None:
    await play.put(named("a"), msgspec.structs.replace(chain("b", "a"), overlap="skip"))
    await play.ground.owners.jobs.pause(TEAM, "a")
    await play.look()
    play.ground.clock.move(150)
    await play.look()
    await play.note_open("b", play.ground.clock.now())
    await play.ground.owners.jobs.resume(TEAM, "a", "last")
    await play.end("a")
    assert await play.looked_for_since() <= START + timedelta(minutes=2)


async def test_of_what_starts_after_replays_the_first_is_looked_for(play: Play) -> None:
    await play.put(named("a"), msgspec.structs.replace(chain("b", "a"), overlap="queue"))
    dues = [DUE + timedelta(minutes=minute) for minute in range(3)]
    for due in dues:
        await play.claim("a", due)
        await play.end("a", RunState.DEAD)
    await play.look()
    await play.note_open("b", DUE + timedelta(minutes=9))
    for due in reversed(dues):
        await play.ground.owners.runs.replay(claim(play.ids["a"], due).run_id)
        await play.ground.admit(A, play.epochs, await play.ground.waiting())
        await play.end("a")
    links = [link for link in await play.links() if link.is_again]
    assert len(links) == 3
    revived = await play.ground.agenda.revive(A, play.epochs, links[::-1], [True] * 3)
    facts = await play.ground.room.admission_facts(revived.waiting)
    assert {run.open_since <= DUE for run in facts.candidates.values()} == {True}


async def test_a_run_that_starts_after_a_replay_is_looked_for_again(play: Play) -> None:
    await play.put(named("a"), msgspec.structs.replace(chain("b", "a"), overlap="skip"))
    await play.claim("a")
    await play.end("a", RunState.DEAD)
    await play.look()
    await play.note_open("b", DUE + timedelta(minutes=9))
    await play.ground.owners.runs.replay(claim(play.ids["a"], DUE).run_id)
    await play.ground.admit(A, play.epochs, await play.ground.waiting())
    await play.end("a")
    await play.look()
    assert await play.rows("b") == [(60.0, "queued", "")]
    triggered = await play.ground.owners.runs.trigger(TEAM, "b")
    assert triggered.state is RunState.SKIPPED
