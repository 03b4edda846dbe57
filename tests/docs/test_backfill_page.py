"""The page on backfills is true: its examples and each row of its tables are run."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec
import pytest
from tests.docs.tables import DOCS, rows

from matins.cli.index import COMMANDS
from matins.domain.runs.backfills.expansion import DueThen, Ledger, RecordedDue, judge
from matins.domain.runs.backfills.values import BackfillRequest
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.reading import read_json

PAGE = "backfill.md"
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
TEXT = (DOCS / PAGE).read_text("utf-8")
RECORDED = rows(PAGE, "| recorded of the due time | again | left out, since |")


@pytest.mark.parametrize(("recorded", "again", "told"), RECORDED)
def test_a_due_time_is_judged_as_the_page_says(recorded: str, again: str, told: str) -> None:
    kind, _, state = recorded.partition(" ")
    run = [RecordedDue(NOW, Kind(kind), RunState(state))] if state else []
    [judged] = judge([DueThen(NOW, 1)], Ledger(run), again=again == "yes")
    assert told == (judged.reason or "runs")


def test_the_body_on_the_page_is_a_sound_request() -> None:
    [body] = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    assert read_json(body.encode(), BackfillRequest).problems(NOW) == []


def test_the_page_names_every_field_with_its_default() -> None:
    told = {cells[0]: cells[2] for cells in rows(PAGE, "| field | meaning | default |")}
    fields = msgspec.structs.fields(BackfillRequest)
    assert list(told) == [field.name for field in fields]
    usual = BackfillRequest(NOW)
    shown = {"limit": str(usual.limit), "order": usual.order, "again": str(usual.again).lower()}
    assert shown.items() <= told.items()


def test_the_commands_on_the_page_exist() -> None:
    named = set(re.findall(r"^matins (backfill \w+)", TEXT, re.MULTILINE))
    assert named == {name for name in COMMANDS if name.startswith("backfill ")}
