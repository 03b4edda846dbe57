"""Reads what people wrote into Structs; what is wrong is named with its place and what is right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from matins.domain.values.errors import InvalidInputError, Problem
from matins.domain.values.shapes import problems_in

T = TypeVar("T")

_NUL = b"\\u0000"
_HALF = "holds half of a surrogate pair, which is no character; write the character itself"

DEPTH_MAX = 64
"""How deep lists and objects may lie in each other."""


def read_json(body: bytes, kind: type[T]) -> T:
    """Read JSON as a Struct. Raises InvalidInputError."""
    try:
        if _NUL in body or body.count(b"[") + body.count(b"{") > DEPTH_MAX:
            check_text(msgspec.json.decode(body))
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise InvalidInputError(_misshapen(body, kind, str(error))) from error
    except msgspec.DecodeError as error:
        raise InvalidInputError([_fault(body, str(error))]) from error
    except RecursionError:
        raise InvalidInputError.at("", f"is nested deeper than {DEPTH_MAX} levels") from None


def read_value(value: object, kind: type[T]) -> T:
    """Read plain values (from YAML, say) as a Struct. Raises InvalidInputError."""
    try:
        check_text(value)
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problems = problems_in(value, kind)
        raise InvalidInputError(problems or [Problem("", str(error))]) from error
    except RecursionError:
        raise InvalidInputError.at("", f"is nested deeper than {DEPTH_MAX} levels") from None


def check_text(value: object) -> None:
    """Raise InvalidInputError when a text in it can't be stored: NUL, or half of a surrogate."""
    problems = [
        Problem(where, "holds a NUL character; no text may" if "\0" in text else _HALF)
        for where, text in _texts(value, "")
        if "\0" in text or not _is_whole(text)
    ]
    if problems:
        raise InvalidInputError(problems)


def _texts(value: object, where: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield all texts in a value, keys too, with their places. Raises RecursionError beyond
    DEPTH_MAX.
    """
    if depth > DEPTH_MAX:
        raise RecursionError
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"{where} (a key)".lstrip(), str(key)
            yield from _texts(inner, f"{where}.{key}".lstrip("."), depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{where}[{index}]", depth + 1)


def _is_whole(text: str) -> bool:
    return not any("\ud800" <= mark <= "\udfff" for mark in text)


def _misshapen(body: bytes, kind: type, message: str) -> list[Problem]:
    """Return all that is wrong with the shape of JSON; it may be no JSON after the first of it."""
    try:
        return problems_in(msgspec.json.decode(body), kind) or [Problem("", message)]
    except msgspec.DecodeError as error:
        return [_fault(body, str(error))]


def _fault(body: bytes, message: str) -> Problem:
    """Return what is wrong with JSON that can't be read, in words for people."""
    if not body.strip():
        return Problem("", "the body is empty; it must be JSON")
    try:
        check_text(json.loads(body))
    except json.JSONDecodeError as error:
        return Problem("", f"is not JSON: {error.msg} at line {error.lineno} column {error.colno}")
    except UnicodeDecodeError as error:
        return Problem("", f"is not UTF-8: byte {error.start} can't be read")
    except InvalidInputError as error:
        return error.problems[0]
    return Problem("", f"is not JSON: {message}")
