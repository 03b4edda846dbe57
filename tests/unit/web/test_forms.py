"""Forms: what was typed, and what is wrong with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from matins.domain.values.errors import InvalidInputError
from matins.web.forms import Form, read_labels


def test_fields_are_read_without_the_blanks_around_them() -> None:
    form = Form({"name": " move ", "limit": "5", "to": "a, b c", "text": "x\r\ny", "none": " "})
    assert (form.text("name"), form.number("limit")) == ("move", 5)
    assert form.names("to") == ["a", "b", "c"]
    assert form.text("text") == "x\ny"
    assert (form.text("none"), form.optional("none"), form.number("none")) == ("", None, None)


def test_an_instant_is_in_utc_unless_it_says_otherwise() -> None:
    form = Form({"at": "2026-12-01T22:00", "there": "2026-12-01T22:00+02:00"})
    assert form.instant("at") == datetime(2026, 12, 1, 22, tzinfo=UTC)
    assert form.instant("there") == datetime(2026, 12, 1, 22, tzinfo=timezone(timedelta(hours=2)))
    assert form.instant("missing") is None


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (lambda form: form.number("field"), "many", "write a whole number"),
        (lambda form: form.instant("field"), "noon", "2026-12-01T22:00"),
        (lambda form: form.choice("field", ("hold", "skip")), "wait", "hold, skip"),
        (lambda form: form.labels("field"), "gold", "name=value"),
    ],
)
def test_what_is_wrong_is_told_by_its_field(read: object, text: str, message: str) -> None:
    assert callable(read)
    with pytest.raises(InvalidInputError) as caught:
        read(Form({"field": text}))
    assert caught.value.problems[0].where == "field"
    assert message in caught.value.problems[0].message


def test_a_text_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        Form({"reason": "a\0b"})


def test_labels_are_read_as_people_write_them() -> None:
    assert read_labels("tier=gold, region = eu,", "labels") == {"tier": "gold", "region": "eu"}
