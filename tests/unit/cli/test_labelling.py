"""What `jobs label` takes: a job, or labels to add and to drop."""

from __future__ import annotations

import pytest

from matins.cli.app import run
from matins.cli.labelling import read_labelling
from matins.domain.values.errors import InvalidInputError


@pytest.mark.parametrize(
    ("words", "job", "add", "drop"),
    [
        (["tier=gold"], None, {"tier": "gold"}, []),
        (["owner-"], None, {}, ["owner"]),
        (["nightly", "tier=gold", "owner-"], "nightly", {"tier": "gold"}, ["owner"]),
        (["payments/nightly", "a=", "b=c=d-"], "payments/nightly", {"a": "", "b": "c=d-"}, []),
    ],
)
def test_words_are_read(
    words: list[str], job: str | None, add: dict[str, str], drop: list[str]
) -> None:
    assert read_labelling(words) == (job, add, drop)


@pytest.mark.parametrize("words", [[], ["payments/nightly"], ["payments/nightly", "gold"]])
def test_what_names_no_label_is_told(words: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        read_labelling(words)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tier=gold"], "name either one job, as TEAM/NAME, or a --team"),
        (["a/b", "tier=gold", "--team", "a"], "name either one job, as TEAM/NAME, or a --team"),
        (["a/b", "tier=gold", "--label", "x=y"], "goes with --team"),
    ],
)
def test_jobs_are_named_in_one_way(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["jobs", "label", *words]) == 2
    assert told in capsys.readouterr().err
