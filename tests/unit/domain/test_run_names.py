"""How the names of runs are read."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ids import run_numbered

from matins.domain.runs.naming import IdRange, OfJob, has_seconds, parse_run_name
from matins.domain.values.errors import InvalidInputError
from matins.domain.values.ids import due_of

RUN = run_numbered(7)
IDS = st.integers(0, (1 << 124) - 1).map(lambda number: UUID(int=number))


@given(IDS, st.integers(4, 35), st.booleans())
def test_the_beginning_of_an_id_is_the_range_of_all_that_begin_so(
    run: UUID, length: int, with_dashes: bool
) -> None:
    text = str(run) if with_dashes else run.hex
    name = parse_run_name(text[:length].upper())
    if isinstance(name, UUID):
        assert name == run
        return
    assert isinstance(name, IdRange)
    digits = text[:length].replace("-", "")
    assert name.low <= run <= name.high
    assert {name.low.hex[: len(digits)], name.high.hex[: len(digits)]} == {digits}
    assert name.high.int - name.low.int == (1 << 4 * (32 - len(digits))) - 1


def test_a_range_of_four_digits_spans_less_than_two_months() -> None:
    name = parse_run_name("019a")
    assert isinstance(name, IdRange)
    assert (due_of(name.high) - due_of(name.low)).days == 49


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (str(RUN), RUN),
        (f" {RUN.hex} ", RUN),
        ("payments/nightly", OfJob("payments", "nightly")),
        ("nightly", OfJob("default", "nightly")),
        ("007", OfJob("default", "007")),
        ("cafe", OfJob("default", "cafe")),
        ("default/019a", OfJob("default", "019a")),
        ("a/b@2026-11-30T02:00", OfJob("a", "b", "2026-11-30T02:00")),
        ("019a@2026-11-30T02:00+01:00", OfJob("default", "019a", "2026-11-30T02:00+01:00")),
    ],
)
def test_names_are_read(text: str, name: object) -> None:
    assert parse_run_name(text) == name


@pytest.mark.parametrize(
    "text",
    ["", "/", "a/", "/a", "a/b@", "@2026-11-30T02:00", "a/b/c", "A B", "019a-bcde", f"{RUN}0"],
)
def test_what_names_no_run_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_run_name(text)
    assert refused.value.problems[0].where in {"name", "team"}


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("2026-11-30T02:00", False),
        ("2026-11-30T02:00+01:00", False),
        ("2026-11-30 02:00:00Z", True),
        ("2026-11-30t02:00:00-05:30", True),
    ],
)
def test_an_instant_may_say_its_seconds(at: str, says: bool) -> None:
    assert has_seconds(at) is says
