"""An API that is served, and someone who calls it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from random import Random
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from matins.api.app import Doors, Pools, build_api
from matins.api.dependencies import OutputPorts, dependencies_on
from matins.api.pings import Pings
from matins.api.principals import Principals
from matins.cache.output import ValkeyLiveOutput
from matins.cache.status import ValkeyStatusCache
from matins.kernel.clock import HostClock
from matins.kernel.http import App, HttpServer, Receive, Scope, Send, respond
from matins.kernel.sealing import Sealer
from matins.roles.deeds import postgres_deeds
from matins.status.watch import StatusWatch
from matins.store.database import Database
from matins.store.hints import PostgresHints
from matins.store.output import PostgresKeptOutput
from matins.store.status import PostgresStatusReads
from matins.web.app import Web

TOKEN = "owners-token"
CSRF = re.compile(r'name="csrf" value="([^"]+)"')
DEPLOYS = "deploys-token"
KEY = "5a" * 32
JOBS = "/v1/teams/payments/jobs"

TABLES = (
    *(
        "runs",
        "attempts",
        "outputs",
        "dispatch",
        "waiting",
        "dead_letters",
        "replays",
        "executors",
        "handouts",
    ),
    *("backfill_runs", "backfill_left_out", "backfills"),
    *("checkins", "notices", "deliveries", "channels", "alert_rules", "alerts", "watches"),
    *("permits", "trigger_keys", "revisions", "upstreams", "links_again", "jobs", "gates"),
    *("calendars", "windows", "teams", "tallies"),
)

SPEC: dict[str, Any] = {
    "name": "nightly",
    "schedule": {"cron": "0 2 * * *", "timezone": "Europe/Berlin"},
    "target": {"http": {"url": "https://settle.example.com/run"}},
    "overlap": "allow",  # so that what is triggered is queued at once: no scheduler runs here
}


class Hands(msgspec.Struct):
    """What the database's clock shows; None: the time that it is."""

    at: datetime | None = None


class Served(msgspec.Struct):
    """An API under an address."""

    url: str
    cache: ValkeyStatusCache
    live: ValkeyLiveOutput
    kept: PostgresKeptOutput
    app: App


class Reply(msgspec.Struct):
    """An answer: `json` is its decoded body, if it is JSON."""

    status: int
    json: Any
    headers: dict[str, str]
    text: str

    @property
    def places(self) -> dict[str, str]:
        """The errors of a problem: where → message."""
        return {error["where"]: error["message"] for error in self.json["errors"]}


class Owner:
    """Calls the API."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, path: str, **query: object) -> Reply:
        return await self.call("GET", path, params={k: str(v) for k, v in query.items()})

    async def post(self, path: str, body: object = None) -> Reply:
        return await self.call("POST", path, json=body)

    async def put(self, path: str, body: object) -> Reply:
        return await self.call("PUT", path, json=body)

    async def delete(self, path: str) -> Reply:
        return await self.call("DELETE", path)

    async def job(self, **given: object) -> dict[str, Any]:
        """Make or replace the job `nightly`, with these fields instead of the usual ones."""
        spec = SPEC | given
        reply = await self.put(f"{JOBS}/{spec['name']}", spec)
        assert reply.status == 200, reply.text
        job: dict[str, Any] = reply.json["job"]
        return job

    async def call(self, method: str, path: str, **given: Any) -> Reply:
        if given.get("json") is None:
            given.pop("json", None)
        async with self._session.request(method, URL(path, encoded=True), **given) as answer:
            text = await answer.text()
            is_json = answer.content_type.endswith("json")
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return Reply(
                answer.status, msgspec.json.decode(text) if is_json else None, headers, text
            )


async def signed_in(browser: aiohttp.ClientSession) -> str:
    """Sign a browser in; return the session's secret, as the page has it."""
    form = {"token": TOKEN, "next_path": "/jobs"}
    async with browser.post("/sign-in", data=form) as answer:
        text = await answer.text()
        assert (answer.status, answer.url.path) == (200, "/jobs"), text
    found = CSRF.search(text)
    assert found
    return found[1]


async def clear(database: Database) -> None:
    """Forget all that was stored."""
    async with database.session() as session:
        for table in TABLES:
            await session.execute(f"DELETE FROM {table}")
        await session.execute("UPDATE partitions SET epoch = 0, holder = NULL, watermark = NULL")
        await session.execute("DELETE FROM schedulers")


@asynccontextmanager
async def calling(url: str, token: str | None = TOKEN) -> AsyncIterator[Owner]:
    """Someone who calls the API with that token, or without one."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(url, headers=headers) as session:
        yield Owner(session)


@asynccontextmanager
async def serve(
    database: Database, valkey: str, others: Sequence[Database] = ()
) -> AsyncIterator[Served]:
    """Serve an API on a free port; the gateway's place is taken by one that says its name.

    `others` are the pools that it needs as well.
    """
    cache = ValkeyStatusCache(valkey)
    hints = PostgresHints(database)
    deeds = postgres_deeds(database, hints, Sealer([KEY]), Random(1))
    system = StatusWatch(
        PostgresStatusReads(database), cache, HostClock(), every_s=0, report_after_s=0
    )
    live, kept = ValkeyLiveOutput(valkey), PostgresKeptOutput(database)
    dependencies = dependencies_on(database, deeds, cache, OutputPorts(live, kept), system)
    principals = Principals({"admin": TOKEN, "deploys": DEPLOYS})
    web = Web(dependencies, principals, Random(5))
    doors = Doors(_gateway, Pings(deeds.checkins), web)
    app = build_api(Pools(database, others), dependencies, principals, doors, demo=True)
    server = HttpServer(app, "127.0.0.1", 0, drain_s=1)
    running = asyncio.create_task(server.run())
    try:
        yield Served(server.url, cache, live, kept, app)
    finally:
        await web.stop()
        await dependencies.outputs.stop()
        await server.stop()
        await running
        await live.close()
        await cache.close()


async def _gateway(_scope: Scope, _receive: Receive, send: Send) -> None:
    await respond(send, 200, b"the gateway\n")
