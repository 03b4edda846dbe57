"""How long runs are kept: what owners write, and what it means."""

from __future__ import annotations

import pytest

from matins.domain.jobs.keeping import DAYS, Keep, KeepLimits, Kept, kept


@pytest.mark.parametrize(
    ("job", "team", "expected"),
    [
        (None, None, Kept(DAYS, None, DAYS, None)),
        (None, Keep(days=7), Kept(7, None, 7, None)),
        (Keep(runs=3), Keep(days=7), Kept(DAYS, 3, DAYS, 3)),
        (Keep(days=7, others=KeepLimits(runs=5)), None, Kept(7, None, 7, 5)),
        (Keep(days=7, runs=9, others=KeepLimits(days=30)), None, Kept(7, 9, 30, None)),
        (Keep(others=KeepLimits(days=30)), None, Kept(DAYS, None, 30, None)),
    ],
)
def test_a_job_s_word_replaces_its_team_s(
    job: Keep | None, team: Keep | None, expected: Kept
) -> None:
    assert kept(job, team) == expected


@pytest.mark.parametrize(
    ("keep", "places"),
    [
        (Keep(days=1, runs=1), []),
        (Keep(days=0), ["days"]),
        (Keep(runs=1_000_001), ["runs"]),
        (
            Keep(days=36_501, others=KeepLimits(days=-1, runs=0)),
            ["days", "others.days", "others.runs"],
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_place(keep: Keep, places: list[str]) -> None:
    assert [problem.where for problem in keep.problems()] == places
