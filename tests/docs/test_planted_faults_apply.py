"""The lists of planted faults follow the code: each still has its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mutants.faults import Fault, load_areas, planted

SOURCE = Path(__file__).parents[2] / "src" / "matins"
FAULTS = [fault for area in load_areas() for fault in area.fault]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.file}: {fault.name}")
def test_a_planted_fault_has_its_place(fault: Fault) -> None:
    planted(fault, (SOURCE / fault.file).read_text("utf-8"))
