"""The pages: one module each, and one line of `PAGES`."""

from __future__ import annotations

from matins.web.pages import (
    backfill_deeds,
    backfills,
    calendar,
    chains,
    cluster,
    dead,
    dead_deeds,
    job,
    job_bulk,
    job_deeds,
    job_form,
    jobs,
    overview,
    playground,
    revisions,
    run,
    run_deeds,
    runs,
    team_alerts,
    team_windows,
    teams,
)

PAGES = (
    *(overview, jobs, job_bulk, job, job_form, job_deeds, revisions),
    *(runs, run, run_deeds, calendar, dead, dead_deeds),
    *(backfills, backfill_deeds, chains, cluster),
    *(teams, team_windows, team_alerts, playground),
)
"""The modules whose routers are the web page, in the order of the navigation."""
