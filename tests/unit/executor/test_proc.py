"""What the kernel tells of a process, in states too short to be met on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from matins.executor.keeper import proc


@pytest.mark.parametrize(
    ("state", "flags", "name"),
    [
        pytest.param("S", 0x400000, "sh", id="lives"),
        pytest.param("R", 0x400004, None, id="exits, and has closed its output already"),
        pytest.param("Z", 0x400004, None, id="has exited"),
    ],
)
def test_only_a_process_that_is_not_ending_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, flags: int, name: str | None
) -> None:
    monkeypatch.setattr(proc, "PROC", tmp_path)
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "comm").write_text("sh\n")
    (tmp_path / "7" / "stat").write_text(f"7 (s) h) {state} 1 7 7 0 -1 {flags} 0 0\n")
    assert proc.name_of(7) == name
