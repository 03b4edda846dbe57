"""The real engine under faults keeps every rule; a rule that is really broken is noticed."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import pytest

from matins.domain import ports
from matins.domain.runs.states import RunState
from matins.testing.memory.rows import RunRow
from matins.testing.nemesis import TRAPS
from matins.testing.roles import Stage
from matins.testing.simulation import Simulation

HOURS = 0.07
SEEDS = range(20)
RARE = (
    "abandoned_runs: came late",
    "advance: came late",
    "api crashed",
    "attempt lost",
    "heartbeat: came late",
    "cache away",
    "claim: answer lost",
    "claim: answers cut off",
    "claim: caught in it",
    "dead -> retrying",
    "links: answer lost",
    "owner: replay",
    "owner: replay_changed",
    "owner: retry_now",
    "owner: stop_retrying",
    "owner: put_channel",
    "owner: delete_channel",
    "owner: put_rules",
    "owner: delete_rules",
    "owner: rotate_key",
    "owner: rotate_token",
    "owner: test_channel",
    "owner: ping",
    "letter replayed with input",
    "retrying -> dead",
    "new -> dead",
    "look that was too late",
    "message that came again",
    "session lost with its lock",
    "told bad by dead",
    "told bad by did_not_run",
    "told bad by failed",
    "told bad by late",
    "told bad by too_fast",
    "told bad by too_slow",
    "told still by did_not_run",
    "told well by dead",
    "wake: caught in it",
    "due: caught in it",
    "write: caught in it",
    "take: caught in it",
    "content: caught in it",
    "run that follows others",
    "advance_chains: answer lost",
    "gate_lines: answer lost",
    "owner: put_limit",
    "owner: delete_limit",
    "owner: put_quotas",
    "retrying -> waiting",
    "run passed a gate",
    "overlap: skipped",
    "overlap: cancelled",
    "clock stepped back",
    "clock stepped forward",
    "database away",
    "executor crashed",
    "executor stopped",
    "executor's answers cut off",
    "executor's calls cut off",
    "write_follow_ups: answer lost",
    "write_follow_ups: came late",
    "gateway frozen",
    "gateway's answers cut off",
    "gateway's calls cut off",
    "job expired",
    "late claim fenced",
    "next due time by older zone data",
    "backfill cancelled",
    "backfill done",
    "owner: backfill",
    "owner: cancel",
    "owner: close",
    "owner: delete",
    "owner: dismiss",
    "letter dismissed",
    "owner: cancel_replay",
    "owner: replay_many",
    "replay done",
    "owner: edit",
    "owner: move",
    "owner: no answer",
    "owner: pause",
    "owner: pause_until",
    "owner: reschedule",
    "owner: restore",
    "owner: resume",
    "owner: roll_back",
    "owner: skip",
    "owner: trigger",
    "carry_out: came late",
    "pause ended by itself",
    "range of due times",
    "record: came late",
    "renew: answers cut off",
    "report: answers cut off",
    "retrying -> queued",
    "row of dispatch lost",
    "row of handouts lost",
    "row of waiting lost",
    "row put back",
    "run that follows an end",
    "run of a backfill",
    "run with input",
    "running -> cancelled",
    "running -> dead",
    "running -> queued",
    "scheduler crashed",
    "scheduler frozen",
    "scheduler's answers cut off",
    "scheduler's calls cut off",
    "dequeue: answer lost",
    "dequeue: came late",
    "takeover",
)
"""What the seeds must have met, so that they prove something."""

pytestmark = pytest.mark.timeout(600)


@cache
def played(seed: int) -> Simulation:
    """Return a simulation that has been played to its end."""
    simulation = Simulation(seed, hours=HOURS)
    simulation.run()
    return simulation


@pytest.mark.parametrize("seed", SEEDS)
def test_every_rule_holds(seed: int) -> None:
    assert played(seed).violations == []


def test_the_rare_paths_are_taken() -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        seen += played(seed).seen
    assert [path for path in RARE if not seen[path]] == []


def test_no_due_time_is_lost_and_every_run_ends_when_the_database_goes_back_in_time() -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        simulation = Simulation(seed, hours=HOURS, fail_overs=True)
        assert simulation.run() == []
        seen += simulation.seen
    assert seen["database went back in time"] >= 4
    assert seen["attempt started that the database forgot"]


def test_what_was_stopped_before_it_healed_is_not_held_against_it() -> None:
    def plant(stage: Stage) -> None:
        def watch(run: RunRow, _before: RunState | None) -> None:
            job, violations = stage.world.jobs[run.job_id], stage.checker.violations
            if job.next_due_at and not violations:
                job.next_due_at += timedelta(days=1)  # as older zone data make it
                violations.append("broken")

        stage.world.watchers.append(watch)

    assert Simulation(0, hours=HOURS, plant=plant).run() == ["broken"]


def test_the_same_seed_is_the_same_history() -> None:
    first, second = Simulation(77, hours=0.02), Simulation(77, hours=0.02)
    assert first.run() == second.run()
    assert first.seen == second.seen


def test_each_trap_is_a_method_of_a_port() -> None:
    found = iter_modules(ports.__path__, f"{ports.__name__}.")
    modules = [import_module(module.name) for module in found]
    methods = {
        name
        for module in (ports, *modules)
        for port in vars(module).values()
        if isinstance(port, type)
        for name in vars(port)
    }
    assert {name for names in TRAPS.values() for name in names} - methods == set()
