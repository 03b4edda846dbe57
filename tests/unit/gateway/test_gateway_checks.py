"""What is refused at the door, and how the place of the fault is named."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from matins.domain.executors.protocol import (
    CHUNKS_MAX,
    POLL_MAX,
    REPORT_MAX,
    End,
    Heartbeat,
    Output,
    Poll,
    Report,
)
from matins.domain.runs.attempts import Result
from matins.domain.runs.output import CHUNK_MAX, LiveChunk, OutputChunk
from matins.domain.runs.states import Outcome
from matins.domain.values.errors import InvalidInputError
from matins.gateway.checks import (
    KEY_MAX,
    RESULTS_MAX,
    VALUE_MAX,
    check_heartbeat,
    check_output,
    check_poll,
    check_report,
)

E = UUID(int=1)
BEYOND_9999 = UUID(int=0xE677D21FDC00 << 80)
"""Its first 48 bits are the first millisecond of year 10000."""
OK = Result(Outcome.SUCCEEDED)


def poll(seq: int = 1, pools: list[str] | None = None, free: int = 1, wait_s: float = 1.0) -> Poll:
    return Poll(E, seq, ["default"] if pools is None else pools, free, wait_s)


def heartbeat(**fields: object) -> Heartbeat:
    given: dict[str, object] = {"name": "e", "pools": ["default"], "slots": 1, "next_seq": 1}
    return Heartbeat(E, **(given | fields))  # type: ignore[arg-type] # bad values are the point


def report(*ends: End) -> Report:
    return Report(E, list(ends))


def place_of(check: Callable[[], object]) -> str:
    with pytest.raises(InvalidInputError) as caught:
        check()
    return caught.value.problems[0].where


@pytest.mark.parametrize(
    ("said", "where"),
    [
        (poll(free=0), "free"),
        (poll(free=POLL_MAX + 1), "free"),
        (poll(seq=0), "seq"),
        (poll(seq=2**63), "seq"),
        (poll(wait_s=-1), "wait_s"),
        (poll(wait_s=float("nan")), "wait_s"),
        (poll(pools=[]), "pools"),
        (poll(pools=["a", "a"]), "pools"),
        (poll(pools=["a", "b\0"]), "pools[1]"),
    ],
)
def test_a_bad_poll_is_refused_with_the_place(said: Poll, where: str) -> None:
    assert place_of(lambda: check_poll(said)) == where


@pytest.mark.parametrize(
    ("said", "where"),
    [
        (heartbeat(name=""), "name"),
        (heartbeat(name="a\0"), "name"),
        (heartbeat(slots=-1), "slots"),
        (heartbeat(next_seq=0), "next_seq"),
        (heartbeat(awaiting=[0]), "awaiting"),
        (heartbeat(open=[1, 2**64]), "open"),
        (heartbeat(held=[(E, 1), (E, 2**31)]), "held[1]"),
        (heartbeat(held=[(E, 1), (BEYOND_9999, 1)]), "held[1]"),
        (heartbeat(closed=list(range(1, 100_002))), "closed"),
        (heartbeat(pools=["No"]), "pools[0]"),
    ],
)
def test_a_bad_heartbeat_is_refused_with_the_place(said: Heartbeat, where: str) -> None:
    assert place_of(lambda: check_heartbeat(said)) == where


@pytest.mark.parametrize(
    ("end", "where"),
    [
        (End(BEYOND_9999, 1, OK), "ends[1].run_id"),
        (End(E, 0, OK), "ends[1].number"),
        (End(E, 2**31, OK), "ends[1].number"),
        (End(E, 1, Result(Outcome.FAILED, exit_code=2**40)), "ends[1].result.exit_code"),
        (End(E, 1, Result(Outcome.FAILED, http_status=-(2**40))), "ends[1].result.http_status"),
        (End(E, 1, Result(Outcome.FAILED, output_cut=-1)), "ends[1].result.output_cut"),
        (End(E, 1, OK, duration_s=float("inf")), "ends[1].duration_s"),
    ],
)
def test_a_bad_end_is_refused_with_the_place(end: End, where: str) -> None:
    assert place_of(lambda: check_report(report(End(E, 1, OK), end))) == where


def test_a_report_has_a_longest_length() -> None:
    ends = [End(E, 1, OK)] * (REPORT_MAX + 1)
    assert place_of(lambda: check_report(report(*ends))) == "ends"


def test_ends_that_need_no_cleaning_are_passed_on_as_they_are() -> None:
    end = End(E, 1, Result(Outcome.FAILED, "no", output="text"))
    assert check_report(report(end))[0] is end


def test_the_last_millisecond_of_year_9999_is_an_instant() -> None:
    latest = UUID(int=BEYOND_9999.int - 1)
    check_heartbeat(heartbeat(held=[(latest, 1)]))
    assert check_report(report(End(latest, 1, OK)))


def live(number: int = 1, offset: int = 0, text: str = "x", run: UUID = E) -> Output:
    return Output(E, live=[LiveChunk(run_id=run, number=number, offset=offset, text=text)])


def kept(number: int = 1, offset: int = 0, text: str = "x") -> Output:
    return Output(E, kept=[OutputChunk(run_id=E, number=number, offset=offset, text=text)])


@pytest.mark.parametrize(
    ("said", "where"),
    [
        (live(number=0), "live[0].number"),
        (live(offset=-1), "live[0].offset"),
        (live(offset=2**63 - 1), "live[0].offset"),
        (live(text="x" * (CHUNK_MAX + 1)), "live[0].text"),
        (live(run=BEYOND_9999), "live[0].run_id"),
        (Output(E, live=live().live * (CHUNKS_MAX + 1)), "live"),
        (kept(number=2**31), "kept[0].number"),
        (kept(text="x" * (CHUNK_MAX + 1)), "kept[0].text"),
    ],
)
def test_bad_output_is_refused_with_the_place(said: Output, where: str) -> None:
    assert place_of(lambda: check_output(said)) == where


def test_output_that_cannot_be_stored_is_made_so() -> None:
    assert check_output(kept(text="a\0b")) == kept(text="a\ufffdb")
    good = live(text="x" * CHUNK_MAX)
    assert check_output(good) == good


def test_results_are_made_recordable() -> None:
    results = {f"key{number}": "v" for number in range(RESULTS_MAX + 1)}
    results |= {"key0": "\0" * (VALUE_MAX + 1), "key1" + "x" * KEY_MAX: "v"}
    result = Result(Outcome.SUCCEEDED, results=results)
    [end] = check_report(report(End(E, 1, result)))
    assert len(end.result.results) == RESULTS_MAX
    assert end.result.results["key0"] == "\ufffd" * VALUE_MAX
    assert all(len(key) <= KEY_MAX for key in end.result.results)
