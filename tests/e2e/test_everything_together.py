"""Many processes of each role, and faults under load: nothing is lost, doubled or left open."""

from __future__ import annotations

from tests.e2e.chaos import chaos


async def test_random_kills_of_any_role_lose_and_double_nothing() -> None:
    counts = await chaos(seconds=15, jobs=100, every_s=3, seed=20261129)
    assert counts["due"] == 1500
