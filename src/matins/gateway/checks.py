"""What executors say, checked once where it comes in; everything behind may rely on it.

What only names or counts is refused if it is wrong. The text of a result is made recordable
instead: a run whose end can't be recorded would never end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

import msgspec

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
from matins.domain.runs.output import CHUNK_MAX, LiveChunk, OutputChunk
from matins.domain.values.errors import Problem, check
from matins.domain.values.ids import names_instant
from matins.domain.values.names import check_name

POOLS_MAX = 50
"""The most pools that one executor serves."""

HELD_MAX = 100_000
"""The most attempts, and the most polls, that a heartbeat may list."""

REASON_MAX = 2_000
"""The longest reason that is kept, in characters."""

OUTPUT_MAX = 256 * 1024
"""The longest output that is kept, in characters."""

RESULTS_MAX = 50
"""The most results of an attempt that are kept."""

KEY_MAX = 64
"""The longest key of a result, in characters."""

VALUE_MAX = 1000
"""The longest value of a result, in characters."""

_INT32 = 2**31 - 1
_INT64 = 2**63 - 1
_SEQ_MAX = 2**62


def check_poll(poll: Poll) -> None:
    """Raise InvalidInputError that says what is wrong with a poll."""
    check(
        [
            *_range("seq", poll.seq, 1, _SEQ_MAX),
            *_range("free", poll.free, 1, POLL_MAX),
            *_range("wait_s", poll.wait_s, 0, 3600),
        ]
    )
    _check_pools(poll.pools)


def check_heartbeat(heartbeat: Heartbeat) -> None:
    """Raise InvalidInputError that says what is wrong with a heartbeat."""
    lists = {"awaiting": heartbeat.awaiting, "open": heartbeat.open, "closed": heartbeat.closed}
    check(
        [
            *_name_problems(heartbeat.name),
            *_range("slots", heartbeat.slots, 0, _INT32),
            *_range("next_seq", heartbeat.next_seq, 1, _SEQ_MAX),
            *_length("held", len(heartbeat.held), HELD_MAX),
            *(
                problem
                for key, seqs in lists.items()
                for problem in _length(key, len(seqs), HELD_MAX)
            ),
            *(problem for key, seqs in lists.items() for problem in _seq_problems(key, seqs)),
            *_held_problems(heartbeat.held),
        ]
    )
    _check_pools(heartbeat.pools)


def check_report(report: Report) -> list[End]:
    """Return the ends with text that can be stored; raise InvalidInputError for the rest."""
    check(_length("ends", len(report.ends), REPORT_MAX))
    for index, end in enumerate(report.ends):
        result = end.result
        if not (
            names_instant(end.run_id)
            and 0 < end.number <= _INT32
            and -_INT32 <= (result.exit_code or 0) <= _INT32
            and -_INT32 <= (result.http_status or 0) <= _INT32
            and 0 <= result.output_cut <= _INT64
            and 0 <= (result.company or 0) <= _INT32
            and math.isfinite(end.duration_s)
            and 0 <= result.retry_after_s < math.inf
        ):
            check(_end_problems(f"ends[{index}]", end))
    return [_recordable(end) for end in report.ends]


def check_output(output: Output) -> Output:
    """Return the chunks with text that can be stored; raise InvalidInputError for the rest."""
    return msgspec.structs.replace(
        output, live=_chunks("live", output.live), kept=_chunks("kept", output.kept)
    )


_Chunk = TypeVar("_Chunk", bound=LiveChunk | OutputChunk)


def _chunks(where: str, chunks: list[_Chunk]) -> list[_Chunk]:
    check(_length(where, len(chunks), CHUNKS_MAX))
    for index, chunk in enumerate(chunks):
        at = f"{where}[{index}]"
        check(
            [
                *_run_id(f"{at}.run_id", chunk.run_id),
                *_range(f"{at}.number", chunk.number, 1, _INT32),
                *_range(f"{at}.offset", chunk.offset, 0, _INT64 - CHUNK_MAX),
                *_length(f"{at}.text", len(chunk.text), CHUNK_MAX),
            ]
        )
    return [
        msgspec.structs.replace(chunk, text=chunk.text.replace("\0", "\ufffd"))
        if "\0" in chunk.text
        else chunk
        for chunk in chunks
    ]


def _recordable(end: End) -> End:
    """PostgreSQL stores no NUL, and nobody reads a megabyte of output."""
    result = end.result
    if result.results:
        result = msgspec.structs.replace(result, results=_results(result.results))
    reason = result.reason.replace("\0", "\ufffd")[:REASON_MAX]
    output = result.output.replace("\0", "\ufffd")
    over = max(len(output) - OUTPUT_MAX, 0)
    if result is end.result and reason == result.reason and output == result.output and not over:
        return end
    kept = msgspec.structs.replace(
        result, reason=reason, output=output[:OUTPUT_MAX], output_cut=result.output_cut + over
    )
    return msgspec.structs.replace(end, result=kept)


def _results(results: dict[str, str]) -> dict[str, str]:
    """Return the first results, with keys and values of a length that can be shown."""
    return {
        key.replace("\0", "\ufffd")[:KEY_MAX]: value.replace("\0", "\ufffd")[:VALUE_MAX]
        for key, value in list(results.items())[:RESULTS_MAX]
    }


def _end_problems(where: str, end: End) -> list[Problem]:
    result = end.result
    return [
        *_run_id(f"{where}.run_id", end.run_id),
        *_range(f"{where}.number", end.number, 1, _INT32),
        *_range(f"{where}.result.exit_code", result.exit_code or 0, -_INT32, _INT32),
        *_range(f"{where}.result.http_status", result.http_status or 0, -_INT32, _INT32),
        *_range(f"{where}.result.output_cut", result.output_cut, 0, _INT64),
        *_range(f"{where}.result.company", result.company or 0, 0, _INT32),
        *_range(f"{where}.result.retry_after_s", result.retry_after_s, 0, math.inf),
        *_range(f"{where}.duration_s", end.duration_s, 0, math.inf),
    ]


def _check_pools(pools: list[str]) -> None:
    if not 1 <= len(set(pools)) == len(pools) <= POOLS_MAX:
        rule = f"name 1 to {POOLS_MAX} different pools"
        check([Problem("pools", f"holds {len(pools)} pools; {rule}")])
    for index, pool in enumerate(pools):
        check_name(f"pools[{index}]", pool)


def _name_problems(name: str) -> list[Problem]:
    if 1 <= len(name) <= 200 and name.isprintable():
        return []
    return [Problem("name", "must be 1 to 200 characters that can be printed")]


def _seq_problems(where: str, seqs: list[int]) -> list[Problem]:
    return _range(where, min(seqs, default=1), 1, _SEQ_MAX) + _range(
        where, max(seqs, default=1), 1, _INT64
    )


def _held_problems(held: Sequence[tuple[UUID, int]]) -> list[Problem]:
    """Return the problems of the first bad pair: a list of 100,000 must not answer as many."""
    for index, (run_id, number) in enumerate(held):
        if not (names_instant(run_id) and 0 < number <= _INT32):
            where = f"held[{index}]"
            return _run_id(where, run_id) + _range(where, number, 1, _INT32)
    return []


def _run_id(where: str, run_id: UUID) -> list[Problem]:
    if names_instant(run_id):
        return []
    return [Problem(where, f"is {run_id}, whose due time lies beyond year 9999: no run's id")]


def _range(where: str, value: float, low: float, high: float) -> list[Problem]:
    if math.isfinite(value) and low <= value <= high:
        return []
    return [Problem(where, f"is {value}; it must be from {low} to {high}")]


def _length(where: str, length: int, limit: int) -> list[Problem]:
    return [] if length <= limit else [Problem(where, f"holds {length}; at most {limit} may")]
