"""An executor's HTTP where the name server is silent; run in namespaces of its own.

Prints what became of it, as JSON.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import socket
import struct
import subprocess
import tempfile
from pathlib import Path
from uuid import uuid4

import msgspec
import uvloop
from tests.e2e.executor.ground import request

from matins.client.gateway_link import HttpGatewayLink
from matins.domain.executors.protocol import Heartbeat
from matins.domain.runs.states import Outcome
from matins.executor.gateway_lease import GatewayLease
from matins.executor.targets.http import HttpRunner
from matins.kernel.clock import HostClock, elapsed_s
from matins.kernel.resolver import Resolver

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/msgpack\r\nContent-Length: 1\r\n\r\n\x80"
SILENT, OTHERS = 200, 120
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1


def set_up() -> None:
    """Bring the loopback up, and let it be the only name server."""
    with socket.socket() as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP))
    with tempfile.NamedTemporaryFile("w", delete=False) as conf:
        conf.write("nameserver 127.0.0.1\n")
    subprocess.run(["mount", "--bind", conf.name, "/etc/resolv.conf"], check=True)
    Path(conf.name).unlink()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(OK)
    writer.close()


async def main() -> dict[str, float]:
    """Call 200 names that never resolve, and meanwhile others."""
    name_server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    name_server.bind(("127.0.0.1", 53))  # it reads nothing and answers nothing
    listening = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1000)
    url = f"http://localhost:{listening.sockets[0].getsockname()[1]}"
    clock = HostClock()
    contact = GatewayLease(clock, cut_off_s=600.0)
    contact.hear(clock.elapsed_s())
    runner = HttpRunner(contact, Resolver())
    cancel = asyncio.Event()

    async def call(target: str, team: str) -> Outcome:
        attempt = msgspec.structs.replace(request(target), team=team)
        return (await runner.run(attempt, cancel)).outcome

    stuck = [
        asyncio.create_task(call(f"http://{n}.silent.example/", "theirs")) for n in range(SILENT)
    ]
    await asyncio.to_thread(name_server.recv, 512)  # look-ups are under way
    began = elapsed_s()
    good = await asyncio.gather(*(call(url, "ours") for _ in range(OTHERS)))
    link = HttpGatewayLink(url, "token")
    await link.heartbeat(Heartbeat(uuid4(), "e", ["default"], 1, 1))
    arrived_s = elapsed_s() - began
    still_stuck = sum(not task.done() for task in stuck)
    cancel.set()
    began = elapsed_s()
    ended = await asyncio.gather(*stuck)
    await link.close()
    return {
        "succeeded": good.count(Outcome.SUCCEEDED),
        "arrived_s": arrived_s,
        "still_stuck": still_stuck,
        "cancelled": ended.count(Outcome.CANCELLED),
        "cancelled_s": elapsed_s() - began,
    }


if __name__ == "__main__":
    set_up()
    print(json.dumps(uvloop.run(main())))
