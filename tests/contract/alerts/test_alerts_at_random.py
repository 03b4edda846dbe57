"""Memory and PostgreSQL play the same random moves of owners, runs, looks and deliveries.

Looks are repeated, come late and from several at once; whatever the order, both sides write the
same, no edge is told twice to a channel, and none is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.conftest import fresh_database
from tests.contract.alerts.watched import BAD, GOOD, QUIET, TEAM, Watched
from tests.contract.ports.ground import on_memory, on_postgres

from matins.domain.alerts.checkins import Ping
from matins.domain.alerts.edges import Turn
from matins.domain.jobs.alerting import AlertRule, AlertRules
from matins.domain.jobs.windows import Window
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome
from matins.domain.values.errors import MatinsError

CHANNELS = ("oncall", "mail")
JOBS = ("load", "send", "store")
RULES = (
    [QUIET],
    [QUIET, AlertRule("failed", times=2, of=4), AlertRule("dead", to=["mail"])],
    [AlertRule("did_not_run", within="5m", remind="10m"), AlertRule("recovered", to=["oncall"])],
    [QUIET, AlertRule("late", after="1m"), AlertRule("too_slow", over="20s")],
    [QUIET, AlertRule("dead", off=True), AlertRule("recovered", off=True)],
)
RESULTS = (BAD, BAD, GOOD, GOOD, Result(Outcome.CANCELLED, "cancelled"))
channels, jobs, rules = st.sampled_from(CHANNELS), st.sampled_from(JOBS), st.sampled_from(RULES)


class Alerting(RuleBasedStateMachine):
    """Each rule is a deed on both sides."""

    postgres: str

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.tokens: list[str] = []

    @initialize()
    def begin(self) -> None:
        self.runner.run(self._begin())

    async def _begin(self) -> None:
        dsn = await self.stack.enter_async_context(fresh_database(self.postgres))
        ground, database = on_postgres(dsn)
        self.stack.push_async_callback(database.close)
        self.sides = (Watched(on_memory()), Watched(ground))
        self.late: list[Any] = [[], []]
        self.jobs = {}
        for name in JOBS:
            for side in self.sides:
                self.jobs[name] = await side.job(name)
        made = [await side.checkin("backup", QUIET) for side in self.sides]
        self.jobs["backup"], self.tokens = made[0][0], [token for _, token in made]
        for side in self.sides:
            await side.channel("oncall")

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()

    def both(self, deed: Callable[[Watched], Coroutine[Any, Any, Any]]) -> None:
        """Do the same on both sides, and insist on the same refusal, if it is one."""

        async def refusal(side: Watched) -> Any:
            try:
                await deed(side)
            except MatinsError as error:
                return type(error), str(error)

        async def play() -> list[Any]:
            return [await refusal(side) for side in self.sides]

        memory, postgres = self.runner.run(play())
        assert memory == postgres

    @rule(seconds=st.sampled_from([3, 20, 61, 400, 4000, -20]), delivers=st.booleans())
    def time_passes(self, seconds: float, *, delivers: bool) -> None:
        """Somebody looks then, and what is due is sent."""
        self.both(lambda side: side.look(seconds))
        if delivers:
            self.both(lambda side: side.deliver(0))

    @rule(name=jobs, written=rules)
    def put_a_job(self, name: str, written: list[AlertRule]) -> None:
        async def put(side: Watched) -> None:
            self.jobs[name] = await side.job(name, *written)

        self.both(put)

    @rule(name=jobs)
    def delete_a_job(self, name: str) -> None:
        self.both(lambda side: side.ground.owners.jobs.delete(TEAM, name))

    @rule(name=jobs, is_paused=st.booleans())
    def pause_or_resume(self, name: str, *, is_paused: bool) -> None:
        async def deed(side: Watched) -> None:
            jobs = side.ground.owners.jobs
            await (jobs.pause(TEAM, name) if is_paused else jobs.resume(TEAM, name, "skip"))

        self.both(deed)

    @rule(
        name=jobs,
        results=st.lists(st.sampled_from(RESULTS), min_size=1, max_size=3),
        took_s=st.sampled_from([1, 25]),
        is_seen=st.booleans(),
    )
    def runs_end(self, name: str, results: list[Result], took_s: float, *, is_seen: bool) -> None:
        for result in results:
            self.both(partial(Watched.end, name=name, result=result, took_s=took_s))
            if is_seen:
                self.both(lambda side: side.look())

    @rule(what=st.sampled_from(["start", "success", "fail"]))
    def something_else_tells(self, what: Any) -> None:
        async def deed(side: Watched) -> None:
            await side.checkins.ping(Ping(self.tokens[self.sides.index(side)], what), "", 0)

        self.both(deed)

    @rule(name=channels, path=st.sampled_from(["", "other"]))
    def put_a_channel(self, name: str, path: str) -> None:
        self.both(lambda side: side.channel(name, f"https://hooks.example.com/{path}"))

    @rule(name=channels)
    def delete_a_channel(self, name: str) -> None:
        self.both(lambda side: side.channels.delete(TEAM, name))

    @rule(written=rules)
    def put_rules(self, written: list[AlertRule]) -> None:
        self.both(lambda side: side.rules.put(TEAM, AlertRules("all", written)))

    @rule()
    def delete_rules(self) -> None:
        self.both(lambda side: side.rules.delete(TEAM, "all"))

    @rule(minutes=st.sampled_from([2, 30]))
    def put_a_window(self, minutes: float) -> None:
        now = self.sides[0].ground.clock.now()
        window = Window("mend", now, now + timedelta(minutes=minutes))
        self.both(lambda side: side.ground.owners.windows.put(TEAM, window))

    @rule(name=channels)
    def change_of_heart(self, name: str) -> None:
        for side in self.sides:
            side.refuses ^= {name}

    @rule()
    def read_for_a_look_that_comes_late(self) -> None:
        async def deed(side: Watched) -> None:
            await side.ports.lookout.wake()
            self.late[self.sides.index(side)] = await side.ports.lookout.due(9)

        self.both(deed)

    @rule()
    def look_late(self) -> None:
        async def deed(side: Watched) -> None:
            await side.watch._judge(self.late[self.sides.index(side)])

        self.both(deed)

    @invariant()
    def both_have_written_the_same(self) -> None:
        if not hasattr(self, "sides"):
            return
        memory, postgres = self.runner.run(self._seen())
        assert memory == postgres
        self._turns_take_turns(memory[0])

    async def _seen(self) -> list[Any]:
        seen = []
        for side in self.sides:
            rows = side.ports.rows
            ids = self.jobs.values()
            standings = {job: await rows.standings(job) for job in ids}
            watches = {job: await rows.watch(job) for job in ids}
            sent = [
                (name, outgoing.taken.id, outgoing.message, outgoing.notices)
                for name, outgoing in side.received
            ]
            notices, deliveries = await rows.notices(), await rows.deliveries()
            sent.sort(key=lambda message: message[:2])  # several channels are sent to at once
            seen.append((notices, deliveries, standings, watches, sent))
        return seen

    def _turns_take_turns(self, notices: list[Any]) -> None:
        """Of each job and rule a channel is told bad and well in turn, or still what it was."""
        last: dict[Any, Turn] = {}
        for row in notices:
            key, turn = (row.channel, row.notice.job_id, row.notice.rule), row.notice.turn
            if turn in (Turn.BAD, Turn.WELL):
                assert last.get(key) is not turn, f"{key} was told {turn} twice"
            if turn is not Turn.STILL:
                last[key] = turn


@pytest.mark.timeout(300)
def test_both_sides_tell_the_same_whatever_comes_between(postgres: str) -> None:
    class OnThisServer(Alerting):
        pass

    OnThisServer.postgres = postgres
    run_state_machine_as_test(
        OnThisServer,
        settings=settings(
            max_examples=12,
            stateful_step_count=40,
            phases=(Phase.generate,),  # what is found would be made smaller for minutes
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
