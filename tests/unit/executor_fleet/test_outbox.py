"""How ends are gathered, reported and kept until they are confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from uuid import UUID

from tests.unit.executor_fleet.bench import virtual

from matins.domain.executors.protocol import (
    End,
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Output,
    OutputAnswer,
    Poll,
    Report,
    ReportAnswer,
)
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome
from matins.domain.values.errors import InvalidInputError, UnavailableError
from matins.executor.context import Context
from matins.executor.outbox import ENDS_MAX, FEW, REPORT_SIZE, TEXT_MAX, WINDOW_S, ReportOutbox
from matins.kernel.settings import Settings
from matins.testing.virtual import VirtualClock, VirtualTime


def end(number: int, output: str = "") -> End:
    return End(UUID(int=number), 1, Result(Outcome.SUCCEEDED, output=output))


class Slow:
    """A gateway that takes `takes_s` for a report and refuses those that hold a bad word."""

    def __init__(self) -> None:
        self.takes_s = 0.2
        self.failures = 0
        self.bad = "\0"
        self.under_way = 0
        self.most_under_way = 0
        self.reports: list[list[int]] = []

    async def report(self, report: Report) -> ReportAnswer:
        self.reports.append([end.run_id.int for end in report.ends])
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(self.takes_s)
        self.under_way -= 1
        if self.failures:
            self.failures -= 1
            raise UnavailableError("not now")
        if any(self.bad in end.result.output + end.result.reason for end in report.ends):
            raise InvalidInputError.at("ends", "hold a bad word")
        return ReportAnswer()

    async def poll(self, poll: Poll) -> Handout:
        raise NotImplementedError

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        raise NotImplementedError

    async def output(self, output: Output) -> OutputAnswer:
        raise NotImplementedError


class Office:
    """An outbox at work, with what was confirmed."""

    def __init__(self) -> None:
        self.gateway = Slow()
        self.confirmed: list[int] = []
        clock = VirtualClock(VirtualTime())
        means = Context(self.gateway, {}, clock, Random(1), Settings(), "e", lambda _at: None)
        self.outbox = ReportOutbox(means, UUID(int=1), self._confirm)

    def _confirm(self, ends: Sequence[End]) -> None:
        self.confirmed += [end.run_id.int for end in ends]


@asynccontextmanager
async def open_office() -> AsyncIterator[Office]:
    office = Office()
    running = asyncio.create_task(office.outbox.run())
    yield office
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@virtual
async def test_an_end_is_reported_at_once_when_nothing_is_under_way() -> None:
    async with open_office() as office:
        office.outbox.add(end(1))
        await asyncio.sleep(0.001)
        assert office.gateway.reports == [[1]]
        await office.outbox.emptied.wait()
        assert office.confirmed == [1]


@virtual
async def test_ends_of_the_same_moment_share_a_report() -> None:
    async with open_office() as office:
        for number in range(200):
            office.outbox.add(end(number))
        await office.outbox.emptied.wait()
        assert office.gateway.reports == [list(range(200))]


@virtual
async def test_ends_gather_for_a_moment_while_a_report_of_many_is_under_way() -> None:
    assert await sizes_of_reports(first=FEW + 1, later=3) == [FEW + 1, 3]


@virtual
async def test_an_end_beside_a_report_of_few_waits_for_no_other() -> None:
    assert await sizes_of_reports(first=FEW, later=3) == [FEW, 1]


async def sizes_of_reports(first: int, later: int) -> list[int]:
    """Add so many ends at once and others one by one; return what was sent within a moment."""
    async with open_office() as office:
        for number in range(first):
            office.outbox.add(end(number))
        for number in range(later):
            await asyncio.sleep(0.005)
            office.outbox.add(end(first + number))
        await asyncio.sleep(WINDOW_S)
        return [len(report) for report in office.gateway.reports]


@virtual
async def test_an_answer_ends_the_gathering() -> None:
    async with open_office() as office:
        office.gateway.takes_s = 0.01
        many = range(FEW + 1)
        for number in many:
            office.outbox.add(end(number))
        await asyncio.sleep(0.001)
        office.outbox.add(end(FEW + 1))
        await asyncio.sleep(0.010)
        assert office.gateway.reports == [[*many], [FEW + 1]]


@virtual
async def test_at_most_two_reports_are_under_way_and_none_is_longer_than_500() -> None:
    async with open_office() as office:
        for number in range(2100):
            office.outbox.add(end(number))
        await office.outbox.emptied.wait()
        assert office.gateway.most_under_way == 2
        assert [len(report) for report in office.gateway.reports] == [REPORT_SIZE] * 4 + [100]
        assert sorted(office.confirmed) == list(range(2100))


@virtual
async def test_a_report_is_bounded_in_bytes_too() -> None:
    async with open_office() as office:
        for number in range(10):
            office.outbox.add(end(number, "x" * 300_000))
        await office.outbox.emptied.wait()
        assert [len(report) for report in office.gateway.reports] == [3, 3, 3, 1]


@virtual
async def test_a_report_is_repeated_unchanged_until_it_is_answered() -> None:
    async with open_office() as office:
        office.gateway.failures = 5
        office.outbox.add(end(1))
        await asyncio.sleep(0.001)
        await office.outbox.emptied.wait()
        assert office.gateway.reports == [[1]] * 6
        assert office.confirmed == [1]


@virtual
async def test_one_refused_end_does_not_hold_up_the_others() -> None:
    async with open_office() as office:
        for number in range(8):
            office.outbox.add(end(number, "\0" if number == 5 else ""))
        await office.outbox.emptied.wait()
        assert sorted(office.confirmed) == list(range(8))
        assert office.gateway.reports.count([5]) == 2, "refused alone, then sent without its text"


@virtual
async def test_an_end_that_is_refused_even_without_its_text_is_given_up() -> None:
    async with open_office() as office:
        office.gateway.bad = ""
        office.outbox.add(end(1, "text"))
        await asyncio.sleep(0.001)
        await office.outbox.emptied.wait()
        assert office.gateway.reports == [[1], [1]]


@virtual
async def test_gw11_output_is_left_out_visibly_when_too_much_waits() -> None:
    async with open_office() as office:
        office.gateway.failures = 1_000_000
        for number in range(20):
            office.outbox.add(end(number, "x" * 1_000_000))
        await asyncio.sleep(60)
        kept = [end.result for end in office.outbox._ends]
        assert sum(len(result.output) for result in kept) <= TEXT_MAX + 1_000_000
        assert kept[-1].output_cut == 1_000_000
        assert "left out" in kept[-1].output


@virtual
async def test_gw11_with_very_many_ends_no_new_work_is_wanted() -> None:
    async with open_office() as office:
        for number in range(ENDS_MAX):
            assert not office.outbox.is_full
            office.outbox.add(end(number))
        assert office.outbox.is_full
