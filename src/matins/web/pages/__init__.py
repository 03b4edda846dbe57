"""The pages: one module each, and one line of `PAGES`."""

from __future__ import annotations

from matins.web.pages import calendar, chains, job, job_deeds, jobs, overview, revisions

PAGES = (overview, jobs, job, job_deeds, revisions, calendar, chains)
"""The modules whose routers are the web page, in the order of the navigation."""
