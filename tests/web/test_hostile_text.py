"""Whatever owners and their programs write is text on every page, and never a part of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import Page
from tests.e2e.cluster import Cluster
from tests.web.addresses import addresses, parameters, templates
from tests.web.calling import call, put, run_once
from tests.web.conftest import shared

MARK = "data-hostile"
HOSTILE = f"\"'><b {MARK}>bold</b><script>console.error('it ran')</script>"
TEAM = "hostile"
LEADER = "leader"


@shared()
async def pages(matins: Cluster) -> dict[str, str]:
    """The addresses of pages that show what hostile people and programs wrote."""
    day = timedelta(days=1)
    now = await matins.now()
    window = {"starts_at": (now + day).isoformat(), "ends_at": (now + 2 * day).isoformat()}
    told: dict[str, Any] = {"description": HOSTILE, "labels": {HOSTILE: HOSTILE}}
    prints = {"command": {"argv": ["sh", "-c", 'echo "$1"; exit 7', "sh", HOSTILE]}}
    await put(matins, TEAM, LEADER, **told, target=prints, schedule={"every": "1h"})
    await put(matins, TEAM, "follower", **told, schedule={"after": {"jobs": [LEADER]}})
    await put(matins, TEAM, LEADER, **told, target=prints, schedule={"every": "2h"})
    run = await run_once(matins, TEAM, LEADER)
    assert run["state"] == "dead"
    calendar = {"description": HOSTILE, "exclude": [{"dates": "12-24", "label": HOSTILE}]}
    await call(matins, "PUT", f"teams/{TEAM}/calendars/closed", {"name": "closed", **calendar})
    hidden = {"name": "move", "reason": HOSTILE, **window}
    await call(matins, "PUT", f"teams/{TEAM}/windows/move", hidden)
    again = {"since": (now - day).isoformat(), "reason": HOSTILE, "again": True}
    started = await call(matins, "POST", f"teams/{TEAM}/jobs/{LEADER}/backfills", again)
    await call(matins, "POST", f"teams/{TEAM}/jobs/follower/pause", {"reason": HOSTILE})
    return addresses(
        {
            "team": TEAM,
            "name": LEADER,
            "job": LEADER,
            "run_id": run["id"],
            "backfill_id": started["backfill"]["id"],
        }
    )


@pytest.mark.parametrize("template", templates())
async def test_what_is_hostile_stays_text(template: str, pages: dict[str, str], page: Page) -> None:
    assert template in pages, f"the examples lack one of {parameters(template)}"
    answer = await page.context.request.get(pages[template], headers={"Accept": "text/html"})
    text = await answer.text()
    if "<html" not in text:  # a part of a page, or what is saved
        assert f"<b {MARK}" not in text or "text/html" not in answer.headers["content-type"]
        return
    narrowed = "" if parameters(template) else f"?team={TEAM}"
    await page.goto(pages[template] + narrowed)
    assert await page.locator(f"[{MARK}]").count() == 0


async def test_labels_are_shown_as_they_were_written(page: Page, pages: dict[str, str]) -> None:
    del pages
    await page.goto(f"/jobs?team={TEAM}")
    assert f"{HOSTILE}={HOSTILE}" in await page.locator("main").inner_text()
