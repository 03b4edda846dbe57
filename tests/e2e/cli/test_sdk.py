"""The SDK: typed answers, and refusals as the errors of their kind."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.api.served import TOKEN, Served
from tests.e2e.cluster import until
from tests.ids import run_numbered

from matins.client.refusals import UnreachableError
from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    MatinsError,
    NotFoundError,
    SettingsError,
    UnauthorizedError,
    UnavailableError,
)
from matins.kernel.http import HttpServer, Receive, Scope, Send, respond

SPEC = JobSpec("nightly", Target(command=CommandTarget(["true"])), Schedule(cron="0 2 * * *"))


async def test_a_job_comes_back_as_it_was_sent(matins: Matins) -> None:
    assert await matins.is_ready()
    made = await matins.create_job("payments", SPEC)
    assert (made.change, made.job.spec) == ("created", SPEC)
    assert await matins.get_job("payments", "nightly") == made.job
    assert (await matins.jobs_page("payments")).jobs == [made.job]


async def test_the_program_on_its_page_works(matins: Matins, served: Served) -> None:
    page = (Path(__file__).parents[3] / "docs" / "sdk.md").read_text("utf-8")
    [program] = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"MATINS_URL": served.url, "MATINS_TOKEN": TOKEN},
    )
    await until(lambda: _has_run(matins), 30)
    [run] = (await matins.runs_page()).runs
    await matins.cancel_run(run.id)  # no executor is there to end it
    printed, _ = await process.communicate()
    assert printed == b"cancelled\n"


async def _has_run(matins: Matins) -> bool:
    return bool((await matins.runs_page()).runs)


async def test_all_jobs_come_by_team_and_name(matins: Matins) -> None:
    for team, name in (("b", "x"), ("a", "y"), ("a", "x")):
        await matins.put_job(team, JobSpec(name, SPEC.target))
    found = [(job.team, job.spec.name) for job in await matins.list_jobs()]
    assert found == [("a", "x"), ("a", "y"), ("b", "x")]


async def test_refusals_are_the_errors_of_their_kind(matins: Matins, served: Served) -> None:
    await matins.create_job("payments", SPEC)
    with pytest.raises(ConflictError, match="nightly"):
        await matins.create_job("payments", SPEC)
    with pytest.raises(NotFoundError, match="there is no run"):
        await matins.get_run(run_numbered(104))
    async with Matins(served.url, "wrong") as stranger:
        with pytest.raises(UnauthorizedError):
            await stranger.list_jobs()


async def test_invalid_input_keeps_its_places(matins: Matins) -> None:
    spec = JobSpec("nightly", SPEC.target, Schedule(cron="61 * * * *"), timeout="x")
    with pytest.raises(InvalidInputError) as caught:
        await matins.put_job("payments", spec)
    assert {problem.where for problem in caught.value.problems} == {"schedule.cron", "timeout"}


@pytest.mark.parametrize("name", ["../nightly", "", "a/b", "..", "a?x=1"])
async def test_what_can_not_be_a_name_is_not_sent(matins: Matins, name: str) -> None:
    with pytest.raises(InvalidInputError, match="can't be a name"):
        await matins.delete_job("payments", name)


async def test_a_preview_and_an_audit_are_typed(matins: Matins) -> None:
    await matins.put_job("payments", SPEC)
    after = datetime(2026, 11, 29, tzinfo=UTC)
    preview = await matins.preview(Schedule(cron="0 2 * * *"), count=1, after=after)
    assert preview.due[0].utc == datetime(2026, 11, 29, 2, tzinfo=UTC)
    page = await matins.audit(team="payments")
    assert [(job.job, job.holds) for job in page.jobs] == [("nightly", True)]
    assert len(await matins.list_partitions()) == 256


async def test_the_next_address_is_used_where_no_connection_can_be_made(
    served: Served, unused_tcp_port: int
) -> None:
    async with Matins(f"http://127.0.0.1:{unused_tcp_port}, {served.url}", TOKEN) as matins:
        assert await matins.list_jobs() == []


async def test_an_api_that_is_not_there_is_named(unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}"
    async with Matins(url, TOKEN) as matins:
        assert not await matins.is_ready()
        with pytest.raises(UnreachableError, match=f"the API at {url} can't be reached"):
            await matins.list_jobs()


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://x", "http://:1"])
async def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(SettingsError):
        async with Matins(url, TOKEN) as matins:
            await matins.list_jobs()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>", UnavailableError),
        (404, b"<html>nginx</html>", MatinsError),
        (502, b"bad gateway", UnavailableError),
        (500, b'{"title": "Internal Server Error"}', MatinsError),
    ],
)
async def test_answers_that_are_not_the_apis_are_told_with_the_call(
    status: int, body: bytes, kind: type[MatinsError]
) -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await respond(send, status, body)

    server = HttpServer(app, "127.0.0.1", 0, drain_s=1)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run())
        async with Matins(server.url, TOKEN) as matins:
            with pytest.raises(kind, match=server.url):
                await matins.list_jobs()
        await server.stop()
