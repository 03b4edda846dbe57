"""`matins preview`: offline, for people and for programs."""

from __future__ import annotations

import json

import pytest

from matins.cli.app import run

AFTER = ["--after", "2026-03-28T12:00:00Z"]


def test_due_times_are_shown_in_the_zone_and_in_utc(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["preview", "30 2 * * *", "--tz", "Europe/Berlin", "-n", "2", *AFTER]) == 0
    first, second = capsys.readouterr().out.splitlines()[2:4]
    assert first.split("  ")[:2] == ["Sun 2026-03-29 03:00:00 +0200", "2026-03-29 01:00:00"]
    assert second.startswith("Mon 2026-03-30 02:30:00 +0200")


def test_json_is_the_same_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["preview", "--every", "15m", "-n", "2", "--json", *AFTER]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["timezone"] == "UTC"
    assert [due["utc"] for due in shown["due"]] == ["2026-03-28T12:15:00Z", "2026-03-28T12:30:00Z"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["61 * * * *"], "schedule.cron: minute field: '61' is out of range"),
        (["0 2 * * *", "--tz", "Mars"], "schedule.timezone: 'Mars' is not an IANA time zone"),
        (["0 2 * * *", "--every", "5m"], "exactly one of cron, every, at, rrule and any_of"),
        ([], "schedule: is missing"),
        (["0 2 * * *", "-n", "0"], "count: is 0; it must be from 1 to 1000"),
        (["0 2 * * *", "--after", "soon"], "--after: 'soon' is no moment"),
        (['{cron: "0 2 * * *", dialect: at&t}'], "at&t"),
        (["{every: 5m}", "--tz", "UTC"], "schedule: is given as a whole"),
        (["{every: 5m, jiter: 5s}"], "did you mean jitter?"),
    ],
)
def test_wrong_input_is_one_clear_error_and_exit_code_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["preview", *arguments, "--json"]) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.out == ""


def test_a_schedule_that_ends_has_no_more_due_times(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = "{cron: 0 0 6 1 1 ? 2030, dialect: quartz}"
    assert run(["preview", schedule, "--after", "2031-01-01T00:00:00Z"]) == 0
    assert "never due again" in capsys.readouterr().out


def test_a_sentence_comes_first_and_warnings_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["preview", "30 2 * * *", "--tz", "Europe/Berlin", "-n", "1", *AFTER]) == 0
    sentence, _, due, *warnings = capsys.readouterr().out.splitlines()
    assert sentence == "At 02:30, every day, Europe/Berlin time."
    assert due.startswith("Sun 2026-03-29 03:00:00 +0200")
    assert warnings[0].startswith("! 02:30 does not exist on 29 March 2026")


def test_fire_times_are_shown_where_they_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["preview", "{cron: 0 2 * * *, jitter: 10m}", "-n", "1", *AFTER]) == 0
    assert "FIRES" in capsys.readouterr().out


def test_calendars_are_not_looked_at_without_an_api(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["preview", "{cron: 0 2 * * *, calendars: [bank]}", "-n", "1", *AFTER]) == 0
    assert "! what is closed in bank is not shown" in capsys.readouterr().out
