"""Check-ins: their tokens, and what something else tells by them of a job that it runs."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import timedelta
from random import Random

from matins.domain.alerts.checkins import CheckinToken, Ping, hash_of
from matins.domain.ports.alerts import CheckinStore, Pinged
from matins.domain.runs.states import Kind
from matins.domain.values.errors import NotFoundError, TooManyRequestsError
from matins.domain.values.ids import run_id, whole_ms
from matins.domain.values.names import check_name

_TOKEN_BYTES = 24
_MS = timedelta(milliseconds=1)


class Checkins:
    """Gives tokens to check-ins, and records what is told by them as runs of their jobs."""

    def __init__(self, store: CheckinStore, rng: Random) -> None:
        """`rng` draws tokens: one that nobody can guess."""
        self._store = store
        self._rng = rng

    async def rotate(self, team: str, name: str) -> CheckinToken:
        """Give a check-in a new token; the one before is of no use from now on.

        Raises NotFoundError.
        """
        check_name("team", team)
        check_name("job", name)
        token = urlsafe_b64encode(self._rng.randbytes(_TOKEN_BYTES)).decode()
        if not await self._store.rotate(team, name, hash_of(token)):
            raise NotFoundError(f"team {team} has no check-in {name!r}")
        return CheckinToken(team, name, f"/ping/{token}")

    async def ping(self, ping: Ping, output: str, cut: int) -> None:
        """Take what is told. Raises NotFoundError, TooManyRequestsError."""
        token_hash = hash_of(ping.token)
        taken = await self._store.take(token_hash, begins=ping.kind == "start")
        if taken is None:
            if await self._store.knows(token_hash):
                raise TooManyRequestsError("the token is used too often; once in 5 s is enough")
            raise NotFoundError("there is no such check-in")
        if ping.kind == "start":
            return
        started_at = taken.started_at
        if ping.took_s is not None:
            started_at = taken.now - timedelta(seconds=ping.took_s)
        result, due_at = ping.result(output, cut), whole_ms(taken.now)
        while not await self._store.record(
            Pinged(run_id(taken.job_id, due_at, Kind.MANUAL), taken, due_at, started_at, result)
        ):  # another has ended in this very millisecond
            due_at += _MS
