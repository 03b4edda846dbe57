"""Edges: none is lost and none told twice, whatever is seen again or late."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.alerts.edges import (
    FLAPS,
    FLAPS_WITHIN,
    STEADY,
    Edge,
    Level,
    RuleStanding,
    Turn,
    edge_id,
    step,
)

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
RUN = UUID(int=7)

LOOKS = st.lists(
    st.tuples(st.integers(1, 4000), st.sampled_from([True, False, None])), min_size=1, max_size=40
)
"""How long after the last one a look was taken, and what it saw."""


def level(is_bad: bool | None, at: datetime) -> Level | None:
    return None if is_bad is None else Level(is_bad, at, "why", RUN)


def timed(looks: list[tuple[int, bool | None]]) -> list[tuple[datetime, bool | None]]:
    at, result = NOON, []
    for gap, is_bad in looks:
        at += timedelta(seconds=gap)
        result.append((at, is_bad))
    return result


def play(
    looks: Sequence[tuple[datetime, bool | None]], remind_s: float | None = None
) -> tuple[RuleStanding | None, list[Edge]]:
    standing: RuleStanding | None = None
    edges = []
    for at, is_bad in looks:
        standing, edge = step(standing, level(is_bad, at), at, remind_s)
        edges += [edge] if edge else []
    return standing, edges


@given(LOOKS)
def test_what_is_told_turns_by_turns_bad_and_well(looks: list[tuple[int, bool | None]]) -> None:
    _, edges = play(timed(looks))
    turns = [edge.turn for edge in edges]
    assert turns[::2] == [turn for turn in turns if turn in (Turn.BAD, Turn.FLAPPING)]
    assert turns[1::2] == [turn for turn in turns if turn is Turn.WELL]
    assert [edge.number for edge in edges] == list(range(1, len(edges) + 1))


@given(LOOKS, st.data())
def test_looks_that_come_again_or_late_change_nothing(
    looks: list[tuple[int, bool | None]], data: st.DataObject
) -> None:
    in_order = timed(looks)
    mixed = []
    for index, seen in enumerate(in_order):
        mixed.append(seen)
        older = st.lists(st.sampled_from(in_order[: index + 1]), max_size=3)
        mixed += data.draw(older)
    assert play(mixed) == play(in_order)


@given(LOOKS, st.booleans())
def test_what_lasts_is_told_in_the_end(looks: list[tuple[int, bool | None]], is_bad: bool) -> None:
    in_order = timed(looks)
    last = in_order[-1][0]
    steady = [(last + timedelta(minutes=minute), is_bad) for minute in range(1, 122)]
    standing, _ = play([*in_order, *steady])
    assert standing is not None
    assert (standing.is_notified, standing.is_bad, standing.is_flapping) == (is_bad, is_bad, False)


@given(LOOKS)
def test_within_half_an_hour_few_edges_are_told(looks: list[tuple[int, bool | None]]) -> None:
    in_order = timed(looks)
    _, edges = play(in_order)
    bad = [edge for edge in edges if edge.turn is not Turn.WELL]
    begins = [at for at, _ in in_order]
    for begin in begins:
        within = [
            edge for edge in bad if begin <= edge.level.since < begin + min(FLAPS_WITHIN, STEADY)
        ]
        assert len(within) <= FLAPS


def test_flapping_is_told_once_and_then_what_it_came_to() -> None:
    looks = [(NOON + timedelta(minutes=minute), minute % 2 == 0) for minute in range(1, 20)]
    standing, edges = play(looks)
    assert [edge.turn for edge in edges] == [
        *(Turn.BAD, Turn.WELL, Turn.BAD, Turn.WELL, Turn.FLAPPING),
    ]
    assert standing is not None
    at = looks[-1][0] + STEADY
    standing, edge = step(standing, level(False, at), at)
    assert edge is not None
    assert edge.turn is Turn.WELL
    assert not standing.is_flapping


def test_what_is_still_bad_is_told_again_as_often_as_asked() -> None:
    looks: list[tuple[datetime, bool | None]] = [
        (NOON + timedelta(minutes=minute), True) for minute in range(61)
    ]
    _, edges = play(looks, remind_s=1200)
    assert [edge.turn for edge in edges] == [Turn.BAD, Turn.STILL, Turn.STILL, Turn.STILL]
    _, edges = play(looks)
    assert [edge.turn for edge in edges] == [Turn.BAD]


def test_what_is_unknown_keeps_what_was_known() -> None:
    standing, edges = play([(NOON, True), (NOON + timedelta(minutes=1), None)])
    assert standing is not None
    assert (standing.is_bad, standing.reason, standing.run_id) == (True, "why", RUN)
    assert len(edges) == 1


def test_a_rule_that_is_gone_leaves_its_count_of_edges() -> None:
    standing, _ = play([(NOON, True)])
    assert standing is not None
    rest = standing.at_rest
    assert not rest.is_blank
    at = NOON + timedelta(hours=2)
    _, edge = step(rest, level(True, at), at)
    assert edge is not None
    assert edge.number == 2


@pytest.mark.parametrize("other", [("dead", 2), ("late 10m", 1)])
def test_edges_have_names_of_their_own(other: tuple[str, int]) -> None:
    job = UUID(int=1)
    names = [edge_id(job, "dead", 1), edge_id(job, *other), edge_id(UUID(int=2), "dead", 1)]
    assert all(before != after for before, after in pairwise(sorted(names)))
    assert edge_id(job, "dead", 1) == names[0]
