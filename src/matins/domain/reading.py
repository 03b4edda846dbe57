"""Reads what people wrote into Structs; what is wrong is named with its place and what is right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TypeVar

import msgspec
from msgspec import inspect

from matins.domain.errors import InvalidInputError, Problem

T = TypeVar("T")

_AT = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?\$?(?P<where>.*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (contains unknown|missing required) field `(.*)`", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
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
        raise InvalidInputError([_problem(str(error), kind)]) from error
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
        raise InvalidInputError([_problem(str(error), kind)]) from error
    except RecursionError:
        raise InvalidInputError.at("", f"is nested deeper than {DEPTH_MAX} levels") from None


def check_text(value: object) -> None:
    """Raise InvalidInputError when a text in it can't be stored: NUL, or half of a surrogate."""
    found = [
        Problem(where, "holds a NUL character; no text may" if "\0" in text else _HALF)
        for where, text in _texts(value, "")
        if "\0" in text or not _is_whole(text)
    ]
    if found:
        raise InvalidInputError(found)


def _texts(value: object, where: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """All texts in a value, keys too, with their places. Raises RecursionError beyond DEPTH_MAX."""
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


def _fault(body: bytes, told: str) -> Problem:
    """What is wrong with JSON that can't be read, in words for people."""
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
    return Problem("", f"is not JSON: {told}")


def _problem(told: str, kind: type) -> Problem:
    """Turn a complaint of msgspec into a place and what would be right there."""
    match = _AT.fullmatch(told)
    assert match, "the pattern matches every text"
    what, where = match["what"], match["where"] or ""
    expected = _expected(inspect.type_info(kind), where)
    if field := _FIELD.fullmatch(what):
        place = f"{where}.{field[2]}".lstrip(".")
        if field[1] == "missing required":
            return Problem(place, "is missing")
        known = sorted({it.encode_name for part in expected for it in _fields(part)})
        near = get_close_matches(field[2], known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        return Problem(place, f"is not known here; {hint}")
    what = what[:1].lower() + what[1:]
    choices = [str(it) for part in expected for it in _choices(part)]
    if choices and not what.startswith("expected `object"):
        what += f"; write one of {', '.join(choices)}"
    elif what.startswith("expected `str") and "got `null`" not in what:
        what += "; write it in quotes"
    return Problem(where.lstrip("."), what)


def _expected(kind: inspect.Type, where: str) -> list[inspect.Type]:
    """The types that may stand at a place."""
    kinds = _alternatives(kind)
    for step in _STEP.finditer(where):
        inner: list[inspect.Type] = []
        for part in kinds:
            if isinstance(part, inspect.ListType):
                inner += _alternatives(part.item_type)
            elif isinstance(part, inspect.DictType):
                inner += _alternatives(part.value_type)
            for field in _fields(part):
                if field.encode_name == step[1]:
                    inner += _alternatives(field.type)
        kinds = inner
    return kinds


def _alternatives(kind: inspect.Type) -> list[inspect.Type]:
    return list(kind.types) if isinstance(kind, inspect.UnionType) else [kind]


def _fields(kind: inspect.Type) -> tuple[inspect.Field, ...]:
    return kind.fields if isinstance(kind, inspect.StructType) else ()


def _choices(kind: inspect.Type) -> tuple[object, ...]:
    if isinstance(kind, inspect.LiteralType):
        return kind.values
    return tuple(kind.cls) if isinstance(kind, inspect.EnumType) else ()
