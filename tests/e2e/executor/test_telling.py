"""What targets tell while they run, before their result."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from selectors import DefaultSelector
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.e2e.executor.ground import command, request, until

from matins.domain.runs.output import Progress
from matins.domain.runs.states import Outcome
from matins.executor.gateway_lease import GatewayLease
from matins.executor.keeper.channel import KeeperChannel
from matins.executor.keeper.frames import KeeperLimits
from matins.executor.keeper.held import HeldCommand
from matins.executor.keeper.link import Keeper
from matins.executor.keeper.pass_on import UNSENT_MAX, PassOn
from matins.executor.keeper.passing import Passing
from matins.executor.masking import Mask
from matins.executor.news import News
from matins.executor.targets import runners
from matins.kernel.clock import HostClock

TOKEN = "the-executors-token"


class Ear:
    """Hears what is told, and when, in seconds since its making."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.at: list[float] = []
        self._began = time.monotonic()

    def __call__(self, news: News) -> None:
        self.news.append(news)
        self.at.append(time.monotonic() - self._began)

    @property
    def text(self) -> str:
        return "".join(news.live + news.output for news in self.news)


@pytest.fixture
def run(keeper: Keeper) -> Callable[..., Any]:
    """Runs an attempt of any kind of target."""
    clock = HostClock()
    lease = GatewayLease(clock, cut_off_s=600.0)
    lease.hear(clock.elapsed_s())
    kinds = runners(keeper, lease, secrets=[TOKEN])

    async def to_the_end(attempt: Any, ear: Ear, cancel: asyncio.Event | None = None) -> Any:
        kind = "http" if attempt.target.http else "command"
        return await kinds[kind].run(attempt, cancel or asyncio.Event(), ear)

    return to_the_end


async def test_a_command_that_is_soon_over_tells_nothing_before_its_result(
    run: Callable[..., Any],
) -> None:
    ear = Ear()
    result = await run(command("echo", "short"), ear)
    assert result.output == "short\n"
    assert ear.news == []


async def test_a_command_tells_its_output_and_its_progress_while_it_runs(
    run: Callable[..., Any],
) -> None:
    ear, cancel = Ear(), asyncio.Event()
    script = (
        f"echo one; echo '::progress 1/2'; sleep 0.8; printf 'caf\\351 {TOKEN[:5]}'; sleep 0.5;"
    )
    script += f" echo {TOKEN[5:]} $KEY_OF_IT; exec sleep 600"
    attempt = command("sh", "-c", script, env={"KEY_OF_IT": "s3cret-value"}, timeout_s=60.0)
    running = asyncio.create_task(run(attempt, ear, cancel))
    shown = "one\n::progress 1/2\ncaf\ufffd *** ***\n"
    await until(lambda: ear.text == shown)
    cancel.set()
    result = await running
    assert ear.at[0] >= KeeperLimits().live_after_s
    assert ear.news[0].progress == Progress(1, 2)
    assert (result.outcome, result.output) == (Outcome.CANCELLED, shown)


async def test_the_body_of_an_answer_is_told_as_it_comes(run: Callable[..., Any]) -> None:
    heard = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\none s3cret")
        await heard.wait()  # the rest comes only when the first part was told
        writer.write(b"-value two three")
        writer.close()

    class Attentive(Ear):
        def __call__(self, news: News) -> None:
            super().__call__(news)
            heard.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        ear = Attentive()
        headers = {"Authorization": "Bearer s3cret-value"}
        result = await run(request(url, headers=headers), ear)
    assert ear.news[0].output == "one "
    assert ear.text == result.output == "one *** two three"


def test_live_output_is_left_out_while_the_executor_takes_nothing() -> None:
    ours, theirs = socket.socketpair()
    selector = DefaultSelector()
    channel = KeeperChannel(ours, selector, lambda: None)
    passing = Passing(KeeperLimits(), Mask(), 0)
    held = SimpleNamespace(
        passed_on_at=None, command=SimpleNamespace(id=1, passing=passing, passes_from=0.0)
    )
    pass_on = PassOn(channel, {1: cast("HeldCommand", held)}, KeeperLimits())
    for number in range(200):
        passing.append(b"%63d\n" % number * 1024)
        pass_on.note(cast("HeldCommand", held))
        assert pass_on.next_at is not None
        pass_on.pass_due(pass_on.next_at)
    assert UNSENT_MAX <= channel.unsent < UNSENT_MAX + 64 * 1024
    theirs.close()
    ours.close()
    selector.close()
