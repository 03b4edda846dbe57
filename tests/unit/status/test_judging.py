"""What is told of the whole system, by what was seen of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.runs.restores import Restore
from matins.domain.status.facts import PoolStatus, SystemFacts
from matins.domain.status.findings import Finding, FindingKind
from matins.domain.status.judging import Outage, Sight, judge

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=1)
AFTER = timedelta(seconds=20)
SERVED = PoolStatus("default", executors=2, heard_at=NOW)
WELL = SystemFacts(NOW, 2, NOW - timedelta(days=1), NOW, has_due_jobs=True, pools=[SERVED])


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def found(facts: SystemFacts, **more: Any) -> list[Finding]:
    return judge(Sight(NOW, LONG_AGO, facts, **more), AFTER).findings


def changed(**facts: Any) -> SystemFacts:
    return msgspec.structs.replace(WELL, **facts)


def waits(executors: int = 0, since_s: float = 60, heard_s: float | None = None) -> SystemFacts:
    heard = None if heard_s is None else ago(heard_s)
    return changed(pools=[SERVED, PoolStatus("gpu", executors, heard, 3, ago(since_s))])


def test_where_nothing_is_wrong_all_is_well() -> None:
    status = judge(Sight(NOW, LONG_AGO, WELL), AFTER)
    assert (status.is_well, status.findings) == (True, [])
    assert (status.schedulers, status.partitions_held, status.pools) == (2, 256, [SERVED])


@pytest.mark.parametrize(
    ("facts", "kind", "since", "words"),
    [
        (
            changed(schedulers=0, seen_at=ago(30)),
            FindingKind.SCHEDULERS,
            ago(30),
            "was seen at 2026-12",
        ),
        (changed(schedulers=0, seen_at=None), FindingKind.SCHEDULERS, None, "none was ever seen"),
        (
            changed(without_holder=[7], uncovered_since=ago(25)),
            *(FindingKind.PARTITIONS, ago(25), "1 (7)"),
        ),
        (
            changed(without_holder=list(range(9)), began_at=ago(60), overdue=4),
            *(FindingKind.PARTITIONS, ago(60), "9 (0, 1, 2, 3, 4, …); jobs that are overdue: 4"),
        ),
        (changed(behind_since=ago(21), overdue=5), FindingKind.CLAIMS, ago(21), "overdue: 5"),
        (changed(pools=[]), FindingKind.EXECUTORS, None, "no executor is alive"),
        (
            changed(pools=[PoolStatus("a", 0, ago(99)), PoolStatus("b", 0, ago(40))]),
            *(FindingKind.EXECUTORS, ago(40), "no executor is alive"),
        ),
        (
            waits(),
            FindingKind.UNSERVED,
            None,
            "no executor serves pool gpu; runs that wait for one: 3",
        ),
        (waits(heard_s=30), FindingKind.UNSERVED, ago(30), "no executor serves pool gpu"),
        (
            waits(executors=1, since_s=301),
            FindingKind.BACKLOG,
            ago(301),
            "executors that serve it: 1",
        ),
        (
            changed(restore=Restore(ago(900), ago(600), ago(30))),
            *(
                FindingKind.RESTORE,
                ago(30),
                "from 2026-12-01T11:45:00Z to 2026-12-01T11:50:00Z may have",
            ),
        ),
    ],
)
def test_what_is_wrong_is_told_alone_with_since_when_and_what_to_do(
    facts: SystemFacts, kind: FindingKind, since: datetime | None, words: str
) -> None:
    [finding] = found(facts)
    assert (finding.kind, finding.since) == (kind, since)
    assert words in finding.what
    assert finding.remedy


@pytest.mark.parametrize(
    "facts",
    [
        changed(schedulers=0, seen_at=ago(19)),
        changed(without_holder=[7], uncovered_since=ago(19)),
        changed(behind_since=ago(19)),
        changed(pools=[PoolStatus("default", 0, ago(19))]),
        waits(heard_s=19),
        waits(executors=1, since_s=300),
        changed(pools=[], has_due_jobs=False),
    ],
)
def test_what_may_be_a_restart_and_what_nobody_needs_is_not_told(facts: SystemFacts) -> None:
    assert found(facts) == []


def test_without_schedulers_their_partitions_are_not_told_of_as_well() -> None:
    everything = list(range(256))
    [finding] = found(changed(schedulers=0, seen_at=ago(60), without_holder=everything, overdue=2))
    assert finding.kind is FindingKind.SCHEDULERS
    assert "overdue: 2" in finding.what


def test_while_the_database_is_away_what_was_found_before_still_counts() -> None:
    facts = changed(schedulers=0, seen_at=ago(60))
    later = NOW + timedelta(minutes=5)
    status = judge(
        Sight(later, LONG_AGO, facts, Outage(NOW, "refused"), Outage(NOW, "gone")), AFTER
    )
    kinds = [finding.kind for finding in status.findings]
    assert kinds == [FindingKind.DATABASE, FindingKind.SCHEDULERS, FindingKind.CACHE]
    assert "refused" in status.findings[0].what


def test_a_place_of_outputs_that_cannot_be_used_is_told_last_and_as_less_grave() -> None:
    away = Outage(ago(60), "the bucket of outputs can't be used: NoSuchBucket")
    facts = changed(schedulers=0, seen_at=ago(60))
    status = judge(Sight(NOW, LONG_AGO, facts, cache=away, outputs=away), AFTER)
    kinds = [(finding.kind, finding.grade) for finding in status.findings]
    assert kinds[1:] == [(FindingKind.CACHE, "degraded"), (FindingKind.OUTPUT, "degraded")]
    assert "NoSuchBucket" in status.findings[-1].what
    assert "MATINS_OUTPUT_STORE" in status.findings[-1].remedy


def test_a_database_that_was_never_seen_is_told() -> None:
    status = judge(Sight(NOW, LONG_AGO, None, Outage(None, "refused")), AFTER)
    assert [finding.kind for finding in status.findings] == [FindingKind.DATABASE]
    assert not status.is_well


INSTANTS = st.none() | st.integers(-100, 1000).map(ago)
POOLS = st.builds(
    PoolStatus,
    st.sampled_from("abc"),
    st.integers(0, 2),
    INSTANTS,
    st.integers(0, 10),
    INSTANTS,
)
FACTS = st.builds(
    SystemFacts,
    st.just(NOW),
    st.integers(0, 2),
    INSTANTS,
    INSTANTS,
    st.lists(st.integers(0, 255), max_size=3, unique=True),
    INSTANTS,
    INSTANTS,
    INSTANTS,
    st.integers(0, 3),
    st.booleans(),
    st.lists(POOLS, max_size=3, unique_by=lambda pool: pool.pool),
)


@given(FACTS, st.none() | st.builds(Outage, INSTANTS), st.none() | st.builds(Outage, INSTANTS))
def test_findings_are_told_late_enough_once_each_and_the_gravest_first(
    facts: SystemFacts, database: Outage | None, cache: Outage | None
) -> None:
    status = judge(Sight(NOW, LONG_AGO, facts, database, cache), AFTER)
    assert status.is_well == (not status.findings)
    keys = [finding.key for finding in status.findings]
    assert len(keys) == len(set(keys))
    assert all(found.since is None or NOW - found.since >= AFTER for found in status.findings)
    grades = [finding.grade for finding in status.findings]
    assert grades == sorted(grades, reverse=True)


@given(FACTS)
def test_what_is_told_is_told_as_well_by_who_waits_less(facts: SystemFacts) -> None:
    told = {finding.key for finding in judge(Sight(NOW, LONG_AGO, facts), AFTER).findings}
    assert told <= {
        finding.key for finding in judge(Sight(NOW, LONG_AGO, facts), AFTER / 2).findings
    }


def test_what_was_never_otherwise_counts_from_the_first_look_on() -> None:
    nothing = SystemFacts(NOW)
    first = judge(Sight(NOW, NOW, nothing), AFTER)
    assert first.is_well  # all roles may just be starting
    later = judge(Sight(NOW, NOW - AFTER, nothing), AFTER)
    assert FindingKind.SCHEDULERS in {finding.kind for finding in later.findings}
