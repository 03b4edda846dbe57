"""The page on maintenance windows is true: each row of its example tables is run."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec
import pytest
from tests.docs.tables import DOCS, rows

from matins.cli.windows import read_span
from matins.domain.jobs.windows import Window, window_at
from matins.domain.values.reading import read_json
from matins.kernel.documents import read_document

PAGE = "windows.md"
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


MET = rows(PAGE, "| windows | labels of the job | fires at | the run |")
TYPED = rows(PAGE, "| from | to | zone | begins | ends |")
REFUSED = rows(PAGE, "| window | field | the message contains |")


@pytest.mark.parametrize(("windows", "labels", "fires_at", "told"), MET)
def test_a_run_meets_windows_as_the_page_says(
    windows: str, labels: str, fires_at: str, told: str
) -> None:
    given = msgspec.convert(read_document(windows).value, list[Window])
    meant = msgspec.convert(read_document(labels).value, dict[str, str])
    met = window_at(given, meant, datetime.fromisoformat(fires_at))
    assert told == (met.run_reason if met else "runs")


@pytest.mark.parametrize(("starts", "ends", "zone", "begin", "end"), TYPED)
def test_times_are_read_as_the_page_says(
    starts: str, ends: str, zone: str, begin: str, end: str
) -> None:
    span = read_span(starts, ends, None if zone == "none" else zone, NOW)
    assert span == (datetime.fromisoformat(begin), datetime.fromisoformat(end))


@pytest.mark.parametrize(("text", "field", "message"), REFUSED)
def test_a_window_is_refused_as_the_page_says(text: str, field: str, message: str) -> None:
    [problem] = msgspec.convert(read_document(text).value, Window).problems(NOW)
    assert problem.where == field
    assert message in problem.message


def test_the_body_on_the_page_is_a_sound_window() -> None:
    [body] = re.findall(r"```json\n(.*?)```", (DOCS / PAGE).read_text("utf-8"), re.DOTALL)
    assert read_json(body.encode(), Window).problems(NOW) == []


def test_the_page_names_every_field() -> None:
    named = [cells[0] for cells in rows(PAGE, "| field | meaning | default |")]
    assert named == [field.name for field in msgspec.structs.fields(Window)]
