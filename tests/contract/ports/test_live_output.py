"""Live output on memory and on Valkey: what is held, what is passed on, and to whom not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import pytest
from tests.folders import make_folder
from valkey.asyncio import Valkey

from matins.cache.output import ValkeyLiveOutput
from matins.domain.ports.output import LiveOutput
from matins.domain.runs.output import LIVE_MAX, LiveChunk, LiveText, Progress
from matins.engines.valkey import EmbeddedValkey
from matins.testing.memory.output import MemoryLiveOutput

FEW = 4
SOON_S = 10.0


@pytest.fixture(params=["memory", "valkey"])
async def live(request: pytest.FixtureRequest, valkey: str) -> AsyncIterator[LiveOutput]:
    if request.param == "memory":
        yield MemoryLiveOutput(waiting_max=FEW)
        return
    live = ValkeyLiveOutput(valkey, waiting_max=FEW)
    yield live
    await live.close()


def writer(number: int = 1) -> Callable[..., LiveChunk]:
    """Return what makes the chunks of a new attempt, one behind the other."""
    run, end = uuid4(), 0

    def chunk(text: str, progress: Progress | None = None) -> LiveChunk:
        nonlocal end
        made = LiveChunk(run_id=run, number=number, offset=end, text=text, progress=progress)
        end = made.end
        return made

    return chunk


async def test_chunks_are_held_in_order_with_the_newest_progress(live: LiveOutput) -> None:
    write = writer()
    first, second = write("one\n", Progress(1, 3, "one")), write("two\n", Progress(2, 3))
    await live.append([first, second])
    await live.append([write("three\n")])
    assert await live.so_far(first.run_id, 1) == LiveText(
        0, "one\ntwo\nthree\n", 14, Progress(2, 3)
    )


async def test_another_attempt_has_nothing_of_it(live: LiveOutput) -> None:
    chunk = writer()("one\n")
    await live.append([chunk])
    assert await live.so_far(chunk.run_id, 2) == LiveText()


async def test_only_the_last_part_of_much_text_is_held(live: LiveOutput) -> None:
    write = writer()
    for letter in "abcdefghij":
        chunk = write(letter * 50_000)
        await live.append([chunk])
    text = await live.so_far(chunk.run_id, 1)
    assert text.end == 500_000
    assert text.text.endswith("j" * 50_000)
    assert LIVE_MAX / 2 < len(text.text) <= LIVE_MAX
    assert text.offset + len(text.text) == text.end


async def test_whoever_follows_gets_what_comes_after(live: LiveOutput) -> None:
    write, other = writer(), writer()
    before = write("before\n")
    await live.append([before])
    async with live.follow(before.run_id, 1) as chunks, asyncio.timeout(SOON_S):
        assert (await live.so_far(before.run_id, 1)).end == 7
        after = [other("of another\n"), write("one\n"), write("two\n", Progress(text="half"))]
        await live.append(after)
        assert [await anext(chunks), await anext(chunks)] == after[1:]


async def test_two_follow_the_same_and_one_leaves(live: LiveOutput) -> None:
    write = writer()
    first = write("one\n")
    async with asyncio.timeout(SOON_S), live.follow(first.run_id, 1) as stays:
        async with live.follow(first.run_id, 1) as leaves:
            await live.append([first])
            assert await anext(leaves) == first
        second = write("two\n")
        await live.append([second])
        assert [await anext(stays), await anext(stays)] == [first, second]


async def test_a_reader_that_is_too_slow_is_dropped_and_the_others_are_not(
    live: LiveOutput,
) -> None:
    write = writer()
    sent = [write(f"{number}\n") for number in range(FEW + 1)]
    name = (sent[0].run_id, 1)
    async with asyncio.timeout(SOON_S), live.follow(*name) as slow, live.follow(*name) as quick:
        got = []
        for chunk in sent:
            await live.append([chunk])
            got.append(await anext(quick))
        assert got == sent
        assert [chunk async for chunk in slow] == []


@pytest.fixture
async def engine() -> AsyncIterator[EmbeddedValkey]:
    engine = EmbeddedValkey(make_folder("matins-live-"))
    yield engine
    await engine.stop()


async def test_valkey_goes_away_and_comes_back_under_those_who_follow(
    engine: EmbeddedValkey,
) -> None:
    live, write = ValkeyLiveOutput(await engine.start()), writer()
    first = write("one\n")
    try:
        async with asyncio.timeout(60), live.follow(first.run_id, 1) as chunks:
            await live.append([first])
            assert await anext(chunks) == first
            await engine.stop()
            await live.append([write("lost\n")])
            assert await live.so_far(first.run_id, 1) == LiveText()
            await engine.start()
            # Who follows is heard again after a while, and can tell by the offset what is missing.
            coming = asyncio.ensure_future(anext(chunks))
            while not coming.done():
                await live.append([write("again\n")])
                await asyncio.sleep(0.1)
            assert (await coming).offset > first.end
    finally:
        await live.close()


async def test_junk_in_valkey_is_passed_over(valkey: str) -> None:
    live, write = ValkeyLiveOutput(valkey), writer()
    good = write("good\n")
    key = f"matins:live:{good.run_id.hex}:1"
    async with Valkey.from_url(valkey) as client, asyncio.timeout(SOON_S):
        await client.rpush(key, b"\xff\x00", b"")
        async with live.follow(good.run_id, 1) as chunks:
            await client.publish(key, b"\xc1")
            await live.append([good])
            assert await anext(chunks) == good
        assert (await live.so_far(good.run_id, 1)).text == "good\n"
    await live.close()
