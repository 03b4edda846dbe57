"""Whose turn it is among jobs that are due."""

from __future__ import annotations

import msgspec
from tests.unit.scheduler.test_working_set import JOB

from matins.scheduler.planning import LoadedJob
from matins.scheduler.turns import Turns


def due(team: int) -> LoadedJob:
    return LoadedJob(msgspec.structs.replace(JOB, team_id=team))


def test_each_team_has_its_turn_however_many_jobs_another_has() -> None:
    turns = Turns()
    large, small = [due(1) for _ in range(100)], [due(2) for _ in range(2)]
    for entry in (*large, *small):
        turns.append(entry)
    taken = [turns.popleft() for _ in range(5)]
    assert taken == [large[0], small[0], large[1], small[1], large[2]]


def test_all_is_taken_once_and_a_team_in_its_order() -> None:
    turns = Turns()
    entries = [due(team) for team in (1, 1, 2, 3, 2, 1)]
    for entry in entries:
        turns.append(entry)
    assert len(list(turns)) == len(entries)
    taken = []
    while turns:
        taken.append(turns.popleft())
    assert set(taken) == set(entries)
    for team in (1, 2, 3):
        assert [entry for entry in taken if entry.job.team_id == team] == [
            entry for entry in entries if entry.job.team_id == team
        ]
