"""Virtual time: it passes when nobody has anything to do, and stands still for who is frozen."""

from __future__ import annotations

import asyncio

import pytest

from matins.testing.virtual import (
    START,
    DeadlockError,
    VirtualClock,
    VirtualTime,
    in_virtual_time,
    run_virtual,
)


@in_virtual_time
async def test_a_year_passes_at_once_and_in_order() -> None:
    order = []

    async def wake(days: int) -> None:
        await asyncio.sleep(days * 86_400)
        order.append(days)

    time = VirtualTime()
    await asyncio.gather(*(wake(days) for days in (365, 1, 30)))
    assert order == [1, 30, 365]
    assert (time.now() - START).days == 365


def test_waiting_for_what_never_comes_is_an_error() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError):
        run_virtual(wait())


@in_virtual_time
async def test_a_frozen_process_wakes_late_and_sees_by_its_host_how_long_it_was() -> None:
    clock = VirtualClock(VirtualTime(), boot_s=1000)
    clock.freeze(60)
    await clock.sleep(1)
    assert clock.elapsed_s() == 1060


@in_virtual_time
async def test_a_stopped_process_never_wakes() -> None:
    clock = VirtualClock(VirtualTime())
    sleeping = asyncio.create_task(clock.sleep(1))
    waiting = asyncio.create_task(clock.gate())
    clock.stop()
    waiting.cancel()
    await asyncio.sleep(3600)
    assert not sleeping.done()
    clock.dispose()
    await asyncio.wait([sleeping, waiting])
    assert sleeping.cancelled()


@in_virtual_time
async def test_a_process_never_takes_the_databases_time_for_later_than_it_is() -> None:
    time = VirtualTime()
    clock = VirtualClock(time, behind_s=0.01)
    assert clock.now() < time.now()
    time.jump(3600)
    assert clock.now() < time.now()
    assert await clock.measure() is False
    assert await clock.measure() is True
    assert (time.now() - clock.now()).total_seconds() == pytest.approx(0.01)
