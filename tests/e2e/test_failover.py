"""A primary dies, a standby without its last seconds takes over, the old primary comes back."""

from __future__ import annotations

from tests.e2e.failover.failover import fail_over


async def test_what_a_fail_over_lost_is_claimed_again_and_the_old_primary_is_refused(
    valkey: str,
) -> None:
    """PG-02, PG-03: and under the same ids."""
    async with fail_over(valkey) as played:
        counts = await played.run(synchronous=False, jobs=5, schedulers=1)
    assert counts["runs that the standby lacked"] >= 5
