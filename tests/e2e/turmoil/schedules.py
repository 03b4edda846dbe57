"""Jobs of all kinds that are due each second or so, drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

CALENDAR = "busy"
SECOND = timedelta(seconds=1)

Schedule = dict[str, Any]


def written(instant: datetime) -> str:
    """Return an instant as an owner writes it."""
    return instant.isoformat().replace("+00:00", "Z")


def _every(rng: Random, _now: datetime) -> Schedule:
    spread = rng.choice(["run", "job"])
    return {"every": rng.choice(["1s", "2s", "3s"]), "jitter": "2s", "spread": spread}


def _union(rng: Random, _now: datetime) -> Schedule:
    step = rng.choice([2, 3])
    members = [
        {"every": "2s"},
        {"cron": f"*/{step} * * * * *"},
        {"rrule": "FREQ=SECONDLY;INTERVAL=5"},
    ]
    return {"any_of": rng.sample(members, 2), "jitter": rng.choice(["0s", "1s"])}


def _closed(rng: Random, _now: datetime) -> Schedule:
    step = rng.choice([1, 2])
    return {
        "cron": f"*/{step} * * * * *",
        "calendars": [CALENDAR],
        "jitter": rng.choice(["0s", "1s"]),
    }


def _chain(rng: Random, _now: datetime) -> Schedule:
    kept = {"calendars": [CALENDAR]} if rng.random() < 0.3 else {}
    return {"every": rng.choice(["1s", "2s"]), "after": "end"} | kept


def _counted(rng: Random, _now: datetime) -> Schedule:
    return {"every": "1s", "max_runs": rng.randint(3, 9)} | _auto_deleted(rng)


def _counted_chain(rng: Random, _now: datetime) -> Schedule:
    counted = {"max_runs": rng.randint(2, 5)}
    return {"every": "1s", "after": "end"} | counted | _auto_deleted(rng)


def _ending(rng: Random, now: datetime) -> Schedule:
    ends = now + rng.randint(3, 9) * SECOND
    return {"cron": "* * * * * *", "ends_at": written(ends), "jitter": "1s"} | _auto_deleted(rng)


def _at(rng: Random, now: datetime) -> Schedule:
    instants = sorted(rng.sample(range(2, 10), 3))
    return {"at": [written(now + instant * SECOND) for instant in instants]} | _auto_deleted(rng)


def _auto_deleted(rng: Random) -> Schedule:
    return {"delete_after": rng.choice(["0s", "2s"])}


KINDS: dict[str, Callable[[Random, datetime], Schedule]] = {
    "every": _every,
    "union": _union,
    "closed": _closed,
    "chain": _chain,
    "counted": _counted,
    "counted-chain": _counted_chain,
    "ending": _ending,
    "at": _at,
}
"""A job keeps its kind, however its schedule is edited: the word its name begins with."""


def schedule(kind: str, rng: Random, now: datetime) -> Schedule:
    """Return a schedule of a kind, as it could be written at an instant."""
    return KINDS[kind](rng, now.replace(microsecond=0))


def calendar(rng: Random, now: datetime) -> dict[str, Any]:
    """Return a calendar that closes some of the coming seconds or minutes."""
    first = now.replace(microsecond=0) + rng.randint(0, 2) * SECOND
    span = f"{written(first)}/{written(first + rng.randint(1, 4) * SECOND)}"
    minute = (now + timedelta(minutes=1)).replace(second=0)
    times = f"{minute:%H:%M}-{minute + timedelta(minutes=1):%H:%M}"
    exclude = [{"spans": span}] if rng.random() < 0.8 else [{"times": times}]
    return {"name": CALENDAR, "exclude": exclude}
