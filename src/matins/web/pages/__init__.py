"""The pages: one module each, and one line of `PAGES`."""

from __future__ import annotations

from matins.web.pages import jobs, overview

PAGES = (overview, jobs)
"""The modules whose routers are the web page, in the order of the navigation."""
