"""A company with jobs as real ones have them, for pictures of the page and for tests that look at
each of its pages: some fail, some are late, some follow others.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from tests.e2e.cluster import TOKEN, Cluster
from tests.web.company.past import write_past
from tests.web.company.shops import shops

from matins.cli.applying import apply_jobs, read_jobs
from matins.client.sdk import Matins
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.spec import JobFile
from matins.domain.jobs.windows import Window
from matins.domain.runs.backfills.values import BackfillRequest

LONG = "payments/jobs/card-stream-compaction"
"""A job whose runs take a minute and print all the time."""

HERE = Path(__file__).parent
HOUR = timedelta(hours=1)


async def found(cluster: Cluster, days: int = 30, shops_count: int = 0) -> None:
    """Store the company's jobs and the runs of so many days. Only an API runs in the cluster.

    It has so many shops, with a job each.
    """
    async with Matins(cluster.urls[0], TOKEN) as client:
        files = [read_jobs(path.read_text("utf-8"), path.name) for path in HERE.glob("*.yaml")]
        for file in [*files, shops(shops_count)] if shops_count else files:
            async for _ in apply_jobs(client, file):
                pass
        await write_past(cluster.dsn, timedelta(days=days))
        await _deeds(client, {file.team: file for file in files}, await cluster.now())


def environment(folder: Path) -> dict[str, str]:
    """Return what an executor needs to find the company's programs, which it puts into a folder."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    files = [read_jobs(path.read_text("utf-8"), path.name) for path in HERE.glob("*.yaml")]
    for file in [*files, shops(1)]:
        for job in file.jobs:
            if job.target.command is not None:
                name = programs / job.target.command.argv[0]
                if not name.exists():
                    name.symlink_to(HERE / "program.sh")
    return {"PATH": f"{programs}:{os.environ['PATH']}", "MATINS_POOLS": "default,batch,gpu"}


async def examples(cluster: Cluster) -> dict[str, str]:
    """Return what stands in the addresses of pages about one thing, which shows something."""
    [row] = await cluster.rows(_EXAMPLES)
    return {"team": "analytics", "name": "build-marts", "job": "build-marts"} | {
        name: str(value) for name, value in row.items()
    }


async def views(cluster: Cluster) -> dict[str, str]:
    """Return the addresses that show something, by the names of their pictures."""
    known = await examples(cluster)
    [row] = await cluster.rows(_NEWEST, LONG.rpartition("/")[2])
    job = "/teams/payments/jobs/nightly-settlement"
    return {
        "overview": "/",
        "jobs": "/jobs",
        "job": job,
        "job-chain": "/teams/analytics/jobs/build-marts",
        "job-edit": f"{job}/edit",
        "job-runs": f"{job}/runs",
        "job-revisions": "/teams/analytics/jobs/build-marts/revisions",
        "job-alerts": f"{job}/alerts",
        "job-why": "/teams/platform/jobs/verify-backup/explain",
        "job-new": "/jobs/new",
        "job-paused": "/teams/growth/jobs/referral-bonus",
        "runs": "/runs",
        "run": f"/runs/{row['id']}",
        "run-failed": f"/runs/{known['run_id']}",
        "calendar": "/calendar?team=payments",
        "dead": "/dead",
        "backfills": "/backfills",
        "chains": "/chains",
        "cluster": "/cluster",
        "teams": "/teams",
        "team": "/teams/payments",
        "team-alerts": "/teams/payments/alerts",
        "team-windows": "/teams/platform/windows",
        "letters": "/dead/letters?team=payments",
        "backfill": f"/backfills/{known['backfill_id']}",
        "jobs-none": "/jobs?q=nothing-like-it",
        "runs-none": "/runs?team=nobody",
        "sign-in": "/sign-in",
        "not-found": "/teams/payments/jobs/none",
        "playground": "/playground",
    }


async def _deeds(client: Matins, files: dict[str, JobFile], now: datetime) -> None:
    """Let people do what they do: change, pause, skip, plan."""
    [marts] = [job for job in files["analytics"].jobs if job.name == "build-marts"]
    for timeout, reason in (("40m", "runs hung last week"), ("50m", "margin takes longer")):
        change = msgspec.structs.replace(marts, timeout=timeout)
        await client.put_job("analytics", change, reason=reason)
    await client.pause_job("growth", "referral-bonus", Pause(reason="fraud is looking into it"))
    nightly = await client.get_job("payments", "nightly-settlement")
    if nightly.next_due_at is not None:
        await client.skip_occurrence("payments", "nightly-settlement", nightly.next_due_at)
    start = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + 5 * HOUR
    window = Window("move-to-db-3", start, start + 2 * HOUR, reason="the main cluster moves")
    await client.put_window("platform", window)
    since = start - 78 * HOUR
    again = BackfillRequest(since, since + 24 * HOUR, again=True, reason="orders came late")
    await client.start_backfill("analytics", "load-orders", again)


_NEWEST = """
SELECT r.id FROM runs r JOIN jobs j ON j.id = r.job_id
WHERE j.name = $1
ORDER BY r.state = 'running' DESC, r.claimed_at DESC
LIMIT 1
"""

_EXAMPLES = """
SELECT (
    SELECT r.id FROM runs r JOIN jobs j ON j.id = r.job_id
    WHERE j.name = 'retry-payouts' AND r.state = 'dead'
    ORDER BY r.due_at DESC
    LIMIT 1
) AS run_id, (SELECT id FROM backfills LIMIT 1) AS backfill_id
"""
