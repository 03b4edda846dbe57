"""The wheel: slots of one second, fired whole, never early."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from matins.scheduler.planning import instant_of, slot_of
from matins.scheduler.wheel import Wheel


def test_a_slot_is_fired_whole_and_once() -> None:
    wheel = Wheel()
    names = [uuid4(), uuid4()]
    for name in names:
        wheel.add(10, name)
    assert wheel.fire(9) == []
    assert wheel.fire(10) == [(10, names)]
    assert wheel.fire(11) == []
    assert wheel.size == 0


def test_slots_that_were_slept_through_are_fired_oldest_first() -> None:
    wheel = Wheel()
    early, late = uuid4(), uuid4()
    wheel.add(500, late)
    wheel.add(20, early)
    assert wheel.first() == 20
    assert wheel.fire(100_000) == [(20, [early]), (500, [late])]


def test_a_name_put_into_the_past_is_fired_next() -> None:
    wheel = Wheel()
    wheel.fire(100)
    name = uuid4()
    wheel.add(7, name)
    assert wheel.fire(101) == [(7, [name])]


def test_an_instant_with_a_fraction_goes_into_the_next_slot() -> None:
    whole = instant_of(1_767_225_600)
    assert slot_of(whole) == 1_767_225_600
    assert slot_of(whole + timedelta(microseconds=1)) == 1_767_225_601
    assert slot_of(whole - timedelta(microseconds=1)) == 1_767_225_600
