"""A data folder is chosen, made, marked and locked; what isn't ours is left as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from matins.domain.values.errors import EngineError
from matins.engines.folders import (
    MARKER,
    ROOTS_DATA,
    DataFolder,
    default_data_folder,
    own_folder,
    read_or_make_secret,
)
from matins.engines.postgres import EmbeddedPostgres


def test_the_default_folder_follows_the_account_and_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/ada")
    assert default_data_folder({}) == Path("/home/ada/.local/share/matins")
    assert default_data_folder({"XDG_DATA_HOME": "/xdg"}) == Path("/xdg/matins")
    assert default_data_folder({"XDG_DATA_HOME": "odd"}) == Path("/home/ada/.local/share/matins")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_data_folder({"XDG_DATA_HOME": "/xdg"}) == ROOTS_DATA


def test_a_missing_folder_is_made_with_its_parents_and_closed_to_others(home: Path) -> None:
    own_folder(home / "deep" / "data")
    assert (home / "deep" / "data").stat().st_mode & 0o007 == 0
    assert (home / "deep" / "data" / MARKER).exists()


async def test_a_folder_with_foreign_files_is_refused_and_left_as_it_was(home: Path) -> None:
    foreign = home / "foreign"
    foreign.mkdir(mode=0o755)
    (foreign / "thesis.txt").write_text("important")
    before = foreign.stat()
    with pytest.raises(EngineError, match="is not empty and not made by Matins"):
        await EmbeddedPostgres(foreign).start()
    with (
        pytest.raises(EngineError, match="is not empty and not made by Matins"),
        DataFolder(foreign),
    ):
        pass
    after = foreign.stat()
    assert (after.st_mode, after.st_gid, after.st_mtime_ns) == (
        before.st_mode,
        before.st_gid,
        before.st_mtime_ns,
    )
    assert [path.name for path in foreign.iterdir()] == ["thesis.txt"]


def test_a_file_in_place_of_the_folder_is_refused(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(EngineError, match="can't be used: Not a directory"):
        own_folder(home / "file")


def test_a_folder_left_in_the_middle_of_being_marked_is_taken(home: Path) -> None:
    (home / "data").mkdir()
    (home / "data" / "matins-data.new").write_text("mat")
    own_folder(home / "data")
    assert (home / "data" / MARKER).read_text().startswith("matins-data 1 ")


def test_a_newer_format_is_refused(home: Path) -> None:
    own_folder(home / "data")
    (home / "data" / MARKER).write_text("matins-data 2 -\n")
    with pytest.raises(EngineError, match="format 2, written by a newer Matins"):
        own_folder(home / "data")


def test_a_damaged_marker_is_refused(home: Path) -> None:
    own_folder(home / "data")
    (home / "data" / MARKER).write_text("??\n")
    with pytest.raises(EngineError, match="is damaged"):
        own_folder(home / "data")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_account_is_refused(home: Path) -> None:
    (home / "theirs").mkdir()
    os.chown(home / "theirs", 65534, -1)
    with pytest.raises(EngineError, match="belongs to another account"):
        own_folder(home / "theirs")


def test_a_secret_is_made_once_and_readable_by_its_owner_only(home: Path) -> None:
    first = read_or_make_secret(home / "secret")
    assert read_or_make_secret(home / "secret") == first
    assert len(first) == 64
    assert (home / "secret").stat().st_mode & 0o777 == 0o600


def test_a_folder_in_use_is_refused_with_the_pid_and_free_again_afterwards(home: Path) -> None:
    data, again = DataFolder(home / "data"), DataFolder(home / "data")
    with data, pytest.raises(EngineError, match=f"process {os.getpid()}"), again:
        pass
    with DataFolder(home / "data"):
        pass


def test_the_kernel_frees_the_folder_of_a_killed_process(home: Path) -> None:
    script = (
        "import sys, pathlib; from matins.engines.folders import DataFolder\n"
        "with DataFolder(pathlib.Path(sys.argv[1])): print('held', flush=True); input()"
    )
    argv = [sys.executable, "-c", script, str(home / "data")]
    holder = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(EngineError, match=f"process {holder.pid}"), DataFolder(home / "data"):
        pass
    holder.kill()
    holder.communicate()
    with DataFolder(home / "data"):
        pass
