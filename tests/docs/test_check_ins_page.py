"""The page on check-ins: its job file, its paths and its figures are true."""

from __future__ import annotations

import re

import pytest
from tests.docs.tables import DOCS, rows

from matins.domain.alerts.checkins import HEAD_MAX, TAIL_MAX, read_ping
from matins.domain.jobs.spec import JobFile
from matins.domain.values.reading import read_value
from matins.kernel.documents import read_document

PAGE = "check-ins.md"
TEXT = (DOCS / PAGE).read_text("utf-8")
TOKEN = "x" * 32


def test_the_job_file_on_the_page_is_sound() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert read_value(read_document(text).value, JobFile).problems() == []


@pytest.mark.parametrize(("path", "tells"), rows(PAGE, "| path | tells |"))
def test_each_path_on_the_page_is_one(path: str, tells: str) -> None:
    for example in path.split("` to `"):
        ping = read_ping(example.replace("TOKEN", TOKEN), b"")
        assert ping is not None
        meant = {"start": "begun", "success": "succe", "fail": "failed|exit code"}[ping.kind]
        assert re.search(meant, tells)


def test_as_much_output_is_kept_as_the_page_says() -> None:
    assert f"first {HEAD_MAX // 1024} KiB and the last {TAIL_MAX // 1024} KiB" in TEXT
