"""How fast schedules answer, beside croniter, cronsim and APScheduler: `python bench/schedules.py`.

Nobody caches an answer here: each library walks on from its own last one. `cold` is reading the
expression and the first answer, with Matins's store of compiled expressions emptied each time; what
a field chooses, which many expressions share, stays known.
A library that is not installed is left out, and the program says so.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

from bench.hostile import slowest
from matins.domain.schedules.cron.kind import read_cron
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import compile_schedule

START = datetime(2024, 1, 1, 0, 0, 30, tzinfo=UTC)
TYPICAL = ("* * * * *", "*/15 * * * *", "30 2 * * *", "0 9-17 * * 1-5", "0 0 1 * *")
SPARSE = ("0 0 1 1 *", "0 0 29 2 *", "0 0 13 6 5", "0 0 * 2 1#5")
ZONES = ("UTC", "Europe/Berlin")
OPENERS: dict[str, Callable[[str, str], Iterator[datetime]]] = {}


def opener(
    name: str,
) -> Callable[[Callable[[str, str], Iterator[datetime]]], Callable[[str, str], Iterator[datetime]]]:
    """Register how a library reads an expression and walks over its due times."""

    def register(
        walk: Callable[[str, str], Iterator[datetime]],
    ) -> Callable[[str, str], Iterator[datetime]]:
        OPENERS[name] = walk
        return walk

    return register


@opener("matins")
def walk_matins(expression: str, zone: str) -> Iterator[datetime]:
    """Walk with the timetable of one job."""
    schedule = Schedule(cron=expression, timezone=zone)
    table = compile_schedule(schedule, seed="job", anchor=START)
    due = table.next_after(START)
    while due is not None:
        yield due
        due = table.next_after(due)


@opener("cronsim")
def walk_cronsim(expression: str, zone: str) -> Iterator[datetime]:
    """Walk with cronsim's iterator."""
    cronsim = importlib.import_module("cronsim")
    yield from cronsim.CronSim(expression, START.astimezone(ZoneInfo(zone)))


@opener("croniter")
def walk_croniter(expression: str, zone: str) -> Iterator[datetime]:
    """Walk with croniter's iterator."""
    croniter = importlib.import_module("croniter").croniter
    walk = croniter(expression, START.astimezone(ZoneInfo(zone)), ret_type=datetime)
    while True:
        yield walk.get_next()


@opener("apscheduler")
def walk_apscheduler(expression: str, zone: str) -> Iterator[datetime]:
    """Walk with APScheduler's cron trigger, with the day fields in its own words."""
    trigger_class = importlib.import_module("apscheduler.triggers.cron").CronTrigger
    if "#" in expression:
        trigger = trigger_class(month=2, day="5th mon", hour=0, minute=0, timezone=ZoneInfo(zone))
    else:
        trigger = trigger_class.from_crontab(expression, timezone=ZoneInfo(zone))
    due = trigger.get_next_fire_time(None, START)
    while due is not None:
        yield due
        due = trigger.get_next_fire_time(due, due + timedelta(microseconds=1))


def next_us(walk: Iterator[datetime]) -> float:
    """Return the time of one answer, in µs: the best of four medians."""
    next(walk)
    medians = []
    for _ in range(4):
        times = []
        for _ in range(60):
            began = time.perf_counter()
            next(walk)
            times.append(time.perf_counter() - began)
        medians.append(statistics.median(times))
    return min(medians) * 1e6


def cold_us(name: str, expression: str, zone: str) -> float:
    """Return the time of reading and the first answer, in µs: the best of four medians."""
    medians = []
    for _ in range(4):
        times = []
        for _ in range(40):
            read_cron.cache_clear()
            began = time.perf_counter()
            next(OPENERS[name](expression, zone))
            times.append(time.perf_counter() - began)
        medians.append(statistics.median(times))
    return min(medians) * 1e6


def installed() -> list[str]:
    """Return the libraries that can be measured, Matins first."""
    found = []
    for name in OPENERS:
        try:
            importlib.import_module(name)
            found.append(name)
        except ImportError:
            print(f"{name} is not installed: left out")
    return found


def compare(title: str, names: list[str], measure: Callable[[str, str, str], float]) -> None:
    """Print one table, and how many times as fast as the fastest other Matins is."""
    print(f"\n{title}, in µs\n{'expression':18}{'zone':15}" + "".join(f"{n:>13}" for n in names))
    ratios = []
    for expression in TYPICAL + SPARSE:
        for zone in ZONES:
            times = [measure(name, expression, zone) for name in names]
            ratios.append(min(times[1:], default=times[0]) / times[0])
            row = "".join(f"{time:13.2f}" for time in times)
            print(f"{expression:18}{zone:15}{row}   {ratios[-1]:6.1f} x")
    print(f"times as fast as the fastest other: median {statistics.median(ratios):.1f}", end="")
    print(f", least {min(ratios):.1f}, most {max(ratios):.1f}")


def by_chance(chance: Random) -> str:
    """Make a cron expression of open fields, values, ranges, steps and lists."""
    fields = []
    for low, high in ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6)):
        first, other = sorted(chance.sample(range(low, high + 1), 2))
        values = ",".join(str(value) for value in chance.sample(range(low, high + 1), 4))
        fields.append(
            chance.choice(("*", "*", f"{first}", f"{first}-{other}", f"*/{other}", values))
        )
    return " ".join(fields)


def hunt(count: int) -> None:
    """Print the expressions made by chance with which Matins does worst beside cronsim."""
    chance = Random(2026)
    rows: list[tuple[float, float, str]] = []
    while len(rows) < count:
        text, zone = by_chance(chance), chance.choice(ZONES)
        if next(walk_matins(text, zone), None) is not None:
            warm = [next_us(OPENERS[name](text, zone)) for name in ("cronsim", "matins")]
            cold = [cold_us(name, text, zone) for name in ("cronsim", "matins")]
            rows.append((warm[0] / warm[1], cold[0] / cold[1], f"{text}  {zone}"))
    print(f"\n{count} expressions by chance, times as fast as cronsim")
    for title, ratios in (
        ("next due time", [(warm, text) for warm, _, text in rows]),
        ("cold", [(cold, text) for _, cold, text in rows]),
    ):
        middle, (least, text) = statistics.median(ratio for ratio, _ in ratios), min(ratios)
        print(f"{title:15} median {middle:.1f}, least {least:.1f}: {text}")


def schedules(count: int) -> list[Schedule]:
    """Make distinct schedules of the kinds that owners write."""
    made = []
    for number in range(count):
        minute, hour, day = number % 60, number // 60 % 24, number % 28 + 1
        zone = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo")[number % 4]
        texts = (
            f"{minute} {hour} * * *",
            f"{minute} * * * *",
            f"{minute}-59/15 {hour} * * 1-5",
            f"{minute} {hour} {day} * *",
            f"*/{minute % 29 + 2} {hour}-23 * * *",
        )
        made.append(Schedule(cron=texts[number % 5], timezone=zone, jitter=f"{number}s"))
    return made


def whole_company(jobs: int, distinct: int) -> None:
    """Print the time to compile and ask once for each of many jobs."""
    read_cron.cache_clear()
    made = schedules(distinct)
    began = time.perf_counter()
    for number in range(jobs):
        compile_schedule(made[number % distinct], seed=f"{number}", anchor=START).next_after(START)
    took = time.perf_counter() - began
    print(f"\nthe next due times of {jobs:,} jobs with {distinct:,} schedules: {took:.2f} s")


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--schedules", type=int, default=2_000)
    parser.add_argument("--expressions", type=int, default=200)
    arguments = parser.parse_args()
    names = installed()
    compare("next due time", names, lambda name, text, zone: next_us(OPENERS[name](text, zone)))
    compare("cold: read and first due time", names, cold_us)
    if "cronsim" in names:
        hunt(arguments.expressions)
    slowest()
    whole_company(arguments.jobs, arguments.schedules)


if __name__ == "__main__":
    main()
