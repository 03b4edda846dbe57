"""The pages: one module each, and one line of `PAGES`."""

from __future__ import annotations

from matins.web.pages import (
    calendar,
    chains,
    job,
    job_deeds,
    jobs,
    overview,
    revisions,
    run,
    run_deeds,
    runs,
)

PAGES = (overview, jobs, job, job_deeds, revisions, runs, run, run_deeds, calendar, chains)
"""The modules whose routers are the web page, in the order of the navigation."""
