"""What running attempts tell is sent in batches, within bounds, and is in nobody's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from uuid import UUID

import pytest
from tests.ids import run_numbered
from tests.unit.executor_fleet.bench import CutLink, virtual
from tests.unit.gateway.rows import Rows

from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.output import CHUNK_MAX, Progress
from matins.domain.runs.states import Outcome
from matins.executor import relay as relay_module
from matins.executor.context import Context
from matins.executor.news import News, Tell
from matins.executor.output import left_out
from matins.executor.relay import EVERY_S, QUIET_S, Relay
from matins.executor.unsent import GATHER_S, LIVE_WAITS_MAX
from matins.kernel.settings import Settings
from matins.testing.virtual import VirtualClock, VirtualTime

DONE = Result(Outcome.SUCCEEDED)
CUT = Result(Outcome.SUCCEEDED, output_cut=1)


class Desk:
    """A relay at work, before a gateway that can be away."""

    def __init__(self) -> None:
        self.link = CutLink(Rows())
        self.clock = VirtualClock(VirtualTime())
        means = Context(self.link, {}, self.clock, Random(1), Settings(), "e", lambda _at: None)
        self.relay = Relay(means, UUID(int=1))

    def open(self, number: int, keep: int = 0) -> Tell:
        target = Target(command=CommandTarget(argv=["true"]))
        run, due = run_numbered(number), self.clock.now()
        return self.relay.open(Attempt(run, 1, due, "t", "j", target, 60.0, keep_output=keep))

    def end(self, number: int, result: Result = DONE) -> None:
        name = (run_numbered(number), 1)
        self.relay.end(name, result)
        self.relay.confirmed([name])

    async def live(self, number: int) -> str:
        return (await self.link.live.so_far(run_numbered(number), 1)).text

    async def kept(self, number: int) -> str:
        length = await self.link.kept.length(run_numbered(number), 1)
        return await self.link.kept.read(run_numbered(number), 1, 0, length)


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    running = asyncio.create_task(desk.relay.run())
    yield desk
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@virtual
async def test_an_attempt_that_is_soon_over_costs_no_message() -> None:
    async with desk() as work:
        tell = work.open(1)
        tell(News(output="short\n"))
        await work.clock.sleep(QUIET_S / 2)
        work.end(1)
        await work.clock.sleep(60)
        assert work.link.outputs == []


@virtual
async def test_what_is_told_is_there_within_a_second() -> None:
    async with desk() as work:
        tell = work.open(1)
        tell(News(live="begun\n"))
        await work.clock.sleep(QUIET_S + EVERY_S)
        assert await work.live(1) == "begun\n"
        await work.clock.sleep(60)
        tell(News(live="one\n", progress=Progress(1, 2)))
        await work.clock.sleep(EVERY_S)
        assert (await work.link.live.so_far(run_numbered(1), 1)).progress == Progress(1, 2)
        assert await work.live(1) == "begun\none\n"


@virtual
async def test_many_that_tell_much_share_few_messages() -> None:
    async with desk() as work:
        tells = [work.open(number) for number in range(50)]
        await work.clock.sleep(QUIET_S)
        for _ in range(100):
            for tell in tells:
                tell(News(live="x\n"))
            await work.clock.sleep(0.01)
        await work.clock.sleep(1)
        assert len(work.link.outputs) <= 1 + 1 / EVERY_S + 1
        assert await work.live(49) == "x\n" * 100


@virtual
async def test_while_the_gateway_is_away_the_newest_text_waits_and_the_rest_is_counted() -> None:
    async with desk() as work:
        tell = work.open(1)
        await work.clock.sleep(QUIET_S)
        work.link.away = {"output"}
        tell(News(live="lost\n"))
        await work.clock.sleep(1)
        for _ in range(10):
            tell(News(live="x" * LIVE_WAITS_MAX))
        work.link.away = set()
        await work.clock.sleep(10)
        *_, chunk = work.link.outputs[-1].live
        assert chunk.text == left_out(9 * LIVE_WAITS_MAX) + "x" * LIVE_WAITS_MAX
        assert chunk.offset >= len("lost\n")  # so that who follows sees what is missing


@virtual
async def test_whoever_follows_is_told_of_the_end_once_it_is_recorded() -> None:
    async with desk() as work:
        tell = work.open(1)
        await work.clock.sleep(QUIET_S)
        tell(News(live="one\n"))
        await work.clock.sleep(1)
        work.relay.end((run_numbered(1), 1), DONE)
        await work.clock.sleep(1)
        assert not any(chunk.is_last for sent in work.link.outputs for chunk in sent.live)
        work.relay.confirmed([(run_numbered(1), 1)])
        await work.clock.sleep(1)
        assert [chunk.is_last for chunk in work.link.outputs[-1].live] == [True]


@virtual
async def test_what_is_kept_arrives_whole_whatever_messages_are_lost() -> None:
    text = "".join(f"{number:09}\n" for number in range(20_000))
    async with desk() as work:
        tell = work.open(1, keep=1_000_000)
        for start in range(0, len(text), 10_000):
            if start == 50_000:
                work.link.away = {"output"}
            if start == 100_000:
                work.link.away, work.link.deaf = set(), {"output"}
            tell(News(output=text[start : start + 10_000]))
            await work.clock.sleep(0.5)
        work.link.deaf = set()
        work.end(1, CUT)
        await work.relay.emptied.wait()
        assert await work.kept(1) == text


@virtual
async def test_whoever_follows_is_told_of_the_end_once_all_is_kept() -> None:
    async with desk() as work:
        tell = work.open(1, keep=1_000_000)
        await work.clock.sleep(QUIET_S)
        tell(News(output="one\n"))
        await work.clock.sleep(1)
        work.link.deaf = {"output"}
        tell(News(output="x" * CHUNK_MAX))
        work.end(1, CUT)
        await work.clock.sleep(30)
        assert not any(chunk.is_last for sent in work.link.outputs for chunk in sent.live)
        work.link.deaf = set()
        await work.clock.sleep(10)
        assert [chunk.is_last for chunk in work.link.outputs[-1].live] == [True]
        assert work.link.outputs[-1].kept == []


@virtual
async def test_of_little_that_is_kept_its_result_is_enough() -> None:
    async with desk() as work:
        tell = work.open(1, keep=1_000_000)
        tell(News(output="little\n"))
        work.end(1)
        assert work.relay.emptied.is_set()
        await work.clock.sleep(60)
        assert work.link.outputs == []


@virtual
async def test_what_is_kept_is_there_before_the_end_after_some_seconds() -> None:
    async with desk() as work:
        tell = work.open(1, keep=1_000_000)
        tell(News(output="little\n"))
        await work.clock.sleep(GATHER_S + 1)
        assert await work.kept(1) == "little\n"
        tell(News(output="more\n"))
        work.end(1)
        await work.relay.emptied.wait()
        assert await work.kept(1) == "little\nmore\n"


@virtual
async def test_more_than_its_bound_is_not_kept() -> None:
    async with desk() as work:
        tell = work.open(1, keep=100_000)
        for _ in range(10):
            tell(News(output="x" * CHUNK_MAX))
        work.end(1, CUT)
        await work.relay.emptied.wait()
        text = await work.kept(1)
        kept = text.count("x")
        assert 100_000 <= kept < 200_000
        assert text.endswith(f"\n[... {10 * CHUNK_MAX - kept} bytes left out ...]\n")


def test_there_is_a_bound_for_all_and_what_is_beyond_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relay_module, "KEPT_MAX", 100)

    @virtual
    async def scenario() -> None:
        async with desk() as work:
            work.link.away = {"output"}
            first, second = work.open(1, keep=100_000), work.open(2, keep=100_000)
            first(News(output="a" * 80))
            second(News(output="b" * 80))
            work.link.away = set()
            await work.clock.sleep(GATHER_S + 10)
            second(News(output="c"))
            work.end(1, CUT)
            work.end(2, CUT)
            await work.relay.emptied.wait()
            assert await work.kept(1) == "a" * 80
            assert await work.kept(2) == f"{'b' * 20}\n[... 60 bytes left out ...]\nc"

    scenario()


@virtual
async def test_what_others_went_on_with_is_dropped() -> None:
    async with desk() as work:
        tell = work.open(1, keep=1_000_000)
        await work.clock.sleep(QUIET_S)
        work.link.away = {"output"}
        tell(News(output="x" * CHUNK_MAX))
        work.relay.forget((run_numbered(1), 1))
        assert work.relay.emptied.is_set()
        work.link.away = set()
        await work.clock.sleep(10)
        assert work.link.outputs == []
