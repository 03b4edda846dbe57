"""Limits over real processes: whoever is killed, the target sees no more calls than allowed.

`python -m tests.e2e.limits` is the long form.
"""

from __future__ import annotations

import pytest
from tests.e2e.cluster import Cluster
from tests.e2e.limits import limits


@pytest.mark.parametrize("limit", [1, 3])
async def test_the_target_never_sees_more_than_the_limit_at_once(
    cluster: Cluster, limit: int
) -> None:
    figures = await limits(cluster, seconds=8, limit=limit, jobs=40, every_s=2, seed=20261130)
    assert figures["most at once"] == limit
    assert figures["permits of runs that are over"] == 0
