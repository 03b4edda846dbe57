"""What a page shows of targets and inputs: secrets are masked, by the names that they go by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.runs.inputs import RunInput
from matins.domain.values.secrets import MASK, looks_secret

Body = str | dict[str, object] | list[object] | None

_OPTION = re.compile(r"(-{1,2}[\w-]+)(?:=(.*))?", re.DOTALL)


def masked_spec(spec: JobSpec) -> JobSpec:
    """Return a job without the secrets of its target."""
    return msgspec.structs.replace(spec, target=masked_target(spec.target))


def masked_target(target: Target) -> Target:
    """Return a target without its secrets."""
    match target:
        case Target(command=CommandTarget() as command):
            argv, env = masked_args(command.argv), masked_pairs(command.env)
            return Target(command=msgspec.structs.replace(command, argv=argv, env=env))
        case Target(http=HttpTarget() as http):
            changed = msgspec.structs.replace(
                http,
                url=_masked_url(http.url),
                headers=masked_pairs(http.headers),
                body=_masked_body(http.body),
            )
            return Target(http=changed)
    return target


def masked_input(given: RunInput) -> RunInput:
    """Return what was given for a run, without its secrets."""
    return RunInput(
        masked_args(given.args),
        masked_pairs(given.env),
        masked_pairs(given.headers),
        _masked_body(given.body),
    )


def masked_pairs(pairs: Mapping[str, str]) -> dict[str, str]:
    """Return variables or headers with secret values masked."""
    return {name: MASK if looks_secret(name) and value else value for name, value in pairs.items()}


def unmasked_pairs(pairs: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Return pairs that were shown masked, and edited: what still is a mask is as it was."""
    return {
        name: before[name] if value == MASK and name in before else value
        for name, value in pairs.items()
    }


def masked_args(args: Sequence[str]) -> list[str]:
    """Return arguments with the values of options masked whose names look secret."""
    masked, is_secret = [], False
    for argument in args:
        option = _OPTION.fullmatch(argument)
        if option is None:
            masked.append(MASK if is_secret else argument)
            is_secret = False
            continue
        is_secret = looks_secret(option[1])
        if is_secret and option[2] is not None:
            masked.append(f"{option[1]}={MASK}")
            is_secret = False
        else:
            masked.append(argument)
    return masked


def _masked_url(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{MASK}@{host}" if "@" in parts.netloc else parts.netloc
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = parts.query
    if any(looks_secret(name) for name, _ in pairs):
        shown = [(name, MASK if looks_secret(name) else value) for name, value in pairs]
        query = urlencode(shown, safe="*")
    return urlunsplit(parts._replace(netloc=netloc, query=query))


def _masked_body(body: Body) -> Body:
    """Return a body with the secret fields of objects masked; a text is shown as it is."""
    if isinstance(body, dict):
        return {name: _masked_field(name, inner) for name, inner in body.items()}
    return [_masked(inner) for inner in body] if isinstance(body, list) else body


def _masked_field(name: str, value: object) -> object:
    return MASK if looks_secret(name) and isinstance(value, str) else _masked(value)


def _masked(value: object) -> object:
    return _masked_body(value) if isinstance(value, dict | list) else value
