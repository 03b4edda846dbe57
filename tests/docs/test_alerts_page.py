"""The page on alerts is true: its job file, its rules, its tables and its event are read."""

from __future__ import annotations

import re

import msgspec
import pytest
from tests.docs.tables import DOCS, rows, tables

from matins.alerts.channels.webhook import WebhookEvent
from matins.domain.alerts.ruling import DEFAULTS, rules_of
from matins.domain.jobs.alerting import AlertRule
from matins.domain.jobs.spec import JobFile
from matins.domain.values.reading import read_value
from matins.kernel.documents import read_document

PAGE = "alerts.md"
TEXT = (DOCS / PAGE).read_text("utf-8")


def test_the_job_file_on_the_page_is_sound() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    file = read_value(read_document(text).value, JobFile)
    assert file.problems() == []
    rules = rules_of(file.jobs[0], [])
    assert {rule.on for rule in rules.values()} == {*DEFAULTS, "late"}
    assert rules["dead"].to == ["oncall"]


@pytest.mark.parametrize(("text", "bad", "until"), rows(PAGE, "| rule | the job is bad | until |"))
def test_each_rule_on_the_page_is_sound(text: str, bad: str, until: str) -> None:
    del bad, until
    assert msgspec.convert(read_document(text).value, AlertRule).problems() == []


def test_the_page_names_every_kind_of_rule_and_every_field() -> None:
    kinds = {
        msgspec.convert(read_document(text.strip("`")).value, AlertRule).on
        for text, _, _ in tables(PAGE, "| rule | the job is bad | until |")[0]
    }
    fields = {field.name: field for field in msgspec.structs.fields(AlertRule)}
    assert kinds == set(msgspec.inspect.type_info(AlertRule).fields[0].type.values)  # type: ignore[attr-defined]
    told = [name.strip("`") for name, _, _ in tables(PAGE, "| field | meaning | default |")[0]]
    assert told == list(fields)


@pytest.mark.parametrize(
    ("text", "field", "message"), rows(PAGE, "| rule | field | the message contains |")
)
def test_a_rule_is_refused_as_the_page_says(text: str, field: str, message: str) -> None:
    [problem] = msgspec.convert(read_document(text).value, AlertRule).problems()
    assert problem.where == field
    assert message in problem.message


def test_the_event_on_the_page_is_one() -> None:
    [text] = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    event = msgspec.json.decode(text, type=WebhookEvent)
    assert event.type == "alert.bad"
    shown = msgspec.json.decode(text)["data"]
    assert shown.keys() == {field.name for field in msgspec.structs.fields(type(event.data))}
    assert shown["notices"][0].keys() == {
        field.name for field in msgspec.structs.fields(type(event.data.notices[0]))
    }
