"""Names: nobody waits for another's, and what was known serves on while name servers are silent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from threading import Event

import pytest

from matins.kernel import resolver as resolver_module
from matins.kernel.resolver import ASKER_MAX, AddressInfo, Resolver

FOUND: list[AddressInfo] = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))]
GONE = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
SILENT = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


class NameServer:
    """What the host's resolver would do, in real threads: names with `silent` in them hang."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: OSError | None = None
        self.heals = Event()

    def look_up(self, host: str) -> Sequence[AddressInfo]:
        self.asked.append(host)
        if "silent" in host:
            self.heals.wait()
        if self.error:
            raise self.error
        return FOUND


@pytest.fixture
def names() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    server.heals.set()


async def test_addresses_come_with_the_port(names: NameServer) -> None:
    [address] = await Resolver(names.look_up).resolve("a.example", 81)
    assert address == (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 81))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "2130706433", "0x7f.1"])
async def test_who_gives_an_address_asks_nobody(names: NameServer, host: str) -> None:
    [address] = await Resolver(names.look_up).resolve(host, 80)
    assert address[4][:2] in (("127.0.0.1", 80), ("::1", 80))
    assert names.asked == []


async def test_the_hosts_own_names_are_known() -> None:
    found = await Resolver().resolve("localhost", 80)
    assert {address[4][0] for address in found} <= {"127.0.0.1", "::1"}


async def test_silent_names_hold_up_no_others(names: NameServer) -> None:
    resolver = Resolver(names.look_up)
    silent = [asyncio.create_task(resolver.resolve(f"{n}.silent", 80, "team")) for n in range(200)]
    async with asyncio.timeout(5):
        while len(names.asked) < ASKER_MAX:  # threads, which tell of nothing
            await asyncio.sleep(0.001)
        await resolver.resolve("a.example", 80, "another team")
    assert not any(task.done() for task in silent)
    assert len(names.asked) == ASKER_MAX + 1
    for task in silent:
        task.cancel()
    await asyncio.gather(*silent, return_exceptions=True)


async def test_further_names_of_an_asker_have_their_turn(names: NameServer) -> None:
    resolver = Resolver(names.look_up)
    asking = [asyncio.create_task(resolver.resolve(f"{n}.silent", 80)) for n in range(200)]
    names.heals.set()
    async with asyncio.timeout(10):
        assert len(await asyncio.gather(*asking)) == 200


async def test_all_who_ask_for_a_name_share_a_look_up(names: NameServer) -> None:
    resolver = Resolver(names.look_up)
    asking = [asyncio.create_task(resolver.resolve("a.silent", 80)) for _ in range(50)]
    await asyncio.sleep(0)
    names.heals.set()
    await asyncio.gather(*asking)
    await resolver.resolve("a.silent", 443)
    assert names.asked == ["a.silent"]


async def test_a_look_up_is_waited_for_no_longer_than_its_bound(
    names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "LOOKUP_S", 0.02)
    with pytest.raises(socket.gaierror, match="no name server has answered within"):
        await Resolver(names.look_up).resolve("a.silent", 80)


async def test_what_was_known_serves_on_while_name_servers_are_silent(
    names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "STALE_AFTER_S", 0.02)
    names.heals.set()
    resolver = Resolver(names.look_up, fresh_s=0.0)
    known = await resolver.resolve("gateway.silent", 80)
    names.heals.clear()
    assert await resolver.resolve("gateway.silent", 80) == known
    names.error = SILENT
    names.heals.set()
    assert await resolver.resolve("gateway.silent", 80) == known


async def test_a_name_that_is_gone_is_gone(names: NameServer) -> None:
    resolver = Resolver(names.look_up, fresh_s=0.0)
    await resolver.resolve("a.example", 80)
    names.error = GONE
    with pytest.raises(socket.gaierror, match="not known"):
        await resolver.resolve("a.example", 80)


async def test_a_failed_look_up_is_tried_again(names: NameServer) -> None:
    resolver = Resolver(names.look_up)
    names.error = SILENT
    with pytest.raises(socket.gaierror, match="Temporary failure"):
        await resolver.resolve("a.example", 80)
    names.error = None
    assert await resolver.resolve("a.example", 80)
