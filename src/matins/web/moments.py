"""Moments that lie ahead, as people type them into a form, and as they are told them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from matins.domain.jobs.spec import Job
from matins.domain.time.instants import epoch_s, local_time
from matins.domain.time.zones import Zone, find_zone
from matins.kernel.moments import parse_ahead

UTC_ZONE: Final = find_zone("UTC")


def zone_of(job: Job) -> Zone:
    """Return the zone of a job's schedule; UTC if it has none."""
    schedule = job.spec.schedule
    return UTC_ZONE if schedule is None else find_zone(schedule.timezone)


def read_ahead(where: str, text: str, zone: Zone, now: datetime) -> datetime | None:
    """Read a moment such as `2h` or `2026-12-01 06:00`, by a zone's clocks; None if nothing was
    typed. Raises InvalidInputError, also where the clocks skip it or show it twice.
    """
    text = text.strip()
    if text.endswith(" UTC"):
        text = f"{text.removesuffix(' UTC').strip()}Z"
    return parse_ahead(where, text, zone, now=now) if text else None


def in_zone(at: datetime, zone: Zone) -> str:
    """Return an instant as a zone's clocks show it, as it can be typed."""
    second = epoch_s(at)
    return f"{local_time(second, zone.offset_at(second)):%Y-%m-%d %H:%M:%S}"


def told_in_zone(at: datetime, zone: Zone) -> str:
    """Return an instant as a zone's clocks show it, with the zone; other ones than UTC with what
    UTC is then.
    """
    told = f"{in_zone(at, zone)} {zone.name}"
    return told if zone.name == "UTC" else f"{told} ({in_zone(at, UTC_ZONE)} UTC)"
