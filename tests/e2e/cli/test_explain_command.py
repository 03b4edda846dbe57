"""What owners type to learn why something did not run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.e2e.cli.typed import Typist

from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import NotFoundError

SPEC = JobSpec(
    "nightly",
    Target(command=CommandTarget(["true"])),
    Schedule(cron="0 2 * * *", timezone="Europe/Berlin"),
    pool="gpu",
    overlap="allow",
)


async def test_a_run_is_told_step_by_step_with_what_to_do(typed: Typist, matins: Matins) -> None:
    await matins.put_job("payments", SPEC)
    run = await matins.trigger_job("payments", "nightly")
    told = await typed("explain", str(run.id))
    assert (told.code, told.err) == (0, "")
    [head, columns, due, made, queued, so] = map(str.rstrip, told.out.splitlines())
    assert head.startswith("queued  payments/nightly  due ")
    assert head.endswith(f"run {run.id}")
    assert columns.split() == ["AT", "STEP"]
    assert due.endswith("due      triggered by its owner")
    assert made.endswith("claimed  its run was made")
    assert "on the queue of pool gpu: executors that serve it: 0; the first on it" in queued
    assert (
        so == "so: no executor serves pool gpu; start one with `MATINS_POOLS=gpu matins executor`"
    )
    assert (await typed("explain", "payments/nightly")).out.splitlines()[-1] == so


async def test_json_and_the_sdk_tell_the_same(typed: Typist, matins: Matins) -> None:
    await matins.put_job("default", SPEC)
    now = datetime.now(UTC)
    at = (now + timedelta(days=3)).strftime("%Y-%m-%d")
    told = (await typed("explain", "nightly", "--at", f"{at}T02:00", "--json")).json
    due_at = datetime.fromisoformat(told["due_at"])
    sdk = await matins.explain_job("default", "nightly", at=due_at)
    assert (told["state"], told["so"]) == (sdk.state, sdk.so) == ("to_come", sdk.so)
    assert due_at.hour in {0, 1}, "two in the night in Berlin"
    other = (await typed("explain", "nightly", "--at", f"{at}T03:00", "--json")).json
    assert (other["state"], other["due_at"]) == ("not_due", None)


async def test_a_deleted_job_and_its_runs_are_still_told_of(typed: Typist, matins: Matins) -> None:
    await matins.put_job("payments", SPEC)
    run = await matins.trigger_job("payments", "nightly")
    await matins.delete_job("payments", "nightly")
    told = (await typed("explain", "payments/nightly", "--at", "now", "--json")).json
    assert told["state"] == "deleted"
    assert (await matins.explain_run(run.id)).so == "it was ended: its job was deleted"
    with pytest.raises(NotFoundError):
        await matins.explain_job("payments", "other")


async def test_what_can_not_be_explained_is_named(typed: Typist, matins: Matins) -> None:
    await matins.put_job("payments", SPEC)
    run = await matins.trigger_job("payments", "nightly")
    refused = await typed("explain", str(run.id), "--at", "now")
    assert (refused.code, refused.err) == (
        2,
        "matins: --at: is for a job; a run has its due time\n",
    )
    assert (await typed("explain", "payments/other")).code == 1
    assert (await typed("explain", "payments/nightly", "--at", "soon")).code == 2
