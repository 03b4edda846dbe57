"""HTTP targets: one request on the wire for each attempt, one deadline over all of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
import select
import shutil
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from tests.e2e.executor.ground import DUE_AT, attempt, request, until

from matins.domain.jobs.targets import Target
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome
from matins.executor.gateway_lease import GatewayLease
from matins.executor.keeper.link import Keeper
from matins.executor.targets import runners
from matins.executor.targets.http import HttpRunner
from matins.kernel.clock import HostClock
from matins.kernel.resolver import Resolver

ROOT = Path(__file__).parents[3]
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Server:
    """A real server that counts what reaches it, and answers as it is told."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.open = 0
        self.answer: Answer = says(OK)
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, for as many requests as the client likes to send on it."""
        self.connections += 1
        self.open += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.requests.append(head + await reader.readexactly(_length(head)))
                await self.answer(writer)
                await writer.drain()
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the last request."""
        lines = self.requests[-1].partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return dict(line.split(": ", 1) for line in lines)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length: "):
            return int(line.split()[1])
    return 0


def says(*parts: bytes, pause_s: float = 0.0) -> Answer:
    """Answer with these bytes, slowly if need be."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return answer


def says_status(status: int, headers: str = "", body: bytes = b"") -> Answer:
    """Answer with a status and perhaps a body."""
    return says(
        f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode(), body
    )


async def resets(writer: asyncio.StreamWriter) -> None:
    """Answer a request with a reset of the connection."""
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def hangs_up(writer: asyncio.StreamWriter) -> None:
    """Close the connection without an answer."""
    writer.close()


async def keeps_silent(writer: asyncio.StreamWriter) -> None:
    """Never answer."""


class Slept(HostClock):
    """A host's clock that goes on by as much as one likes."""

    slept_s = 0.0

    def elapsed_s(self) -> float:
        return super().elapsed_s() + self.slept_s


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    counting = Server()
    listening = await asyncio.start_server(counting.serve, "127.0.0.1", 0, backlog=1000)
    counting.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/run?day=1"
    yield counting
    listening.close()


@pytest.fixture
def contact() -> GatewayLease:
    """A contact with the gateway, made just now."""
    clock = HostClock()
    contact = GatewayLease(clock, cut_off_s=600.0)
    contact.hear(clock.elapsed_s())
    return contact


@pytest.fixture
def runner(contact: GatewayLease) -> HttpRunner:
    return HttpRunner(contact, Resolver())


Call = Callable[..., Awaitable[Result]]


@pytest.fixture
def call(runner: HttpRunner, server: Server) -> Call:
    """Calls the server once."""

    async def once(url: str = "", timeout_s: float = 10.0, **fields: object) -> Result:
        calling = request(url or server.url, timeout_s=timeout_s, **fields)
        return await runner.run(calling, asyncio.Event())

    return once


async def test_2xx_is_success_and_the_body_is_kept(call: Call) -> None:
    result = await call()
    assert result == Result(Outcome.SUCCEEDED, output="hello", http_status=200)


async def test_a_target_is_told_of_its_attempt(server: Server, runner: HttpRunner) -> None:
    run_id = UUID("019ad2f3-0000-8000-8000-000000000001")
    calling = attempt(request(server.url).target, 5.0, run_id)
    await runner.run(calling, asyncio.Event())
    told = {name: value for name, value in server.headers.items() if name.startswith("Matins-")}
    assert told == {
        "Matins-Run-Id": str(run_id),
        "Matins-Attempt": "2",
        "Matins-Due-At": "2026-11-29T02:00:00Z",
        "Matins-Job": "nightly",
        "Matins-Team": "payments",
        "Matins-Kind": "scheduled",
    }
    assert datetime.fromisoformat(told["Matins-Due-At"]).astimezone(UTC) == DUE_AT
    assert server.headers["Idempotency-Key"] == str(run_id)
    assert server.headers["User-Agent"].startswith("matins/")
    assert server.requests[0].startswith(b"POST /run?day=1 HTTP/1.1\r\n")


async def test_the_url_is_sent_as_it_was_written(server: Server, call: Call) -> None:
    signed = "/a%2Fb/../%27//c%2e?sig=%2B%2f+/=%27"
    await call(server.url.removesuffix("/run?day=1") + signed, method="GET")
    assert server.requests[0].startswith(b"GET %s HTTP/1.1\r\n" % signed.encode())
    assert server.headers["Host"] == server.url.split("/")[2]
    assert server.headers["Accept-Encoding"] == "identity"


async def test_a_jobs_own_headers_are_sent_but_name_no_other_attempt(
    server: Server, call: Call
) -> None:
    await call(headers={"Authorization": "Bearer x", "user-agent": "ours", "matins-attempt": "9"})
    assert server.headers["Authorization"] == "Bearer x"
    assert server.headers["user-agent"] == "ours"
    assert server.headers["Matins-Attempt"] == "2"
    assert "matins-attempt" not in server.headers


@pytest.mark.parametrize(
    ("body", "kind", "sent"),
    [
        ({"day": "ä"}, "application/json", '{"day":"ä"}'),
        ([1, None], "application/json", "[1,null]"),
        ("plain ä", "text/plain; charset=utf-8", "plain ä"),
    ],
)
async def test_bodies_are_sent_as_json_or_text(
    server: Server, call: Call, body: object, kind: str, sent: str
) -> None:
    await call(body=body)
    assert server.requests[0].endswith(b"\r\n\r\n" + sent.encode())
    assert server.headers["Content-Type"] == kind


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 422])
async def test_some_refusals_last(server: Server, call: Call, status: int) -> None:
    server.answer = says_status(status, body=b"why")
    result = await call()
    assert (result.outcome, result.permanent) == (Outcome.FAILED, True)
    assert (result.http_status, result.output) == (status, "why")
    assert result.reason.startswith(f"HTTP {status} ")


@pytest.mark.parametrize("status", [408, 409, 418, 425, 429, 500, 503, 599])
async def test_other_failures_may_be_tried_again(server: Server, call: Call, status: int) -> None:
    server.answer = says_status(status)
    result = await call()
    assert (result.outcome, result.permanent) == (Outcome.FAILED, False)


@pytest.mark.parametrize(("status", "wait_s"), [(503, 40), (429, 40), (301, 40), (200, 0)])
async def test_for_how_long_a_target_asks_not_to_be_called_is_told(
    server: Server, call: Call, status: int, wait_s: float
) -> None:
    server.answer = says_status(status, headers="Retry-After: 40\r\n")
    result = await call()
    assert result.retry_after_s == wait_s


async def test_a_redirect_is_not_followed(server: Server, call: Call) -> None:
    server.answer = says_status(307, headers=f"Location: {server.url}\r\n")
    result = await call(method="GET")
    assert result.reason == f"HTTP 307: redirect to {server.url} not followed"
    assert result.permanent
    assert len(server.requests) == 1


async def test_each_attempt_has_a_connection_of_its_own(server: Server, call: Call) -> None:
    for _ in range(3):
        await call(method="GET")
    assert server.connections == 3
    await until(lambda: server.open == 0)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST", "PATCH"])
@pytest.mark.parametrize("end", [resets, hangs_up])
async def test_a_request_whose_answer_is_lost_is_never_sent_again(
    server: Server, call: Call, method: str, end: Answer
) -> None:
    server.answer = end
    result = await call(method=method)
    assert (result.outcome, result.permanent) == (Outcome.FAILED, False)
    assert result.reason.startswith("the connection was lost before an answer")
    assert (len(server.requests), server.connections) == (1, 1)


@pytest.mark.parametrize(
    "answer",
    [
        keeps_silent,
        says(*(bytes([byte]) for byte in OK[:-1]), pause_s=0.02),
        says(OK.replace(b"5", b"999"), *[b"."] * 900, pause_s=0.02),
    ],
    ids=["silence", "headers dripping", "body dripping"],
)
async def test_one_deadline_covers_all_of_an_answer(
    server: Server, call: Call, answer: Answer
) -> None:
    server.answer = answer
    async with asyncio.timeout(1.5):
        result = await call(timeout_s=0.4)
    assert (result.outcome, result.reason) == (
        Outcome.TIMED_OUT,
        "no complete answer within 0.4 s",
    )
    await until(lambda: server.open == 0)


async def test_what_had_come_before_the_deadline_is_kept(server: Server, call: Call) -> None:
    server.answer = says(OK.replace(b"5", b"9"), pause_s=5)
    result = await call(timeout_s=0.3)
    assert (result.http_status, result.output) == (200, "hello")


async def test_an_answer_that_breaks_off_is_no_success(server: Server, call: Call) -> None:
    async def breaks_off(writer: asyncio.StreamWriter) -> None:
        writer.write(OK[:-2])
        writer.close()

    server.answer = breaks_off
    result = await call()
    assert (result.outcome, result.http_status) == (Outcome.FAILED, 200)
    assert result.reason.startswith("the answer broke off")


async def test_a_long_body_is_read_to_its_limit_only(server: Server, call: Call) -> None:
    server.answer = says_status(200, body=b"x" * 5_000_000)
    result = await call()
    assert result.outcome is Outcome.SUCCEEDED
    assert result.output.startswith("x" * 65536 + "\n[... ")
    assert result.output.endswith("[the rest of the body was not read]\n")
    assert 900_000 < result.output_cut < 2_000_000
    await until(lambda: server.open == 0)


async def test_a_bomb_is_not_inflated(server: Server, call: Call) -> None:
    bomb = gzip.compress(bytes(300_000_000), compresslevel=1)
    server.answer = says_status(200, "Content-Encoding: gzip\r\n", bomb)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await call()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 30_000
    assert result.output.endswith("[the rest of the body was not read]\n")


async def test_a_compressed_answer_is_readable(server: Server, call: Call) -> None:
    server.answer = says_status(500, "Content-Encoding: gzip\r\n", gzip.compress(b"reason"))
    assert (await call()).output == "reason"


async def test_notes_stand_below_the_output_of_a_success(server: Server, call: Call) -> None:
    server.answer = says(b"HTTP/1.1 200 OK\r\nX: %s\r\n" % (b"x" * 90_000), OK[17:] + b"!!")
    result = await call()
    assert (result.outcome, result.reason) == (Outcome.SUCCEEDED, "")
    assert result.output == "hello\n[2 bytes came after the body; they were not read]\n"


async def test_a_body_that_is_no_text_is_cleaned(server: Server, call: Call) -> None:
    server.answer = says_status(200, body=b"a\x00b\xff\x1b[1mc")
    assert (await call()).output == "ab\ufffdc"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1/", "no connection to 127.0.0.1:1: "),
        ("http://no-such-host.invalid/", "the name no-such-host.invalid can't be resolved: "),
    ],
)
async def test_a_target_that_cannot_be_reached_says_why(call: Call, url: str, reason: str) -> None:
    result = await call(url)
    assert (result.outcome, result.permanent) == (Outcome.FAILED, False)
    assert result.reason.startswith(reason)


async def test_tls_with_a_server_that_speaks_none_says_so(call: Call) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com ESMTP\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        result = await call(f"https://127.0.0.1:{port}/")
    assert (result.outcome, result.permanent) == (Outcome.FAILED, False)
    assert result.reason.startswith(f"no connection to 127.0.0.1:{port}: TLS failed: ")


async def test_a_server_with_a_certificate_that_nobody_signed_is_not_trusted(
    server: Server, call: Call, self_signed: ssl.SSLContext
) -> None:
    async with await asyncio.start_server(
        server.serve, "127.0.0.1", 0, ssl=self_signed
    ) as listening:
        port = listening.sockets[0].getsockname()[1]
        result = await call(f"https://localhost:{port}/")
    assert (result.outcome, result.permanent) == (Outcome.FAILED, False)
    assert result.reason.startswith(f"no connection to localhost:{port}: localhost is not trusted:")
    assert server.requests == []


async def test_a_trusted_server_is_called_under_tls(
    server: Server, call: Call, trusted: ssl.SSLContext
) -> None:
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=trusted) as listening:
        url = f"https://localhost:{listening.sockets[0].getsockname()[1]}/"
        result = await call(url, body="x" * 200_000)
    assert result == Result(Outcome.SUCCEEDED, output="hello", http_status=200)
    assert server.requests[0].endswith(b"x" * 200_000)


async def test_a_request_stays_here_when_contact_is_lost_while_its_connection_is_made(
    server: Server, trusted: ssl.SSLContext
) -> None:
    clock = Slept()
    contact = GatewayLease(clock, cut_off_s=30.0)
    contact.hear(clock.elapsed_s())
    runner = HttpRunner(contact, Resolver())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        calling = request(f"https://localhost:{listener.getsockname()[1]}/")
        running = asyncio.create_task(runner.run(calling, asyncio.Event()))
        await until(lambda: select.select([listener], [], [], 0)[0])  # connected; no TLS yet
        clock.slept_s = 31.0
        async with await asyncio.start_server(server.serve, sock=listener, ssl=trusted):
            result = await running
    assert (result.outcome, result.http_status) == (Outcome.LOST, None)
    assert result.reason == "the executor was out of touch with the gateway; nothing was sent"
    assert server.requests == []


async def test_an_answer_may_come_before_the_body_was_read(call: Call) -> None:
    async def refuses_early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 413 X\r\nContent-Length: 3\r\n\r\nbig")
        await writer.drain()
        await asked.wait()
        writer.close()

    asked = asyncio.Event()
    async with await asyncio.start_server(refuses_early, "127.0.0.1", 0, limit=1) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        result = await call(url, body="x" * 200_000)
        asked.set()
    assert (result.http_status, result.output) == (413, "big")


async def test_an_answer_that_is_not_http_is_a_failure(server: Server, call: Call) -> None:
    server.answer = says(b"220 mail.example.com ESMTP\r\n")
    result = await call()
    assert result.outcome is Outcome.FAILED
    assert result.reason.startswith("the answer is not HTTP")


async def test_a_cancelled_request_ends_at_once(server: Server, runner: HttpRunner) -> None:
    server.answer = keeps_silent
    cancel = asyncio.Event()
    running = asyncio.create_task(runner.run(request(server.url), cancel))
    await until(lambda: server.requests)
    cancel.set()
    assert (await running) == Result(Outcome.CANCELLED, "cancelled")


async def test_cancelling_the_task_closes_the_connection(
    server: Server, runner: HttpRunner
) -> None:
    running = asyncio.create_task(runner.run(request(server.url), asyncio.Event()))
    server.answer = says(OK.replace(b"5", b"999"), *[b"."] * 900, pause_s=0.01)
    await until(lambda: server.requests)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: server.open == 0)


async def test_no_cookie_and_no_proxy_reaches_a_target(
    server: Server, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    server.answer = says_status(200, headers="Set-Cookie: a=b\r\n")
    await call()
    assert (await call()).outcome is Outcome.SUCCEEDED
    assert "Cookie" not in server.headers


async def test_many_requests_run_at_once(server: Server, call: Call) -> None:
    server.answer = says(OK, pause_s=0.2)
    results = await asyncio.gather(*(call() for _ in range(150)))
    assert {result.outcome for result in results} == {Outcome.SUCCEEDED}
    assert len(server.requests) == 150


async def test_there_is_a_runner_for_each_kind_of_target(
    keeper: Keeper, contact: GatewayLease
) -> None:
    kinds = runners(keeper, contact)
    assert {*kinds, "checkin"} == {*Target.__struct_fields__}  # which nothing of ours runs
    for runner in kinds.values():
        await runner.close()


def test_a_silent_name_server_stops_nobody_who_needs_none() -> None:
    apart = ["unshare", "--map-root-user", "--net", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("needs network and mount namespaces of its own")
    playing = [*apart, sys.executable, "-m", "tests.e2e.executor.silent_names"]
    played = subprocess.run(playing, check=True, stdout=subprocess.PIPE, cwd=ROOT, timeout=60)
    told = json.loads(played.stdout)
    assert (told["succeeded"], told["still_stuck"], told["cancelled"]) == (120, 200, 200)
    # A look-up that nobody answers takes 5 s and more: none of these has waited for one.
    assert told["arrived_s"] < 4
    assert told["cancelled_s"] < 4
