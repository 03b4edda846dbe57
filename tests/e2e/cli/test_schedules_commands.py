"""What owners type about schedules: previews, overrides, calendars."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.e2e.cli.typed import Typist

from matins.cli.showing import local
from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Override, Schedule, Times

NIGHTLY = Schedule(cron="0 2 * * *", timezone="Europe/Berlin")
SPEC = JobSpec("nightly", Target(command=CommandTarget(["true"])), NIGHTLY)
EVENT = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//example//EN
BEGIN:VEVENT
UID:1
DTSTAMP:20260101T000000Z
DTSTART;VALUE=DATE:20270104
SUMMARY:Stocktaking
END:VEVENT
END:VCALENDAR
"""


@pytest.fixture
async def job(matins: Matins) -> str:
    await matins.put_job("payments", SPEC)
    return "payments/nightly"


async def test_a_job_is_looked_ahead_at(typed: Typist, job: str) -> None:
    shown = await typed("jobs", "preview", job, "-n", "2")
    assert shown.out.startswith("At 02:00, every day, Europe/Berlin time.\n")
    assert "DUE IN Europe/Berlin" in shown.out
    assert len((await typed("jobs", "preview", job, "-n", "2", "--json")).json["due"]) == 2


async def test_the_next_occurrence_is_skipped_and_restored(
    typed: Typist, matins: Matins, job: str
) -> None:
    due = (await matins.get_job("payments", "nightly")).next_due_at
    assert due
    skipped = await typed("jobs", "skip", job, "next", "--reason", "release day")
    assert skipped.out == (f"changed  {job}\n  {local(due)}  skipped: release day\n")
    wall = (await matins.preview_job("payments", "nightly", count=1)).due[0].local
    undone = await typed("jobs", "restore", job, f"{wall:%Y-%m-%dT%H:%M:%S}")
    assert undone.out == f"changed  {job}\n"
    assert (await matins.get_job("payments", "nightly")).overrides == []


async def test_next_is_the_next_that_will_run_or_that_is_override(
    typed: Typist, matins: Matins, job: str
) -> None:
    await typed("jobs", "skip", job, "next")
    await typed("jobs", "skip", job, "next")
    first, second = (await matins.get_job("payments", "nightly")).overrides
    assert first.due_at < second.due_at
    await typed("jobs", "restore", job, "next")
    assert (await matins.get_job("payments", "nightly")).overrides == [second]
    await typed("jobs", "restore", job, "next")
    assert (await typed("jobs", "restore", job, "next")).code == 2


async def test_what_is_override_is_shown_with_the_job(typed: Typist, job: str) -> None:
    await typed("jobs", "skip", job, "next")
    shown = await typed("jobs", "show", job)
    assert "override" in shown.out
    assert "skipped" in shown.out


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Schedule(every="15m", after="end"), "15m after the end"),
        (Schedule(rrule="DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY"), "FREQ=DAILY in UTC"),
        (Schedule(any_of=[Times(every="1h"), Times(cron="0 2 * * *")]), "every 1h or 0 2 * * *"),
    ],
)
async def test_schedules_are_listed_in_a_few_words(
    typed: Typist, matins: Matins, schedule: Schedule, words: str
) -> None:
    await matins.put_job("payments", msgspec.structs.replace(SPEC, schedule=schedule))
    assert words in " ".join((await typed("jobs", "list")).out.split())


async def test_an_occurrence_is_moved_in_the_jobs_zone(
    typed: Typist, matins: Matins, job: str
) -> None:
    moved = await typed("jobs", "move", job, "next", "--to", "2099-01-01T03:00:00")
    assert moved.code == 0
    [override] = (await matins.get_job("payments", "nightly")).overrides
    assert override == Override(override.due_at, override.move_to)
    assert override.move_to
    assert override.move_to.isoformat() == "2099-01-01T02:00:00+00:00"


@pytest.mark.parametrize("due", ["soon", "2026-02-30T02:00:00"])
async def test_a_due_time_that_can_not_be_read_is_refused(
    typed: Typist, job: str, due: str
) -> None:
    refused = await typed("jobs", "skip", job, due)
    assert (refused.code, refused.out) == (2, "")
    assert "DUE:" in refused.err


async def test_a_calendar_is_made_of_a_countrys_holidays(typed: Typist) -> None:
    made = await typed("calendars", "holidays", "payments/berlin", "DE", "--part", "BE")
    assert made.out == "created  payments/berlin\n"
    listed = await typed("calendars", "list", "--team", "payments")
    assert "payments/berlin" in listed.out
    shown = await typed("calendars", "show", "payments/berlin")
    assert "Labor Day" in shown.out or "Christmas" in shown.out
    assert "country: DE" in shown.out
    nowhere = await typed("calendars", "holidays", "payments/mars", "XX")
    assert nowhere.code == 2


async def test_a_calendar_is_imported_from_a_file(
    typed: Typist, matins: Matins, tmp_path: Path
) -> None:
    path = tmp_path / "closing.ics"
    path.write_text(EVENT, "utf-8")
    told = await typed("calendars", "import", "payments/closing", str(path), "--dry-run")
    assert told.out == "created  payments/closing\n"
    assert await matins.list_calendars("payments") == []
    await typed("calendars", "import", "payments/closing", str(path), "--tz", "Europe/Berlin")
    shown = await typed("calendars", "show", "payments/closing", "--json")
    assert {"date": "2027-01-04", "reason": "Stocktaking"} in shown.json["closed_days"]
    assert (await typed("calendars", "delete", "payments/closing")).code == 0


async def test_events_marked_as_free_are_imported_when_that_is_asked_for(
    typed: Typist, matins: Matins, tmp_path: Path
) -> None:
    path = tmp_path / "free.ics"
    free = EVENT.replace("END:VEVENT", "TRANSP:TRANSPARENT\nEND:VEVENT")
    path.write_text(free, "utf-8")
    refused = await typed("calendars", "import", "payments/free", str(path))
    assert (refused.code, "--include-free" in refused.err) == (2, True)
    assert await matins.list_calendars("payments") == []
    await typed("calendars", "import", "payments/free", str(path), "--include-free")
    (made,) = await matins.list_calendars("payments")
    assert [day.reason for day in made.closed_days] == ["Stocktaking"]


async def test_a_file_whose_folds_split_characters_is_imported(
    typed: Typist, matins: Matins, tmp_path: Path
) -> None:
    path = tmp_path / "folded.ics"
    folded = EVENT.encode().replace(b"Stocktaking", b"\xc3\r\n \x84mter")
    path.write_bytes(folded)
    await typed("calendars", "import", "payments/folded", str(path))
    (made,) = await matins.list_calendars("payments")
    assert [day.reason for day in made.closed_days] == ["\u00c4mter"]


async def test_a_file_brings_its_calendars_along(
    typed: Typist, matins: Matins, tmp_path: Path
) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text(
        "team: payments\n"
        "calendars:\n"
        "  - name: bank\n"
        "    exclude: [{dates: 12-24/12-26}]\n"
        "jobs:\n"
        "  - name: nightly\n"
        "    schedule: {cron: 0 2 * * *, calendars: [bank], on_closed: next_business_day}\n"
        "    target: {command: {argv: ['true']}}\n",
        "utf-8",
    )
    told = await typed("apply", "-f", str(path), "--dry-run")
    first, second = told.out.splitlines()
    assert first.split()[2:] == ["created", "payments/calendar", "bank"]
    assert second.split()[2:6] == ["created", "payments/nightly", "next", "due"]
    applied = await typed("apply", "-f", str(path), "--json")
    assert [(row["calendar"], row["job"], row["change"]) for row in applied.json] == [
        ("bank", None, "created"),
        (None, "nightly", "created"),
    ]
    again = await typed("apply", "-f", str(path), "--json")
    assert {row["change"] for row in again.json} == {"unchanged"}
    assert (await matins.get_calendar("payments", "bank")).jobs == 1
