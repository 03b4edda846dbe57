"""Names of runs, as people type them: an id, the beginning of one, or a job and a due time."""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.runs.states import RunState
from matins.domain.values.errors import InvalidInputError
from matins.domain.values.names import DEFAULT_TEAM, check_name

FAILED: Final = frozenset({RunState.DEAD, RunState.RETRYING})
"""The states of runs of which an attempt failed, and nothing has made up for it so far."""

_DIGITS: Final = 32
# Ids begin with their due time: a zero until the year 2527. So names of jobs are seldom like one.
_LIKE_ID: Final = re.compile(r"0[0-9a-f-]{3,}", re.ASCII)
_PARTS: Final = (8, 13, 18, 23)
_SECONDS: Final = re.compile(r"[T ]\d\d:\d\d:\d\d", re.ASCII | re.IGNORECASE)
_RULE: Final = (
    "write an id, the beginning of one (from 4 digits on), TEAM/NAME for the last run of a job, or"
    " TEAM/NAME@2026-11-30T02:00 for the one that was due then"
)


class IdRange(msgspec.Struct, frozen=True):
    """All ids that begin alike: `low` and `high` are the least and the greatest."""

    low: UUID
    high: UUID


class OfJob(msgspec.Struct, frozen=True):
    """The last run of a job, or the one that was due at an instant, as it was written."""

    team: str
    name: str
    at: str = ""


RunName = UUID | IdRange | OfJob


def parse_run_name(text: str) -> RunName:
    """Read the name of a run. Raises InvalidInputError.

    What looks like the beginning of an id is one; a job with such a name has its team before it.
    """
    text = text.strip()
    if "/" not in text and "@" not in text and _LIKE_ID.fullmatch(text.lower()):
        return _by_id(text.lower())
    job, at_sign, at = text.partition("@")
    team, slash, name = job.rpartition("/")
    if not name or (slash and not team) or (at_sign and not at):
        raise InvalidInputError.at("name", f"{text[:60]!r} names no run; {_RULE}")
    team = team if slash else DEFAULT_TEAM
    check_name("team", team)
    check_name("name", name)
    return OfJob(team, name, at)


def _by_id(text: str) -> UUID | IdRange:
    dashes = tuple(place for place, mark in enumerate(text) if mark == "-")
    if dashes and dashes != tuple(place for place in _PARTS if place < len(text)):
        raise InvalidInputError.at("name", f"{text!r} is not how an id begins; {_RULE}")
    digits = text.replace("-", "")
    if len(digits) > _DIGITS:
        raise InvalidInputError.at("name", f"{text!r} is longer than an id; {_RULE}")
    if len(digits) == _DIGITS:
        return UUID(digits)
    low = UUID(digits.ljust(_DIGITS, "0"))
    return IdRange(low, UUID(digits.ljust(_DIGITS, "f")))


def has_seconds(at: str) -> bool:
    """Return whether an instant, as it was written, says its seconds."""
    return _SECONDS.search(at) is not None
