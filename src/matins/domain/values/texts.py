"""What owners may write beside names and schedules: texts so long, and labels so many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from matins.domain.values.errors import Problem

LABELS_MAX: Final = 32


def length_problems(where: str, text: str, most: int) -> list[Problem]:
    """Return whether a text is too long."""
    if len(text) <= most:
        return []
    return [Problem(where, f"is longer than {most} characters")]


def label_problems(labels: Mapping[str, str]) -> list[Problem]:
    """Return whether there are too many labels."""
    return [Problem("labels", f"are more than {LABELS_MAX}")] if len(labels) > LABELS_MAX else []


def nul_problems(written: msgspec.Struct) -> list[Problem]:
    """Return whether a text of it, wherever it stands, holds what PostgreSQL stores in none."""
    if "\\u0000" not in msgspec.json.encode(written).decode().replace("\\\\", ""):
        return []
    return [Problem("", "holds a NUL character; no text may")]


def clean(text: str) -> str:
    """Return a text that can't command a terminal: what a job wrote may hold anything."""
    return "".join(mark if mark.isprintable() or mark in "\n\t" else "\ufffd" for mark in text)
