"""Signing in as people do: by the form."""

from __future__ import annotations

from playwright.async_api import Page


async def sign_in(page: Page, token: str) -> None:
    """Go to the first page, give the token where it is asked for, and be back there."""
    await page.goto("/")
    await page.get_by_label("Token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("/")
