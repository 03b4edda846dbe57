"""What commands import that ask a real API, read its answers and show them."""

from __future__ import annotations

import asyncio

import pytest
from tests.api.served import TOKEN, Served
from tests.unit.cli.imports import NEVER, imported

from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Schedule

SPEC = JobSpec("nightly", Target(command=CommandTarget(["true"])), Schedule(cron="0 2 * * *"))


@pytest.mark.parametrize(
    "words",
    [
        "jobs list",
        "jobs list --json",
        "jobs show payments/nightly",
        "jobs pause payments/nightly",
        "runs list",
        "runs show RUN",
        "executors list",
        "audit --json",
    ],
)
async def test_asking_and_showing_needs_no_more_than_the_client(
    matins: Matins, served: Served, words: str
) -> None:
    await matins.put_job("payments", SPEC)
    run = await matins.trigger_job("payments", "nightly")
    environment = {"MATINS_URL": served.url, "MATINS_TOKEN": TOKEN}
    typed = words.replace("RUN", str(run.id))
    assert NEVER & await asyncio.to_thread(imported, typed, environment) == set()
