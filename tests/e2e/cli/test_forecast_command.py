"""What owners type to see the load ahead."""

from __future__ import annotations

from tests.e2e.cli.typed import Typist

from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Schedule

TRUE = Target(command=CommandTarget(["true"]))
MINUTELY, HOURLY = Schedule(cron="* * * * *"), Schedule(cron="7 * * * *")


async def test_the_load_is_shown_as_a_chart_with_its_peaks_and_shares(
    typed: Typist, matins: Matins
) -> None:
    await matins.put_job("payments", JobSpec("often", TRUE, MINUTELY))
    await matins.put_job("reports", JobSpec("seldom", TRUE, HOURLY))
    shown = (await typed("forecast")).out
    assert "fires        1,464 of 2 jobs" in shown
    assert "peak minute  " in shown
    assert sum("█" in line or "#" in line for line in shown.splitlines()) == 24
    [payments] = [line.split() for line in shown.splitlines() if line.startswith("payments")]
    assert payments[:3] == ["payments", "1", "1,440"]
    assert "POOL" not in shown


async def test_programs_get_json(typed: Typist, matins: Matins) -> None:
    await matins.put_job("reports", JobSpec("seldom", TRUE, HOURLY))
    told = (await typed("forecast", "--team", "reports", "--hours", "168", "--json")).json
    assert (told["team"], told["fires"], len(told["counts"])) == ("reports", 168, 168)


async def test_nothing_ahead_is_said_in_a_line(typed: Typist) -> None:
    shown = await typed("forecast", "--pool", "big")
    assert "0 of 0 jobs" in shown.out
    assert "FROM" not in shown.out


async def test_more_hours_than_a_week_has_are_refused(typed: Typist) -> None:
    refused = await typed("forecast", "--hours", "169")
    assert refused.code == 2
    assert refused.err.startswith("matins: hours: ")
