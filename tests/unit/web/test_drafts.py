"""The form of a job: fields and YAML follow each other, and what is wrong is told in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs.spec import JobSpec
from matins.domain.values.reading import read_value
from matins.kernel.documents import read_document, yaml_text
from matins.web.drafts import NEW, Draft, draft_of, read_draft
from matins.web.fields import CODECS, Document, field_of, fields_of, with_fields

FULL: Document = {
    "name": "nightly",
    "labels": {"tier": "gold", "region": "eu"},
    "schedule": {"cron": "0 2 * * *", "timezone": "Europe/Berlin", "starts_at": "2026-01-01 00:00"},
    "target": {"http": {"url": "https://x.example/", "headers": {"A": "b"}, "body": {"day": 1}}},
    "retry": {"attempts": 4, "retry_on": ["http:503"]},
    "overlap": {"policy": "queue", "depth": 3},
    "alerts": [{"on": "late", "after": "10m"}],
}


def sent(draft: Draft, **typed: str) -> dict[str, object]:
    """Return a form as a browser sends it."""
    return {**draft.fields, "yaml": draft.yaml, "synced": draft.synced, **typed}


def yaml_of(draft: Draft) -> object:
    return read_document(draft.yaml).value


@pytest.mark.parametrize("document", [FULL, NEW])
def test_a_form_in_which_nothing_was_typed_says_the_same_job(document: Document) -> None:
    draft = draft_of(document)
    assert yaml_of(draft) == document
    assert read_draft(sent(draft)).yaml == draft.yaml
    assert with_fields(document, fields_of(document)) == document


def test_what_is_typed_into_a_field_stands_in_the_yaml_and_the_rest_stays() -> None:
    draft = draft_of(FULL)
    typed = {"retry.attempts": "7", "schedule.cron": "30 3 * * *", "target.http.body": "text"}
    changed = read_draft(sent(draft, **typed))
    document = yaml_of(changed)
    assert isinstance(document, dict)
    assert document["retry"] == {"attempts": 7, "retry_on": ["http:503"]}
    assert document["schedule"]["starts_at"] == "2026-01-01 00:00"
    assert document["target"]["http"]["body"] == "text"
    assert document["alerts"] == FULL["alerts"]
    assert not changed.is_from_yaml
    assert changed.spec == read_value(document, JobSpec)


def test_what_is_typed_into_the_yaml_stands_in_the_fields() -> None:
    draft = draft_of(FULL)
    typed = draft.yaml.replace("attempts: 4", "attempts: 9")
    changed = read_draft(sent(draft, yaml=typed))
    assert changed.is_from_yaml
    assert changed.fields["retry.attempts"] == "9"
    assert changed.yaml == typed


def test_line_ends_of_a_browser_are_no_change() -> None:
    draft = draft_of(FULL)
    assert not read_draft(sent(draft, yaml=draft.yaml.replace("\n", "\r\n"))).is_from_yaml


def test_comments_stay_as_long_as_no_field_is_typed_into() -> None:
    draft = draft_of(FULL)
    changed = read_draft(sent(draft, yaml=f"# why\n{draft.yaml}"))
    assert read_draft(sent(changed)).yaml.startswith("# why")


def test_an_empty_field_leaves_the_default_and_no_empty_part_behind() -> None:
    document = {**FULL, "retry": {"attempts": 4}}
    changed = read_draft(sent(draft_of(document), **{"retry.attempts": "", "overlap.depth": ""}))
    document = yaml_of(changed)  # type: ignore[assignment]
    assert "retry" not in document
    assert document["overlap"] == "queue"


def test_another_kind_takes_what_belonged_to_the_one_before_with_it() -> None:
    draft = draft_of({**FULL, "schedule": {"cron": "0 2 * * *", "dialect": "quartz"}})
    typed = {"schedule.kind": "every", "schedule.every": "15m", "target.kind": "command"}
    changed = read_draft(sent(draft, **typed, **{"target.command.argv": "sh -c 'echo a b'"}))
    document = yaml_of(changed)
    assert isinstance(document, dict)
    assert document["schedule"] == {"every": "15m"}
    assert document["target"] == {"command": {"argv": ["sh", "-c", "echo a b"]}}
    untimed = read_draft(sent(changed, **{"schedule.kind": "none"}))
    assert "schedule" not in str(untimed.yaml)


@pytest.mark.parametrize(
    "schedule", [{"any_of": [{"cron": "0 1 * * *"}]}, {"every": "5m", "after": "end"}]
)
def test_what_no_field_can_say_is_left_as_the_yaml_says_it(schedule: Document) -> None:
    document = {**FULL, "schedule": schedule}
    changed = read_draft(sent(draft_of(document), **{"retry.attempts": "2"}))
    found = yaml_of(changed)
    assert isinstance(found, dict)
    assert found["schedule"] == schedule


def test_what_is_wrong_is_told_beside_its_field() -> None:
    draft = draft_of(FULL)
    typed = {"schedule.cron": "61 2 * * *", "retry.attempts": "many", "labels": "gold"}
    changed = read_draft(sent(draft, **typed))
    assert changed.spec is None
    assert changed.fields["retry.attempts"] == "many"
    assert {"retry.attempts", "labels"} <= changed.faults.keys()
    typed = {"schedule.cron": "61 2 * * *", "target.http.headers": "a b: c", "timeout": "soon"}
    changed = read_draft(sent(draft, **typed))
    assert changed.faults.keys() == {"schedule.cron", "target.http.headers", "timeout"}
    assert changed.others == []


def test_what_is_wrong_elsewhere_is_told_with_its_place() -> None:
    draft = draft_of({**FULL, "alerts": [{"on": "late"}]})
    [problem] = read_draft(sent(draft)).others
    assert problem.where == "alerts[0].after"


def test_yaml_that_cannot_be_read_is_kept_with_the_fields() -> None:
    draft = draft_of(FULL)
    broken = read_draft(sent(draft, yaml="name: [", timeout="5m"))
    assert broken.yaml == "name: ["
    assert broken.fields["timeout"] == "5m"
    assert broken.synced == draft.synced  # so the YAML still counts as typed last
    assert "is not YAML" in broken.others[0].message


@pytest.mark.parametrize("text", ["- a", "just words", "", "42"])
def test_what_is_no_job_is_refused(text: str) -> None:
    assert read_draft({"yaml": text}).problems


def test_a_schedule_is_looked_at_while_the_rest_is_not_right_yet() -> None:
    draft = read_draft(sent(draft_of(NEW)))
    assert draft.spec is None
    assert draft.schedule is not None


def test_every_field_is_a_place_in_a_job() -> None:
    assert field_of("schedule.rrule") == "schedule.rrule"
    assert field_of("target.command.argv[0]") == "target.command.argv"
    assert field_of("retry.backoff.factor") == ""
    assert field_of("target") == "target.kind"


@given(
    st.dictionaries(st.sampled_from(sorted(CODECS)), st.text(max_size=40)),
    st.sampled_from(["cron", "every", "at", "rrule", "after", "none", "other"]),
    st.sampled_from(["http", "command", "checkin", "other"]),
)
def test_whatever_is_typed_is_answered(typed: dict[str, str], schedule: str, target: str) -> None:
    kinds = {"schedule.kind": schedule, "target.kind": target}
    draft = read_draft(sent(draft_of(FULL), **typed, **kinds))
    if draft.spec is not None:
        assert read_value(yaml_of(draft), JobSpec) == draft.spec


@given(st.text(max_size=200))
def test_whatever_yaml_is_typed_is_answered(text: str) -> None:
    draft = read_draft(sent(draft_of(FULL), yaml=text))
    assert draft.spec is None or yaml_text(draft.spec)
