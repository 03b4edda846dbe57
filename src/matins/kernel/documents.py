"""Reads one YAML or JSON document into plain values, and knows on which line a place of it is; and
writes YAML.

YAML means what the core schema of YAML 1.2 (section 10.3) makes of it: `NO`, `22:30`, `1_000` and
`2026-12-01` are texts. So is a number that begins with zeros, such as `01234`, which would lose
them. Keys always are texts, merge keys are taken, a key that is given twice is an error, and so is
whatever JSON could not say.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

import msgspec
import yaml

from matins.domain.values.errors import InvalidInputError
from matins.domain.values.texts import clean

VALUES_MAX = 1_000_000
"""The most values of a document, counted after all aliases are written out."""

DEPTH_MAX = 64
"""How deep lists and mappings may nest."""

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_TAKEN = frozenset(_TAG + name for name in ("null", "bool", "int", "float", "str", "seq", "map"))
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")

# What a plain scalar means, and with which characters one of that kind can begin.
_PLAIN = {
    "null": (re.compile(r"(?:~|null|Null|NULL)?"), "~nN"),
    "bool": (re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
    "int": (re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+"), "-+0123456789"),
    "float": (
        re.compile(
            r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
        ),
        "-+.0123456789",
    ),
}
# libyaml's parser reads a megabyte in a second, the one in Python in half a minute.
_Base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Document:
    """The values of a document. `line` finds places such as `jobs[2].schedule.cron` in it."""

    def __init__(self, value: object, root: yaml.Node | None = None) -> None:
        self.value = value
        self._root = root

    def line(self, where: str) -> int | None:
        """Return the line of a place, or of the innermost part of it that is there; None for
        JSON.
        """
        node = self._root
        line = None
        for step in _STEP.finditer(where):
            inner = _step(node, step[1], step[2])
            if inner is None:
                break
            line, node = inner
        return line

    def written(self, where: str) -> str | None:
        """Return the scalar at a place as it stands in the text; None if there is none."""
        node = self._root
        for step in _STEP.finditer(where):
            inner = _step(node, step[1], step[2])
            if inner is None:
                return None
            _, node = inner
        return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def yaml_text(value: object) -> str:
    """Return a value as YAML; where a text could command a terminal, with escapes."""
    plain = msgspec.to_builtins(value)
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    if clean(text) != text:
        text = yaml.safe_dump(plain, sort_keys=False)
    return text.removesuffix("\n")


def read_document(text: str, *, is_json: bool = False) -> Document:
    """Read a document. Raises InvalidInputError whose place is a line and a column."""
    if not text.strip():
        raise InvalidInputError.at("", "is empty; it needs a list of jobs under the key `jobs`")
    if "\0" in text:
        raise _fault(text.index("\0"), text, "holds a NUL character; no text may")
    if is_json or text.lstrip().startswith("{"):
        try:
            return Document(_read_json(text))
        except json.JSONDecodeError as error:
            if is_json:
                raise _fault(error.pos, text, f"is not JSON: {error.msg}") from error
    return _read_yaml(text)


def _read_json(text: str) -> object:
    try:
        value: object = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep("") from None
    _check_depth(value, 0)
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping: dict[str, object] = {}
    for key, value in pairs:
        if key in mapping:
            raise InvalidInputError.at("", f"the key {key!r} is given twice in one object")
        mapping[key] = value
    return mapping


def _refuse_constant(name: str) -> object:
    raise InvalidInputError.at("", f"{name} is no JSON; write a number or null")


def _check_depth(value: object, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise _too_deep("")
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        for part in inner:  # type: ignore[attr-defined] # a list or the values of a dict
            _check_depth(part, depth + 1)


class _Loader(_Base):  # type: ignore[valid-type,misc] # one of two classes, see above
    """Makes plain values of the nodes, of the kinds only that JSON has."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        """Let texts that look like a number and are none (`0x_`) be errors of the document."""
        if node.tag not in _TAKEN:
            tag = node.tag.replace(_TAG, "!!")
            raise _at(node.start_mark, f"the tag {tag} is not taken here; leave it out")
        try:
            value: object = super().construct_object(node, deep)
        except ValueError as error:
            message = f"{node.value[:40]!r} can't be read as {node.tag.removeprefix(_TAG)}"
            raise _at(node.start_mark, f"{message}; write it in quotes") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise _at(node.start_mark, f"{node.value} is no number; write it in quotes")
        return value

    def plain(self, node: yaml.ScalarNode) -> object:
        """Return the value of a null, bool, int or float. Raises ValueError if it is none."""
        text, kind = node.value, node.tag.removeprefix(_TAG)
        if not _PLAIN[kind][0].fullmatch(text):
            raise ValueError(text)
        if kind == "int":
            return int(text, 0)
        if kind == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        return text.lower() == "true" if kind == "bool" else None


_Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag == _MERGE]
    for first, rules in _Base.yaml_implicit_resolvers.items()
}
for _kind, (_rule, _firsts) in _PLAIN.items():
    _whole = re.compile(f"(?:{_rule.pattern})\\Z")
    _Loader.add_implicit_resolver(_TAG + _kind, _whole, [*_firsts, *([""] * (_kind == "null"))])
    _Loader.add_constructor(_TAG + _kind, _Loader.plain)


def _read_yaml(text: str) -> Document:
    if control := yaml.reader.Reader.NON_PRINTABLE.search(text):
        code = f"U+{ord(control[0]):04X}"
        raise _fault(control.start(), text, f"holds the control character {code}; leave it out")
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise InvalidInputError.at("", "holds nothing but comments; it needs `jobs`")
        for count, _ in enumerate(_nodes(root, 0)):
            if count > VALUES_MAX:
                raise InvalidInputError.at("", f"means over {VALUES_MAX} values; use less aliases")
        return Document(loader.construct_document(root), root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        cause = ", ".join(part for part in (error.problem, error.context) if part)
        message = f"is not YAML: {cause}"
        raise (_at(mark, message) if mark else InvalidInputError.at("", message)) from error
    finally:
        loader.dispose()


def _nodes(node: yaml.Node, depth: int) -> Iterator[None]:
    """Walk all nodes, aliases written out; make keys texts and check that none is given twice."""
    if depth > DEPTH_MAX:
        raise _too_deep(_place(node.start_mark))
    yield
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _nodes(item, depth + 1)
    elif isinstance(node, yaml.MappingNode):
        first: dict[object, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise _at(key.start_mark, "a key must be a text")
            if key.value in first:
                message = f"the key {key.value!r} is given twice, first on line {first[key.value]}"
                raise _at(key.start_mark, message)
            first[key.value] = line
            if key.tag != _MERGE:
                key.tag = _TAG + "str"
            yield from _nodes(value, depth + 1)


def _step(
    node: yaml.Node | None, key: str | None, index: str | None
) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and index is not None and int(index) < len(node.value):
        item = node.value[int(index)]
        return item.start_mark.line + 1, item
    if isinstance(node, yaml.MappingNode) and key is not None:
        for name, value in node.value:
            if name.value == key:
                return name.start_mark.line + 1, value
    return None


def _too_deep(where: str) -> InvalidInputError:
    return InvalidInputError.at(where, f"nests deeper than {DEPTH_MAX} lists and mappings")


def _at(mark: yaml.Mark, message: str) -> InvalidInputError:
    return InvalidInputError.at(_place(mark), message)


def _place(mark: yaml.Mark) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


def _fault(position: int, text: str, message: str) -> InvalidInputError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return InvalidInputError.at(f"line {line}, column {column}", message)
