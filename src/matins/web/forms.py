"""What was typed into a form, read field by field; what is wrong is told by the field's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from matins.domain.values.errors import InvalidInputError
from matins.domain.values.reading import check_text

T = TypeVar("T", bound=str)


class Form:
    """The fields of a form. One that is empty, or was not sent, is left out."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        """Raises InvalidInputError when a text can't be stored."""
        texts = {name: value.strip() for name, value in fields.items() if isinstance(value, str)}
        check_text(texts)
        self._texts = {name: text.replace("\r\n", "\n") for name, text in texts.items() if text}

    def text(self, name: str) -> str:
        """Return a text; empty if there is none."""
        return self._texts.get(name, "")

    def optional(self, name: str) -> str | None:
        """Return a text; None if there is none."""
        return self._texts.get(name)

    def number(self, name: str) -> int | None:
        """Return a whole number. Raises InvalidInputError."""
        text = self._texts.get(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            raise InvalidInputError.at(name, f"is {text!r}; write a whole number") from None

    def choice(self, name: str, choices: Sequence[T]) -> T:
        """Return one of some choices. Raises InvalidInputError."""
        text = self.text(name)
        for choice in choices:
            if choice == text:
                return choice
        raise InvalidInputError.at(name, f"is {text!r}; it may be {', '.join(choices)}")

    def instant(self, name: str) -> datetime | None:
        """Return an instant, which is in UTC unless it has an offset. Raises InvalidInputError."""
        text = self._texts.get(name)
        if text is None:
            return None
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            message = f"is {text!r}; write it as 2026-12-01T22:00"
            raise InvalidInputError.at(name, message) from None
        return at if at.tzinfo else at.replace(tzinfo=UTC)

    def names(self, name: str) -> list[str]:
        """Return names that are separated by commas or blanks."""
        return self.text(name).replace(",", " ").split()

    def labels(self, name: str) -> dict[str, str]:
        """Return labels. Raises InvalidInputError."""
        return read_labels(self.text(name), name)


def read_labels(text: str, where: str) -> dict[str, str]:
    """Read labels as people write them: `tier=gold, region=eu`. Raises InvalidInputError."""
    labels = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, value = part.partition("=")
        if not sign:
            raise InvalidInputError.at(where, f"is {part!r}; write it as name=value")
        labels[name.strip()] = value.strip()
    return labels
