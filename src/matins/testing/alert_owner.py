"""A simulated owner of alerts: changes channels and rules, and tells of what runs elsewhere."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Final

from matins.domain.alerts.channels import Channel
from matins.domain.alerts.checkins import Ping
from matins.domain.jobs.alerting import AlertRule, AlertRules
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CheckinTarget, Target
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
)
from matins.testing.alerting import AlertDesk
from matins.testing.memory.link import Calls

ALERTS: Final[tuple[list[AlertRule], ...]] = (
    [],
    [AlertRule("failed", times=2), AlertRule("dead", to=["mail"])],
    [AlertRule("late", after="20s"), AlertRule("too_slow", over="15s")],
    [AlertRule("did_not_run", within="40s", remind="30s"), AlertRule("missed")],
    [AlertRule("too_fast", under="1s"), AlertRule("recovered", to=["gone"])],
    [AlertRule("failed", times=2, of=10, remind="20s"), AlertRule("recovered", off=True)],
)
"""The rules of simulated jobs."""

CHANNELS: Final = ("oncall", "mail")
CHECKINS: Final = ("checkin-1", "checkin-2")

_PATIENCE_S: Final = 20.0

Deed = Callable[[AlertDesk], Coroutine[Any, Any, Any]]


def checkin_of(name: str, rng: Random) -> JobSpec:
    """Return a check-in as it is put."""
    return JobSpec(name=name, target=Target(checkin=CheckinTarget()), alerts=rng.choice(ALERTS))


class AlertOwner:
    """Does something about alerts every few seconds, of one team."""

    def __init__(self, line: Calls[AlertDesk], team: str, rng: Random, seen: Counter[str]) -> None:
        self._line = line
        self._team = team
        self._rng = rng
        self._seen = seen
        self._tokens: dict[str, str] = {}

    async def own(self) -> None:
        """Change alerts until cancelled."""
        deeds = (
            *(self._put_channel, self._put_channel, self._put_channel, self._delete_channel),
            *(self._rotate_key, self._test_channel, self._put_rules, self._delete_rules),
            *(self._rotate_token, self._ping, self._ping, self._ping, self._ping, self._ping),
        )
        while True:
            deed = self._rng.choice(deeds)
            await self._do(deed.__name__.strip("_"), deed())
            await asyncio.sleep(self._rng.uniform(1, 8))

    async def _do(self, name: str, deed: Deed) -> None:
        self._seen[f"owner: {name}"] += 1
        try:
            await self._line.call(deed, _PATIENCE_S)
        except UnavailableError:
            self._seen["owner: no answer"] += 1
        except (ConflictError, InvalidInputError, NotFoundError, TooManyRequestsError):
            self._seen["owner: refused"] += 1

    def _put_channel(self) -> Deed:
        channel = Channel(
            self._rng.choice(CHANNELS),
            webhook=f"https://{self._rng.choice('ab')}.example.com/",
        )
        return lambda desk: desk.channels.put(self._team, channel)

    def _delete_channel(self) -> Deed:
        name = self._rng.choice(CHANNELS)
        return lambda desk: desk.channels.delete(self._team, name)

    def _rotate_key(self) -> Deed:
        name = self._rng.choice(CHANNELS)
        return lambda desk: desk.channels.rotate(self._team, name)

    def _test_channel(self) -> Deed:
        name = self._rng.choice(CHANNELS)
        return lambda desk: desk.channels.test(self._team, name)

    def _put_rules(self) -> Deed:
        rules = AlertRules("all", self._rng.choice(ALERTS))
        return lambda desk: desk.rules.put(self._team, rules)

    def _delete_rules(self) -> Deed:
        return lambda desk: desk.rules.delete(self._team, "all")

    def _rotate_token(self) -> Deed:
        name = self._rng.choice(CHECKINS)

        async def rotate(desk: AlertDesk) -> None:
            path = (await desk.checkins.rotate(self._team, name)).path
            self._tokens[name] = path.rpartition("/")[2]

        return rotate

    def _ping(self) -> Deed:
        token = self._tokens.get(self._rng.choice(CHECKINS), "x" * 32)
        ping = Ping(token, self._rng.choice(("start", "success", "success", "fail")))
        return lambda desk: desk.checkins.ping(ping, "", 0)
