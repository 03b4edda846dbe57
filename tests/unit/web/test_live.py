"""Live parts: drawn once for all who look, anew where something has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from matins.api.dependencies import Dependencies
from matins.domain.values.errors import NotFoundError, TooManyRequestsError, UnavailableError
from matins.kernel import streams
from matins.web import live
from matins.web.live import Live, LivePart

NOTHING = cast("Dependencies", None)


class Drawing:
    """A part whose states the test sets; counts how often it was drawn."""

    def __init__(self) -> None:
        self.state: str | Exception = "one"
        self.count = 0

    async def __call__(self, _dependencies: Dependencies, argument: str) -> str:
        self.count += 1
        if isinstance(self.state, Exception):
            raise self.state
        return f"<p>{self.state}</p>\n<p>{argument}</p>"


class Viewer:
    """Looks at a part; each event that was sent is kept."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[bytes] = asyncio.Queue()
        self.left = asyncio.Event()
        self.may_read = asyncio.Event()
        self.may_read.set()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        await self.may_read.wait()
        if message["type"] == "http.response.body":
            self.events.put_nowait(message["body"])

    async def next(self) -> str:
        return (await asyncio.wait_for(self.events.get(), 5)).decode()


@asynccontextmanager
async def looking(parts: Live, path: str = "/live/runs/7") -> AsyncIterator[Viewer]:
    viewer = Viewer()
    task = asyncio.create_task(parts({"path": path}, viewer.receive, viewer.send))
    yield viewer
    viewer.left.set()
    await asyncio.wait_for(task, 5)


@pytest.fixture
def drawing() -> Drawing:
    return Drawing()


@pytest.fixture
def parts(drawing: Drawing) -> Live:
    return Live({"runs": LivePart("runs", drawing, every_s=0.01)}, NOTHING)


async def test_a_viewer_gets_the_part_at_once_and_then_what_changes(
    parts: Live, drawing: Drawing
) -> None:
    async with looking(parts) as viewer:
        assert await viewer.next() == "event: part\ndata: <p>one</p>\ndata: <p>7</p>\n\n"
        drawing.state = "two"
        assert "two" in await viewer.next()
        assert viewer.events.empty()


async def test_all_who_look_share_one_drawing(parts: Live, drawing: Drawing) -> None:
    async with looking(parts) as first:
        await first.next()
        async with looking(parts) as second, looking(parts) as third:
            before = drawing.count
            assert "one" in await second.next()
            assert "one" in await third.next()
            assert drawing.count <= before + 1


async def test_nobody_draws_when_nobody_looks(parts: Live, drawing: Drawing) -> None:
    async with looking(parts) as viewer:
        await viewer.next()
    before = drawing.count
    await asyncio.sleep(0.05)
    assert drawing.count == before


async def test_a_part_that_cannot_be_drawn_is_said_to_grow_old(
    parts: Live, drawing: Drawing
) -> None:
    async with looking(parts) as viewer:
        await viewer.next()
        drawing.state = UnavailableError("away")
        assert "event: stale" in await viewer.next()
        drawing.state = "one"
        assert "one" in await viewer.next()


async def test_who_reads_nothing_is_dropped(
    parts: Live, drawing: Drawing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "SEND_S", 0.05)
    viewer = Viewer()
    task = asyncio.create_task(parts({"path": "/live/runs/7"}, viewer.receive, viewer.send))
    await viewer.next()
    viewer.may_read.clear()
    drawing.state = "two"
    await asyncio.wait_for(asyncio.shield(asyncio.wait([task], timeout=5)), 6)
    assert task.done()
    viewer.left.set()


async def test_a_stop_ends_every_stream(parts: Live) -> None:
    viewer = Viewer()
    task = asyncio.create_task(parts({"path": "/live/runs/7"}, viewer.receive, viewer.send))
    await viewer.next()
    parts.stop()
    await asyncio.wait_for(task, 5)


async def test_a_process_serves_so_many_and_no_more(
    parts: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "VIEWS_MAX", 1)
    async with looking(parts) as viewer:
        await viewer.next()
        with pytest.raises(TooManyRequestsError):
            await parts({"path": "/live/runs/8"}, viewer.receive, viewer.send)


async def test_a_part_that_is_none_is_not_found(parts: Live) -> None:
    with pytest.raises(NotFoundError):
        await parts({"path": "/live/other"}, Viewer().receive, Viewer().send)


async def test_a_part_that_looks_first_is_drawn_anew_only_when_it_sees_a_change(
    drawing: Drawing,
) -> None:
    seen = ["queued"]

    async def look(_dependencies: Dependencies, _argument: str) -> object:
        return seen[0]

    part = LivePart("runs", drawing, every_s=0.01, look=look, unseen_s=60)
    async with looking(Live({"runs": part}, NOTHING)) as viewer:
        await viewer.next()
        await asyncio.sleep(0.1)
        assert drawing.count == 1
        drawing.state, seen[0] = "two", "running"
        assert "two" in await viewer.next()
        assert drawing.count == 2


async def test_what_nobody_sees_change_is_drawn_all_the_same(drawing: Drawing) -> None:
    async def look(_dependencies: Dependencies, _argument: str) -> object:
        return "queued"

    part = LivePart("runs", drawing, every_s=0.01, look=look, unseen_s=0.05)
    async with looking(Live({"runs": part}, NOTHING)) as viewer:
        await viewer.next()
        drawing.state = "two"
        assert "two" in await viewer.next()
