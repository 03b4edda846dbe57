"""A preview warns of what else is due at the same time."""

from __future__ import annotations

import pytest
from tests.api.served import JOBS, SPEC, Owner

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_preview_warns_of_a_hot_spot_and_names_a_quiet_minute(owner: Owner) -> None:
    for number in range(60):
        name = f"busy-{number}"
        spec = SPEC | {"name": name, "schedule": {"cron": "0 * * * *"}}
        assert (await owner.put(f"{JOBS}/{name}", spec)).status == 200
    asked = {"schedule": {"cron": "0 5 * * *", "timezone": "Europe/Berlin"}, "count": 1}
    shown = (await owner.post("/v1/preview", asked)).json
    assert shown["warnings"][0].startswith("fires with 60 other jobs at this minute; 05:01 has 0")
    stored = (await owner.get(f"{JOBS}/busy-7/preview", count=1)).json
    assert stored["warnings"][0].startswith("fires with 59 other jobs")
    alone = await owner.post("/v1/preview", {"schedule": {"cron": "7 5 * * *"}, "count": 1})
    assert not any("other jobs" in warning for warning in alone.json["warnings"])
