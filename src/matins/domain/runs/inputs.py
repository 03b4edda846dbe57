"""What a trigger changes of its job's target for one run: for all attempts of it, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import ClassVar, Final
from uuid import UUID

import msgspec

from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.values.errors import InvalidInputError, Problem, check

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "command": ("args", "env"),
    "http": ("headers", "body"),
}
"""By kind of target what can be changed of it."""

KEY_MAX: Final = 255
"""The longest idempotency key, in characters."""


class RunInput(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Of a command: `args` go behind its argv, `env` adds to its variables or replaces some.

    Of an HTTP request: `headers` add to the job's or replace some, `body` replaces the job's.
    """

    EXAMPLE: ClassVar[str] = "{env: {DAY: 2026-12-01}}"

    args: list[str] = []
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    body: str | dict[str, object] | list[object] | None = None

    def fingerprint(self, *, allow_overlap: bool = False, replay_of: UUID | None = None) -> str:
        """Return what is equal for equal triggers, and for equal replays of a run."""
        content: object = (self, allow_overlap) if allow_overlap else self
        if replay_of is not None:
            content = (content, replay_of)
        return sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


NO_INPUT: Final = RunInput()


class GivenInput(RunInput, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The input of a run; `replay_of` is the dead run for which it stands, and `replayed_by` the
    name of the token by which it was replayed last, or made in place of that one.
    """

    replay_of: UUID | None = None
    replayed_by: str = ""


NOTHING_GIVEN: Final = GivenInput()


def with_input(target: Target, run_input: RunInput) -> Target:
    """Return a target as one run calls it. Raises InvalidInputError where it has no such part."""
    [(kind, _)] = target.given().items()
    check(_misplaced(kind, run_input))
    match target:
        case Target(command=CommandTarget() as command):
            argv, env = [*command.argv, *run_input.args], command.env | run_input.env
            return Target(command=msgspec.structs.replace(command, argv=argv, env=env))
        case Target(http=HttpTarget() as http):
            replaced = {name.lower() for name in run_input.headers}
            kept = {
                name: value for name, value in http.headers.items() if name.lower() not in replaced
            }
            body = http.body if run_input.body is None else run_input.body
            changed = msgspec.structs.replace(http, headers=kept | run_input.headers, body=body)
            return Target(http=changed)
    raise AssertionError(kind)


def input_problems(target: Target, run_input: RunInput) -> list[Problem]:
    """Return all that is wrong with an input for a target, by its own fields."""
    try:
        changed = with_input(target, run_input)
    except InvalidInputError as error:
        return error.problems
    [kind] = changed.given().values()
    return [
        Problem("args" if problem.where == "argv" else problem.where, problem.message)
        for problem in kind.problems()
    ]


def key_problems(key: str) -> list[Problem]:
    """Return what is wrong with an idempotency key."""
    if 0 < len(key) <= KEY_MAX and all(" " <= mark <= "~" for mark in key):
        return []
    rule = f"must have from 1 to {KEY_MAX} printable ASCII characters"
    return [Problem("Idempotency-Key", rule)]


def _misplaced(kind: str, run_input: RunInput) -> list[Problem]:
    right = " and ".join(FIELDS[kind])
    return [
        Problem(field, f"is nothing of a {kind} target, as this job has; that takes {right}")
        for field in run_input.__struct_fields__
        if field not in FIELDS[kind] and getattr(run_input, field) != getattr(NO_INPUT, field)
    ]
