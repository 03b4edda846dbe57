"""Schedules and jobs made at random, and their fires counted one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.schedules.expressions import expressions

from matins.domain.schedules.cron.clock_changes import ClockChanges
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.timetables.compiling import Timing
from matins.domain.values.durations import parse_duration
from matins.insight.forecast.groups import Entry
from matins.insight.forecast.index import JobIndex

CHANGES = {
    "Europe/Berlin": ["2026-03-29T01:00Z", "2026-10-25T01:00Z"],
    "America/New_York": ["2026-03-08T07:00Z", "2026-11-01T06:00Z"],
    "Australia/Lord_Howe": ["2026-04-04T15:00Z", "2026-10-03T15:30Z"],
    "Africa/Casablanca": ["2026-02-15T02:00Z", "2026-03-22T02:00Z"],
    "America/Nuuk": ["2026-03-29T01:00Z", "2026-10-25T01:00Z"],
    "Antarctica/Troll": ["2026-03-29T01:00Z", "2026-10-25T01:00Z"],
    "Asia/Kathmandu": ["2026-06-01T00:00Z"],
    "UTC": ["2026-06-01T00:00Z"],
}
"""Zones, with changes of their clocks where they have any."""

USUAL = (
    "* * * * *",
    "*/15 * * * *",
    "30 2 * * *",
    "0,30 0-5 * * *",
    "10-50/20 0-23 * * *",
    "0 */2 * * 6,0",
    "5 9-17 * * 1-5",
)
HASHED = (
    "H * * * *",
    "H H * * *",
    "H/7 * * * *",
    "H(0-29)/10 H(9-17) * * MON-FRI",
    "30 H H * *",
    "H(10-14)/30 * * * *",
    "0 0 H * H",
    "H H(0-5),12 * * H(1-5)",
)


RULES = (
    "FREQ=HOURLY;INTERVAL=2",
    "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=30",
    "DTSTART;TZID=Europe/Berlin:20260101T023000\nRRULE:FREQ=DAILY",
)


def moments() -> st.SearchStrategy[tuple[str, datetime]]:
    """Choose a zone, and an instant near one of the changes of its clocks."""
    near = [(zone, datetime.fromisoformat(at)) for zone, ats in CHANGES.items() for at in ats]
    minutes = st.integers(-26 * 60, 60).map(lambda count: timedelta(minutes=count))
    return st.builds(
        lambda moment, moved: (moment[0], moment[1] + moved), st.sampled_from(near), minutes
    )


def own_changes() -> st.SearchStrategy[ClockChanges | None]:
    """Choose a job's own policy at a change of clocks, or none."""
    return st.none() | st.from_type(ClockChanges)


def kinds(near: datetime) -> st.SearchStrategy[Times]:
    """Make one kind of due times, which may have some near an instant."""
    texts = st.sampled_from(USUAL) | expressions(all_months=True).map(
        lambda expression: expression.text
    )
    crons = st.builds(Times, cron=texts, dst=own_changes())
    seconds = st.builds(Times, cron=st.sampled_from(["*/20 */7 2,3 * * *", "5,35 59 * * * *"]))
    hashed = st.builds(Times, cron=st.sampled_from(HASHED))
    lengths = ["1m", "7m", "90s", "1h", "25h", "1d", "1w", "2d", "1d12h", "P1DT1S", "45d"]
    everys = st.builds(Times, every=st.sampled_from(lengths), anchor=st.none() | instants(near))
    ats = st.builds(Times, at=instants(near) | st.lists(instants(near), min_size=1, max_size=4))
    rules = st.builds(Times, rrule=st.sampled_from(RULES))
    return st.one_of(crons, crons, seconds, hashed, everys, ats, rules)


def instants(near: datetime) -> st.SearchStrategy[str]:
    """Make instants within three days."""
    return st.integers(-3 * 86_400, 3 * 86_400).map(
        lambda count: (near + timedelta(seconds=count)).isoformat()
    )


@st.composite
def schedules(draw: st.DrawFn, zone: str, near: datetime) -> Schedule:
    """Make a schedule without jitter."""
    members = draw(st.none() | st.lists(kinds(near), min_size=1, max_size=3))
    times = draw(kinds(near)) if members is None else Times()
    limits = st.sampled_from([(True, False), (False, True), *[(False, False)] * 6])
    starts, ends = draw(limits)
    return Schedule(
        cron=times.cron,
        every=times.every,
        at=times.at,
        rrule=times.rrule,
        anchor=times.anchor,
        dst=times.dst,
        any_of=members,
        timezone=zone,
        starts_at=draw(instants(near)) if starts else None,
        ends_at=draw(instants(near)) if ends else None,
        max_runs=draw(st.sampled_from([*[None] * 9, 1, 20])),
    )


@st.composite
def jobs(draw: st.DrawFn, zone: str, near: datetime) -> list[Entry]:
    """Make jobs of a few teams and pools, some with equal schedules."""
    choices = draw(st.lists(schedules(zone, near), min_size=2, max_size=5))
    anchors = st.integers(-3 * 86_400, 3 * 86_400).map(
        lambda count: near + timedelta(seconds=count)
    )
    made = st.builds(
        Entry,
        id=st.uuids(),
        team=st.sampled_from(["a", "b"]),
        pool=st.sampled_from(["x", "y"]),
        schedule=st.sampled_from(choices),
        timing=st.builds(lambda anchor: Timing(anchor, anchor), anchors),
    )
    return draw(st.lists(made, min_size=3, max_size=9, unique_by=lambda job: job.id))


def enumerated(entries: Iterable[Entry], since: int, until: int) -> Counter[int]:
    """Count the fires of jobs without jitter by second, walking from one due time to the next."""
    fires = Counter[int]()
    for job in entries:
        table = job.timing.compile(job.schedule, job.id)
        due = table.next_after_s(since - 1)
        while due is not None and due < until:
            fires[due] += not table.skip_reason(due)
            due = table.next_after_s(due)
    return fires


def expected(entries: Iterable[Entry], since: int, until: int, jitter: str) -> list[float]:
    """Return the fires of each minute, with each fire spread over the seconds that it may take."""
    minutes = [0.0] * ((until - since) // 60)
    longest_s = int(parse_duration(jitter))
    for job in entries:
        table = job.timing.compile(job.schedule, job.id)
        due = table.next_after_s(since - longest_s - 1)
        while due is not None and due < until:
            coming = table.next_after_s(due)
            length = longest_s + 1 if coming is None else min(longest_s + 1, coming - due)
            for index in range(max(0, (due - since) // 60), len(minutes)):
                low, high = since + index * 60, since + index * 60 + 60
                minutes[index] += max(0, min(high, due + length) - max(low, due)) / length
                if high > due + length:
                    break
            due = coming
    return minutes


def index_of(entries: Iterable[Entry], since: int) -> JobIndex:
    """Make an index of some jobs."""
    index = JobIndex(since)
    for job in entries:
        index.add(job)
    return index


def jittered(entries: Iterable[Entry], jitter: str) -> list[Entry]:
    """Return jobs with jitter in their schedules."""
    return [replace(job, schedule=replace(job.schedule, jitter=jitter)) for job in entries]


def job(number: int, schedule: Schedule, *, team: str = "a", pool: str = "x") -> Entry:
    """Make a job, of long ago."""
    made_at = datetime(2026, 1, 1, 0, 0, number % 60, tzinfo=UTC)
    return Entry(UUID(int=number), team, pool, schedule, Timing(made_at, made_at))
