"""Calendars over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.served import JOBS, SPEC, Owner

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALENDARS = "/v1/teams/payments/calendars"
BANK = {"name": "bank", "exclude": [{"dates": "12-24/12-26", "label": "Christmas"}]}
FOLLOWING: dict[str, Any] = {
    "cron": "0 2 * * *",
    "timezone": "Europe/Berlin",
    "calendars": ["bank"],
    "on_closed": "next_business_day",
}


async def test_a_calendar_is_created_then_unchanged_then_changed(owner: Owner) -> None:
    path = f"{CALENDARS}/bank"
    assert (await owner.put(path, BANK)).json["change"] == "created"
    assert (await owner.put(path, BANK)).json["change"] == "unchanged"
    changed = await owner.put(path, BANK | {"timezone": "Europe/Berlin"})
    assert (changed.status, changed.json["change"], changed.json["jobs"]) == (200, "changed", 0)
    shown = await owner.get(path)
    assert shown.json["calendar"] == BANK | {"timezone": "Europe/Berlin"}
    assert {day["reason"] for day in shown.json["closed_days"]} == {"Christmas"}


async def test_calendars_are_listed_with_how_many_jobs_follow_them(owner: Owner) -> None:
    await owner.put(f"{CALENDARS}/bank", BANK)
    await owner.put(f"{JOBS}/nightly", SPEC | {"schedule": FOLLOWING})
    listed = (await owner.get(CALENDARS)).json
    assert [
        (calendar["calendar"]["name"], calendar["jobs"]) for calendar in listed["calendars"]
    ] == [("bank", 1)]
    assert (await owner.get("/v1/teams/others/calendars")).json["calendars"] == []


async def test_a_calendar_that_is_followed_is_not_deleted(owner: Owner) -> None:
    await owner.put(f"{CALENDARS}/bank", BANK)
    await owner.put(f"{JOBS}/nightly", SPEC | {"schedule": FOLLOWING})
    refused = await owner.delete(f"{CALENDARS}/bank")
    assert refused.status == 409
    assert "nightly" in refused.json["detail"]
    await owner.delete(f"{JOBS}/nightly")
    assert (await owner.delete(f"{CALENDARS}/bank")).json["change"] == "deleted"
    assert (await owner.get(f"{CALENDARS}/bank")).status == 404


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"name": "other"}, "name"),
        ({"timezone": "Mars"}, "timezone"),
        ({"exclude": [{"dates": "2026-02-30"}]}, "exclude[0].dates"),
        ({"exclude": [{"holidays": {"country": "XX"}}]}, "exclude[0].holidays.country"),
        ({"exclude": [{"icalendar": "hello"}]}, "exclude[0].icalendar"),
        ({"exclud": []}, "exclud"),
    ],
)
async def test_a_wrong_calendar_changes_nothing(
    owner: Owner, wrong: dict[str, Any], where: str
) -> None:
    reply = await owner.put(f"{CALENDARS}/bank", BANK | wrong)
    assert reply.status == 422
    assert where in reply.places
    assert (await owner.get(CALENDARS)).json["calendars"] == []


async def test_a_job_can_not_follow_another_teams_calendar(owner: Owner) -> None:
    await owner.put(f"{CALENDARS}/bank", BANK)
    reply = await owner.put(
        "/v1/teams/others/jobs/nightly", SPEC | {"schedule": FOLLOWING, "name": "nightly"}
    )
    assert reply.status == 422
    assert "others has no calendar 'bank'" in reply.places["schedule.calendars"]


async def test_a_job_that_is_due_all_the_time_can_not_be_moved(owner: Owner) -> None:
    await owner.put(f"{CALENDARS}/bank", BANK)
    reply = await owner.put(
        f"{JOBS}/nightly", SPEC | {"schedule": FOLLOWING | {"cron": "* * * * *"}}
    )
    assert "24 times" in reply.places["schedule.on_closed"]
