"""The page on limits is true: its job file, its body and its tables are read and run."""

from __future__ import annotations

import re

import msgspec
import pytest
from tests.docs.tables import DOCS, rows

from matins.domain.jobs.limits import Limit, parse_rate
from matins.domain.jobs.spec import JobFile
from matins.domain.values.reading import read_value
from matins.kernel.documents import read_document

PAGE = "limits.md"


def test_the_job_file_on_the_page_is_sound() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", (DOCS / PAGE).read_text("utf-8"), re.DOTALL)
    file = read_value(read_document(text).value, JobFile)
    assert file.problems() == []
    settle, refund = file.jobs
    assert settle.max_running == 2
    assert settle.concurrency is not None
    assert refund.concurrency is not None
    assert settle.concurrency.key == refund.concurrency.key


@pytest.mark.parametrize(
    ("rate", "spacing", "tolerance"),
    rows(PAGE, "| rate | one start each | late by this much delays no other |"),
)
def test_a_rate_spreads_starts_as_the_page_says(rate: str, spacing: str, tolerance: str) -> None:
    read = parse_rate(rate)
    assert f"{read.spacing.total_seconds():g} s" == spacing
    assert f"{read.tolerance.total_seconds():g} s" == tolerance


@pytest.mark.parametrize(
    ("text", "field", "message"), rows(PAGE, "| limit | field | the message contains |")
)
def test_a_limit_is_refused_as_the_page_says(text: str, field: str, message: str) -> None:
    [problem] = msgspec.convert(read_document(text).value, Limit).problems()
    assert problem.where == field
    assert message in problem.message
