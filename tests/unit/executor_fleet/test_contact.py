"""T1 is judged by the clock, at the moment of asking."""

from __future__ import annotations

import asyncio

from matins.executor.gateway_lease import GatewayLease
from matins.kernel.clock import HostClock


class StandingClock(HostClock):
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.elapsed = 100.0

    def elapsed_s(self) -> float:
        return self.elapsed


def test_before_any_answer_there_is_no_contact() -> None:
    contact = GatewayLease(StandingClock(), 30.0)
    assert (contact.was_made, contact.left_s()) == (False, 0.0)


def test_contact_counts_from_when_the_heartbeat_was_sent() -> None:
    clock = StandingClock()
    contact = GatewayLease(clock, 30.0)
    contact.hear(95.0)
    assert contact.left_s() == 25.0
    clock.elapsed += 25.0
    assert contact.left_s() == 0.0


async def test_after_a_freeze_past_the_bound_it_has_to_be_made_anew() -> None:
    clock = StandingClock()
    contact = GatewayLease(clock, 30.0)
    contact.hear(clock.elapsed)
    clock.elapsed += 31.0
    waiting = asyncio.ensure_future(contact.established())
    await asyncio.sleep(0)
    assert not waiting.done()
    contact.hear(clock.elapsed)
    await asyncio.wait_for(waiting, 5)
