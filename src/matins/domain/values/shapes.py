"""What is wrong with the shape of plain values that were to become a Struct: all of it at once.

`msgspec` names the first fault in its own words. Where it has found one, this looks at everything,
and says what would be right as people write it. Parts whose shape is right are asked for what is
wrong with their meaning, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import NamedTuple

import msgspec
from msgspec import inspect

from matins.domain.values.errors import Problem, below

_NAMES: dict[type[inspect.Type], str] = {
    inspect.StructType: "a mapping",
    inspect.DictType: "a mapping",
    inspect.ListType: "a list",
    inspect.VarTupleType: "a list",
    inspect.StrType: "a text",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
    inspect.DateTimeType: "an instant such as 2026-12-01T00:00:00Z",
}
_LEAVES: dict[type[inspect.Type], type] = {
    inspect.StrType: str,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.BoolType: bool,
    inspect.DateTimeType: datetime,
}
_SCALARS = (str, int, float, bool)


class _Found(NamedTuple):
    """The faults of a part: of its shape, and of the meaning of what in it has its right shape."""

    shape: list[Problem]
    meaning: list[Problem]


def problems_in(value: object, kind: type) -> list[Problem]:
    """Return all that is wrong with a plain value that is to become a `kind`; `where` begins in
    it.
    """
    found = _look(value, inspect.type_info(kind), "")
    return found.shape + found.meaning


def _look(value: object, kind: inspect.Type, where: str) -> _Found:
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    fitting = next((kind for kind in kinds if _takes(kind, value)), None)
    match fitting, value:
        case None, _:
            return _Found([Problem(where, _wrong(value, kinds, where))], [])
        case inspect.StructType(), dict():
            return _look_into(value, fitting, where)
        case inspect.ListType() | inspect.VarTupleType(), list():
            inner = (
                _look(element, fitting.item_type, f"{where}[{i}]")
                for i, element in enumerate(value)
            )
            return _all(inner)
        case inspect.DictType(), dict():
            return _all(
                _look(element, fitting.value_type, _at(where, key))
                for key, element in value.items()
            )
    return _Found([], [])


def _look_into(value: dict[str, object], kind: inspect.StructType, where: str) -> _Found:
    """Return the faults of a mapping that is to become a Struct."""
    fields = {field.encode_name: field for field in kind.fields}
    unknown = {name: _meant(name, fields) for name in sorted(value.keys() - fields)}
    shape = [Problem(_at(where, name), _unknown(meant, fields)) for name, meant in unknown.items()]
    shape += [
        Problem(_at(where, name), "is missing")
        for name, field in fields.items()
        if field.required and name not in value and name not in unknown.values()
    ]
    inner = _all(
        _look(value[field], fields[field].type, _at(where, field))
        for field in fields
        if field in value
    )
    shape += inner.shape
    if shape or not hasattr(kind.cls, "problems"):
        return _Found(shape, inner.meaning)
    meant = msgspec.convert(value, kind.cls)
    return _Found([], below(where, meant.problems()) if where else meant.problems())


def _takes(kind: inspect.Type, value: object) -> bool:
    """Return whether a value may stand for a kind; of lists and mappings only the outside is
    looked at.
    """
    match kind:
        case inspect.StructType() | inspect.DictType():
            return isinstance(value, dict)
        case inspect.ListType() | inspect.VarTupleType():
            return isinstance(value, list)
        case inspect.NoneType():
            return value is None
        case inspect.LiteralType():
            return value in kind.values
    leaf = _LEAVES.get(type(kind))
    try:
        return leaf is None or msgspec.convert(value, leaf) is not None
    except msgspec.ValidationError:
        return False


def _wrong(value: object, kinds: Sequence[inspect.Type], where: str) -> str:
    literals = [kind for kind in kinds if isinstance(kind, inspect.LiteralType)]
    if choices := [str(value) for literal in literals for value in literal.values]:
        actual = json.dumps(value) if isinstance(value, _SCALARS) else _named(value)
        return f"is {actual}; write one of {', '.join(choices)}"
    expected = " or ".join(
        dict.fromkeys(_NAMES[type(kind)] for kind in kinds if type(kind) in _NAMES)
    )
    hint = _hint(value, kinds, where.rpartition(".")[2])
    is_misread = inspect.DateTimeType in map(type, kinds) and isinstance(value, str)
    actual = json.dumps(value) if is_misread else _named(value)
    return f"is {actual}; it must be {expected}{hint}"


def _hint(value: object, kinds: Sequence[inspect.Type], field: str) -> str:
    """Return what to write instead."""
    before = f"{field}: " if field and not field.endswith("]") else ""
    if example := next((text for text in map(_example, kinds) if text), ""):
        return f": write `{before}{example}`"
    if not isinstance(value, _SCALARS):
        return ""
    plain = value if isinstance(value, str) else json.dumps(value)
    classes = {type(kind) for kind in kinds}
    if inspect.StrType in classes:
        return f": write it in quotes, `{before}{json.dumps(plain)}`"
    if classes & {inspect.ListType, inspect.VarTupleType}:
        words = ", ".join(json.dumps(part, ensure_ascii=False) for part in plain.split())
        return f": write `{before}[{words}]`"
    if isinstance(value, str) and plain.isdecimal():
        return f": write it without quotes, `{before}{plain}`"
    return ""


def _example(kind: inspect.Type) -> str:
    """Return how a mapping, or a list of them, is written; empty for anything else."""
    match kind:
        case inspect.StructType():
            return str(getattr(kind.cls, "EXAMPLE", ""))
        case inspect.ListType() if inner := _example(kind.item_type):
            return f"[{inner}]"
        case inspect.DictType():
            return "{name: value}"
    return ""


def _named(value: object) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return json.dumps(value)
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
    return "a mapping"


def _meant(name: str, fields: Iterable[str]) -> str:
    """Return the field that a misspelt one was to be; empty if that can't be told."""
    return next(iter(get_close_matches(name, fields, n=1)), "")


def _unknown(meant: str, fields: Iterable[str]) -> str:
    hint = f"did you mean {meant}?" if meant else f"known are {', '.join(sorted(fields))}"
    return f"is not known here; {hint}"


def _all(parts: Iterable[_Found]) -> _Found:
    shape: list[Problem] = []
    meaning: list[Problem] = []
    for part in parts:
        shape += part.shape
        meaning += part.meaning
    return _Found(shape, meaning)


def _at(where: str, name: object) -> str:
    return f"{where}.{name}".lstrip(".")
