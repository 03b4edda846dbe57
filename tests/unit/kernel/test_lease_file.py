"""The file that tells a scheduler what its predecessor held: only once that one has ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from matins.domain.runs.restores import Seen
from matins.domain.values.errors import SettingsError
from matins.kernel.lease_file import LeaseFile

AT = datetime(2026, 11, 30, 8, tzinfo=UTC)


def test_a_first_scheduler_has_no_predecessor(tmp_path: Path) -> None:
    with LeaseFile(tmp_path / "lease") as file:
        assert file.predecessor is None


def test_the_next_one_is_told_the_holder_that_was_noted_last(tmp_path: Path) -> None:
    first, second = uuid4(), uuid4()
    with LeaseFile(tmp_path / "lease") as file:
        file.note(first)
        file.note(second)
    with LeaseFile(tmp_path / "lease") as file:
        assert file.predecessor == second


def test_nobody_gets_the_file_of_one_that_lives(tmp_path: Path) -> None:
    with (
        LeaseFile(tmp_path / "lease"),
        pytest.raises(SettingsError, match="is in use by a scheduler that runs"),
        LeaseFile(tmp_path / "lease"),
    ):
        pass


def test_a_damaged_file_names_nobody(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    path.write_bytes(b"\xff" * 40)
    with LeaseFile(path) as file:
        assert file.predecessor is None
        file.note(holder := uuid4())
    with LeaseFile(path) as file:
        assert file.predecessor == holder


def test_a_file_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with (
        pytest.raises(SettingsError, match="No such file or directory"),
        LeaseFile(tmp_path / "nowhere" / "lease"),
    ):
        pass


def test_the_next_one_is_told_how_far_the_last_one_has_come(tmp_path: Path) -> None:
    with LeaseFile(tmp_path / "lease") as file:
        assert file.last_seen is None
        holder = file.note(uuid4())
        for second in range(3):
            at = AT + timedelta(seconds=second, microseconds=second)
            file.note_seen(Seen(at, at + timedelta(seconds=10)))
    with LeaseFile(tmp_path / "lease") as file:
        assert file.predecessor == holder
        assert file.last_seen == Seen(at, at + timedelta(seconds=10))
        file.note(uuid4())
        assert file.last_seen is not None


def test_a_damaged_file_tells_of_nothing_seen(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    path.write_bytes(str(uuid4()).encode() + b"\n2026-11-30T08:00:00 nonsense")
    with LeaseFile(path) as file:
        assert file.predecessor is not None
        assert file.last_seen is None


def test_without_a_path_it_is_known_as_long_as_the_process_lives() -> None:
    with LeaseFile(None) as file:
        file.note_seen(Seen(AT, AT))
        assert file.last_seen == Seen(AT, AT)
