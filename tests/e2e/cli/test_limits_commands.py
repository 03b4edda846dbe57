"""What owners type about limits and quotas."""

from __future__ import annotations

from tests.e2e.cli.typed import Typist

from matins.client.sdk import Matins
from matins.domain.jobs.limits import Concurrency
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target

NIGHTLY = JobSpec(
    "nightly",
    Target(command=CommandTarget(["true"])),
    max_running=2,
    concurrency=Concurrency("vendor-x", limit=3),
)


async def test_a_limit_is_put_listed_and_deleted(typed: Typist, matins: Matins) -> None:
    await matins.put_job("vendors", NIGHTLY)
    put = await typed("limits", "put", "vendors/vendor-x", "--limit", "5", "--rate", "100/m")
    assert put.out == "created  vendors/vendor-x  5 at once, 100/m\n"
    listed = (await typed("limits", "list", "--team", "vendors")).out.splitlines()
    assert listed[1].split() == ["vendors/vendor-x", "key", "0", "5", "100/m", "0", "team"]
    assert listed[2].split() == ["vendors/nightly", "job", "0", "2", "-", "0", "jobs"]
    deleted = await typed("limits", "delete", "vendors/vendor-x")
    assert deleted.out == "deleted  vendors/vendor-x\n"
    assert (await typed("limits", "delete", "vendors/vendor-x")).code == 1


async def test_a_quota_that_is_not_given_stays_as_it_is(typed: Typist, matins: Matins) -> None:
    assert (
        await typed("quotas", "set", "quoted", "--max-running", "50")
    ).out == "changed  quoted\n"
    assert (await typed("quotas", "set", "quoted", "--max-jobs", "7")).code == 0
    shown = (await typed("quotas", "show", "quoted")).out.splitlines()
    assert shown[1].split() == ["max_jobs", "0", "7", "team"]
    assert shown[2].split() == ["max_running", "0", "50", "team"]
    assert shown[3].split() == ["starts_per_minute", "-", "-", "nobody"]
    assert (await typed("quotas", "set", "quoted", "--max-running", "default")).code == 0
    assert (await matins.get_quotas("quoted")).max_running.limit is None
    wrong = await typed("quotas", "set", "quoted", "--max-jobs", "many")
    assert wrong.code != 0
    assert "write a number, or default" in wrong.err
