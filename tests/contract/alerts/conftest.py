"""Alerts are tested on memory and on PostgreSQL alike."""

from __future__ import annotations

import pytest
from tests.contract.alerts.watched import Watched
from tests.contract.ports.ground import Ground


@pytest.fixture
def watched(ground: Ground) -> Watched:
    """A team without channels and jobs."""
    return Watched(ground)
