"""Check-ins: what something else tells of a job that it runs, by `/ping/TOKEN`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from math import isfinite
from typing import Final, Literal
from urllib.parse import parse_qs

import msgspec

from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome
from matins.domain.values.errors import InvalidInputError

PACE: Final = timedelta(seconds=5)
"""How often a token may be used in the long run."""

AHEAD: Final = timedelta(seconds=55)
"""How far a token may be ahead of its pace: it may be used twelve times at once."""

HEAD_MAX: Final = 2 * 1024
"""So many bytes are kept of the beginning of what is sent with a ping."""

TAIL_MAX: Final = 8 * 1024
"""So many of its end."""

DURATION_MAX_S: Final = 30 * 86_400
"""The longest time that a run may say it took."""

_PATH: Final = re.compile(r"/ping/([A-Za-z0-9_-]{32})(?:/(start|fail|[0-9]{1,3}))?", re.ASCII)
_EXIT_MAX: Final = 255


class Ping(msgspec.Struct, frozen=True):
    """What is told by a ping: a start, or an end with its exit code and how long it took, where
    that is said.
    """

    token: str
    kind: Literal["start", "success", "fail"]
    exit_code: int | None = None
    took_s: float | None = None

    def result(self, output: str, cut: int) -> Result:
        """Return what an attempt is that ended so, and wrote that."""
        outcome, reason = Outcome.SUCCEEDED, ""
        if self.kind == "fail":
            outcome = Outcome.FAILED
            reason = "it failed" if self.exit_code is None else f"exit code {self.exit_code}"
        return Result(outcome, reason, output=output, output_cut=cut, exit_code=self.exit_code)


class CheckinRecord(msgspec.Struct, frozen=True):
    """A check-in, and what was told of it last. `made_at`: since when its token holds; without one
    it has none. `started_at`: it has begun, and its end was not told yet. `state` is that of the
    last run that ended.
    """

    team: str
    name: str
    made_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    state: Literal["", "succeeded", "dead"] = ""


class CheckinToken(msgspec.Struct, frozen=True):
    """The new token of a check-in, as the path that is to be called. It is shown this once."""

    team: str
    name: str
    path: str


def hash_of(token: str) -> bytes:
    """Return as what a token is stored."""
    return sha256(token.encode()).digest()


def read_ping(path: str, query: bytes) -> Ping | None:
    """Return what is told by a request; None where the path is none of a ping.

    Raises InvalidInputError.
    """
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    token, word = match[1], match[2]
    took_s = _took_s(parse_qs(query.decode("ascii", "replace")).get("duration", []))
    if word == "start":
        return Ping(token, "start")
    if word == "fail":
        return Ping(token, "fail", took_s=took_s)
    exit_code = None if word is None else int(word)
    if exit_code is not None and exit_code > _EXIT_MAX:
        raise InvalidInputError.at("path", f"{exit_code} is no exit code; they end at {_EXIT_MAX}")
    return Ping(token, "fail" if exit_code else "success", exit_code, took_s)


def _took_s(texts: Sequence[str]) -> float | None:
    if not texts:
        return None
    try:
        took_s = float(texts[0])
    except ValueError:
        took_s = -1.0
    if len(texts) > 1 or not isfinite(took_s) or not 0 <= took_s <= DURATION_MAX_S:
        message = "is not a number of seconds up to 30 days, as in duration=12.5"
        raise InvalidInputError.at("duration", message)
    return took_s
