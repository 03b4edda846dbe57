"""What a revision has changed, in words."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from matins.domain.jobs.history import Snapshot, changes_between
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.runs.dead import ChangeSince

AT = datetime(2026, 12, 1, 12, tzinfo=UTC)
COMMAND = CommandTarget(["load"], env={"DAY": "1", "KEY": "a", "ZONE": "x"})
HTTP = HttpTarget("https://example.com/", headers={"Accept": "text/plain"})


def snapshot(target: Target, state: JobState = JobState.ACTIVE, timeout: str = "1m") -> Snapshot:
    return Snapshot(state, JobSpec("nightly", target=target, timeout=timeout), [], [])


@pytest.mark.parametrize(
    ("older", "newer", "changes"),
    [
        (COMMAND, COMMAND, []),
        (COMMAND, msgspec.structs.replace(COMMAND, argv=["load", "-v"]), ["command"]),
        (COMMAND, msgspec.structs.replace(COMMAND, cwd="/srv"), ["cwd"]),
        (
            COMMAND,
            msgspec.structs.replace(COMMAND, argv=["x"], env={"DAY": "2", "NEW": "b", "ZONE": "x"}),
            ["command", "env.DAY", "env.KEY", "env.NEW"],
        ),
    ],
)
def test_of_a_command_the_parts_are_named(
    older: CommandTarget, newer: CommandTarget, changes: list[str]
) -> None:
    before, after = snapshot(Target(command=older)), snapshot(Target(command=newer))
    assert changes_between(before, after) == changes


def test_of_a_request_the_parts_are_named_and_no_values() -> None:
    newer = msgspec.structs.replace(HTTP, headers={"Authorization": "Bearer s3cret"}, body="x")
    changes = changes_between(snapshot(Target(http=HTTP)), snapshot(Target(http=newer)))
    assert changes == ["header.Accept", "header.Authorization", "body"]


def test_another_kind_of_target_is_another_target() -> None:
    changes = changes_between(
        snapshot(Target(command=COMMAND)),
        snapshot(Target(http=HTTP), JobState.PAUSED, timeout="5s"),
    )
    assert sorted(changes) == ["paused", "target", "timeout"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ChangeSince(4, AT, "ops", "too slow", ["command", "env.DAY"]),
            "command, env.DAY (revision 3 → 4, at noon, by ops: too slow)",
        ),
        (ChangeSince(2, AT, "", "", ["paused"]), "paused (revision 1 → 2, at noon)"),
        (
            ChangeSince(2, AT, "", "", []),
            "other zone data, or another pause (revision 1 → 2, at noon)",
        ),
    ],
)
def test_a_change_is_one_line(change: ChangeSince, words: str) -> None:
    assert change.words("at noon") == words
