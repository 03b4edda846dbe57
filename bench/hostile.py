"""How long the worst schedules take: `python -m bench.hostile`.

Each is up to about 1,000 characters long. What is measured is reading it, with nothing stored, and
the slowest of four answers: next and previous, from now and from the end of time. The bound: 50 ms.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from typing import get_args

import msgspec

from matins.domain.schedules.cron.clock_changes import ClockChanges, Gap, Overlap
from matins.domain.schedules.cron.kind import read_cron
from matins.domain.schedules.rrule.kind import read_rrule
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.time.zones import zone_names
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.values.errors import ScheduleError

LENGTH = 1_000
NOW, FAR = datetime(2026, 11, 29, tzinfo=UTC), datetime(9990, 1, 1, tzinfo=UTC)
EXPRESSIONS = (
    "0 0 31 2,4,6,9,11 *",
    "0 0 29 2 */7",
    "0 0 * 2 1#5",
    "9" * LENGTH,
    "0-99999999/1 * * * *",
    "0 0 * * " + ",".join(["1#1"] * 245),
    "0 0 " + ",".join(["L"] * 490) + " * *",
    "0 0 " + ",".join(["L-30"] * 198) + " 2 *",
    ",".join(["1-59/1"] * 140) + " * * * *",
    ",".join(["*/7"] * 240) + " * * * *",
    " ".join([",".join(["*/1"] * 49)] * 5),
    "@" * LENGTH,
    "\0" * LENGTH,
)
_HOURS = ",".join(map(str, range(23)))
_SIXTY = ",".join(map(str, range(59)))
_DENSE = f"BYHOUR={_HOURS};BYMINUTE={_SIXTY};BYSECOND={_SIXTY}"
_RARE = "BYMONTH=2;BYMONTHDAY=29;BYDAY=MO"
_NEVER = "BYMONTH=2;BYMONTHDAY=30"
RULES = (
    f"FREQ=DAILY;INTERVAL=2;{_NEVER}",
    f"FREQ=SECONDLY;{_NEVER}",
    f"FREQ=YEARLY;{_NEVER};{_DENSE};COUNT=3",
    f"FREQ=SECONDLY;INTERVAL=7;{_RARE};{_DENSE}",
    f"FREQ=SECONDLY;INTERVAL=997;{_RARE};{_DENSE}",
    f"FREQ=SECONDLY;INTERVAL=997;{_RARE};BYHOUR=3;BYMINUTE=4;BYSECOND=5",
    f"FREQ=DAILY;{_DENSE};BYSETPOS={','.join(map(str, range(1, 150)))}",
    f"FREQ=MINUTELY;INTERVAL=1441;{_RARE};BYSETPOS=-1",
    f"FREQ=YEARLY;BYWEEKNO={','.join(map(str, range(-53, 0)))};{_NEVER}",
    f"FREQ=YEARLY;BYYEARDAY={','.join(map(str, range(1, 230)))};BYMONTH=12",
    "DTSTART:20240101T233000\nRRULE:FREQ=HOURLY;INTERVAL=168;BYDAY=MO;COUNT=500",
    "DTSTART:20240101T000001\nRRULE:FREQ=SECONDLY;INTERVAL=2;BYSECOND=2,4",
    "DTSTART:00010101T000000\nRRULE:FREQ=SECONDLY;INTERVAL=7",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=500",
    "FREQ=DAILY;COUNT=" + "9" * 900,
    "FREQ=DAILY\n" + "RDATE:" * 160,
    "DTSTART:19700101T000000\nRRULE:FREQ=SECONDLY\nEXDATE:"
    + ",".join(f"2026{month:02}{day:02}" for month in (11, 12) for day in range(1, 29)),
    "RDATE:" + ",".join(["20260329T023000"] * 62),
)


def hostile() -> Iterator[Schedule]:
    """Make what takes longest to read, to refuse or to find."""
    for text in EXPRESSIONS:
        yield Schedule(cron=text, timezone="Europe/Berlin")
    for text in RULES:
        yield Schedule(rrule=text, timezone="Europe/Berlin")
    for gap, overlap in product(get_args(Gap), get_args(Overlap)):
        for zone in ("Europe/Berlin", "Africa/Casablanca", "Pacific/Apia"):
            dst = ClockChanges(gap, overlap)
            yield Schedule(cron="* 2 * 2 1#5", timezone=zone, dst=dst)
            yield Schedule(cron="0 0 0 ? 2 2#5 2072", dialect="quartz", timezone=zone, dst=dst)
        yield Schedule(cron="30 2 29 3 */7", timezone="Europe/Berlin", dst=dst)
    for cron in ("* * * 2 1#5", "0 0 29 2 */7", "*/30 2 29 3 */7"):
        yield Schedule(cron=cron, timezone="Europe/Berlin", max_runs=1_000)
    yield Schedule(rrule=f"FREQ=SECONDLY;INTERVAL=997;{_RARE}", max_runs=1_000)
    yield Schedule(every="1s", anchor="0001-01-01T00:00:00Z", timezone="Europe/Berlin")
    yield Schedule(every="1" * LENGTH)
    yield Schedule(cron="0 0 * * *", timezone="Europe/" + "B" * LENGTH)
    yield Schedule(at=["2026-03-29T02:30:00"] * (LENGTH // 20), timezone="Europe/Berlin")
    names = sorted(zone_names())[:20]
    yield Schedule(any_of=[Times(cron="* * * 2 1#5", timezone=name) for name in names])
    counted = "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=500"
    yield Schedule(any_of=[Times(rrule=counted, timezone=name) for name in names[:9]])
    yield Schedule(any_of=[Times(rrule=f"FREQ=HOURLY;{_RARE}", timezone=name) for name in names])


def ask(schedule: Schedule) -> tuple[float, str]:
    """Return the seconds of reading a schedule and of its slowest answer, and what came of it."""
    read_cron.cache_clear()
    read_rrule.cache_clear()
    began = time.process_time()
    try:
        table = compile_schedule(schedule, seed="job", anchor=NOW)
    except ScheduleError:
        return time.process_time() - began, "refused"
    read = time.process_time() - began
    answers = []
    for question, instant in product((table.next_after, table.previous_before), (NOW, FAR)):
        began = time.process_time()
        question(instant)
        answers.append(time.process_time() - began)
    return read + max(answers), "answered"


def slowest() -> None:
    """Print the schedules that take longest."""
    found = [(*ask(schedule), msgspec.json.encode(schedule).decode()) for schedule in hostile()]
    print(f"\nthe slowest of {len(found)} hostile schedules, in ms: reading and the slowest answer")
    for took, outcome, text in sorted(found, reverse=True)[:12]:
        print(f"{text[:90]:92}{len(text):6}{outcome:>10}{took * 1e3:9.2f}")


if __name__ == "__main__":
    slowest()
