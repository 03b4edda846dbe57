"""The words of a message: what turned, since when, why, what changed, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from matins.domain.alerts.deliveries import DeliveryKind, Notice
from matins.domain.alerts.edges import Turn
from matins.domain.runs.fingerprint import pattern_of

DETAILED_MAX: Final = 5
"""Of so many jobs a message tells all it knows, of the others one line for each cause."""

_NAMES_MAX: Final = 10
_LINES_MAX: Final = 20

_WHAT: Final = {
    "dead": "a run has failed for good",
    "failed": "it failed",
    "late": "it is late",
    "missed": "it missed its time",
    "did_not_run": "it did not run",
    "too_slow": "it is too slow",
    "too_fast": "it was too fast",
    "quarantined": "it is in quarantine",
}


class Detail(msgspec.Struct, frozen=True):
    """What a message tells of a run: the end of its output, what changed since a success, and
    whether it is a dead letter, which can be replayed.
    """

    output: str = ""
    changed: Sequence[str] = ()
    is_dead_letter: bool = False


class Message(msgspec.Struct, frozen=True):
    """What is sent to a channel."""

    title: str
    text: str


def message(
    kind: DeliveryKind, team: str, notices: Sequence[Notice], count: int, details: Sequence[Detail]
) -> Message:
    """Write a message about the first notices of `count`; `details` are of the first of these."""
    if kind == "test":
        return Message(f"Matins: a test for team {team}", "This channel works.")
    if not notices:
        return Message(f"Matins: news for team {team}", "The jobs that this was about are deleted.")
    if count == 1:
        return _of_one(notices[0], details[0])
    jobs = len({notice.job_id for notice in notices})
    subject = f"{jobs} jobs" if count == len(notices) else f"{count} alerts"
    if jobs == 1 and count == len(notices):
        subject = f"{team}/{notices[0].job}"
    title = f"{team}: {subject} {_VERBS[kind]}"
    parts = [f"{title}.", *_causes(notices, count)]
    pairs = zip(notices, details, strict=False)
    parts += [_of_one(notice, detail).text for notice, detail in pairs]
    return Message(title, "\n\n".join(parts))


_VERBS: Final[dict[DeliveryKind, str]] = {
    "bad": "turned bad",
    "well": "are well again",
    "still": "are still bad",
    "test": "",
}


def instant_text(at: datetime) -> str:
    """Return an instant as messages write it."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _causes(notices: Sequence[Notice], count: int) -> list[str]:
    """Return a line for each cause, with the jobs that it has hit."""
    causes: dict[tuple[str, str], list[str]] = {}
    for notice in notices:
        causes.setdefault((notice.rule, pattern_of(notice.reason)), []).append(notice.job)
    lines = []
    for (rule, reason), jobs in causes.items():
        names = ", ".join(dict.fromkeys(jobs[:_NAMES_MAX]))
        more = f" and {len(jobs) - _NAMES_MAX} more" if len(jobs) > _NAMES_MAX else ""
        lines.append(f"{len(jobs)} x {rule}: {reason}\n  {names}{more}")
    if count > len(notices):
        lines.append(f"and {count - len(notices)} more; see them all: matins alerts list")
    return lines


def _of_one(notice: Notice, detail: Detail) -> Message:
    name = f"{notice.team}/{notice.job}"
    what = _WHAT.get(notice.on, notice.rule)
    title = {
        Turn.BAD: f"{name}: {what}",
        Turn.WELL: f"{name} is well again",
        Turn.STILL: f"{name}: still, {what}",
        Turn.FLAPPING: f"{name} keeps changing: {what}",
    }[notice.turn]
    lines = [f"{title}: {notice.reason}" if notice.reason else title]
    lines.append(f"Rule: {notice.rule}. Since: {instant_text(notice.since)}.")
    if notice.turn is Turn.FLAPPING:
        lines.append("It turned bad several times within an hour; more is told once it is steady.")
    if detail.output:
        lines += ["Its last output:", *_last_lines(detail.output)]
    if detail.changed:
        lines += ["Changed since the last success:", *(f"  {line}" for line in detail.changed)]
    return Message(title, "\n".join([*lines, *_commands(notice, name, detail)]))


def _commands(notice: Notice, name: str, detail: Detail) -> list[str]:
    if notice.turn is Turn.WELL:
        return []
    if notice.run_id is None:
        return [f"Look: matins explain {name}"]
    commands = [f"Look: matins runs show {notice.run_id}"]
    if detail.is_dead_letter:
        commands.append(f"Try again: matins dead replay {notice.run_id}")
    return commands


def _last_lines(output: str) -> list[str]:
    return [f"  {line}" for line in output.rstrip().splitlines()[-_LINES_MAX:]]
