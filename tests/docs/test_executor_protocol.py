"""Every example of the executors' protocol is what the gateway reads and writes."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from matins.domain.executors.protocol import (
    CHUNKS_MAX,
    POLL_MAX,
    REPORT_MAX,
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Output,
    OutputAnswer,
    Poll,
    Report,
    ReportAnswer,
)
from matins.domain.runs.output import CHUNK_MAX
from matins.domain.values.errors import InvalidInputError, ProblemDetails
from matins.gateway.checks import (
    RESULTS_MAX,
    VALUE_MAX,
    check_heartbeat,
    check_output,
    check_poll,
    check_report,
)
from matins.gateway.handout import WAIT_MAX_S
from matins.gateway.wire import BODY_MAX

PAGE = (Path(__file__).parents[2] / "docs" / "executor-protocol.md").read_text("utf-8")
EXAMPLES = re.findall(r"```json (\S+)\n(.*?)```", PAGE, re.DOTALL)


KINDS: dict[str, type[msgspec.Struct]] = {
    "heartbeat": Heartbeat,
    "heartbeat-answer": HeartbeatAnswer,
    "poll": Poll,
    "handout": Handout,
    "report": Report,
    "report-answer": ReportAnswer,
    "output": Output,
    "output-answer": OutputAnswer,
    "problem": ProblemDetails,
}


def test_every_message_has_an_example() -> None:
    assert {kind for kind, _ in EXAMPLES} == KINDS.keys()
    assert len(EXAMPLES) == PAGE.count("```json")


@pytest.mark.parametrize(("kind", "text"), EXAMPLES)
def test_an_example_holds_no_field_that_is_not_read(kind: str, text: str) -> None:
    read = msgspec.to_builtins(msgspec.json.decode(text, type=KINDS[kind]))
    assert _differences(msgspec.json.decode(text), read) == []


@pytest.mark.parametrize(("kind", "text"), EXAMPLES)
def test_an_example_of_a_request_is_accepted(kind: str, text: str) -> None:
    match msgspec.json.decode(text, type=KINDS[kind]):
        case Heartbeat() as heartbeat:
            check_heartbeat(heartbeat)
        case Poll() as poll:
            check_poll(poll)
        case Report() as report:
            check_report(report)
        case Output() as output:
            assert check_output(output) == output


def test_the_example_of_an_error_is_what_a_gateway_says() -> None:
    [text] = [text for kind, text in EXAMPLES if kind == "problem"]
    example = msgspec.json.decode(text, type=ProblemDetails)
    with pytest.raises(InvalidInputError) as caught:
        check_poll(Poll(UUID(int=1), 1, ["default"], 0))
    error = caught.value
    assert (example.title, example.status, example.detail) == (
        error.title,
        error.status,
        str(error),
    )
    assert example.errors == error.problems


def test_the_limits_are_those_of_the_code() -> None:
    assert f"at most {BODY_MAX // 2**20} MiB" in PAGE
    assert f"at most {POLL_MAX} attempts and waits at most {WAIT_MAX_S:g} s" in PAGE
    assert f"at most {REPORT_MAX} ends" in PAGE
    words = " ".join(PAGE.split())
    assert f"at most {CHUNKS_MAX} chunks of either kind" in words
    assert f"a chunk at most {CHUNK_MAX} characters" in words
    assert f"at most {RESULTS_MAX}, of at most {VALUE_MAX} characters each" in words


def _differences(given: object, read: object, path: str = "$") -> list[str]:
    """Return the places where what is written in an example is not what was read of it."""
    if isinstance(given, dict) and isinstance(read, dict):
        return [
            place
            for key, value in given.items()
            for place in _differences(value, read.get(key, "nothing"), f"{path}.{key}")
        ]
    if isinstance(given, list) and isinstance(read, list | tuple) and len(given) == len(read):
        return [
            place
            for index, value in enumerate(given)
            for place in _differences(value, read[index], f"{path}[{index}]")
        ]
    return [] if given == read else [path]
