"""How fast a whole company's load is forecast: `python -m bench.forecast --jobs 1000000`.

The jobs have distinct schedules of the kinds that owners write, spread over zones, teams and pools;
those with `every` have anchors of their own, those with `H` times of their own.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID

from msgspec.structs import replace

from matins.domain.schedules.schedule import Schedule
from matins.domain.time.instants import epoch_s
from matins.domain.timetables.compiling import Timing
from matins.insight.forecast.expansion import LoadExpansion
from matins.insight.forecast.forecast import Forecast, forecast
from matins.insight.forecast.groups import Entry
from matins.insight.forecast.index import JobIndex

NOW = datetime(2026, 10, 22, 9, 30, tzinfo=UTC)  # clocks change in Europe within the week
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Asia/Kolkata", "Europe/London")
TEAMS = 200
POOLS = 10
POOLS_OF_TEAM = 2
CHANGED = 1_000
STEPS = ("30s", "1m", "5m", "10m", "15m", "30m", "1h", "2h", "6h", "12h", "1d", "7d")
HASHED = ("H * * * *", "H H * * *", "H/15 * * * *", "H H(0-5) * * 1-5", "H H H * *")

T = TypeVar("T")


def schedules(count: int) -> list[Schedule]:
    """Make distinct schedules."""
    made = []
    for number in range(count):
        minute, hour, day = number % 60, number // 60 % 24, number % 28 + 1
        zone = ZONES[number % len(ZONES)]
        jitter = ("0s", "0s", "0s", "5m", f"{number}s")[number // 7 % 5]
        crons = (
            f"{minute} {hour} * * *",
            f"{minute} * * * *",
            f"{minute}-59/15 {hour} * * 1-5",
            f"{minute} {hour} {day} * *",
            f"*/{minute % 29 + 2} {hour}-23 * * *",
            f"{number % 30}/30 {minute} {hour} * * *",
        )
        if number % 10 == 8:
            made.append(Schedule(cron=HASHED[number // 10 % 5], timezone=zone, jitter=jitter))
        elif number % 10 == 9:
            made.append(Schedule(every=STEPS[number // 10 % 12], timezone=zone, jitter=jitter))
        else:
            made.append(Schedule(cron=crons[number // 6 % 6], timezone=zone, jitter=jitter))
    return made


def company(count: int, distinct: int, rng: random.Random) -> list[Entry]:
    """Make jobs, each with one of so many schedules."""
    choices = schedules(distinct)
    return [job(choices[rng.randrange(distinct)], rng) for _ in range(count)]


def job(schedule: Schedule, rng: random.Random) -> Entry:
    """Make one job, some time within the last year."""
    made_at = NOW - timedelta(seconds=rng.randrange(365 * 86_400))
    number = rng.randrange(TEAMS)
    team, pool = f"team-{number}", f"pool-{(number + rng.randrange(POOLS_OF_TEAM)) % POOLS}"
    job_id = UUID(int=rng.getrandbits(128), version=4)
    return Entry(job_id, team, pool, schedule, Timing(made_at, made_at))


def timed(what: str, work: Callable[[], T]) -> T:
    """Do some work and print how long it took."""
    began = time.perf_counter()
    done = work()
    print(f"{time.perf_counter() - began:9.2f} s  {what}")
    return done


def measure(count: int, distinct: int) -> None:
    """Print the time of each step."""
    rng = random.Random(7)
    jobs = company(count, distinct, rng)
    since = epoch_s(NOW)
    gc.freeze()  # as in a role
    gc.set_threshold(50_000, 50, 100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{count:,} jobs, {distinct:,} schedules, {TEAMS} teams, {POOLS} pools")
    index = JobIndex(since)

    def book_all(some: list[Entry]) -> None:
        for entry in some:
            index.add(entry)

    def ask(hours: int, team: str | None = None) -> Forecast:
        return forecast(index, LoadExpansion(since, since + hours * 3600), team, None)

    timed("to index all jobs", lambda: book_all(jobs))
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{taken / 1024:9.0f} MB of memory more")
    day, week = LoadExpansion(since, since + 86_400), LoadExpansion(since, since + 7 * 86_400)
    of_team = index.segments(team="team-7")
    timed("for all of 24 h", lambda: day.curve(index.counters()))
    timed("for all of 7 days", lambda: week.curve(index.counters()))
    timed("for one team of 7 days", lambda: week.curve(index.counters(of_team)))
    told = timed("for a whole answer of 24 h, anew", lambda: ask(24))
    timed("for a whole answer of 7 days, anew", lambda: ask(168))
    timed("for one team's answer of 7 days, anew", lambda: ask(168, "team-7"))
    changed = [replace(job(old.schedule, rng), id=old.id) for old in jobs[:CHANGED]]
    timed(f"to index {CHANGED:,} changed jobs", lambda: book_all(changed))
    timed("for all of 24 h after that", lambda: day.curve(index.counters()))
    print(
        f"{told.fires:,.0f} fires in 24 h, {told.peak_minute.fires:,.0f} in the busiest minute",
        end="",
    )
    print(f", {told.peak_second.fires:,.0f} in the busiest second")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--schedules", type=int, default=2_000)
    arguments = parser.parse_args()
    measure(arguments.jobs, arguments.schedules)


if __name__ == "__main__":
    main()
