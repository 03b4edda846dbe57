"""Jobs of a team whose runs end as a test says, and the services of alerts on the ports."""

from __future__ import annotations

from random import Random
from typing import Any, Final
from uuid import UUID

import msgspec
from tests.contract.ports.ground import SPEC, Ground

from matins.alerts.channels import Outgoing, UndeliveredError
from matins.alerts.delivering import DeliveryService
from matins.alerts.watching import AlertWatch
from matins.domain.alerts.channels import Channel, ChannelChanged, Secrets
from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.jobs.alerting import AlertRule
from matins.domain.jobs.targets import CheckinTarget, Target
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.states import Outcome, RunState
from matins.domain.schedules.schedule import Schedule
from matins.kernel.sealing import Sealer
from matins.owners.alert_rules import TeamRules
from matins.owners.channels import Channels
from matins.owners.checkins import Checkins

TEAM: Final = "default"
EXECUTOR: Final = UUID(int=7)
QUIET: Final = AlertRule("did_not_run", off=True)
BAD: Final = Result(Outcome.FAILED, "order 17 refused", exit_code=1)
GOOD: Final = Result(Outcome.SUCCEEDED)
STATES: Final = {
    Outcome.SUCCEEDED: RunState.SUCCEEDED,
    Outcome.FAILED: RunState.DEAD,
    Outcome.CANCELLED: RunState.CANCELLED,
}


async def _no_fault(_url: str) -> str:
    """Say that any URL can be read."""
    return ""


class Standstill:
    """A clock for services of which nothing takes any time."""

    def elapsed_s(self) -> float:
        """Return always the same."""
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Go on at once."""


class Watched:
    """One side. `received` are the messages that have arrived, by their channel."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.ports = ground, ground.alerts
        self.received: list[tuple[str, Outgoing]] = []
        self.refuses: set[str] = set()
        """The channels that take no messages."""
        sealer, rng = Sealer(["ab" * 32]), Random(5)
        clock: Any = Standstill()
        senders: Any = {"webhook": self._send, "apprise": self._send}
        self.channels = Channels(self.ports.channels, sealer, rng, _no_fault)
        self.rules = TeamRules(self.ports.rules)
        self.checkins = Checkins(self.ports.checkins, rng)
        self.watch = AlertWatch(self.ports.lookout, self.ports.outbox, ground.locks, clock, 1.0)
        self.delivery = DeliveryService(self.ports.outbox, sealer, senders, clock, 1.0)
        self._seq = 0

    @property
    def turns(self) -> list[str]:
        """What was told, in order."""
        return [outgoing.taken.kind for _, outgoing in self.received]

    async def bad_job(self) -> UUID:
        """Return a job of a team with a channel, of which a run has died and was looked at."""
        await self.channel()
        job = await self.job()
        await self.look()
        await self.end()
        await self.look()
        return job

    async def channel(
        self, name: str = "oncall", url: str = "https://hooks.example.com/"
    ) -> ChannelChanged:
        """Make a webhook, or change it."""
        return await self.channels.put(TEAM, Channel(name, webhook=url))

    async def job(self, name: str = "load", *rules: AlertRule, **changes: Any) -> UUID:
        """Put a job with these rules; without any it is not judged by `did_not_run`."""
        spec = msgspec.structs.replace(
            SPEC, name=name, schedule=Schedule(cron="0 0 * * *"), alerts=[*(rules or [QUIET])]
        )
        made = await self.ground.owners.jobs.put(TEAM, msgspec.structs.replace(spec, **changes))
        return made.job.id

    async def checkin(self, name: str = "backup", *rules: AlertRule) -> tuple[UUID, str]:
        """Put a check-in; return it with its token."""
        job = await self.job(name, *rules, schedule=None, target=Target(checkin=CheckinTarget()))
        path = (await self.checkins.rotate(TEAM, name)).path
        return job, path.removeprefix("/ping/")

    async def begin(self, name: str = "load", executor: UUID = EXECUTOR) -> Attempt:
        """Trigger a run, and let its only attempt begin."""
        await self.ground.owners.runs.trigger(TEAM, name)
        self._seq += 1
        heartbeat = Heartbeat(executor, "e", ["default"], 9, self._seq)
        await self.ground.dispatch.heartbeat(heartbeat)
        poll = Poll(executor, self._seq, ["default"], 9)
        handout = await self.ground.dispatch.dequeue(poll, "default") or Handout()
        [attempt] = handout.attempts
        return attempt

    async def finish(self, attempt: Attempt, result: Result, executor: UUID = EXECUTOR) -> None:
        """Let an attempt end so."""
        end = End(attempt.run_id, attempt.number, result)
        ending = Ending(end, STATES[result.outcome], result.reason)
        assert await self.ground.dispatch.record(executor, [ending])

    async def end(self, name: str = "load", result: Result = BAD, took_s: float = 0) -> UUID:
        """Trigger a run, and let its only attempt end so after a while."""
        attempt = await self.begin(name)
        self.ground.clock.move(took_s)
        await self.finish(attempt, result)
        return attempt.run_id

    async def look(self, seconds: float = 1) -> int:
        """Look, a little later."""
        self.ground.clock.move(seconds)
        return await self.watch.look()

    async def deliver(self, seconds: float = 60) -> None:
        """Send what is due, a little later."""
        self.ground.clock.move(seconds)
        await self.delivery.take()
        await self.delivery.settle()

    async def tell(self) -> None:
        """Look, and send what came of it."""
        await self.look()
        await self.deliver()

    async def _send(self, secrets: Secrets, outgoing: Outgoing) -> None:
        if secrets.name in self.refuses:
            raise UndeliveredError("it takes nothing")
        self.received.append((secrets.name, outgoing))
