"""The file that tells a scheduler what its predecessor held: only once that one has ended."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from matins.domain.values.errors import SettingsError
from matins.kernel.lease_file import LeaseFile


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
