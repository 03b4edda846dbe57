"""The claim, in PostgreSQL. See `domain.ports.Agenda.claim`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import asyncpg

from matins.domain.runs.admission.waiting import CLAIM, Waiting
from matins.domain.runs.claims import Claim, Claimed
from matins.domain.runs.states import Kind, RunState
from matins.store.columns import fence_columns
from matins.store.database import Database
from matins.store.days import with_days
from matins.store.queries import load_queries

_Q = load_queries("claims.sql")
_NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)

APART_MIN: Final = 200
"""From so many on, claims that are due on time go in a statement of their own, which is cheaper."""


REPEATS: Final = 20
"""So many batches after one with a repeated claim are taken to have some as well: a take-over."""


class ClaimStatements:
    """Sends claims: those due on time in a short statement, the rest in one that can do it all."""

    def __init__(self, claims: Database, reads: Database) -> None:
        self._claims = claims
        self._reads = reads
        self._repeats = 0

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`.

        The rest comes last: what is known of the outcome is known of all that can't be repeated.
        What may have its row already is part of it.
        """
        locked = _locked(claims)
        on_time, rest = _apart(claims, locked)
        answer = Claimed()
        if on_time and not self._repeats:
            try:
                columns = _columns(on_time, epochs)
                answer = await self._send("claim", holder, epochs, columns, on_time)
                on_time = []
            except asyncpg.UniqueViolationError:
                # One claim has its row already, so nothing of the statement was done. After a
                # take-over many have, so the next batches do without this statement at once.
                self._repeats = REPEATS
        self._repeats = max(0, self._repeats - 1)
        if rest := [*on_time, *rest]:
            columns = _columns(rest, epochs) | _more_columns(rest, locked)
            answer = answer.with_(await self._send("claim_rest", holder, epochs, columns, rest))
        return answer

    async def locked_partitions(self, partitions: Sequence[int]) -> set[int]:
        """See `domain.ports.Agenda`."""
        rows = await self._claims.fetch(_Q["locked_partitions"], partitions=partitions)
        return {row["partition"] for row in rows}

    async def _send(
        self,
        name: str,
        holder: UUID,
        epochs: Mapping[int, int],
        columns: Mapping[str, object],
        claims: Sequence[Claim],
    ) -> Claimed:
        wanted = {claim.partition for claim in claims}
        queued = [claim.fire_at for claim in claims if claim.state is RunState.QUEUED]

        async def insert() -> asyncpg.Record | None:
            return await self._claims.fetchrow(
                _Q[name],
                holder=holder,
                oldest_fire_at=min(queued, default=_NEVER),
                **fence_columns(wanted, epochs),
                **columns,
            )

        row = await with_days(self._reads, [claim.due_at for claim in claims], insert)
        assert row is not None
        return Claimed(
            made={claim.run_id for claim in claims} if row["made"] is None else set(row["made"]),
            refused=wanted.difference(row["fenced"]),
            stale=set(row["stale"]),
            waiting=_waiting(row, claims),
        )


def _waiting(row: asyncpg.Record, claims: Sequence[Claim]) -> list[Waiting]:
    if not row["asked"]:
        return []
    claimed = {claim.run_id: claim for claim in claims}
    columns = ("asked", "asked_partitions", "asked_ready_ats", "asked_team_ids")
    return [
        Waiting(run, partition, ready_at, team, CLAIM, claimed[run].pool, claimed[run].priority)
        for run, partition, ready_at, team in zip(*(row[column] for column in columns), strict=True)
    ]


def _apart(
    claims: Sequence[Claim], locked: Collection[UUID]
) -> tuple[Sequence[Claim], Sequence[Claim]]:
    """Tell the claims that are due on time from the rest; a few are left with it."""
    on_time: list[Claim] = []
    rest: list[Claim] = []
    for claim in claims:
        is_plain = claim.state is RunState.QUEUED and claim.kind is Kind.SCHEDULED
        (on_time if is_plain and claim.job_id not in locked else rest).append(claim)
    return ([], claims) if rest and len(on_time) < APART_MIN else (on_time, rest)


def _locked(claims: Sequence[Claim]) -> set[UUID]:
    """Return the jobs of which a change must not come between: it may record the same due
    times, and the key holds off a second row only for what is the first of both.
    """
    locked = {claim.job_id for claim in claims if claim.follows_end or claim.due_until is not None}
    if len({claim.job_id for claim in claims}) < len(claims):
        locked |= {
            job for job, count in Counter(claim.job_id for claim in claims).items() if count > 1
        }
    return locked


def _columns(claims: Sequence[Claim], epochs: Mapping[int, int]) -> dict[str, object]:
    """Return what each claim statement is told of its claims, column by column."""
    due_ats = [claim.due_at for claim in claims]
    fire_ats = [claim.fire_at for claim in claims]
    open_sinces = [claim.open_since for claim in claims]
    return {
        "run_ids": [claim.run_id for claim in claims],
        "job_ids": [claim.job_id for claim in claims],
        "revisions": [claim.revision for claim in claims],
        "claim_partitions": [claim.partition for claim in claims],
        "claim_epochs": [epochs.get(claim.partition) for claim in claims],
        "due_ats": due_ats,
        "ranks": [claim.rank for claim in claims],
        "fire_ats": [] if fire_ats == due_ats else fire_ats,
        "open_sinces": open_sinces if any(open_sinces) else [],
    }


def _more_columns(claims: Sequence[Claim], locked: set[UUID]) -> dict[str, object]:
    """Return what `claim_rest` is told besides."""
    ranges = [claim for claim in claims if claim.due_until is not None]
    return {
        "kinds": [claim.kind for claim in claims],
        "states": [claim.state for claim in claims],
        "reasons": [claim.reason for claim in claims],
        "due_untils": [claim.due_until for claim in claims],
        "due_counts": [claim.due_count for claim in claims],
        "are_locked": [claim.job_id in locked for claim in claims],
        "range_ids": [claim.run_id for claim in ranges],
        "range_job_ids": [claim.job_id for claim in ranges],
        "range_ends": [claim.due_until for claim in ranges],
        "next_due_ats": [claim.next_due_at for claim in ranges],
        "next_fire_ats": [claim.next_fire_at for claim in ranges],
    }
