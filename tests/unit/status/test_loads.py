"""What lies on teams and pools."""

from __future__ import annotations

from matins.domain.status.loads import COUNT_MAX, Load, LoadLine, by_name, is_cut

LOADS = [
    Load("queued", "growth", "batch", 2),
    Load("running", "growth", "default", 1),
    Load("waiting", "payments", "default", 5),
]


def test_those_with_the_most_runs_come_first() -> None:
    assert by_name(LOADS, "team") == [LoadLine("payments", 0, 0, 5), LoadLine("growth", 1, 2, 0)]
    assert by_name(LOADS, "pool") == [LoadLine("default", 1, 0, 5), LoadLine("batch", 0, 2, 0)]


def test_it_is_told_where_counting_ended() -> None:
    assert not is_cut(LOADS)
    assert is_cut([*LOADS, Load("queued", "payments", "default", COUNT_MAX - 2)])
