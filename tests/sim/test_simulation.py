"""The real engine under faults keeps every rule; a rule that is really broken is noticed."""

from __future__ import annotations

from collections import Counter

import pytest

from matins.testing.simulation import Simulation

HOURS = 0.07
SEEDS = range(20)
RARE = (
    "takeover",
    "claim: answer lost",
    "claim: caught in it",
    "late claim fenced",
    "range of due times",
    "run that follows an end",
    "follow: answer lost",
    "follow: came late",
    "attempt lost",
    "take: answer lost",
    "take: came late",
    "running -> queued",
    "running -> dead",
    "running -> cancelled",
    "retrying -> queued",
    "scheduler crashed",
    "gateway frozen",
    "executor crashed",
    "database away",
)


@pytest.mark.timeout(600)
def test_every_seed_holds_and_the_rare_paths_are_taken() -> None:
    seen: Counter[str] = Counter()
    broken = {}
    for seed in SEEDS:
        simulation = Simulation(seed, hours=HOURS)
        if violations := simulation.run():
            broken[seed] = violations
        seen += simulation.seen
    assert broken == {}
    assert [path for path in RARE if not seen[path]] == []


@pytest.mark.timeout(600)
def test_no_due_time_is_lost_when_the_database_goes_back_in_time() -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        simulation = Simulation(seed, hours=HOURS, fail_overs=True)
        assert simulation.run() == []
        seen += simulation.seen
    assert seen["database went back in time"] >= 4
    assert seen["attempt started that the database forgot"]


def test_the_same_seed_is_the_same_history() -> None:
    first, second = Simulation(77, hours=0.02), Simulation(77, hours=0.02)
    assert first.run() == second.run()
    assert first.seen == second.seen
