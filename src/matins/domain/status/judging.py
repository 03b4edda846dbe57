"""The judgement: what is wrong, by what was seen. Pure, and the same on every API process.

To see one thing more: a function that yields findings, and its line in `MEMBERS`. What follows from
something else that is told is not told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

import msgspec

from matins.domain.executors.fleet import STALLED, instant, last_seen
from matins.domain.status.facts import COUNT_MAX, PoolStatus, SystemFacts
from matins.domain.status.findings import Finding, FindingKind, SystemStatus
from matins.domain.values.ids import PARTITIONS


class Outage(msgspec.Struct, frozen=True):
    """Something that can't be used, since when it was last seen to work, and the reason."""

    since: datetime | None
    reason: str = ""


class Sight(msgspec.Struct, frozen=True):
    """What a process saw when it looked, and what it could not see.

    It looks since `first_at`. `facts` are the last ones; while the database is away they are older
    than `now`.
    """

    now: datetime
    first_at: datetime
    facts: SystemFacts | None = None
    database: Outage | None = None
    cache: Outage | None = None
    outputs: Outage | None = None


def judge(sight: Sight, report_after: timedelta) -> SystemStatus:
    """Return what is wrong for at least `report_after`, the gravest first, and the figures.

    What is shorter may be a restart; what was never otherwise counts from the first look on. While
    the database is away, what was found before still counts: nobody can say that it is over.
    """
    facts = sight.facts or SystemFacts(sight.now, without_holder=list(range(PARTITIONS)))

    def lasts(finding: Finding, now: datetime) -> bool:
        return now - (finding.since or sight.first_at) >= report_after

    findings = [
        outage
        for outage in (*_database(sight), *_cache(sight), *_outputs(sight))
        if lasts(outage, sight.now)
    ]
    if sight.facts:
        of_rows = chain.from_iterable(member(facts) for member in MEMBERS)
        findings += [finding for finding in of_rows if lasts(finding, facts.now)]
    findings.sort(
        key=lambda finding: (finding.grade == "degraded", list(FindingKind).index(finding.kind))
    )
    return SystemStatus(
        judged_at=sight.now,
        is_well=not findings,
        findings=findings,
        schedulers=facts.schedulers,
        partitions_held=PARTITIONS - len(facts.without_holder),
        unclaimed_since=facts.unclaimed_since,
        overdue=facts.overdue,
        pools=facts.pools,
        runs=facts.runs,
        dead_letters=facts.dead_letters,
    )


def _database(sight: Sight) -> Iterator[Finding]:
    if sight.database is not None:
        yield Finding(
            FindingKind.DATABASE,
            "failing",
            sight.database.since,
            f"PostgreSQL can't be used, so nothing is claimed, started or recorded:"
            f" {sight.database.reason}",
            "see that it runs, is reached under MATINS_POSTGRES, and takes writes (a full disk,"
            " a standby, default_transaction_read_only); then all goes on by itself",
        )


def _cache(sight: Sight) -> Iterator[Finding]:
    if sight.cache is not None:
        yield Finding(
            FindingKind.CACHE,
            "degraded",
            sight.cache.since,
            "Valkey can't be used; runs go on, and their status is read from PostgreSQL:"
            f" {sight.cache.reason}",
            "see that it runs and is reached under MATINS_VALKEY; nothing in it needs to be saved",
        )


def _outputs(sight: Sight) -> Iterator[Finding]:
    if sight.outputs is not None:
        yield Finding(
            FindingKind.OUTPUT,
            "degraded",
            sight.outputs.since,
            "whole outputs can't be kept; runs go on, and of their outputs head and tail are there:"
            f" {sight.outputs.reason}",
            "see that what MATINS_OUTPUT_STORE names is there and takes writes; executors hold what"
            " is to be kept, as long as they have room",
        )


def _schedulers(facts: SystemFacts) -> Iterator[Finding]:
    if not facts.schedulers:
        yield Finding(
            FindingKind.SCHEDULERS,
            "failing",
            facts.seen_at,
            "no scheduler is alive, so nothing is claimed;"
            f" {last_seen(facts.seen_at)}{_overdue(facts)}",
            "start one (`matins scheduler`), or see in its log why it ends or hangs; what was"
            " missed is then decided by each job's misfire policy",
        )


def _partitions(facts: SystemFacts) -> Iterator[Finding]:
    if facts.schedulers and facts.without_holder:
        named = ", ".join(map(str, facts.without_holder[:5]))
        more = ", …" if len(facts.without_holder) > 5 else ""
        yield Finding(
            FindingKind.PARTITIONS,
            "failing",
            facts.uncovered_since or facts.began_at,
            f"partitions that no scheduler holds, so that their jobs don't fire:"
            f" {len(facts.without_holder)} ({named}{more}){_overdue(facts)}",
            "look at `matins cluster`; a session that keeps their rows locked shows in"
            " pg_stat_activity and can be ended by pg_terminate_backend",
        )


def _claims(facts: SystemFacts) -> Iterator[Finding]:
    if facts.behind_since is not None:
        yield Finding(
            FindingKind.CLAIMS,
            "failing",
            facts.behind_since,
            "schedulers are behind: what was due has not been claimed, though its partition has a"
            f" holder{_overdue(facts)}",
            "look at LAG in `matins cluster` and at the logs of schedulers; start more of them if"
            " they are busy, and see whether PostgreSQL is slow or a session holds locks",
        )


def _executors(facts: SystemFacts) -> Iterator[Finding]:
    """Nothing is queued yet, but nothing that is due next can start either."""
    idle = not any(pool.queued_since for pool in facts.pools)
    if facts.has_due_jobs and idle and not any(pool.executors for pool in facts.pools):
        heard = [pool.heard_at for pool in facts.pools if pool.heard_at is not None]
        yield Finding(
            FindingKind.EXECUTORS,
            "failing",
            max(heard, default=None),
            "no executor is alive, so nothing that is due will start",
            "start one (`matins executor`), and see that it reaches the API under MATINS_URL with"
            " the executors' token",
        )


def _pools(facts: SystemFacts) -> Iterator[Finding]:
    for pool in facts.pools:
        if pool.queued_since is None:
            continue
        runs = f"{pool.queued}{' or more' if pool.queued == COUNT_MAX else ''}"
        if not pool.executors:
            yield Finding(
                FindingKind.UNSERVED,
                "failing",
                pool.heard_at,
                f"no executor serves pool {pool.pool}; runs that wait for one: {runs}",
                f"start one with MATINS_POOLS={pool.pool}, or give the jobs another pool;"
                " `matins executors list` shows which there are",
                pool.pool,
            )
        elif facts.now - pool.queued_since > STALLED:
            yield _backlog(pool, runs)


def _backlog(pool: PoolStatus, runs: str) -> Finding:
    return Finding(
        FindingKind.BACKLOG,
        "degraded",
        pool.queued_since,
        f"runs of pool {pool.pool} wait long for a free executor: {runs} are queued; executors"
        f" that serve it: {pool.executors}",
        "start more executors, or give those more MATINS_SLOTS; or spread the schedules:"
        " `matins forecast` shows when most is due",
        pool.pool,
    )


def _restore(facts: SystemFacts) -> Iterator[Finding]:
    if (restore := facts.restore) is not None:
        yield Finding(
            FindingKind.RESTORE,
            "degraded",
            restore.noticed_at,
            "the database was restored, or has not been used for long: what was due from"
            f" {instant(restore.lost_since)} to {instant(restore.seen_until)} may have run, and"
            " jobs with misfire policy `all` don't catch up on it",
            "decide by `matins resume-after-restore`; --dry-run tells first what there is",
        )


def _channels(facts: SystemFacts) -> Iterator[Finding]:
    for channel in facts.failing_channels:
        yield Finding(
            FindingKind.CHANNEL,
            "degraded",
            channel.failing_since,
            f"alerts do not arrive at the channel {channel.name}: {channel.failure}",
            f"see that its receiver is there, or change it (`matins channels add {channel.name}`);"
            " what waits is sent again for a day",
            channel.name,
        )


MEMBERS: Final[tuple[Callable[[SystemFacts], Iterator[Finding]], ...]] = (
    _schedulers,
    _partitions,
    _claims,
    _executors,
    _pools,
    _restore,
    _channels,
)


def _overdue(facts: SystemFacts) -> str:
    return f"; jobs that are overdue: {facts.overdue}" if facts.overdue else ""
