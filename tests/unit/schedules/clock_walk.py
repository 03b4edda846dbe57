"""What is due around a clock change, by a walk over all UTC minutes that knows only the policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

import msgspec
from hypothesis import strategies as st
from tests.unit.schedules.expressions import Expression

from matins.domain.schedules.cron.clock_changes import ClockChanges, cron_rule
from matins.domain.schedules.cron.expression import parse_cron
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone, zone_names

MINUTE = timedelta(minutes=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FROM, TO = epoch_s(datetime(1990, 1, 1, tzinfo=UTC)), epoch_s(datetime(2040, 1, 1, tzinfo=UTC))
BEYOND = 8 * 60  # no overlap since 1990 is longer, in minutes


class Change(msgspec.Struct, frozen=True):
    """A zone's clocks change at an instant."""

    zone: str
    at: datetime


def changes(zone: str) -> list[datetime]:
    """Return the instants from 1990 to 2040 at which a zone's clocks change."""
    starts = find_zone(zone).starts
    return [EPOCH + timedelta(seconds=start) for start in starts if FROM <= start < TO]


@cache
def all_changes() -> list[Change]:
    """Return every change of every zone from 1990 to 2040."""
    return [Change(zone, at) for zone in sorted(zone_names()) for at in changes(zone)]


ANY_CHANGE = st.deferred(lambda: st.sampled_from(all_changes()))


@cache
def kinds_of_change() -> list[Change]:
    """Return one example of each pair of offsets and time of day at which any zone changes."""
    kinds: dict[tuple[int, int, int], Change] = {}
    for change in all_changes():
        zone, instant = find_zone(change.zone), epoch_s(change.at)
        before, after = zone.offset_at(instant - 1), zone.offset_at(instant)
        kinds.setdefault((before, after, (instant + before) % 86_400), change)
    return list(kinds.values())


@cache
def zone_info(zone: str) -> ZoneInfo:
    """Return the standard library's zone, with the same zone data as ours."""
    with resources.files("tzdata.zoneinfo").joinpath(*zone.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, zone)


@lru_cache(maxsize=64)
def walls(zone: str, start: datetime, minutes: int) -> list[tuple[datetime, datetime]]:
    """Return each UTC minute of a window with the wall time at it, by the standard library."""
    info = zone_info(zone)
    instants = [start + number * MINUTE for number in range(minutes)]
    return [(at, info.fromutc(at.replace(tzinfo=info)).replace(tzinfo=None)) for at in instants]


def walk(
    expression: Expression, zone: str, start: datetime, minutes: int, dst: ClockChanges
) -> list[datetime]:
    """Return the due times in a window by the policy's own words."""
    gap = dst.gap or ("run_after" if expression.is_fixed else "skip")
    overlap = dst.overlap or ("first" if expression.is_fixed else "both")
    around = walls(zone, start - BEYOND * MINUTE, minutes + 2 * BEYOND)
    passes: dict[datetime, list[datetime]] = {}
    for instant, wall in around:
        passes.setdefault(wall, []).append(instant)
    due = []
    highest = max(wall for _, wall in around[:BEYOND])
    for instant, wall in around[BEYOND : BEYOND + minutes]:
        missed = []
        while highest + MINUTE < wall:
            highest += MINUTE
            missed.append(highest)
        highest = max(highest, wall)
        counts = {"first": passes[wall][:1], "second": passes[wall][-1:], "both": passes[wall]}
        is_shown = expression.matches(wall) and instant in counts[overlap]
        if is_shown or (gap == "run_after" and any(map(expression.matches, missed))):
            due.append(instant)
    return due


def check(
    expression: Expression,
    zone: str,
    start: datetime,
    minutes: int,
    dst: ClockChanges | None = None,
) -> None:
    """Compare the due times of a window, in both directions, with the walk's."""
    wanted = [epoch_s(due) for due in walk(expression, zone, start, minutes, dst or ClockChanges())]
    rule = cron_rule(parse_cron(expression.text, "unix", ""), find_zone(zone), dst)
    first, end = epoch_s(start), epoch_s(start) + minutes * 60
    forwards, due = [], rule.next_after(first - 1)
    while due is not None and due < end:
        forwards.append(due)
        due = rule.next_after(due)
    assert forwards == wanted
    backwards, due = [], rule.previous_before(end)
    while due is not None and due >= first:
        backwards.append(due)
        due = rule.previous_before(due)
    assert backwards[::-1] == wanted
    for instant in range(first, end, 13 * 60):
        later = [due for due in wanted if due > instant]
        if later:
            assert rule.next_after(instant) == later[0]
        earlier = [due for due in wanted if due < instant]
        if earlier:
            assert rule.previous_before(instant) == earlier[-1]
