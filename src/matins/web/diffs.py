"""What is different between two versions of a job, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from typing import NamedTuple

import msgspec
import yaml

from matins.domain.jobs.spec import JobSpec
from matins.web.masking import masked_spec


class DiffLine(NamedTuple):
    """A line of a difference; `kind` is add, del or nothing."""

    text: str
    kind: str = ""


def spec_diff(before: JobSpec, after: JobSpec) -> Sequence[DiffLine]:
    """Return how a job differs from what it was; nothing if it does not. Secrets are masked."""
    lines = unified_diff(_text(before), _text(after), n=2, lineterm="")
    return [_line(line) for line in list(lines)[2:]]  # the first two name files


def _text(spec: JobSpec) -> list[str]:
    plain = msgspec.to_builtins(masked_spec(spec))
    text: str = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    return text.splitlines()


def _line(line: str) -> DiffLine:
    return DiffLine(line, {"+": "add", "-": "del"}.get(line[0], ""))
