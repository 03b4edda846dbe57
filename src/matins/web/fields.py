"""The fields of the form of a job: each stands for a place in its YAML, as `retry.attempts`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final, NamedTuple

from matins.domain.jobs.spec import JobSpec

Fields = dict[str, str]
Document = dict[str, Any]

SCHEDULES: Final[Mapping[str, tuple[str, ...]]] = {
    "cron": ("cron", "dialect", "dst"),
    "every": ("every", "anchor"),
    "at": ("at",),
    "rrule": ("rrule",),
    "after": ("after",),
}
"""By kind of schedule the keys that only it has; the first holds its value."""

TARGETS: Final = ("command", "http", "checkin")
NONE: Final = "none"
OTHER: Final = "other"
"""The kinds of a job without a schedule, and of what only its YAML can say."""

SCHEDULE_KIND: Final = "schedule.kind"
TARGET_KIND: Final = "target.kind"

_FIRST: Final = ("name", "description", "labels", "schedule", "target")
_REST: Final = [name for name in JobSpec.__struct_fields__ if name not in _FIRST]
_ORDER: Final = {name: index for index, name in enumerate([*_FIRST, *_REST])}
_KEPT_EMPTY: Final = {f"target.{kind}" for kind in TARGETS}


class Codec(NamedTuple):
    """How a value is typed: what can't be read stays a text, and its place is told as wrong."""

    read: Callable[[str], object]
    write: Callable[[Any], str]


def _number(text: str) -> object:
    return int(text) if text.isdecimal() else text


def _words(text: str) -> object:
    return text.replace(",", " ").split()


def _argv(text: str) -> object:
    try:
        return shlex.split(text)
    except ValueError:  # a quote has no end yet
        return text.split()


def _pairs(sign: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        parted = [line.partition(sign) for line in text.splitlines() if line.strip()]
        if not all(found for _, found, _ in parted):
            return text
        return {name.strip(): value.strip() for name, _, value in parted}

    return read


def _written_pairs(sign: str) -> Callable[[Any], str]:
    return lambda pairs: "\n".join(f"{name}{sign}{value}" for name, value in pairs.items())


def _labels(text: str) -> object:
    return _pairs("=")(text.replace(",", "\n"))


def _body(text: str) -> object:
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _written_body(body: Any) -> str:  # noqa: ANN401 # JSON
    return body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)


def _instants(text: str) -> object:
    lines = [line.strip() for line in text.replace(",", "\n").splitlines() if line.strip()]
    return lines[0] if len(lines) == 1 else lines


_TEXT = Codec(str.strip, str)
_NUMBER = Codec(lambda text: _number(text.strip()), str)
_NAMES = Codec(_words, ", ".join)

CODECS: Final[Mapping[str, Codec]] = {
    "name": _TEXT,
    "description": _TEXT,
    "labels": Codec(_labels, lambda pairs: ", ".join(f"{k}={v}" for k, v in pairs.items())),
    "schedule.cron": _TEXT,
    "schedule.every": _TEXT,
    "schedule.at": Codec(_instants, lambda at: at if isinstance(at, str) else "\n".join(at)),
    "schedule.rrule": _TEXT,
    "schedule.after.jobs": _NAMES,
    "schedule.after.when": _TEXT,
    "schedule.timezone": _TEXT,
    "schedule.jitter": _TEXT,
    "schedule.calendars": _NAMES,
    "target.command.argv": Codec(_argv, shlex.join),
    "target.command.env": Codec(_pairs("="), _written_pairs("=")),
    "target.command.cwd": _TEXT,
    "target.http.method": _TEXT,
    "target.http.url": _TEXT,
    "target.http.headers": Codec(_pairs(":"), _written_pairs(": ")),
    "target.http.body": Codec(_body, _written_body),
    "pool": _TEXT,
    "priority": _TEXT,
    "timeout": _TEXT,
    "retry.attempts": _NUMBER,
    "retry.backoff.initial": _TEXT,
    "retry.backoff.max": _TEXT,
    "overlap.policy": _TEXT,
    "overlap.depth": _NUMBER,
    "misfire.policy": _TEXT,
    "misfire.max_age": _TEXT,
    "max_running": _NUMBER,
    "rate": _TEXT,
    "concurrency.key": _TEXT,
    "concurrency.limit": _NUMBER,
    "keep.days": _NUMBER,
}
"""By the place of each field how its value is typed."""

_NEEDED: Final = {
    "name",
    "target.http.url",
    "target.command.argv",
    "schedule.after.jobs",
    *(f"schedule.{kind}" for kind in SCHEDULES),
}
"""What is written also where it is empty: that it is missing is told beside its field."""


def fields_of(document: Document) -> Fields:
    """Return what the fields hold for a job; one whose value has another shape stays empty."""
    document = _with_long_overlap(document)
    fields = {SCHEDULE_KIND: schedule_kind(document), TARGET_KIND: target_kind(document)}
    for path, codec in CODECS.items():
        value = _at(document, path)
        try:
            fields[path] = "" if value is None else codec.write(value)
        except (TypeError, AttributeError):
            fields[path] = ""
    return fields


def with_fields(document: Document, fields: Fields) -> Document:
    """Return a job with what the fields say. What no field stands for stays as it is."""
    changed = _with_long_overlap(deepcopy(document))
    kinds = {"schedule": fields[SCHEDULE_KIND], "target": fields[TARGET_KIND]}
    _choose_schedule(changed, kinds["schedule"])
    _choose_target(changed, kinds["target"])
    for path, codec in CODECS.items():
        if path not in fields or not _is_meant(path, kinds):
            continue
        text = fields[path]
        if text.strip() or path in _NEEDED:
            _put(changed, path, codec.read(text))
        else:
            _drop(changed, path)
    overlap = changed.get("overlap")
    if isinstance(overlap, dict) and set(overlap) == {"policy"}:
        changed["overlap"] = overlap["policy"]
    return in_order(changed)


def in_order(document: Document) -> Document:
    """Return a job with its parts in the order in which people read them."""
    return dict(sorted(document.items(), key=lambda item: _ORDER.get(item[0], len(_ORDER))))


def schedule_kind(document: Document) -> str:
    """Return which of the kinds a schedule is that the form knows."""
    schedule = document.get("schedule")
    if schedule is None:
        return NONE
    if not isinstance(schedule, dict) or "any_of" in schedule:
        return OTHER
    after = schedule.get("after")
    given = [kind for kind in SCHEDULES if kind in schedule and kind != "after"]
    if isinstance(after, dict) and not given:
        return "after"
    return given[0] if len(given) == 1 and not isinstance(after, dict) else OTHER


def target_kind(document: Document) -> str:
    """Return which of the kinds a target is that the form knows."""
    target = document.get("target")
    given = [kind for kind in TARGETS if isinstance(target, dict) and kind in target]
    return given[0] if len(given) == 1 else OTHER


def field_of(where: str) -> str:
    """Return the field beside which a fault at some place is told; empty if there is none."""
    if where in {"schedule", "target"}:
        return f"{where}.kind"
    if where == "overlap":
        return "overlap.policy"
    steps = where.replace("[", ".").split(".")
    for end in range(len(steps), 0, -1):
        path = ".".join(steps[:end])
        if path in CODECS:
            return path
    return ""


def _is_meant(path: str, kinds: Mapping[str, str]) -> bool:
    """Return whether a field belongs to the kinds that are chosen."""
    part, _, rest = path.partition(".")
    kind = kinds.get(part)
    if kind is None:
        return True
    if kind in {NONE, OTHER}:
        return False
    name = rest.partition(".")[0]
    return name == kind or (part == "schedule" and name not in SCHEDULES)


def _choose_schedule(document: Document, kind: str) -> None:
    if kind == NONE:
        document.pop("schedule", None)
    if kind not in SCHEDULES:
        return
    schedule = document.get("schedule")
    schedule = document["schedule"] = schedule if isinstance(schedule, dict) else {}
    schedule.pop("any_of", None)
    for other, keys in SCHEDULES.items():
        for key in keys if other != kind else ():
            if key != "after" or isinstance(schedule.get(key), dict):
                schedule.pop(key, None)
    if kind == "after" and not isinstance(schedule.get("after"), dict):
        schedule["after"] = {}


def _choose_target(document: Document, kind: str) -> None:
    if kind not in TARGETS:
        return
    target = document.get("target")
    target = target if isinstance(target, dict) else {}
    chosen = target.get(kind)
    rest = {key: value for key, value in target.items() if key not in TARGETS}
    document["target"] = {**rest, kind: chosen if isinstance(chosen, dict) else {}}


def _with_long_overlap(document: Document) -> Document:
    overlap = document.get("overlap")
    return {**document, "overlap": {"policy": overlap}} if isinstance(overlap, str) else document


def _at(document: Document, path: str) -> object:
    value: object = document
    for step in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _put(document: Document, path: str, value: object) -> None:
    *above, last = path.split(".")
    part = document
    for step in above:
        inner = part.get(step)
        if not isinstance(inner, dict):
            inner = part[step] = {}
        part = inner
    part[last] = value


def _drop(document: Document, path: str) -> None:
    """Leave a value out, and what holds nothing else."""
    above, _, last = path.rpartition(".")
    part = _at(document, above) if above else document
    if not isinstance(part, dict):
        return
    part.pop(last, None)
    if above and not part and above not in _KEPT_EMPTY:
        _drop(document, above)
