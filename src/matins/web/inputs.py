"""What is given for a run, as a form shows and reads it: a line for each argument or variable."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from matins.domain.jobs.spec import JobSpec
from matins.domain.runs.inputs import FIELDS, NO_INPUT, RunInput
from matins.domain.values.errors import InvalidInputError, Problem, check
from matins.web.masking import masked_input, unmasked_pairs

_JSON = re.compile(r"\s*[{\[]")
_SIGNS: Final = {"env": "=", "headers": ":"}


class InputForm(NamedTuple):
    """The fields that can be given for a job's kind of target, with their text."""

    args: str | None = None
    env: str | None = None
    headers: str | None = None
    body: str | None = None


def input_form(spec: JobSpec | None, given: RunInput = NO_INPUT) -> InputForm:
    """Return the form for a run of a job, filled with what was given, secrets masked."""
    fields = FIELDS.get((spec and spec.target.kind) or "", ())
    shown = masked_input(given)
    texts = {
        "args": "\n".join(shown.args),
        "env": _lines(shown.env, "="),
        "headers": _lines(shown.headers, ": "),
        "body": body_text(shown.body),
    }
    return InputForm(**{name: text for name, text in texts.items() if name in fields})


def body_text(body: object) -> str:
    """Return a body as people read it."""
    if body is None or isinstance(body, str):
        return body or ""
    return json.dumps(body, indent=2, ensure_ascii=False)


def read_input(form: Mapping[str, object], given: RunInput = NO_INPUT) -> RunInput:
    """Read a form; what is still masked in it is as it was given. Raises InvalidInputError."""
    text = {name: str(form.get(name, "")).replace("\r\n", "\n") for name in InputForm._fields}
    shown = masked_input(given)
    args = [line for line in text["args"].split("\n") if line]
    body: object = _body(text["body"])
    return RunInput(
        given.args if args == shown.args else args,
        unmasked_pairs(_pairs("env", text["env"]), given.env),
        unmasked_pairs(_pairs("headers", text["headers"]), given.headers),
        given.body if body == shown.body else msgspec.convert(body, type=_BODY),
    )


_BODY = str | dict[str, object] | list[object] | None


def _lines(pairs: Mapping[str, str], sign: str) -> str:
    return "\n".join(f"{name}{sign}{value}" for name, value in pairs.items())


def _pairs(where: str, text: str) -> dict[str, str]:
    sign = _SIGNS[where]
    parted = [line.partition(sign) for line in text.split("\n") if line.strip()]
    message = f"has no {sign} in a line; write NAME{sign}value, one a line"
    check([Problem(where, f"{name[:40]!r} {message}") for name, found, _ in parted if not found])
    return {
        name.strip(): value.strip() if where == "headers" else value for name, _, value in parted
    }


def _body(text: str) -> object:
    """Read a body: JSON if it begins as an object or a list does, else text as it is."""
    if not _JSON.match(text):
        return text or None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInputError.at("body", f"begins as JSON and is none: {error}") from error
