"""A real executor and a real gateway with HTTP between them, in which answers are lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from uuid import uuid4

import pytest
from aiohttp import web
from tests.contract.gateway_http.served import TOKEN, Served, serve
from tests.ids import run_numbered
from tests.unit.executor_fleet.bench import Obedient
from tests.unit.gateway.rows import until

from matins.client.gateway_link import HttpGatewayLink
from matins.domain.executors.protocol import End, Heartbeat, Poll, Report
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.errors import InvalidInputError, UnauthorizedError, UnavailableError
from matins.executor.fleet import Executor
from matins.kernel.clock import HostClock
from matins.kernel.settings import Settings


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serve() as served:
        yield served


@asynccontextmanager
async def executor(link: HttpGatewayLink, slots: int = 300) -> AsyncIterator[Obedient]:
    """An executor at work until the end of the block."""
    runner = Obedient()
    settings = Settings(slots=slots, heartbeat_s=0.1, cut_off_s=5.0)
    member = Executor(
        link, {"http": runner}, HostClock(), Random(), settings, "e", lambda _at: None
    )
    running = asyncio.create_task(member.run())
    yield runner
    await member.stop()
    await running
    await link.close()


async def test_many_runs_end_exactly_once(served: Served) -> None:
    async with executor(served.link()) as runner:
        runs = served.rows.enqueue(3000)
        await served.words.send("dispatch", ["default"])
        await until(lambda: served.rows.states() == {RunState.SUCCEEDED: 3000})
        assert sorted(runner.started) == sorted((run, 1) for run in runs)


async def test_two_executors_share_the_work_and_leave_no_handout_behind(served: Served) -> None:
    async with executor(served.link(), slots=20) as first, executor(served.link(), slots=20) as two:
        served.rows.enqueue(1000)
        await until(lambda: served.rows.states() == {RunState.SUCCEEDED: 1000})
        assert len(first.started) + len(two.started) == 1000
        await until(lambda: not served.rows.handouts)


async def test_statements_whose_answers_are_lost_cost_no_run(served: Served) -> None:
    async with executor(served.link()) as runner:
        served.rows.lost_answers.update({"dequeue": 3, "record": 3, "heartbeat": 3})
        runs = served.rows.enqueue(500)
        await until(lambda: served.rows.states() == {RunState.SUCCEEDED: 500}, within_s=30)
        assert sorted(runner.started) == sorted((run, 1) for run in runs)


async def test_an_address_that_does_not_answer_is_left_for_the_next(served: Served) -> None:
    async with executor(HttpGatewayLink(["http://127.0.0.1:9", served.url], TOKEN)):
        served.rows.enqueue(10)
        await until(lambda: served.rows.states() == {RunState.SUCCEEDED: 10})


async def test_a_cancel_reaches_the_attempt_with_the_next_heartbeat(served: Served) -> None:
    async with executor(served.link()) as runner:
        runner.lasts_s = 60
        [run] = served.rows.enqueue()
        await until(lambda: bool(runner.running))
        served.rows.runs[run].cancel = True
        await until(lambda: served.rows.states() == {RunState.CANCELLED: 1})


async def test_a_wrong_token_is_told_as_such(served: Served) -> None:
    link = served.link("wrong")
    with pytest.raises(UnauthorizedError, match="MATINS_TOKEN"):
        await link.heartbeat(Heartbeat(uuid4(), "e", ["default"], 1, 1))
    await link.close()


async def test_what_the_gateway_refuses_is_told_with_its_place(served: Served) -> None:
    link = served.link()
    with pytest.raises(InvalidInputError) as caught:
        await link.poll(Poll(uuid4(), 1, ["default"], 0))
    assert caught.value.problems[0].where == "free"
    await link.close()


async def test_a_long_report_gets_through(served: Served) -> None:
    link = served.link()
    result = Result(Outcome.SUCCEEDED, output="x" * 2_000_000)
    run = run_numbered(1)
    answer = await link.report(Report(uuid4(), [End(run, 1, result)]))
    assert answer.superseded == [run]
    await link.close()


async def test_a_gateway_that_cannot_be_reached_is_unavailable() -> None:
    link = HttpGatewayLink("http://127.0.0.1:9", TOKEN)
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9"):
        await link.heartbeat(Heartbeat(uuid4(), "e", ["default"], 1, 1))
    await link.close()


async def test_a_gateway_that_does_not_answer_in_time_is_unavailable(served: Served) -> None:
    link = served.link(call_s=0.1)
    served.rows.open.clear()
    with pytest.raises(UnavailableError):
        await link.heartbeat(Heartbeat(uuid4(), "e", ["default"], 1, 1))
    served.rows.open.set()
    await link.close()


@pytest.mark.parametrize("status", [200, 302, 404, 429, 502])
async def test_an_answer_that_is_not_a_gateways_is_no_success(
    status: int, unused_server: str
) -> None:
    link = HttpGatewayLink(f"{unused_server}/{status}", TOKEN)
    with pytest.raises(Exception, match="127") as caught:
        await link.heartbeat(Heartbeat(uuid4(), "e", ["default"], 1, 1))
    unknown = status in (200, 429, 502)
    assert isinstance(caught.value, UnavailableError) == unknown
    await link.close()


@pytest.fixture
async def unused_server() -> AsyncIterator[str]:
    """A server of something else, which answers with the status that the path begins with."""

    async def handle(request: web.Request) -> web.Response:
        status = int(request.path.split("/")[1])
        return web.Response(status=status, text="<html>not here</html>")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    running = web.AppRunner(app)
    await running.setup()
    site = web.TCPSite(running, "127.0.0.1", 0)
    await site.start()
    address = running.addresses[0]
    yield f"http://{address[0]}:{address[1]}"
    await running.cleanup()
