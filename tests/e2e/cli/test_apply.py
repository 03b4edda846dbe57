"""`matins apply`: all or nothing is sent, and the second time nothing changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.api.served import SPEC
from tests.e2e.cli.typed import Typist

from matins.client.calls import ApiCalls
from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target

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
    stored = await matins.list_jobs("demo")
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
    changes = {outcome["job"]: outcome["change"] for outcome in again.json}
    assert changes.pop("every-five-seconds") == "changed"
    assert set(changes.values()) == {"unchanged"}


async def test_a_schedule_that_lies_in_the_past_is_told_to_be_never_due(
    typed: Typist, tmp_path: Path
) -> None:
    path = tmp_path / "jobs.json"
    schedules = {
        "once": {"at": "2020-01-01T00:00:00Z"},
        "ended": {"cron": "* * * * *", "ends_at": "2020-01-01T00:00:00Z"},
        "triggered": None,
    }
    jobs = [SPEC | {"name": name, "schedule": schedule} for name, schedule in schedules.items()]
    path.write_bytes(msgspec.json.encode({"jobs": jobs}))
    for words in (["--dry-run"], [], []):
        lines = (await typed("apply", "-f", str(path), *words)).out.splitlines()
        told = [line.endswith("never due: its schedule lies in the past") for line in lines]
        assert told == [True, True, False]


async def test_a_thousand_jobs_are_one_request(
    matins: Matins, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    exchange = ApiCalls.exchange

    async def noted(self: ApiCalls, method: str, path: str, **given: Any) -> tuple[str, int, bytes]:
        calls.append(f"{method} {path}")
        return await exchange(self, method, path, **given)

    monkeypatch.setattr(ApiCalls, "exchange", noted)
    jobs = [JobSpec(f"job-{n}", Target(command=CommandTarget(["true"]))) for n in range(1000)]
    first = await matins.put_jobs("many", jobs)
    again = await matins.put_jobs("many", jobs)
    assert calls == ["PUT /v1/teams/many/jobs"] * 2
    assert {outcome.change for outcome in first} == {"created"}
    assert {outcome.change for outcome in again} == {"unchanged"}
    assert [outcome.job.spec for outcome in again] == jobs


async def test_a_dry_run_tells_and_stores_nothing(
    typed: Typist, matins: Matins, file: Path
) -> None:
    told = await typed("apply", "-f", str(file), "--dry-run")
    assert told.code == 0
    assert "would be created  " in told.out
    assert await matins.list_jobs() == []


async def test_one_wrong_job_keeps_all_from_being_stored(
    typed: Typist, matins: Matins, file: Path
) -> None:
    edit(file, '"0 2 * * *"', '"0 26 * * *"')
    refused = await typed("apply", "-f", str(file), "--json")
    assert refused.code == 2
    assert refused.out == ""
    assert f"{file}: jobs[2].schedule.cron (line 24): hour field: '26'" in refused.err
    assert await matins.list_jobs() == []
