"""The turmoil itself: a cluster, its owners, who is killed when, and the verdict."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from random import Random
from typing import Any, NamedTuple

from tests.e2e.cluster import Cluster, Role, until
from tests.e2e.turmoil import promises
from tests.e2e.turmoil.owner import Owner, Span, WindowSpan
from tests.e2e.turmoil.schedules import KINDS

from matins.testing.history import check

UNENDED = "SELECT count(*) FROM runs WHERE finished_at IS NULL AND due_at < $1"
UNSEEN = """
SELECT count(*)
FROM leases p
JOIN jobs j ON j.partition = p.partition
WHERE j.state = 'active' AND coalesce(p.watermark < $1, true)
"""
LEFT_OVER = """
SELECT count(*)
FROM jobs
WHERE state = 'active'
  AND next_due_at IS NULL
  AND follows IS NULL
  AND schedule ? 'delete_after'
  AND changed_at < $1
"""
COUNTS = """
SELECT 'runs ' || state AS what, sum(due_count) AS number FROM runs GROUP BY 1
UNION ALL
SELECT 'skipped: ' || split_part(reason, ' ', 1), sum(due_count)
FROM runs
WHERE state = 'skipped'
GROUP BY 1
UNION ALL
SELECT 'jobs ' || state || ' ' || reason, count(*) FROM jobs GROUP BY 1
"""


class Verdict(NamedTuple):
    """What was broken, and how often what happened."""

    broken: list[str]
    counts: dict[str, int]


async def turmoil(seconds: int, jobs: int, owners: int, every_s: float, seed: int) -> Verdict:
    """Let owners work for so long, and somebody be killed every few seconds; then judge.

    `jobs`: how many of each kind, for each owner.
    """
    rng = Random(seed)
    async with Cluster(MATINS_UPKEEP="1s") as cluster:
        apis = [await cluster.start("api") for _ in range(2)]
        killable = [await cluster.start("scheduler") for _ in range(3)]
        killable += [await cluster.start("executor") for _ in range(2)]
        begun = await cluster.whole_second(0)
        busy = []
        for number in range(owners):
            names = [f"{kind}-{number}{index}" for kind in KINDS for index in range(jobs)]
            busy.append(Owner(cluster, Random(rng.random()), number, names))
        await asyncio.gather(*(owner.prepare() for owner in busy))
        end = await cluster.whole_second(seconds)
        work = [owner.work(end) for owner in busy]
        await asyncio.gather(_kill(cluster, apis + killable, rng, every_s, end), *work)
        await cluster.ready(apis[0], cluster.urls[0])
        end = await cluster.whole_second(1)
        broken = await _rest(cluster, end)
        broken += await _judge(cluster, busy, begun, end)
        return Verdict(broken, await _counts(cluster, busy))


async def _kill(
    cluster: Cluster, killable: list[Role], rng: Random, every_s: float, end: datetime
) -> None:
    while await cluster.now() < end:
        victim = rng.choice(killable)
        await victim.kill()
        await asyncio.sleep(rng.uniform(0, 1))
        await victim.start()
        await asyncio.sleep(every_s)


async def _rest(cluster: Cluster, end: datetime) -> list[str]:
    """Wait until all that was due before an instant has its row and its end; tell what has not."""
    awaited = {
        "runs have not ended": UNENDED,
        "jobs are not accounted for": UNSEEN,
        "jobs are not deleted after their end": LEFT_OVER,
    }
    broken = []
    for what, query in awaited.items():

        async def none_left(query: str = query) -> bool:
            return not await cluster.value(query, end)

        try:
            await until(none_left, 40)
        except AssertionError:
            broken.append(f"{await cluster.value(query, end)} {what}")
    return broken


async def _judge(
    cluster: Cluster, owners: Iterable[Owner], begun: datetime, end: datetime
) -> list[str]:
    """Find every broken promise about what was due before an instant."""
    audits = [audit async for audit in _audits(cluster, begun, end)]
    history = await cluster.history(end)
    rows = await promises.all_runs(cluster)  # after the calls, so that each call has its run
    windows: list[WindowSpan] = [window for owner in owners for window in owner.windows]
    stops: dict[str, list[Span]] = {}
    for owner in owners:
        for name, spans in owner.stops.items():
            stops.setdefault(name, []).extend(spans)
    # The audit computes what was due, from the revisions; the checker judges all the rest.
    unjudged = ("was not due", "stands for")
    found = [breach.message for breach in check(history)]
    return [
        *promises.broken_audits(audits),
        *(text for text in found if not any(words in text for words in unjudged)),
        *promises.overlapping_chains(rows),
        *promises.runs_in_windows(rows, windows),
        *promises.retries_in_windows(await promises.all_retries(cluster), windows),
        *promises.claims_of_stopped(rows, stops),
        *promises.calls_of_skipped(history.calls, rows),
    ]


async def _audits(cluster: Cluster, since: datetime, end: datetime) -> AsyncIterator[Any]:
    """Yield the audits of all jobs, page by page."""
    asked = {"team": "e2e", "since": since.isoformat(), "until": end.isoformat()}
    while True:
        async with cluster.http.get(f"{cluster.urls[0]}/v1/audit", params=asked) as answer:
            page = await answer.json()
            assert answer.status == 200, page
        for job in page["jobs"]:
            yield job
        if page["next"] is None:
            return
        asked["after"] = page["next"]


async def _counts(cluster: Cluster, owners: Iterable[Owner]) -> dict[str, int]:
    answers: Counter[str] = Counter()
    for owner in owners:
        answers += owner.answers
    rows = await cluster.rows(COUNTS)
    return {row["what"].strip(): int(row["number"]) for row in rows} | dict(sorted(answers.items()))
