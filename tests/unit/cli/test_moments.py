"""Moments are read alike by every command that takes one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.unit.cli.commands import all_commands

from matins.cli.app import run
from matins.domain.time.zones import find_zone
from matins.domain.values.errors import InvalidInputError
from matins.kernel.moments import HELP, parse_moment

NOW = datetime(2026, 11, 29, 13, 0, 7, tzinfo=UTC)
BERLIN = find_zone("Europe/Berlin")


def berlin(day: int, hour: int, minute: int = 0) -> datetime:
    """Return a moment of November 2026 by Berlin's clocks, an hour ahead of UTC."""
    return datetime(2026, 11, day, tzinfo=UTC) + timedelta(hours=hour - 1, minutes=minute)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", NOW),
        ("+2h", NOW + timedelta(hours=2)),
        ("2h", NOW - timedelta(hours=2)),
        ("-2h", NOW - timedelta(hours=2)),
        ("2h ago", NOW - timedelta(hours=2)),
        ("04:00", berlin(29, 4)),
        ("4:05", berlin(29, 4, 5)),
        ("today", berlin(29, 0)),
        ("yesterday", berlin(28, 0)),
        ("tomorrow 04:00", berlin(30, 4)),
        ("2026-11-30", berlin(30, 0)),
        ("2026-11-30T04:00", berlin(30, 4)),
        ("2026-11-30 04:00", berlin(30, 4)),
        ("2026-11-30T04:00+02:00", berlin(30, 3)),
        ("2026-11-30T03:00Z", berlin(30, 4)),
    ],
)
def test_a_moment_is_read_as_people_type_it(text: str, moment: datetime) -> None:
    assert parse_moment("--since", text, BERLIN, now=NOW) == moment


def test_lengths_count_from_a_beginning_where_there_is_one() -> None:
    begin = berlin(30, 1)
    assert parse_moment("--to", "+2h", BERLIN, now=NOW, base=begin) == berlin(30, 3)
    assert parse_moment("--to", "tomorrow", BERLIN, now=NOW, base=begin) == berlin(30, 0)


def test_without_a_zone_it_is_by_the_clocks_of_this_host() -> None:
    told = parse_moment("--since", "2026-11-30T04:00", now=NOW)
    assert told == datetime(2026, 11, 30, 4).astimezone()


@pytest.mark.parametrize(
    "text", ["", "soon", "24:00", "+", "+soon", "tomorrow 4pm", "30.11.2026", "9" * 400]
)
def test_anything_else_is_told_what_can_be_written(text: str) -> None:
    for zone in (None, BERLIN):
        with pytest.raises(InvalidInputError, match=r"--since: .* is no moment; write 2026-12-01T"):
            parse_moment("--since", text, zone, now=NOW)


def test_what_no_clock_shows_is_told_so() -> None:
    with pytest.raises(InvalidInputError, match="'2026-02-30T04:00' does not exist"):
        parse_moment("--since", "2026-02-30T04:00", BERLIN, now=NOW)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        *[("audit", option) for option in ("--since", "--until")],
        ("runs list", "--since"),
        *[(command, "--after") for command in ("preview", "jobs preview")],
        ("jobs move", "--to"),
        *[("windows put", option) for option in ("--from", "--to")],
    ],
)
def test_every_command_that_takes_a_moment_tells_what_it_reads(command: str, option: str) -> None:
    [parameter] = [param for param in all_commands()[command].params if option in param.opts]
    assert HELP in parameter.help


def test_a_moment_that_cannot_be_read_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["preview", "0 2 * * *", "--after", "soon"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("matins: --after: 'soon' is no moment; write ")
