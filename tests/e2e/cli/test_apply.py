"""`matins apply`: all or nothing is sent, and the second time nothing changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.cli.typed import Typist

from matins.client.sdk import Matins

DEMO = Path(__file__).parents[3] / "examples" / "demo.yaml"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.yaml"
    path.write_text(DEMO.read_text("utf-8"), "utf-8")
    return path


def edit(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")


async def test_jobs_are_created_and_then_unchanged(
    typed: Typist, matins: Matins, file: Path
) -> None:
    first = await typed("apply", "-f", str(file))
    again = await typed("apply", "-f", str(file))
    stored = await matins.all_jobs("demo")
    assert (first.code, again.code) == (0, 0)
    assert {line.split()[0] for line in first.out.splitlines()} == {"created"}
    assert {line.split()[0] for line in again.out.splitlines()} == {"unchanged"}
    assert {line.split()[1] for line in again.out.splitlines()} == {
        f"demo/{job.spec.name}" for job in stored
    }


async def test_only_what_differs_is_changed(typed: Typist, file: Path) -> None:
    await typed("apply", "-f", str(file))
    edit(file, "every: 5s", "every: 6s")
    again = await typed("apply", "-f", str(file), "--json")
    changes = {it["job"]: it["change"] for it in again.json}
    assert changes.pop("every-five-seconds") == "changed"
    assert set(changes.values()) == {"unchanged"}


async def test_a_dry_run_tells_and_stores_nothing(
    typed: Typist, matins: Matins, file: Path
) -> None:
    told = await typed("apply", "-f", str(file), "--dry-run")
    assert told.code == 0
    assert "would be created  " in told.out
    assert await matins.all_jobs() == []


async def test_one_wrong_job_keeps_all_from_being_stored(
    typed: Typist, matins: Matins, file: Path
) -> None:
    edit(file, '"0 2 * * *"', '"0 26 * * *"')
    refused = await typed("apply", "-f", str(file), "--json")
    assert refused.code == 2
    assert refused.out == ""
    assert f"{file}: jobs[2].schedule.cron (line 24): hour field: '26'" in refused.err
    assert await matins.all_jobs() == []
