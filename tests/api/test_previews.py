"""Looking ahead over HTTP: what is stored counts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from tests.api.served import JOBS, SPEC, Hands, Owner

from matins.domain.time.zones import data_version

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB = f"{JOBS}/nightly"
AFTER = "2026-12-23T12:00:00Z"
NIGHTLY: dict[str, Any] = {"cron": "0 2 * * *", "timezone": "Europe/Berlin"}
BANK = {"name": "bank", "exclude": [{"dates": "12-24/12-26", "label": "Christmas"}]}


@pytest.fixture
def noon(hands: Hands) -> datetime:
    """It is noon on the day before Christmas Eve."""
    hands.at = datetime.fromisoformat(AFTER)
    return hands.at


async def test_a_preview_says_what_a_schedule_means(owner: Owner) -> None:
    shown = (await owner.post("/v1/preview", {"schedule": NIGHTLY, "count": 1})).json
    assert shown["sentence"] == "At 02:00, every day, Europe/Berlin time."
    assert shown["zone_data"] == data_version()
    assert any("does not exist" in warning for warning in shown["warnings"])


async def test_the_calendars_are_those_of_the_team(owner: Owner) -> None:
    await owner.put("/v1/teams/payments/calendars/bank", BANK)
    schedule = NIGHTLY | {"calendars": ["bank"]}
    asked = {"schedule": schedule, "count": 4, "after": AFTER, "team": "payments"}
    shown = (await owner.post("/v1/preview", asked)).json
    closed = "calendar bank: Christmas"
    assert [due["skipped"] for due in shown["due"]] == [closed, closed, closed, ""]
    without_team = await owner.post("/v1/preview", asked | {"team": None})
    assert list(without_team.places) == ["team"]
    elsewhere = await owner.post("/v1/preview", asked | {"team": "others"})
    assert list(elsewhere.places) == ["schedule.calendars"]


async def test_h_and_jitter_are_those_of_the_job_that_is_named(owner: Owner) -> None:
    await owner.put(JOB, SPEC)
    asked = {"schedule": {"cron": "H H * * *", "jitter": "10m"}, "count": 1, "after": AFTER}
    named = (await owner.post("/v1/preview", asked | {"team": "payments", "job": "nightly"})).json
    stored = (await owner.put(JOB, SPEC | {"schedule": asked["schedule"]})).json["job"]
    assert named["due"][0]["utc"][11:] == stored["next_due_at"][11:]
    assert not any("job's id" in warning for warning in named["warnings"])
    nobody = (await owner.post("/v1/preview", asked)).json
    assert any("job's id" in warning for warning in nobody["warnings"])


async def test_a_job_is_shown_with_its_overrides_and_fire_times(
    owner: Owner, noon: datetime
) -> None:
    job = await owner.job(schedule=NIGHTLY | {"jitter": "5m"})
    due, to = "2026-12-24T01:00:00Z", "2026-12-24T03:00:00Z"
    moved = await owner.put(f"{JOB}/overrides", {"due_at": due, "move_to": to, "reason": "release"})
    assert moved.json["job"]["overrides"] == [{"due_at": due, "move_to": to, "reason": "release"}]
    shown = (await owner.get(f"{JOB}/preview", count=2)).json["due"]
    assert [due["utc"] for due in shown] == [due, to]
    assert shown[0]["skipped"] == "moved to 2026-12-24T03:00:00+00:00: release"
    assert shown[1]["skipped"] == ""
    assert shown[1]["fire_at"] > to
    undone = await owner.delete(f"{JOB}/overrides/{due}")
    assert undone.json["job"]["overrides"] == []
    assert undone.json["job"]["next_due_at"] == job["next_due_at"]


@pytest.mark.parametrize(("policy", "where"), [("hold", "held"), ("skip", "skipped")])
async def test_a_preview_tells_what_a_window_will_do(
    owner: Owner, noon: datetime, policy: str, where: str
) -> None:
    await owner.job(schedule=NIGHTLY, labels={"tier": "gold"})
    window = {
        "name": "upgrade",
        "starts_at": "2026-12-24T00:00:00Z",
        "ends_at": "2026-12-24T06:00:00Z",
        "policy": policy,
        "labels": {"tier": "gold"},
    }
    assert (await owner.put("/v1/teams/payments/windows/upgrade", window)).status == 200
    first, second = (await owner.get(f"{JOB}/preview", count=2)).json["due"]
    assert "maintenance upgrade" in first[where]
    assert (second["held"], second["skipped"]) == ("", "")
    asked = {"schedule": NIGHTLY, "count": 1, "team": "payments"}
    as_the_job = (await owner.post("/v1/preview", asked | {"job": "nightly"})).json["due"]
    assert "maintenance upgrade" in as_the_job[0][where]
    without_labels = (await owner.post("/v1/preview", asked)).json["due"]
    assert without_labels[0][where] == ""


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("overrides", {"due_at": "2026-12-24T02:30:00Z"}, 422),
        ("overrides", {"due_at": "2026-12-23T01:00:00Z"}, 409),
        ("overrides", {"due_at": "tomorrow"}, 422),
    ],
)
async def test_what_is_no_coming_due_time_can_not_be_overridden(
    owner: Owner, noon: datetime, path: str, body: dict[str, Any], status: int
) -> None:
    await owner.job(schedule=NIGHTLY)
    assert (await owner.put(f"{JOB}/{path}", body)).status == status
    assert (await owner.delete(f"{JOB}/overrides/2026-12-24T01:00:00Z")).status == 404


async def test_a_job_without_a_schedule_has_nothing_to_look_ahead_to(owner: Owner) -> None:
    await owner.job(schedule=None)
    assert (await owner.get(f"{JOB}/preview")).status == 409
    assert (await owner.get(f"{JOBS}/nothing/preview")).status == 404


async def test_a_job_that_follows_its_own_ends_shows_its_next_due_time(owner: Owner) -> None:
    job = await owner.job(schedule={"every": "15m", "after": "end"})
    shown = (await owner.get(f"{JOB}/preview")).json
    assert [due["utc"] for due in shown["due"]] == [job["next_due_at"]]
    assert "after the last run has ended" in shown["sentence"]
