"""What is seen of a run while it goes on and when it is over, and what is done about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect
from tests.e2e.cluster import Cluster
from tests.web.calling import call, put, run_once

TEAM = "seen"
LONG_MS = 40_000
"""For what a busy machine does."""


def prints(script: str, **env: str) -> dict[str, Any]:
    """Return a target that runs a script of the shell."""
    return {"command": {"argv": ["sh", "-c", script], "env": env}}


def until(flag: Path) -> str:
    """Return what waits in a script until a file is there: so a run ends when the test says so."""
    return f"until [ -e {flag} ]; do sleep 0.05; done"


async def test_a_run_is_watched_to_its_end(page: Page, matins: Cluster, tmp_path: Path) -> None:
    flag = tmp_path / "go"
    await put(matins, TEAM, "short", target=prints(f"echo begun; {until(flag)}; echo over"))
    run = await call(matins, "POST", f"teams/{TEAM}/jobs/short/trigger", {})
    await page.goto(f"/runs/{run['id']}")
    await expect(page.locator(".state.is-running").first).to_be_visible(timeout=LONG_MS)
    flag.touch()
    await expect(page.locator(".state.is-succeeded").first).to_be_visible(timeout=LONG_MS)
    await expect(page.locator("#output-text")).to_contain_text("over", timeout=LONG_MS)
    for milestone in ("Due", "Claimed", "Started", "Finished"):
        await expect(page.locator(".milestones")).to_contain_text(milestone)


async def test_output_is_seen_while_the_run_goes_on(
    page: Page, matins: Cluster, tmp_path: Path
) -> None:
    flag = tmp_path / "go"
    first, second = (
        f"for i in {lines}; do echo line $i; echo ::progress $i/5 of it; done"
        for lines in ("1 2", "3 4 5")
    )
    await put(matins, TEAM, "talks", target=prints(f"{first}; {until(flag)}; {second}"))
    run = await call(matins, "POST", f"teams/{TEAM}/jobs/talks/trigger", {})
    await page.goto(f"/runs/{run['id']}")
    output = page.locator("#output-text")
    await expect(output).to_contain_text("line 2", timeout=LONG_MS)
    await expect(output).not_to_contain_text("line 5")
    await expect(page.locator("[data-progress]")).to_contain_text("of 5")
    await expect(page.locator(".state.is-running").first).to_be_visible(timeout=LONG_MS)
    flag.touch()
    await expect(output).to_contain_text("line 5", timeout=LONG_MS)
    await expect(page.locator(".state.is-succeeded").first).to_be_visible(timeout=LONG_MS)
    lines = (await output.inner_text()).splitlines()
    assert [line for line in lines if line[:2] != "::"] == [f"line {at}" for at in range(1, 6)]


async def test_a_run_that_failed_is_mended_and_replayed(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "broken", target=prints("echo 'no such table: orders' >&2; exit 3"))
    run = await run_once(matins, TEAM, "broken")
    await page.goto(f"/runs/{run['id']}")
    await expect(page.get_by_text("no such table: orders").first).to_be_visible()
    await expect(page.get_by_role("heading", name="Why it failed")).to_be_visible()
    await put(matins, TEAM, "broken", target=prints("echo mended"))
    await page.reload()
    await page.get_by_role("button", name="Replay", exact=True).click()
    await expect(page.locator(".state.is-succeeded").first).to_be_visible(timeout=LONG_MS)
    await expect(page.get_by_text("mended").first).to_be_visible(timeout=LONG_MS)


async def test_a_dead_run_is_replayed_with_another_input(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "picky", target=prints('echo "day $DAY"; test "$DAY" = 2', DAY="1"))
    run = await run_once(matins, TEAM, "picky")
    await page.goto(f"/runs/{run['id']}")
    await page.get_by_role("button", name="Replay with edited input").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Variables").fill("DAY=2")
    await dialog.get_by_role("button", name="Replay").click()
    await expect(page.locator(".state.is-succeeded").first).to_be_visible(timeout=LONG_MS)
    assert not page.url.endswith(run["id"])


async def test_a_run_is_cancelled_after_a_question(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "long", target=prints("echo begun; exec sleep 300"))
    run = await call(matins, "POST", f"teams/{TEAM}/jobs/long/trigger", {})
    await page.goto(f"/runs/{run['id']}")
    await expect(page.locator(".state.is-running").first).to_be_visible(timeout=LONG_MS)
    await page.get_by_role("button", name="Cancel", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    await expect(page.locator(".state.is-cancelled").first).to_be_visible(timeout=LONG_MS)


async def test_output_is_searched_and_downloaded(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "wordy", target=prints("seq 1 400; echo the needle; seq 1 400"))
    run = await run_once(matins, TEAM, "wordy")
    await page.goto(f"/runs/{run['id']}")
    await page.get_by_label("Find in the output").fill("needle")
    await expect(page.locator("#output mark").first).to_be_in_viewport()
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download").click()
    path = await (await download.value).path()
    assert "the needle\n" in path.read_text("utf-8")
