"""A job as it is typed: in fields and as YAML beside them. The YAML is what is saved.

Whichever of the two was typed in last is made the other by the server. A form sends both, with the
mark of the YAML to which its fields belong: another YAML than that was typed after them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from matins.domain.jobs.spec import JobSpec
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import InvalidInputError, Problem, check
from matins.domain.values.reading import read_value
from matins.kernel.documents import read_document, yaml_text
from matins.web.fields import (
    CODECS,
    SCHEDULE_KIND,
    TARGET_KIND,
    Document,
    Fields,
    field_of,
    fields_of,
    in_order,
    with_fields,
)

TEXT_MAX: Final = 512 * 1024
"""The longest YAML of a job, in characters."""

NEW: Final[Document] = {
    "name": "",
    "schedule": {"cron": "0 2 * * *", "timezone": "UTC"},
    "target": {"command": {"argv": ["echo", "hello"]}},
}


class Draft(NamedTuple):
    """A job as it is typed, read and checked: `spec` if all of it is right, `schedule` if that is.

    `synced` is the mark of the YAML to which the fields belong; `is_from_yaml` says that they are
    to be made anew, since the YAML was typed in last.
    """

    fields: Fields
    yaml: str
    synced: str
    spec: JobSpec | None = None
    schedule: Schedule | None = None
    problems: Sequence[Problem] = ()
    is_from_yaml: bool = False

    @property
    def faults(self) -> dict[str, str]:
        """What is wrong, by the field beside which it is told."""
        faults: dict[str, str] = {}
        for problem in self.problems:
            field = "team" if problem.where == "team" else field_of(problem.where)
            if field:
                inner = problem.where.removeprefix(field).lstrip(".")
                text = (
                    f"{inner} {problem.message}" if inner and field in CODECS else problem.message
                )
                faults[field] = f"{faults[field]}; {text}" if field in faults else text
        return faults

    @property
    def others(self) -> list[Problem]:
        """What is wrong where no field stands."""
        return [
            problem
            for problem in self.problems
            if problem.where != "team" and not field_of(problem.where)
        ]

    def refused(self, problems: Sequence[Problem]) -> Draft:
        """Return it with what was found wrong when it was to be saved."""
        return self._replace(problems=[*self.problems, *problems])


def draft_of(document: Document | JobSpec) -> Draft:
    """Return a job as a form shows it first."""
    value = in_order(msgspec.to_builtins(document))
    text = yaml_text(value)
    return Draft(fields_of(value), text, mark(text))


def read_draft(form: Mapping[str, object]) -> Draft:
    """Read a form. What is wrong stands in the answer, beside what was typed."""
    text = _text(form, "yaml").rstrip()
    fields = {path: _text(form, path) for path in (SCHEDULE_KIND, TARGET_KIND, *CODECS)}
    synced = str(form.get("synced", ""))
    try:
        document = _document(text)
    except InvalidInputError as error:
        return Draft(fields, text, synced, problems=error.problems)
    is_from_yaml = mark(text) != synced
    if is_from_yaml:
        fields = fields_of(document)
    else:
        changed = with_fields(document, fields)
        if changed != document:  # else the YAML stays as it was written
            document, text = changed, yaml_text(changed)
    spec, problems = _read(document)
    schedule = _schedule(document)
    return Draft(fields, text, mark(text), spec, schedule, problems, is_from_yaml)


def mark(text: str) -> str:
    """Return by what a YAML is known again."""
    return sha256(text.rstrip().encode()).hexdigest()[:32]


def _document(text: str) -> Document:
    """Return the mapping that a YAML is. Raises InvalidInputError."""
    if len(text) > TEXT_MAX:
        raise InvalidInputError.at("", f"is longer than {TEXT_MAX} characters")
    value = read_document(text).value
    if not isinstance(value, dict):
        raise InvalidInputError.at("", f"must be one job, as in {JobSpec.EXAMPLE}")
    return value


def _read(document: Document) -> tuple[JobSpec | None, list[Problem]]:
    try:
        spec = read_value(document, JobSpec)
        check(spec.problems())
    except InvalidInputError as error:
        return None, error.problems
    return spec, []


def _schedule(document: Document) -> Schedule | None:
    """Return the schedule by itself, which may be right where the rest is not yet."""
    try:
        return read_value(document["schedule"], Schedule)
    except (InvalidInputError, KeyError):
        return None


def _text(form: Mapping[str, object], name: str) -> str:
    return str(form.get(name, "")).replace("\r\n", "\n")
