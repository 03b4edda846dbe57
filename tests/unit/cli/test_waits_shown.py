"""What people are told of a run that waits."""

from __future__ import annotations

from uuid import UUID

from matins.cli.outlooks import outlook_pairs
from matins.domain.runs.outlook import Outlook, RunHolder
from matins.domain.runs.states import RunState

WAITS = (UUID(int=9), RunState.WAITING, "limit of 5 for its job is taken", "default", 0, True)


def test_the_first_who_hold_what_it_waits_for_are_named_and_the_others_counted() -> None:
    holders = [RunHolder(UUID(int=number), "crawl", "running") for number in range(3)]
    shown = dict(outlook_pairs(Outlook(*WAITS, held_by=5, holders=holders, in_line=2)))
    first, *_, last = shown["held by"].splitlines()
    assert (first, last) == (f"{UUID(int=0)} of crawl, running", "and 2 other runs")
    assert shown["in line"] == "2 runs before it"


def test_what_nobody_holds_says_nothing_of_it() -> None:
    shown = dict(outlook_pairs(Outlook(*WAITS)))
    assert (shown["held by"], shown["in line"]) == ("", "")
