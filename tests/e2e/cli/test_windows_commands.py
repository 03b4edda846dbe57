"""What owners type about maintenance windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.e2e.cli.typed import Typist

from matins.cli.windows import read_labels, read_span
from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.jobs.windows import Window
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import InvalidInputError, NotFoundError

NOW = datetime(2026, 11, 29, 12, 0, 0, 500_000, tzinfo=UTC)
SECOND = NOW.replace(microsecond=0)
HOUR = timedelta(hours=1)
GOLD = JobSpec(
    "nightly",
    Target(command=CommandTarget(["true"])),
    Schedule(cron="0 2 * * *"),
    labels={"tier": "gold"},
)


async def test_a_window_is_put_listed_and_deleted(typed: Typist, matins: Matins) -> None:
    await matins.put_job("payments", GOLD)
    words = ["payments/upgrade", "--to", "+2h", "--label", "tier=gold", "--reason", "new disks"]
    put = await typed("windows", "put", *words)
    assert (put.code, put.out.split()[:2]) == (0, ["created", "payments/upgrade"])
    assert put.out.endswith("for 1 job\n")
    listed = (await typed("windows", "list", "--team", "payments")).out.splitlines()
    assert listed[1].split()[:2] == ["payments/upgrade", "in_force"]
    assert "tier=gold" in listed[1]
    deleted = await typed("windows", "delete", "payments/upgrade")
    assert deleted.out == "deleted  payments/upgrade\n"
    assert (await typed("windows", "delete", "payments/upgrade")).code == 1


async def test_json_tells_all_of_it(typed: Typist) -> None:
    put = await typed("windows", "put", "upgrade", "--to", "+90m", "--policy", "skip", "--json")
    assert (put.json["change"], put.json["jobs"], put.json["held"]) == ("created", 0, 0)
    [listed] = (await typed("windows", "list", "--json")).json
    assert listed["window"] == put.json["window"]
    assert listed["state"] == "in_force"


async def test_the_sdk_speaks_of_the_same_windows(matins: Matins) -> None:
    now = datetime.now(UTC)
    wanted = Window("upgrade", now + HOUR, now + 2 * HOUR, "skip", {"tier": "gold"}, "new disks")
    assert (await matins.put_window("payments", wanted)).change == "created"
    shown = await matins.get_window("payments", "upgrade")
    assert (shown.window, shown.state, shown.held) == (wanted, "coming", 0)
    assert await matins.list_windows("payments") == [shown]
    assert (await matins.delete_window("payments", "upgrade")).change == "deleted"
    with pytest.raises(NotFoundError):
        await matins.get_window("payments", "upgrade")


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (["--to", "soon"], "--to"),
        (["--to", "+2x"], "--to"),
        (["--to", "+2h", "--from", "2026-13-01T00:00", "--tz", "UTC"], "--from"),
        (["--to", "2026-12-01T22:00", "--tz", "Europe/Berln"], "--tz"),
        (["--to", "+2h", "--label", "gold"], "--label"),
        (["--to", "+32d"], "ends_at"),
    ],
)
async def test_what_can_not_be_read_is_named(typed: Typist, words: list[str], where: str) -> None:
    refused = await typed("windows", "put", "upgrade", *words)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(f"matins: {where}: ")


@pytest.mark.parametrize(
    ("starts", "ends", "zone", "span"),
    [
        ("now", "+2h", None, (SECOND, SECOND + 2 * HOUR)),
        ("+30m", "+1h", None, (SECOND + HOUR / 2, SECOND + 1.5 * HOUR)),
        ("2026-11-30T01:00", "+1h", "Europe/Berlin", (SECOND + 12 * HOUR, SECOND + 13 * HOUR)),
        ("now", "2026-11-29T15:00+01:00", None, (SECOND, SECOND + 2 * HOUR)),
        ("now", "2026-11-29T09:00", "America/New_York", (SECOND, SECOND + 2 * HOUR)),
    ],
)
def test_begin_and_end_are_read_as_people_type_them(
    starts: str, ends: str, zone: str | None, span: tuple[datetime, datetime]
) -> None:
    assert read_span(starts, ends, zone, NOW) == span


def test_labels_are_read_as_people_type_them() -> None:
    assert read_labels(["tier=gold", "query=a=b", "empty="]) == {
        "tier": "gold",
        "query": "a=b",
        "empty": "",
    }
    for text in ("gold", "=gold", ""):
        with pytest.raises(InvalidInputError):
            read_labels([text])
