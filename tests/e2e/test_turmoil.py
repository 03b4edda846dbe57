"""Owners change everything at random while processes are killed: every promise is kept."""

from __future__ import annotations

from tests.e2e.turmoil.turmoil import turmoil


async def test_whatever_owners_do_while_processes_are_killed_every_promise_is_kept() -> None:
    broken, counts = await turmoil(seconds=8, jobs=1, owners=2, every_s=3, seed=20261129)
    assert broken == []
    assert counts["runs succeeded"] > 0  # how many is up to the machine
    assert counts["jobs deleted delete_after"] > 0
