"""Files of jobs: what is read, and what every fault in one is called."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from matins.cli.applying import FILE_MAX, read_jobs, read_text
from matins.domain.jobs.spec import JobFile
from matins.domain.values.errors import InvalidInputError

JOB = """\
team: demo
jobs:
  - name: a
    schedule: {cron: "0 2 * * *"}
    target: {http: {url: "http://127.0.0.1/"}}
"""

BODY = JOB.replace("}}\n", ", body: ")

BOMB = "\n".join(
    ["a: &a {k: 1}", *(f"{b}: &{b} [{f'*{a},' * 100}]" for a, b in ("ab", "bc", "cd", "de"))]
)

FAULTS = [
    ("", "f.yaml: is empty"),
    ("# nothing\n", "f.yaml: holds nothing but comments"),
    ("a: [1\nb: 2", "f.yaml: line 2, column 2: is not YAML: did not find expected ',' or ']'"),
    ("jobs:\n\t- a", "f.yaml: line 2, column 1: is not YAML: found character that cannot start"),
    ("--- a\n--- b", "f.yaml: line 2, column 1: is not YAML: but found another document"),
    ("a: *x", "f.yaml: line 1, column 4: is not YAML: found undefined alias"),
    (JOB + "team: x\n", "f.yaml: line 6, column 1: the key 'team' is given twice, first on line 1"),
    ("a: \0", "f.yaml: line 1, column 4: holds a NUL character"),
    (JOB + '    labels: {a: "x\\0"}\n', "f.yaml: jobs[0].labels.a (line 6): holds a NUL"),
    ("ü: \x07", "f.yaml: line 1, column 4: holds the control character U+0007"),
    ("!!python/object:os.system x", "f.yaml: line 1, column 1: the tag !!python/object:os.system"),
    ("a: !!timestamp x", "f.yaml: line 1, column 4: the tag !!timestamp is not taken here"),
    ("a: !!int 017", "f.yaml: line 1, column 4: '017' can't be read as int; write it in quotes"),
    ("a: .nan", "f.yaml: line 1, column 4: .nan is no number"),
    ("? [a]\n: b", "f.yaml: line 1, column 3: a key must be a text"),
    ("[" * 100 + "]" * 100, "nests deeper than 64"),
    ("a: &a [*a]", "nests deeper than 64"),
    (BOMB, "f.yaml: means over 1000000 values"),
    ("hello", "f.yaml: is a text; it must be a mapping"),
    ("jobs: []", "f.yaml: jobs: is empty; list at least one job"),
    ("team: demo", "f.yaml: jobs: is missing"),
    (JOB.replace("cron:", "crom:"), "jobs[0].schedule.crom (line 4): is not known here; did you"),
    (JOB.replace("name: a", "name: 3"), "jobs[0].name (line 3): is a number; it must be a text"),
    (JOB + "    labels: {on: true}\n", "jobs[0].labels.on (line 6): is true; it must be a text"),
    (BODY + "{v: [{w: 1.10}]}}}\n", "jobs[0].target.http.body.v[0].w (line 5): 1.10 would be sent"),
    (JOB + "    priority: hi\n", 'jobs[0].priority (line 6): is "hi"; write one'),
    (JOB + "    timeout: -3m\n", "jobs[0].timeout (line 6): '-3m' is negative"),
    (JOB.replace('2 * * *"', '61 * * *"'), "jobs[0].schedule.cron (line 4): hour field: '61'"),
    (JOB.replace('*"}', '*", timezone: Mars}'), "jobs[0].schedule.timezone (line 4): 'Mars' is no"),
    ('{"jobs": [], "jobs": []}', "f.yaml: the key 'jobs' is given twice in one object"),
    ('{"jobs": NaN}', "f.yaml: NaN is no JSON"),
]


def faults(text: str, name: str = "f.yaml") -> list[str]:
    with pytest.raises(InvalidInputError) as caught:
        read_jobs(text, name)
    return [f"{problem.where}: {problem.message}" for problem in caught.value.problems]


def job(text: str) -> JobFile:
    return read_jobs(text, "f.yaml")


@pytest.mark.parametrize(("text", "told"), FAULTS)
def test_a_fault_is_named_with_its_file_and_its_place(text: str, told: str) -> None:
    [fault] = faults(text)
    assert fault.startswith("f.yaml")
    assert told in fault


def test_all_faults_of_all_jobs_are_told_at_once() -> None:
    second = '  - {name: a, target: {}, timeout: x, schedule: {cron: "61 * * * *"}}\n'
    places = [fault.split(" (")[0] for fault in faults(JOB + second)]
    assert sorted(places) == [
        "f.yaml: jobs[1].name",
        "f.yaml: jobs[1].schedule.cron",
        "f.yaml: jobs[1].target",
        "f.yaml: jobs[1].timeout",
    ]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *((text, text) for text in ("22:30", "12:00:00", "NO", "yes", "on", "1_000", "0b11", "=")),
        *((text, text) for text in ("01234", "0123", "08", "00", "-01", "00.5", "2026-12-01")),
        *(
            (text, text)
            for text in ("2026-12-01 10:00:00", "0x", "0o8", "nUll", "1e", ".", "190:20")
        ),
        *(("~", None), ("null", None), ("NULL", None), ("", None)),
        *(("true", True), ("False", False), ("0o17", 15), ("0x1F", 31), ("+5", 5), ("-0", 0)),
        *(
            ("1.1", 1.1),
            ("2.0", 2.0),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("-1.5e-3", -0.0015),
            ("1.", 1.0),
        ),
        *(("'12'", "12"), ('"true"', "true"), ("!!str 12", "12"), ("!!float 1", 1.0)),
    ],
)
def test_scalars_mean_what_yaml_1_2_says(written: str, value: object) -> None:
    http = job(f"{BODY}{{v: {written}}}}}}}\n").jobs[0].target.http
    assert http is not None
    assert isinstance(http.body, dict)
    found = http.body["v"]
    assert (found, type(found)) == (value, type(value))


def test_instants_without_quotes_stay_texts() -> None:
    schedule = job(JOB.replace('cron: "0 2 * * *"', "at: 2030-01-01T00:00:00Z")).jobs[0].schedule
    assert schedule is not None
    assert schedule.at == "2030-01-01T00:00:00Z"


def test_keys_are_texts_whatever_they_look_like() -> None:
    assert job(JOB + "    labels: {on: a, 1: b, null: c}\n").jobs[0].labels == {
        "on": "a",
        "1": "b",
        "null": "c",
    }


def test_anchors_and_merges_may_be_used() -> None:
    text = (
        JOB
        + "    retry: &r {attempts: 7}\n"
        + ('  - {name: b, retry: {<<: *r, lost: 2}, target: {command: {argv: ["true"]}}}\n')
    )
    retry = job(text).jobs[1].retry
    assert (retry.attempts, retry.lost) == (7, 2)


def test_json_is_read_as_json() -> None:
    text = '{"jobs": [\t{"name": "a", "target": {"command": {"argv": ["\\ud83d\\ude00"]}}}]}'
    target = read_jobs(text, "f.json").jobs[0].target.command
    assert target is not None
    assert target.argv == ["😀"]


def test_broken_json_is_named_with_line_and_column() -> None:
    assert faults('{"jobs": [\n  }', "f.json") == [
        "f.json: line 2, column 3: is not JSON: Expecting value"
    ]


def test_yaml_may_begin_with_a_brace() -> None:
    assert job("{jobs: [{name: a, target: {command: {argv: [x]}}}]}").team == "default"


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + JOB.encode())
    name, text = read_text(str(path))
    assert read_jobs(text, name).team == "demo"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"team: demo\njobs: \xff", "line 2: is not UTF-8: the byte 0xff can't be read"),
        (b"#" * (FILE_MAX + 1), f"is longer than {FILE_MAX} bytes; split it"),
    ],
)
def test_what_is_no_text_of_a_sensible_length_is_refused(
    tmp_path: Path, data: bytes, told: str
) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_bytes(data)
    with pytest.raises(InvalidInputError, match=told):
        read_text(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"none\.yaml: can't be read: No such file"):
        read_text(str(tmp_path / "none.yaml"))


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(JOB.encode())))
    assert read_text("-") == ("standard input", JOB)


def test_the_demo_has_each_kind_of_schedule_and_target() -> None:
    name, text = read_text(str(Path(__file__).parents[3] / "examples" / "demo.yaml"))
    file = read_jobs(text, name)
    schedules = [job.schedule for job in file.jobs]
    kinds = {
        None
        if schedule is None
        else "cron"
        if schedule.cron
        else "every"
        if schedule.every
        else "at"
        for schedule in schedules
    }
    assert kinds == {"cron", "every", "at", None}
    assert {kind for job in file.jobs for kind in job.target.given()} == {"http", "command"}
