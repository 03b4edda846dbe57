"""Every public case of what is due when, from the bug reports of other schedulers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.schedules.cases import CASES, Case, main, mismatch, read_cases

ALL = read_cases()


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_case_is_answered_as_expected(case: Case) -> None:
    assert mismatch(case) is None, case.why


def test_no_case_is_left_out() -> None:
    assert len(ALL) == 415


def test_the_program_reports_a_wrong_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = CASES.read_text("utf-8").splitlines()[0]
    path = tmp_path / "cases.jsonl"
    path.write_text(first, "utf-8")
    assert main([str(path)]) == 0
    path.write_text(first.replace("2023-03-27", "2023-03-28", 1), "utf-8")
    assert main([str(path)]) == 1
    assert "1 wrong" in capsys.readouterr().out


def test_due_times_within_a_second_are_refused_by_choice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(
        '{"id": "x", "kind": "interval", "expr": "PT0.25S", "dialect": "interval", "why": "",'
        ' "expect": ["2024-01-01T00:00:00.250000+00:00"]}',
        "utf-8",
    )
    assert main([str(path)]) == 0
    assert capsys.readouterr().out.endswith("whole second\n1 refused by choice\n")


def test_the_program_says_of_a_line_that_it_can_not_be_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = CASES.read_text("utf-8").splitlines()[:2]
    path = tmp_path / "cases.jsonl"
    unknown = '{"id": "x", "kind": "next", "expr": "H * * * *", "dialect": "unix", "why": "",'
    path.write_text(
        f'{first}\n{unknown} "expect": {{"props": {{"odd": 1}}}}}}\n{second}\n', "utf-8"
    )
    assert main([str(path)]) == 1
    assert "can be judged" in (told := capsys.readouterr().out)
    assert "2 right, 1 wrong" in told
