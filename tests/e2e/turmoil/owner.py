"""An owner who changes everything at random, and notes what was acknowledged and when.

What was not acknowledged, because the API died, may have been done or not: nothing is noted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import aiohttp
import asyncpg
from tests.e2e.cluster import Cluster
from tests.e2e.turmoil.schedules import CALENDAR, KINDS, SECOND, calendar, schedule, written

TIERS = ("gold", "tin")
WINDOWS = ("one", "two", "three")
REFUSALS = (404, 409, 422)
"""What the API may answer to an owner who asks for what has passed, or is not there any more."""


class Span(NamedTuple):
    """From when on something was acknowledged, until its end was asked for, by the database."""

    since: datetime
    until: datetime | None = None


class WindowSpan(NamedTuple):
    """When a window was in force for sure."""

    policy: str
    labels: dict[str, str]
    since: datetime
    until: datetime


class Owner:
    """Does one thing after the other. Any number of owners may work at once."""

    def __init__(self, cluster: Cluster, rng: Random, number: int, names: list[str]) -> None:
        self._cluster = cluster
        self._rng = rng
        self._number = number
        self._names = names
        self._first = len(names)
        self._made = 0
        self._held: dict[str, tuple[dict[str, Any], datetime]] = {}
        self._paused: dict[str, datetime] = {}
        self.windows: list[WindowSpan] = []
        self.stops: dict[str, list[Span]] = {}
        self.answers: Counter[str] = Counter()
        self._deleted: set[str] = set()
        self._deeds: dict[Callable[[], Awaitable[object]], int] = {
            self._override: 9,
            self._restore: 4,
            self._pause: 4,
            self._resume: 4,
            self._edit: 5,
            self._put_window: 3,
            self._delete_window: 2,
            self._put_calendar: 2,
            self._trigger: 2,
            self._delete: 1,
            self._make: 3,
        }

    async def prepare(self) -> None:
        """Put a calendar, and jobs of each kind."""
        self._clock = await asyncpg.connect(self._cluster.dsn)
        await self._put_calendar()
        for name in self._names:
            await self._put_job(name)

    async def work(self, until: datetime) -> None:
        """Change things until an instant; then resume what is paused."""
        deeds, weights = list(self._deeds), list(self._deeds.values())
        while await self._now() < until:
            [deed] = self._rng.choices(deeds, weights)
            await deed()
            await asyncio.sleep(self._rng.uniform(0.0, 0.1))
        for name in list(self._paused):
            await self._resume_job(name)
        for name in list(self._held):
            await self._note_window_end(name, await self._now() + timedelta(hours=1))
        await self._clock.close()

    async def _now(self) -> datetime:
        now: datetime = await self._clock.fetchval("SELECT clock_timestamp()")
        return now

    async def _ask(self, method: str, path: str, body: object = None) -> dict[str, Any] | None:
        """Ask an API; None if it refuses, or was killed. Raises AssertionError if it breaks."""
        url = f"{self._rng.choice(self._cluster.urls)}/v1/teams/e2e/{path}"
        try:
            async with self._cluster.http.request(method, url, json=body) as answer:
                told: dict[str, Any] = await answer.json()
        except aiohttp.ClientError:
            self.answers["unknown"] += 1
            return None
        what = f"{method} {path.partition('/')[0]} {answer.status}"
        self.answers[what] += 1
        if answer.status < 300:
            return told
        assert answer.status in REFUSALS, (method, path, body, told)
        return None

    def _some_job(self) -> str:
        """Any job, of which most still live: those that end soon are many in the end."""
        names = self._names[: self._first] if self._rng.random() < 0.7 else self._names
        return self._rng.choice(names)

    async def _put_job(self, name: str) -> None:
        kind = name.rpartition("-")[0]
        target = self._rng.choice(["/ok", "/ok", "/slow?s=0.4", "/status/503"])
        body = {
            "name": name,
            "labels": {"tier": TIERS[len(name) % 2]},
            "schedule": schedule(kind, self._rng, await self._now()),
            "target": {"http": {"url": f"{self._cluster.recorder.url}{target}"}},
            "retry": {"attempts": 2, "backoff": {"initial": "1s"}},
        }
        await self._ask("PUT", f"jobs/{name}", body)

    async def _make(self) -> None:
        """Make a job that will come to its end soon."""
        self._made += 1
        kind = self._rng.choice(
            [kind for kind in KINDS if kind not in ("every", "union", "closed")]
        )
        name = f"{kind}-{self._number}{1000 * self._made + self._rng.randint(0, 999)}"
        if name not in self._names:
            self._names.append(name)
            await self._put_job(name)

    async def _edit(self) -> None:
        name = self._some_job()
        if name not in self._deleted:
            await self._put_job(name)

    async def _override(self) -> None:
        name = self._some_job()
        found = await self._ask("GET", f"jobs/{name}/preview?count=6")
        if not found or not found["due"]:
            return
        due_at = self._rng.choice(found["due"])["utc"]
        body = {"due_at": due_at, "reason": "torture"}
        if self._rng.random() < 0.6:
            now = (await self._now()).replace(microsecond=0)
            body["move_to"] = written(now + self._rng.randint(1, 6) * SECOND)
        await self._ask("PUT", f"jobs/{name}/overrides", body)

    async def _restore(self) -> None:
        name = self._some_job()
        found = await self._ask("GET", f"jobs/{name}")
        if found and found["overrides"]:
            due_at = self._rng.choice(found["overrides"])["due_at"]
            await self._ask("DELETE", f"jobs/{name}/overrides/{quote(due_at)}")

    async def _pause(self) -> None:
        name = self._some_job()
        if name not in self._paused and await self._ask("POST", f"jobs/{name}/pause"):
            self._paused[name] = await self._now()

    async def _resume(self) -> None:
        if self._paused:
            await self._resume_job(self._rng.choice(list(self._paused)))

    async def _resume_job(self, name: str) -> None:
        span = Span(self._paused.pop(name), await self._now())
        self.stops.setdefault(name, []).append(span)
        missed = self._rng.choice(["skip", "last", "all"])
        await self._ask("POST", f"jobs/{name}/resume", {"missed": missed})

    async def _trigger(self) -> None:
        await self._ask("POST", f"jobs/{self._some_job()}/trigger")

    async def _delete(self) -> None:
        name = self._some_job()
        if name.startswith(("every", "union", "closed")) and self._rng.random() < 0.7:
            return
        if name not in self._paused and await self._ask("DELETE", f"jobs/{name}"):
            self.stops.setdefault(name, []).append(Span(await self._now()))
            self._deleted.add(name)

    async def _put_window(self) -> None:
        name = f"{self._rng.choice(WINDOWS)}-{self._number}"
        now = (await self._now()).replace(microsecond=0)
        starts = now + self._rng.randint(-1, 2) * SECOND
        ends = max(starts, now) + self._rng.randint(1, 4) * SECOND
        body = {
            "name": name,
            "starts_at": written(starts),
            "ends_at": written(ends),
            "policy": self._rng.choice(["hold", "skip"]),
            "labels": self._rng.choice([{}, {"tier": "gold"}, {"tier": "tin"}]),
        }
        await self._note_window_end(name, await self._now())
        if await self._ask("PUT", f"windows/{name}", body):
            self._held[name] = (body, await self._now())

    async def _delete_window(self) -> None:
        name = f"{self._rng.choice(WINDOWS)}-{self._number}"
        await self._note_window_end(name, await self._now())
        await self._ask("DELETE", f"windows/{name}")

    async def _note_window_end(self, name: str, asked_at: datetime) -> None:
        if name not in self._held:
            return
        body, since = self._held.pop(name)
        begin = max(since, datetime.fromisoformat(body["starts_at"]))
        end = min(asked_at, datetime.fromisoformat(body["ends_at"]))
        if begin < end:
            self.windows.append(WindowSpan(body["policy"], body["labels"], begin, end))

    async def _put_calendar(self) -> None:
        body = calendar(self._rng, await self._now())
        await self._ask("PUT", f"calendars/{CALENDAR}", body)
